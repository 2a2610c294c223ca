"""DescribeAcls: refused without an authorizer."""

from __future__ import annotations

from kraft.messages.describe_acls_request import DescribeAclsRequest
from kraft.messages.describe_acls_response import DescribeAclsResponse
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.serving import Serving

REQUEST = DescribeAclsRequest(
    resource_type_filter=1,
    resource_name_filter=None,
    principal_filter=None,
    host_filter=None,
    operation=1,
    permission_type=1,
)


def refuses(response: DescribeAclsResponse) -> bool:
    text = "No Authorizer is configured on the broker"
    return (response.error_code, response.error_message) == (ErrorCode.SECURITY_DISABLED, text)


async def test_security_is_disabled(broker: Connection, active: Serving) -> None:
    """Kafka's AclApis without an authorizer: one error and one text, at a broker and at a controller."""
    for version in range(1, 4):
        for response in (await broker.request(REQUEST, version), await active.ask(REQUEST, version)):
            assert refuses(response)
            assert response.resources == []
