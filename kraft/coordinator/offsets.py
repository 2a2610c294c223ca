"""Committed offsets: who may commit, what is remembered, when it is forgotten.

The table moves only by :meth:`Offsets.replay`, with the records that a commit, a deletion or an expiry produced;
loading ``__consumer_offsets`` is the same call. Times are wall-clock milliseconds. Source: KIP-211 (expiry).
"""

from __future__ import annotations

from collections.abc import Iterable, Set

import attrs

from kraft.coordinator.effects import Append, GroupRequest
from kraft.coordinator.group import CONSUMER_PROTOCOL, NO_TIMESTAMP, Group, GroupState
from kraft.coordinator.join import member_of
from kraft.coordinator.rebalance import Turn
from kraft.coordinator.records import CommittedOffset, group_key, offset_key, offset_value
from kraft.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestPartition
from kraft.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kraft.wire.errors import ErrorCode, KafkaError

TopicPartition = tuple[str, int]
GROUP_NOT_FOUND_SAID_VERSION = 9
"""From this version on a commit may say GROUP_ID_NOT_FOUND (KIP-848)."""
_LAST_TIMESTAMP = 2**63 - 1


@attrs.define
class Offsets:
    """``by_group[group_id][topic, partition]`` is the last commit."""

    by_group: dict[str, dict[TopicPartition, CommittedOffset]] = attrs.Factory(dict)

    def replay(self, group_id: str, topic: str, partition: int, committed: CommittedOffset | None) -> None:
        """Apply one record; None is a tombstone."""
        if committed is not None:
            self.by_group.setdefault(group_id, {})[topic, partition] = committed
            return
        table = self.by_group.get(group_id, {})
        table.pop((topic, partition), None)
        if not table:
            self.by_group.pop(group_id, None)

    def of(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        return self.by_group.get(group_id, {})


def commit(turn: Turn, groups: dict[str, Group], offsets: Offsets, request: GroupRequest) -> None:
    """Remember the offsets if the sender may commit for the group; else every partition carries the reason."""
    message: OffsetCommitRequest = request.message
    try:
        _check_committer(turn, groups, request)
        refused = ErrorCode.NONE
    except KafkaError as error:
        refused = error.code
    response = OffsetCommitResponse()
    for topic in message.topics:
        told = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        response.topics.append(told)
        for partition in topic.partitions:
            code = refused or _commit_one(turn, offsets, message, topic.name, partition)
            told.partitions.append(
                OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
            )
    turn.reply(request.token, response)


def _check_committer(turn: Turn, groups: dict[str, Group], request: GroupRequest) -> None:
    """A member commits in its generation; anyone may commit, without generation, for a group that has no members."""
    message: OffsetCommitRequest = request.message
    group = groups.get(message.group_id)
    generation = message.generation_id_or_member_epoch
    if group is None:
        if generation >= 0:
            said = request.version >= GROUP_NOT_FOUND_SAID_VERSION
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND if said else ErrorCode.ILLEGAL_GENERATION)
        groups[message.group_id] = Group(message.group_id, state_since_ms=turn.now_ms)
        return
    if generation < 0 and group.state is GroupState.EMPTY:
        return
    member = member_of(group, message.member_id, message.group_instance_id)
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if group.state is GroupState.COMPLETING_REBALANCE:
        # It belongs to the generation, but has not learned its assignment yet.
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    member.alive(turn.now_ms)


def _commit_one(
    turn: Turn,
    offsets: Offsets,
    message: OffsetCommitRequest,
    topic: str,
    partition: OffsetCommitRequestPartition,
) -> ErrorCode:
    metadata = partition.committed_metadata or ""
    if len(metadata) > turn.settings.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    retention_ms = message.retention_time_ms
    committed = CommittedOffset(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=metadata,
        commit_timestamp_ms=turn.now_ms,
        expire_timestamp_ms=NO_TIMESTAMP if retention_ms < 0 else min(turn.now_ms + retention_ms, _LAST_TIMESTAMP),
    )
    key = offset_key(message.group_id, topic, partition.partition_index)
    turn.effects.append.append(Append(message.group_id, key, offset_value(committed)))
    offsets.replay(message.group_id, topic, partition.partition_index, committed)
    return ErrorCode.NONE


def forget(turn: Turn, offsets: Offsets, group_id: str, partitions: Iterable[TopicPartition]) -> None:
    """Write tombstones for some of a group's offsets."""
    for topic, partition in list(partitions):
        turn.effects.append.append(Append(group_id, offset_key(group_id, topic, partition), None))
        offsets.replay(group_id, topic, partition, None)


def forget_topics(turn: Turn, offsets: Offsets, names: Set[str]) -> None:
    """Forget what any group committed for these topics."""
    for group_id, table in list(offsets.by_group.items()):
        forget(turn, offsets, group_id, [each for each in table if each[0] in names])


def expire(turn: Turn, groups: dict[str, Group], offsets: Offsets) -> None:
    """Forget what is older than ``offsets.retention.minutes``, and the groups of which nothing is left."""
    for group_id, group in list(groups.items()):
        table = offsets.of(group_id)
        forget(turn, offsets, group_id, [each for each in table if _expired(turn, group, each[0], table[each])])
        # A group that has handed out ids is about to have members.
        if group.state is GroupState.EMPTY and not group.pending and not offsets.of(group_id):
            bury(turn, groups, group_id)


def bury(turn: Turn, groups: dict[str, Group], group_id: str) -> None:
    """The group is no more; its tombstone says so to the next coordinator."""
    group = groups.pop(group_id)
    group.become(GroupState.DEAD, turn.now_ms)
    turn.effects.append.append(Append(group_id, group_key(group_id), None))


def _expired(turn: Turn, group: Group, topic: str, committed: CommittedOffset) -> bool:
    """KIP-211: the time runs from the commit if the group never had members, from the moment the last one left if it
    had; while consumers are there, only for topics that they no longer read."""
    since_ms = committed.commit_timestamp_ms
    if group.protocol_type is not None:
        if group.state is GroupState.EMPTY:
            since_ms = since_ms if group.state_since_ms == NO_TIMESTAMP else group.state_since_ms
        elif group.state is not GroupState.STABLE or group.protocol_type != CONSUMER_PROTOCOL:
            return False
    if group.subscribes_to(topic):
        return False
    if committed.expire_timestamp_ms != NO_TIMESTAMP:
        return turn.now_ms >= committed.expire_timestamp_ms
    return turn.now_ms - since_ms >= turn.settings.offsets_retention_ms
