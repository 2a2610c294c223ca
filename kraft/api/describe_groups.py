"""DescribeGroups (key 15): state, protocol and members of classic groups.

Versions 0 to 6: 3 has authorized operations on request, 4 static members, 5 is flexible, 6 returns GROUP_ID_NOT_FOUND
where older versions return a dead group (KIP-1043).
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.group_descriptions import describe_each
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.DESCRIBE_GROUPS,
    versions={ListenerType.BROKER: (0, 6), ListenerType.ZK_BROKER: (0, 6)},
    permissions=((Operation.DESCRIBE, Resource.GROUP),),
)


async def at_broker(broker: BrokerContext, request: Request, message: DescribeGroupsRequest) -> Reply:
    def submit(group_id: str) -> Reply:
        return broker.coordinators.groups.shard_of(group_id).submit(request, message.evolve(groups=[group_id]))

    def refused(group_id: str, code: ErrorCode) -> DescribeGroupsResponse:
        return error(message.evolve(groups=[group_id]), request.api_version, code)

    with_operations = message.include_authorized_operations
    return await describe_each(
        message.groups, submit, refused, DescribeGroupsResponse(), with_operations=with_operations
    )


at_zk_broker = at_broker


def error(
    message: DescribeGroupsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=mapped(
            message.groups,
            lambda group_id: DescribedGroup(error_code=code, group_id=group_id),
        )
    )
