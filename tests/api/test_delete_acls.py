"""DeleteAcls: refused without an authorizer."""

from __future__ import annotations

from kraft.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.serving import Serving

ANY = 1
FILTER = DeleteAclsFilter(
    resource_type_filter=ANY,
    resource_name_filter=None,
    principal_filter=None,
    host_filter=None,
    operation=ANY,
    permission_type=ANY,
)


async def test_security_is_disabled(broker: Connection, active: Serving) -> None:
    """Kafka's AclApis refuses each filter alone, and none matches an entry."""
    for version in range(1, 4):
        for count in (0, 1, 100):
            request = DeleteAclsRequest(filters=[FILTER] * count)
            for response in (await broker.request(request, version), await active.ask(request, version)):
                answers = [
                    (each.error_code, each.error_message, each.matching_acls) for each in response.filter_results
                ]
                assert answers == [(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.", [])] * count
