"""Committed offsets: fetch, commit, deletion and expiry.

A commit, a deletion or an expiry appends records. :meth:`Offsets.replay` applies them once they are committed, and also
when ``__consumer_offsets`` is loaded. OffsetFetch reads only what was replayed; the other requests also consider the
appended records. Retention and expiry are counted in milliseconds, as timestamps are. Source: KIP-211 (expiry).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, Protocol
from uuid import UUID

import attrs

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.groups.consumer.registry import ConsumerGroups
from kraft.coordinator.groups.effects import Counted
from kraft.coordinator.groups.group import CONSUMER_PROTOCOL, NO_TIMESTAMP, Group, GroupState
from kraft.coordinator.groups.join import member_of
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.records import CommittedOffset, GroupRecord, OffsetRecord
from kraft.coordinator.groups.transactional_offsets import TopicPartition, TransactionalOffsets
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kraft.messages.offset_fetch_response import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kraft.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kraft.metadata.steps import Steps
from kraft.records.batch import NO_PRODUCER_ID
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.freeing import free_in_steps
from kraft.wire.uuids import ZERO_UUID

GROUP_ID_NOT_FOUND_VERSION = 9
"""The first version in which OffsetCommit returns GROUP_ID_NOT_FOUND (KIP-848)."""
MAX_TOMBSTONES = 1_000
"""Not a Kafka setting. The maximum number of tombstones that one ExpireOffsets or ForgetTopics appends. The driver
repeats the event for the rest.
"""
NO_OFFSET = -1
_RECORD_BYTES = 42
"""The size of a commit's record without its texts."""
_EXAMINED_AT_ONCE = 200
"""The offsets that are examined in a step. The cost of one is a half."""
_MEASURED_AT_ONCE, _MEASURING_COST = 1000, 200
"""The topics and offsets that are measured in a step, and its cost."""
_LAST_TIMESTAMP = 2**63 - 1
_NOTHING_COMMITTED = CommittedOffset(NO_OFFSET, -1, "", NO_TIMESTAMP)


