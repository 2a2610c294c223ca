"""ListOffsets (key 2): the first offset of a partition, the last one, or that of a timestamp.

Versions 1 to 11.

| version | change |
|---|---|
| 2 | isolation level |
| 4 | leader epochs (KIP-320) |
| 5 | OFFSET_NOT_AVAILABLE (KIP-207) |
| 6 | flexible |
| 7 | the offset of the greatest timestamp (KIP-734) |
| 8 | the first offset on local disk (KIP-405): here the log start offset |
| 9 | the last offset in tiered storage: here none |
| 10 | a timeout for tiered storage (KIP-1075): here without effect |
| 11 | the first offset that waits for its upload to tiered storage (KIP-1023): here none |
"""

from __future__ import annotations

import enum
from collections import Counter

import attrs

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from kraft.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kraft.messages.registry import ApiKey
from kraft.replication.partition import HostedPartition
from kraft.rpc.channel import Parked, Reply, Request
from kraft.storage.lookup import TimestampedOffset
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices
from kraft.world.world import World

ROW = Api(
    ApiKey.LIST_OFFSETS,
    versions={ListenerType.BROKER: (1, 11), ListenerType.ZK_BROKER: (1, 11)},
    permissions=((Operation.DESCRIBE, Resource.TOPIC),),
)

READ_COMMITTED = 1
_SLICE_PARTITIONS = 200
_SLICE_COUNTED = 2000
NOTHING = -1


class Special(enum.IntEnum):
    """Timestamps with a special meaning."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


_SINCE_VERSION = {
    Special.MAX_TIMESTAMP: 7,
    Special.EARLIEST_LOCAL: 8,
    Special.LATEST_TIERED: 9,
    Special.EARLIEST_PENDING_UPLOAD: 11,
}
_EPOCH_SINCE_VERSION = 4
_OFFSET_NOT_AVAILABLE_SINCE = 5


async def at_broker(broker: BrokerContext, request: Request, message: ListOffsetsRequest) -> Reply:
    bound = _Bound(message.isolation_level == READ_COMMITTED, message.replica_id >= 0)
    if any(_is_in_records(wanted.timestamp) for topic in message.topics for wanted in topic.partitions):
        return Parked(lambda: _answer(broker, request.api_version, message, bound))
    return await _answer(broker, request.api_version, message, bound)


at_zk_broker = at_broker


async def _answer(
    broker: BrokerContext, version: int, message: ListOffsetsRequest, bound: _Bound
) -> ListOffsetsResponse:
    slices = Slices(_SLICE_PARTITIONS)
    times: Counter[tuple[str, int]] = Counter()
    counting = Slices(_SLICE_COUNTED)
    for topic in message.topics:
        for wanted in topic.partitions:
            times[topic.name, wanted.partition_index] += 1
            await counting.spend()
        await counting.spend()
    topics = []
    for topic in message.topics:
        answers = []
        twice: dict[int, None] = {}
        for wanted in topic.partitions:
            if times[topic.name, wanted.partition_index] == 1:
                answers.append(await _one(broker, topic.name, wanted, version, bound))
            else:
                twice[wanted.partition_index] = None
            await slices.spend()
        for index in twice:
            answers.append(ListOffsetsPartitionResponse(index, ErrorCode.INVALID_REQUEST))
            await slices.spend()
        topics.append(ListOffsetsTopicResponse(name=topic.name, partitions=answers))
        await slices.spend()
    return ListOffsetsResponse(topics=topics)


async def _one(
    broker: BrokerContext, topic: str, wanted: ListOffsetsPartition, version: int, bound: _Bound
) -> ListOffsetsPartitionResponse:
    answer = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
    try:
        if version < _SINCE_VERSION.get(wanted.timestamp, 0) or wanted.timestamp < min(Special):  # type: ignore[call-overload]
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        partition = broker.replicas.leader_of(topic, wanted.partition_index)
        partition.check_epoch(wanted.current_leader_epoch)
        answer.timestamp, answer.offset, epoch = await _look_up(
            partition, wanted.timestamp, bound, version, broker.replicas.world
        )
        if version >= _EPOCH_SINCE_VERSION:
            answer.leader_epoch = epoch
    except KafkaError as refused:
        answer.error_code = refused.code
    return answer


def _is_in_records(timestamp: int) -> bool:
    """Whether an answer needs the log's records, and not only its offsets."""
    return timestamp >= 0 or timestamp == Special.MAX_TIMESTAMP


