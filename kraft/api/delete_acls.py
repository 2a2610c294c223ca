"""DeleteAcls (key 31): remove access control entries, which needs an authorizer.

Versions 1 to 3: 2 is flexible, 3 has user resources.

A node has no authorizer yet, so every listener refuses with SECURITY_DISABLED, as Apache Kafka does without
``authorizer.class.name``.
"""

from __future__ import annotations

from kraft.api.acl_types import check_types
from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.delete_acls_request import DeleteAclsRequest
from kraft.messages.delete_acls_response import DeleteAclsFilterResult, DeleteAclsResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.DELETE_ACLS,
    versions={ListenerType.BROKER: (1, 3), ListenerType.ZK_BROKER: (1, 3), ListenerType.CONTROLLER: (1, 3)},
    permissions=((Operation.ALTER, Resource.CLUSTER),),
    forwardable=True,
)


async def at_broker(context: BrokerContext | ControllerContext, request: Request, message: DeleteAclsRequest) -> Reply:
    await check_types(
        (each.resource_type_filter, each.pattern_type_filter, each.operation, each.permission_type)
        for each in message.filters
    )
    return error(message, request.api_version, ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


at_zk_broker = at_broker
at_controller = at_broker


def error(message: DeleteAclsRequest, version: int, code: ErrorCode, text: str | None = None) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=mapped(message.filters, lambda _: DeleteAclsFilterResult(code, text)))
