"""OffsetFetch (key 9): the committed offsets of a group.

Versions 1 to 9.

| version | change |
|---|---|
| 2 | null topics request all; an error for the whole response |
| 5 | leader epoch of the committed offset |
| 6 | flexible |
| 7 | may request offsets that no open transaction can change (KIP-447) |
| 8 | several groups in one request (KIP-709) |
| 9 | member id and epoch of KIP-848 |

A group, and a partition of it, that a request names again is in the response once.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordinator.core import HASHED_CHARACTERS
from kraft.coordinator.offsets import NO_OFFSET, fetched
from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kraft.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.turns import Turns, in_slices

ROW = Api(
    ApiKey.OFFSET_FETCH,
    versions={ListenerType.BROKER: (1, 9)},
    permissions=((Operation.DESCRIBE, Resource.GROUP), (Operation.DESCRIBE, Resource.TOPIC)),
)

_SLICE_PARTITIONS = 1000
_SLICE_GROUPS = 50
GROUPS_VERSION = 8
TOP_ERROR_VERSION = 2


async def at_broker(broker: BrokerContext, request: Request, message: OffsetFetchRequest) -> Reply:
    if request.api_version >= GROUPS_VERSION:
        distinct = {wanted.group_id: wanted for wanted in message.groups}
        turns = Turns(_SLICE_GROUPS)
        groups = []
        for wanted in distinct.values():
            await turns.spend(1 + len(wanted.group_id) // HASHED_CHARACTERS)
            groups.append(await _fetch(broker, wanted))
        return OffsetFetchResponse(groups=groups)
    return _single(await _fetch(broker, _as_group(message)))


async def _fetch(broker: BrokerContext, wanted: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    try:
        shard = broker.groups.shard_of(wanted.group_id)
    except KafkaError as refused:
        return OffsetFetchResponseGroup(group_id=wanted.group_id, error_code=refused.code)
    return await in_slices(fetched(shard.core.offsets, wanted), _SLICE_PARTITIONS)


def _as_group(message: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """Return the request of an older version in the form of version 8."""
    topics = None
    if message.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in message.topics
        ]
    return OffsetFetchRequestGroup(group_id=message.group_id, topics=topics)


def _single(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    response = OffsetFetchResponse(error_code=group.error_code)
    for topic in group.topics:
        topic_response = OffsetFetchResponseTopic(name=topic.name)
        response.topics.append(topic_response)
        for each in topic.partitions:
            topic_response.partitions.append(
                OffsetFetchResponsePartition(
                    each.partition_index, each.committed_offset, each.committed_leader_epoch, each.metadata
                )
            )
    return response


def error(message: OffsetFetchRequest, version: int, code: ErrorCode, text: str | None = None) -> OffsetFetchResponse:
    if version >= GROUPS_VERSION:
        return OffsetFetchResponse(
            groups=[OffsetFetchResponseGroup(group_id=group.group_id, error_code=code) for group in message.groups]
        )
    if version >= TOP_ERROR_VERSION:
        return OffsetFetchResponse(error_code=code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(index, NO_OFFSET, metadata="", error_code=code)
                    for index in topic.partition_indexes
                ],
            )
            for topic in message.topics or []
        ]
    )