@attrs.define
class Offsets:
    """``by_group[group_id][topic, partition]`` is the last committed offset. ``pending`` holds the last record of each
    key that is appended but not committed. ``transactional`` has the offsets of open transactions. ``topic_id`` returns
    the present id of a topic, zero if unknown, for new offsets.
    """

    topic_id: Callable[[str], UUID] = lambda _: ZERO_UUID
    by_group: dict[str, dict[TopicPartition, CommittedOffset]] = attrs.Factory(dict)
    pending: dict[str, dict[TopicPartition, OffsetRecord]] = attrs.Factory(dict)
    transactional: TransactionalOffsets = attrs.Factory(TransactionalOffsets)

    def write(self, step: Step, record: OffsetRecord) -> None:
        """Append one record."""
        step.effects.append.append(record)
        key = record.topic, record.partition
        if record.producer_id != NO_PRODUCER_ID:
            self.transactional.appended.setdefault(record.group_id, {})[key] = record
            return
        self.pending.setdefault(record.group_id, {})[key] = record
        if record.committed is None:
            _drop(self.transactional.appended, record.group_id, key)

    def replay(self, record: OffsetRecord) -> None:
        """Apply one committed record."""
        group_id, key = record.group_id, (record.topic, record.partition)
        is_transactional = record.producer_id != NO_PRODUCER_ID
        appended = self.transactional.appended if is_transactional else self.pending
        pending = appended.get(group_id)
        if pending is not None and pending.get(key) is record:
            del pending[key]
            if not pending:
                del appended[group_id]
        if is_transactional:
            self.transactional.replay(record)
            return
        if record.committed is not None:
            self.by_group.setdefault(group_id, {})[key] = record.committed
            if self.transactional.by_group:
                self.transactional.replaced(group_id, key)
            return
        self.transactional.deleted(group_id, key)
        table = self.by_group.get(group_id, {})
        table.pop(key, None)
        if not table:
            self.by_group.pop(group_id, None)

    def end(self, producer_id: int, *, is_committed: bool) -> Steps[None]:
        """Apply the marker that ends a producer's transaction."""
        yield from self.transactional.end(producer_id, self.by_group, is_committed=is_committed)

    def of(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        return self.by_group.get(group_id, {})

    def written(self, group_id: str) -> dict[TopicPartition, object]:
        """Return the partitions that have an offset once all appended records are committed."""
        partitions: dict[TopicPartition, object] = {**self.of(group_id)}  # a copy is the fastest for many of them
        partitions.update(self.transactional.by_group.get(group_id, ()))
        for key, record in self.pending.get(group_id, {}).items():
            if record.committed is None:
                partitions.pop(key, None)
            else:
                partitions[key] = None
        partitions.update(dict.fromkeys(self.transactional.appended.get(group_id, ())))
        return partitions

    def groups(self) -> list[str]:
        """Return the groups that have an offset, or will have one once all appended records are committed."""
        return list({**self.by_group, **self.pending, **self.transactional.by_group, **self.transactional.appended})

    def is_of_former_topic(self, group_id: str, key: TopicPartition) -> bool:
        """Return whether an offset of the partition, also an uncommitted one, is of a deleted topic of this name."""
        present = self.topic_id(key[0])
        if present == ZERO_UUID:
            return False
        found = [self.of(group_id).get(key), *self.transactional.of(group_id, key)]
        record = self.pending.get(group_id, {}).get(key)
        if record is not None:
            found.append(record.committed)
        return any(each is not None and each.topic_id not in (present, ZERO_UUID) for each in found)

    def is_unstable(self, group_id: str, key: TopicPartition) -> bool:
        """Return whether an append that is not committed, or an open transaction, may still change an offset."""
        return key in self.pending.get(group_id, ()) or self.transactional.is_unstable(group_id, key)


def _drop(records: dict[str, dict[TopicPartition, OffsetRecord]], group_id: str, key: TopicPartition) -> None:
    keys = records.get(group_id, {})
    keys.pop(key, None)
    if not keys:
        records.pop(group_id, None)


class WantedTopic(Protocol):
    """A topic of OffsetFetch, in the form of any version."""

    @property
    def name(self) -> str: ...
    @property
    def partition_indexes(self) -> Sequence[int]: ...


def fetched(
    offsets: Offsets, group_id: str, topics: Sequence[WantedTopic] | None, *, require_stable: bool = False
) -> Generator[int, None, OffsetFetchResponseGroup]:
    """Return the committed offsets of one group, -1 for a partition without one. Null topics request all.

    With ``require_stable`` an offset that may still change is UNSTABLE_OFFSET_COMMIT, and the client retries (KIP-447).
    A partition that is named twice is returned once: each has metadata of up to ``offset.metadata.max.bytes``. After
    each topic and each partition it yields 1, so that the caller can pause.
    """
    table = offsets.of(group_id)
    answers: dict[str, OffsetFetchResponseTopics] = {}
    named: set[TopicPartition] = set()
    wanted = [(name, (index,)) for name, index in table] if topics is None else _named(topics)
    for name, indexes in wanted:
        topic = answers.get(name)
        if topic is None:
            topic = answers[name] = OffsetFetchResponseTopics(name)
        for index in indexes:
            key = name, index
            if key not in named:
                named.add(key)
                is_unstable = require_stable and offsets.is_unstable(group_id, key)
                found = _NOTHING_COMMITTED if is_unstable else table.get(key, _NOTHING_COMMITTED)
                code = ErrorCode.UNSTABLE_OFFSET_COMMIT if is_unstable else ErrorCode.NONE
                topic.partitions.append(
                    OffsetFetchResponsePartitions(index, found.offset, found.leader_epoch, found.metadata, code)
                )
            yield 1
        yield 1
    owned: list[Any] = [named]
    del named
    yield from free_in_steps(owned)
    return OffsetFetchResponseGroup(group_id=group_id, topics=list(answers.values()))


def _named(topics: Iterable[WantedTopic]) -> Iterator[tuple[str, Sequence[int]]]:
    for topic in topics:
        yield topic.name, topic.partition_indexes


def commit(
    step: Step, groups: dict[str, Group], consumers: ConsumerGroups, offsets: Offsets, request: CoordinatorRequest
) -> Steps[None]:
    """Append the offsets if the sender may commit for the group. Otherwise every partition gets the error."""
    message: OffsetCommitRequest = request.message
    reply = step.reply_once_committed
    try:
        if message.group_id in consumers.groups:
            yield from consumers.check_commit(message, request.version)
        else:
            _check_committer(step, groups, request)
        if not step.may_write():
            reply = step.reply  # the records before it may stay uncommitted for as long
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if (yield from batch_bytes(message)) > step.max_batch_bytes():
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if message.group_id not in groups and message.group_id not in consumers.groups:
            groups[message.group_id] = Group(message.group_id, state_since_ms=step.timestamp_ms)
        refused = ErrorCode.NONE
    except KafkaError as error:
        refused = error.code
    response = OffsetCommitResponse()
    for topic in message.topics:
        results = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        response.topics.append(results)
        for partition in topic.partitions:
            code = refused or _commit_one(step, offsets, message, topic.name, partition)
            results.partitions.append(
                OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
            )
            yield 1
        yield 1
    step.count(Counted.OFFSET_COMMITS, len(step.effects.append))
    reply(request.token, response)


def batch_bytes(message: OffsetCommitRequest | TxnOffsetCommitRequest) -> Steps[int]:
    """Return the size of a commit's batch: each record has the group's id, which the request has once."""
    size = measured = 0
    topics: Sequence[OffsetCommitRequestTopic | TxnOffsetCommitRequestTopic] = message.topics
    for topic in topics:
        size += len(topic.partitions) * (len(message.group_id) + len(topic.name) + _RECORD_BYTES)
        measured += 1
        partitions: Sequence[OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition] = topic.partitions
        rest = iter(partitions)
        while some := list(islice(rest, _MEASURED_AT_ONCE)):
            size += sum(len(each.committed_metadata or "") for each in some)
            measured += len(some)
            if measured >= _MEASURED_AT_ONCE:
                measured = 0
                yield _MEASURING_COST
    return size


def _check_committer(step: Step, groups: dict[str, Group], request: CoordinatorRequest) -> None:
    """A member commits with its generation. Any client may commit without a generation for a group without members."""
    message: OffsetCommitRequest = request.message
    group = groups.get(message.group_id)
    generation = message.generation_id_or_member_epoch
    if group is None:
        if generation >= 0:
            is_known = request.version >= GROUP_ID_NOT_FOUND_VERSION
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND if is_known else ErrorCode.ILLEGAL_GENERATION)
        return
    if generation < 0 and group.state is GroupState.EMPTY:
        return
    member = member_of(group, message.member_id, message.group_instance_id)
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if group.state is GroupState.COMPLETING_REBALANCE:
        # The member belongs to the generation, but does not know its assignment yet.
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    member.alive(step.now)


