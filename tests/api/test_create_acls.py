"""CreateAcls: refused without an authorizer."""

from __future__ import annotations

from kraft.messages.create_acls_request import AclCreation, CreateAclsRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.serving import Serving

TOPIC, READ, ALLOW = 2, 3, 3
CREATION = AclCreation(
    resource_type=TOPIC, resource_name="orders", principal="User:ann", host="*", operation=READ, permission_type=ALLOW
)


async def test_security_is_disabled(broker: Connection, active: Serving) -> None:
    """Kafka's AclApis refuses each creation alone; many of them are refused as fast as one."""
    for version in range(1, 4):
        for count in (0, 1, 100):
            request = CreateAclsRequest(creations=[CREATION] * count)
            for response in (await broker.request(request, version), await active.ask(request, version)):
                answers = [(each.error_code, each.error_message) for each in response.results]
                assert answers == [(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")] * count
