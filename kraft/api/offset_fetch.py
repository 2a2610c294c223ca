"""OffsetFetch (key 9): the committed offsets of a group.

Versions 1 to 10, with ZooKeeper to 9.

| version | change |
|---|---|
| 2 | null topics request all; an error for the whole response |
| 5 | leader epoch of the committed offset |
| 6 | flexible |
| 7 | may request offsets that no open transaction can change (KIP-447) |
| 8 | several groups in one request (KIP-709) |
| 9 | member id and epoch of KIP-848 |
| 10 | topic ids instead of names: UNKNOWN_TOPIC_ID for an unknown one |

A group, and a partition of it, that a request names again is in the response once.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordinator.groups.offsets import NO_OFFSET, WantedTopic, fetched
from kraft.coordinator.partitions import HASHED_CHARACTERS
from kraft.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestTopics
from kraft.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.steps import distinct
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices, in_slices

ROW = Api(
    ApiKey.OFFSET_FETCH,
    versions={ListenerType.BROKER: (1, 10), ListenerType.ZK_BROKER: (1, 9)},
    permissions=((Operation.DESCRIBE, Resource.GROUP), (Operation.DESCRIBE, Resource.TOPIC)),
)

_SLICE_PARTITIONS = 1000
_SLICE_GROUPS = 50
GROUPS_VERSION = 8
TOP_ERROR_VERSION = 2
TOPIC_IDS_VERSION = 10


async def at_broker(broker: BrokerContext, request: Request, message: OffsetFetchRequest) -> Reply:
    if request.api_version >= GROUPS_VERSION:
        slices = Slices(_SLICE_GROUPS)
        groups = []
        for wanted in (await in_slices(distinct(message.groups, attrgetter("group_id")), slices)).values():
            await slices.spend(1 + len(wanted.group_id) // HASHED_CHARACTERS)
            fetch = _fetch_by_id if request.api_version >= TOPIC_IDS_VERSION else _fetch
            groups.append(
                await fetch(
                    broker,
                    wanted.group_id,
                    wanted.topics,
                    message.require_stable,
                    wanted.member_id,
                    wanted.member_epoch,
                )
            )
        return OffsetFetchResponse(groups=groups)
    group = await _fetch(broker, message.group_id, message.topics, message.require_stable)
    if group.error_code:
        return error(message, request.api_version, ErrorCode(group.error_code))
    return OffsetFetchResponse(error_code=group.error_code, topics=mapped(group.topics, _older_topic))


at_zk_broker = at_broker


async def _fetch(
    broker: BrokerContext,
    group_id: str,
    topics: Sequence[WantedTopic] | None,
    require_stable: bool,
    member_id: str | None = None,
    member_epoch: int = -1,
) -> OffsetFetchResponseGroup:
    try:
        shard = broker.coordinators.groups.shard_of(group_id)
        shard.core.consumers.check_fetch(group_id, member_id, member_epoch)
        found = fetched(shard.core.offsets, group_id, topics, require_stable=require_stable)
        return await shard.read(found, _SLICE_PARTITIONS)
    except KafkaError as refused:
        return OffsetFetchResponseGroup(group_id=group_id, error_code=refused.code)


async def _fetch_by_id(
    broker: BrokerContext,
    group_id: str,
    topics: Sequence[OffsetFetchRequestTopics] | None,
    require_stable: bool,
    member_id: str | None,
    member_epoch: int,
) -> OffsetFetchResponseGroup:
    """:func:`_fetch` for topics with ids. Null topics request those that exist."""
    slices = Slices(_SLICE_PARTITIONS)
    image = broker.image
    named, unknown = [], []
    for each in topics or ():
        topic = image.topics.get(each.topic_id)
        if topic is None:
            unknown.append(_unknown_topic(each))
        else:
            named.append(each.evolve(name=topic.name))
        await slices.spend(1 + (len(each.partition_indexes) if topic is None else 0))
    wanted = None if topics is None else named
    group = await _fetch(broker, group_id, wanted, require_stable, member_id, member_epoch)
    if group.error_code:
        return group
    found = []
    for answer in group.topics:
        topic_id = image.topic_ids.get(answer.name)
        if topic_id is not None:
            answer.topic_id = topic_id
            found.append(answer)
        await slices.spend()
    group.topics = found + unknown
    return group


def _unknown_topic(wanted: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        topic_id=wanted.topic_id,
        partitions=mapped(
            wanted.partition_indexes,
            lambda index: OffsetFetchResponsePartitions(
                index, NO_OFFSET, metadata="", error_code=ErrorCode.UNKNOWN_TOPIC_ID
            ),
        ),
    )


def _older_topic(topic: OffsetFetchResponseTopics) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(name=topic.name, partitions=mapped(topic.partitions, _older_partition))


def _older_partition(found: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        found.partition_index, found.committed_offset, found.committed_leader_epoch, found.metadata, found.error_code
    )


def error(message: OffsetFetchRequest, version: int, code: ErrorCode, text: str | None = None) -> OffsetFetchResponse:
    if version >= GROUPS_VERSION:
        return OffsetFetchResponse(
            groups=mapped(
                message.groups, lambda group: OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
            )
        )
    if version >= TOP_ERROR_VERSION:
        return OffsetFetchResponse(error_code=code)
    return OffsetFetchResponse(
        topics=mapped(
            message.topics or (),
            lambda topic: OffsetFetchResponseTopic(
                name=topic.name,
                partitions=mapped(
                    topic.partition_indexes,
                    lambda index: OffsetFetchResponsePartition(index, NO_OFFSET, metadata="", error_code=code),
                ),
            ),
        )
    )
