"""DescribeGroups (key 15): state, protocol and members of classic groups.

Versions 0 to 6: 3 has authorized operations on request, 4 static members, 5 is flexible, 6 returns GROUP_ID_NOT_FOUND
where older versions return a dead group (KIP-1043).
"""

from __future__ import annotations

import attrs

from kraft.api.authorized_operations import GROUP_OPERATIONS
from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordinator.groups.group import GroupState
from kraft.coordinator.partitions import HASHED_CHARACTERS
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request, response_of
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped
from kraft.world.turns import Turns

ROW = Api(
    ApiKey.DESCRIBE_GROUPS,
    versions={ListenerType.BROKER: (0, 6), ListenerType.ZK_BROKER: (0, 6)},
    permissions=((Operation.DESCRIBE, Resource.GROUP),),
)

_SLICE_GROUPS = 50


async def at_broker(broker: BrokerContext, request: Request, message: DescribeGroupsRequest) -> Reply:
    turns = Turns(_SLICE_GROUPS)
    replies = []
    for group_id in dict.fromkeys(message.groups):  # a group that is named again is described once
        replies.append((group_id, _describe(broker, request, attrs.evolve(message, groups=[group_id]))))
        await turns.spend(1 + len(group_id) // HASHED_CHARACTERS)

    async def all_described() -> DescribeGroupsResponse:
        response = DescribeGroupsResponse()
        for group_id, reply in replies:
            try:
                answer = await response_of(reply)
                assert isinstance(answer, DescribeGroupsResponse)
            except KafkaError as refused:
                answer = error(attrs.evolve(message, groups=[group_id]), 0, refused.code)
            for group in answer.groups:
                if message.include_authorized_operations and group.error_code == 0:
                    group.authorized_operations = GROUP_OPERATIONS
                response.groups.append(group)
            await turns.spend()
        return response

    return Parked(all_described)


def _describe(broker: BrokerContext, request: Request, message: DescribeGroupsRequest) -> Reply:
    try:
        return broker.groups.shard_of(message.groups[0]).submit(request, message)
    except KafkaError as refused:
        return error(message, 0, refused.code)


at_zk_broker = at_broker


def error(
    message: DescribeGroupsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=mapped(
            message.groups,
            lambda group_id: DescribedGroup(error_code=code, group_id=group_id, group_state=GroupState.DEAD.value),
        )
    )