def _commit_one(
    step: Step,
    offsets: Offsets,
    message: OffsetCommitRequest,
    topic: str,
    partition: OffsetCommitRequestPartition,
) -> ErrorCode:
    metadata = partition.committed_metadata or ""
    if len(metadata) > step.settings.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    retention_ms = message.retention_time_ms
    committed = CommittedOffset(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=metadata,
        commit_timestamp_ms=step.timestamp_ms,
        expire_timestamp_ms=NO_TIMESTAMP
        if retention_ms < 0
        else min(step.timestamp_ms + retention_ms, _LAST_TIMESTAMP),
        topic_id=offsets.topic_id(topic),
    )
    offsets.write(step, OffsetRecord(message.group_id, topic, partition.partition_index, committed))
    return ErrorCode.NONE


def forget(step: Step, offsets: Offsets, group_id: str, partitions: Iterable[TopicPartition]) -> Steps[None]:
    """Append tombstones for some of a group's offsets."""
    for topic, partition in partitions:
        offsets.write(step, OffsetRecord(group_id, topic, partition, None))
        yield 1


def forget_topics(step: Step, offsets: Offsets, group_id: str, is_gone: Callable[[str], bool]) -> Steps[None]:
    """Append tombstones for the group's offsets of deleted topics, at most ``MAX_TOMBSTONES``.

    A topic is deleted if ``is_gone`` says so of its name, or if the present topic of that name has another id.
    """

    def is_chosen(key: TopicPartition) -> bool:
        return is_gone(key[0]) or offsets.is_of_former_topic(group_id, key)

    yield from _forget_some(step, offsets, group_id, offsets.written(group_id), is_chosen)