@attrs.frozen
class _Bound:
    """Where the reader's log ends: at the high watermark, at the last stable offset, or for a follower at the end."""

    is_stable: bool
    is_follower: bool

    def upper(self, partition: HostedPartition) -> int:
        if self.is_follower:
            return partition.log.log_end_offset
        return partition.last_stable_offset if self.is_stable else partition.high_watermark


async def _look_up(
    partition: HostedPartition, timestamp: int, bound: _Bound, version: int, world: World
) -> tuple[int, int, int]:
    """Return (timestamp, offset, leader epoch); -1 for each that is unknown.

    Raises KafkaError as ``_check_known``, or if the log cannot be read.
    """
    log = partition.log
    upper = bound.upper(partition)
    if timestamp == Special.LATEST:
        _check_known(partition, bound, version)
        return NOTHING, upper, partition.state.leader_epoch
    if timestamp in (Special.EARLIEST, Special.EARLIEST_LOCAL):
        return NOTHING, log.log_start_offset, _first_epoch(partition)
    if timestamp in (Special.LATEST_TIERED, Special.EARLIEST_PENDING_UPLOAD):
        return NOTHING, NOTHING, NOTHING
    found = await _in_records(partition, timestamp, world)
    if found is None or found.offset >= upper:
        _check_known(partition, bound, version)
        return NOTHING, NOTHING, NOTHING
    return found.timestamp, found.offset, found.leader_epoch


async def _in_records(partition: HostedPartition, timestamp: int, world: World) -> TimestampedOffset | None:
    """Look for a record in slices, and check afterwards that this broker still leads.

    Raises KafkaError NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR or as ``Log.offset_for_timestamp``.
    """
    log, leadership = partition.log, partition.leadership

    def check_leads() -> None:
        if partition.leadership is not leadership:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    try:
        if timestamp == Special.MAX_TIMESTAMP:
            found = await log.newest_record(world.compute)
        else:
            found = await log.offset_for_timestamp(timestamp, world.compute)
    except KafkaError:
        check_leads()
        raise
    except OSError as error:
        check_leads()
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
    check_leads()
    return found


def _check_known(partition: HostedPartition, bound: _Bound, version: int) -> None:
    """Check that the high watermark is in this leader's epoch, so that no client sees an offset go back (KIP-207).

    Raises KafkaError OFFSET_NOT_AVAILABLE, before version 5 LEADER_NOT_AVAILABLE.
    """
    leadership = partition.leadership
    if not bound.is_follower and leadership is not None and partition.high_watermark < leadership.epoch_start_offset:
        known = version >= _OFFSET_NOT_AVAILABLE_SINCE
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE if known else ErrorCode.LEADER_NOT_AVAILABLE)


def _first_epoch(partition: HostedPartition) -> int:
    """Return the leader epoch of the first record; the present one for an empty log."""
    log = partition.log
    if log.log_start_offset == log.log_end_offset:
        return partition.state.leader_epoch
    return log.epochs.epoch_at(log.log_start_offset)


def error(message: ListOffsetsRequest, version: int, code: ErrorCode, text: str | None = None) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=mapped(
            message.topics,
            lambda topic: ListOffsetsTopicResponse(
                name=topic.name,
                partitions=mapped(
                    topic.partitions, lambda wanted: ListOffsetsPartitionResponse(wanted.partition_index, code)
                ),
            ),
        )
    )
