"""ConsumerGroupDescribe (key 69): epochs, members and assignments of consumer groups (KIP-848).

Versions 0 and 1: 1 has the types of members (KIP-1099).
"""

from __future__ import annotations

import attrs

from kraft.api.authorized_operations import GROUP_OPERATIONS
from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.config.features import GROUP_VERSION
from kraft.coordinator.partitions import HASHED_CHARACTERS
from kraft.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from kraft.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse, DescribedConsumerGroup
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request, response_of
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped
from kraft.world.turns import Turns

ROW = Api(
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    versions={ListenerType.BROKER: (0, 1)},
    permissions=((Operation.DESCRIBE, Resource.GROUP), (Operation.DESCRIBE, Resource.TOPIC)),
)

_SLICE_GROUPS = 50


async def at_broker(broker: BrokerContext, request: Request, message: ConsumerGroupDescribeRequest) -> Reply:
    if not broker.image.features.get(GROUP_VERSION, 0):
        return error(message, request.api_version, ErrorCode.UNSUPPORTED_VERSION)
    turns = Turns(_SLICE_GROUPS)
    replies = []
    for group_id in dict.fromkeys(message.group_ids):  # a group that is named again is described once
        replies.append((group_id, _describe(broker, request, attrs.evolve(message, group_ids=[group_id]))))
        await turns.spend(1 + len(group_id) // HASHED_CHARACTERS)

    async def all_described() -> ConsumerGroupDescribeResponse:
        response = ConsumerGroupDescribeResponse()
        for group_id, reply in replies:
            try:
                answer = await response_of(reply)
                assert isinstance(answer, ConsumerGroupDescribeResponse)
            except KafkaError as refused:
                answer = error(attrs.evolve(message, group_ids=[group_id]), 0, refused.code)
            for group in answer.groups:
                if message.include_authorized_operations and group.error_code == 0:
                    group.authorized_operations = GROUP_OPERATIONS
                response.groups.append(group)
            await turns.spend()
        return response

    return Parked(all_described)


def _describe(broker: BrokerContext, request: Request, message: ConsumerGroupDescribeRequest) -> Reply:
    try:
        return broker.groups.shard_of_member(message.group_ids[0]).submit(request, message)
    except KafkaError as refused:
        return error(message, 0, refused.code)


def error(
    message: ConsumerGroupDescribeRequest, version: int, code: ErrorCode, text: str | None = None
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=mapped(
            message.group_ids,
            lambda group_id: DescribedConsumerGroup(error_code=code, error_message=text, group_id=group_id),
        )
    )
