"""OffsetDelete (key 47): delete committed offsets of a group by partition (KIP-496). Version 0.

Parked until the tombstones are committed.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.messages.offset_delete_response import (
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request, response_of
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.OFFSET_DELETE,
    versions={ListenerType.BROKER: (0, 0), ListenerType.ZK_BROKER: (0, 0)},
    permissions=((Operation.DELETE, Resource.GROUP), (Operation.READ, Resource.TOPIC)),
)


_SLICE_PARTITIONS = 500


async def at_broker(broker: BrokerContext, request: Request, message: OffsetDeleteRequest) -> Reply:
    if not message.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    known = await _known(broker, message.topics)
    reply = broker.coordinators.groups.shard_of(message.group_id).submit(request, message.evolve(topics=known))

    async def with_unknown() -> OffsetDeleteResponse:
        response = await response_of(reply)
        assert isinstance(response, OffsetDeleteResponse)
        if not response.error_code:
            response.topics = await _answers(message.topics, response.topics)
        return response

    return Parked(with_unknown)


async def _known(broker: BrokerContext, topics: list[OffsetDeleteRequestTopic]) -> list[OffsetDeleteRequestTopic]:
    """Return the partitions that exist, each of them once. The coordinator decides on them in one step."""
    slices = Slices(_SLICE_PARTITIONS)
    known: dict[str, dict[int, OffsetDeleteRequestPartition]] = {}
    for topic in topics:
        count = broker.replicas.partition_count(topic.name)
        if count:
            existing = known.setdefault(topic.name, {})
            for each in topic.partitions:
                if 0 <= each.partition_index < count:
                    existing[each.partition_index] = each
                await slices.spend()
        await slices.spend()
    return [OffsetDeleteRequestTopic(name, list(existing.values())) for name, existing in known.items()]


async def _answers(
    topics: list[OffsetDeleteRequestTopic], decided: list[OffsetDeleteResponseTopic]
) -> list[OffsetDeleteResponseTopic]:
    """Return an answer for each partition of the request: unknown unless the coordinator has decided on it."""
    slices = Slices(_SLICE_PARTITIONS)
    codes = {topic.name: {each.partition_index: each.error_code for each in topic.partitions} for topic in decided}
    answers = []
    for topic in topics:
        answer = OffsetDeleteResponseTopic(topic.name)
        of_topic = codes.get(topic.name, {})
        for each in topic.partitions:
            code = of_topic.get(each.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            answer.partitions.append(OffsetDeleteResponsePartition(each.partition_index, code))
            await slices.spend()
        answers.append(answer)
        await slices.spend()
    return answers


at_zk_broker = at_broker


def error(message: OffsetDeleteRequest, version: int, code: ErrorCode, text: str | None = None) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=code)
