"""DescribeAcls (key 29): the access control entries, which needs an authorizer.

Versions 1 to 3: 2 is flexible, 3 has user resources.

A node has no authorizer yet, so every listener refuses with SECURITY_DISABLED, as Apache Kafka does without
``authorizer.class.name``.
"""

from __future__ import annotations

from kraft.api.acl_types import check_types
from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.describe_acls_request import DescribeAclsRequest
from kraft.messages.describe_acls_response import DescribeAclsResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.DESCRIBE_ACLS,
    versions={ListenerType.BROKER: (1, 3), ListenerType.ZK_BROKER: (1, 3), ListenerType.CONTROLLER: (1, 3)},
    permissions=((Operation.DESCRIBE, Resource.CLUSTER),),
)


async def at_broker(
    context: BrokerContext | ControllerContext, request: Request, message: DescribeAclsRequest
) -> Reply:
    await check_types(
        [(message.resource_type_filter, message.pattern_type_filter, message.operation, message.permission_type)]
    )
    text = "No Authorizer is configured on the broker"
    return error(message, request.api_version, ErrorCode.SECURITY_DISABLED, text)


at_zk_broker = at_broker
at_controller = at_broker


def error(message: DescribeAclsRequest, version: int, code: ErrorCode, text: str | None = None) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=code, error_message=text)