def _forget_some(
    step: Step,
    offsets: Offsets,
    group_id: str,
    partitions: Iterable[TopicPartition],
    is_chosen: Callable[[TopicPartition], bool],
) -> Steps[None]:
    """Append tombstones for the chosen partitions, at most ``MAX_TOMBSTONES``."""
    rest = iter(partitions)
    while len(step.effects.append) < MAX_TOMBSTONES and (some := list(islice(rest, _EXAMINED_AT_ONCE))):
        chosen = [each for each in some if is_chosen(each)]
        yield 1 + len(some) // 2
        yield from forget(step, offsets, group_id, chosen[: MAX_TOMBSTONES - len(step.effects.append)])


def expire(
    step: Step, groups: dict[str, Group], consumers: ConsumerGroups, offsets: Offsets, group_id: str
) -> Steps[None]:
    """Append tombstones for offsets older than ``offsets.retention.minutes``, at most ``MAX_TOMBSTONES``.

    Delete the group, too, if it has neither members nor offsets left. If too few replicas are in sync, do nothing: the
    driver repeats the event after the interval.
    """
    if not step.may_write():
        return
    group, consumer = groups.get(group_id), consumers.groups.get(group_id)
    is_old: Callable[[str, CommittedOffset], bool]
    if group is not None:
        is_old = partial(_expired, step, group)
        # A group with pending member ids is about to have members.
        is_unused = group.state is GroupState.EMPTY and not group.pending
    elif consumer is not None:
        # The topics of an expression are not known before its first search ends.
        if any(each.regex and each.regex not in consumer.regexes for each in consumer.members.values()):
            return
        is_old = partial(_expired_unread, step, consumer.subscribed_topics())
        is_unused = not consumer.members
    else:
        return
    table = offsets.of(group_id)

    def is_chosen(key: TopicPartition) -> bool:
        return not offsets.is_unstable(group_id, key) and is_old(key[0], table[key])

    yield from _forget_some(step, offsets, group_id, table, is_chosen)
    step.count(Counted.OFFSET_EXPIRATIONS, len(step.effects.append))
    if is_unused and not offsets.written(group_id):
        with suppress(KafkaError):  # the next check deletes the group
            yield from delete_group(step, groups, consumers, group_id)


def delete_group(step: Step, groups: dict[str, Group], consumers: ConsumerGroups, group_id: str) -> Steps[None]:
    """Remove a group without members, and append its tombstones. Raises KafkaError as :meth:`ConsumerGroups.delete`."""
    if group_id in consumers.groups:
        yield from consumers.delete(step, group_id)
        return
    group = groups.pop(group_id)
    group.become(GroupState.DEAD, step.timestamp_ms)
    step.effects.append.append(GroupRecord(group_id, None))


def _expired(step: Step, group: Group, topic: str, committed: CommittedOffset) -> bool:
    """Return whether an offset has expired (KIP-211).

    The retention of a group that never had members starts at the commit. That of an empty group starts when its last
    member left. While a stable group has consumers, only offsets of topics without a subscription expire, counted from
    the commit.
    """
    since_ms = committed.commit_timestamp_ms
    if group.protocol_type is not None:
        if group.state is GroupState.EMPTY:
            since_ms = since_ms if group.state_since_ms == NO_TIMESTAMP else group.state_since_ms
        elif group.state is not GroupState.STABLE or group.protocol_type != CONSUMER_PROTOCOL:
            return False
    if group.subscribes_to(topic):
        return False
    return _lapsed(step, committed, since_ms)


def _expired_unread(step: Step, read: frozenset[str], topic: str, committed: CommittedOffset) -> bool:
    """Return whether an offset of a consumer group has expired. Those of the topics that it reads do not."""
    return topic not in read and _lapsed(step, committed)


def _lapsed(step: Step, committed: CommittedOffset, since_ms: int | None = None) -> bool:
    """Return whether the retention of an offset is over. It starts at the commit by default."""
    if committed.expire_timestamp_ms != NO_TIMESTAMP:
        return step.timestamp_ms >= committed.expire_timestamp_ms
    start_ms = committed.commit_timestamp_ms if since_ms is None else since_ms
    return step.timestamp_ms - start_ms >= step.settings.offsets_retention_ms
