"""The rebalance: members join, the leader assigns the partitions (SyncGroup), and absent members are removed.

Functions change the group in steps, because it may have many members, and add their effects to the :class:`Step`.
Sources: KIP-62 (rebalance timeout), KIP-134 (``group.initial.rebalance.delay.ms``), KIP-345 (static membership).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from kraft.config.group import GroupLimits, group_limits
from kraft.config.log_settings import GroupSettings
from kraft.config.share_settings import ShareSettings
from kraft.coordinator.core import NO_DEADLINE, Token
from kraft.coordinator.groups.effects import Counted, GroupEffects
from kraft.coordinator.groups.group import Group, GroupMember, GroupState
from kraft.coordinator.groups.records import GroupRecord, group_value
from kraft.coordinator.groups.subscription import subscribed_topics
from kraft.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode

MAX_BATCH_BYTES = 1_048_588
"""Kafka's default of ``message.max.bytes``."""
_KAFKAS_LIMITS = group_limits((GroupSettings(), ShareSettings()))
_BATCH_BYTES = 80
"""The size of a batch with one record, without the group id and the value."""


@attrs.frozen
class ConsumerProtocolSettings:
    """Broker settings of the consumer protocol (KIP-848), named as in Kafka without ``group.consumer``."""

    session_timeout_s: float = 45.0
    heartbeat_interval_s: float = 5.0
    max_size: int = 2**31 - 1
    assignment_interval_s: float = 1.0
    regex_refresh_interval_s: float = 600.0
    may_upgrade: bool = True
    may_downgrade: bool = True


@attrs.frozen
class ShareProtocolSettings:
    """Broker settings of share groups (KIP-932), named as in Kafka without ``group.share``."""

    session_timeout_s: float = 45.0
    heartbeat_interval_s: float = 5.0
    max_size: int = 200
    assignment_interval_s: float = 1.0
    initialize_retry_interval_s: float = 30.0


@attrs.frozen
class CoordinatorSettings:
    """Broker settings of the coordinator, named as in Kafka. The retention is compared with timestamps of records."""

    group_min_session_timeout_s: float = 6.0
    group_max_session_timeout_s: float = 1_800.0
    group_initial_rebalance_delay_s: float = 3.0
    group_max_size: int = 2**31 - 1
    offset_metadata_max_bytes: int = 4096
    offsets_retention_ms: int = 7 * 24 * 3600 * 1000
    offsets_commit_timeout_s: float = 5.0
    consumer: ConsumerProtocolSettings = ConsumerProtocolSettings()
    share: ShareProtocolSettings = ShareProtocolSettings()
    group_limits: GroupLimits = _KAFKAS_LIMITS
    """The limits of the settings that a group has in the metadata."""


@attrs.define
class Step:
    """One step of the coordinator: its time, the settings, and the effects so far.

    ``now`` is for timeouts, in seconds. ``timestamp_ms`` is the time as records have it, in milliseconds since the
    epoch, and is compared with times of records only: the system's clock may be set. ``may_write`` returns whether the
    partition has enough replicas in sync for an append with ``acks=all``, and ``max_batch_bytes`` its
    ``max.message.bytes``.
    """

    now: float
    timestamp_ms: int
    settings: CoordinatorSettings
    new_uuid: Callable[[], str]
    may_write: Callable[[], bool] = lambda: True
    max_batch_bytes: Callable[[], int] = lambda: MAX_BATCH_BYTES
    effects: GroupEffects = attrs.Factory(GroupEffects)

    def reply(self, token: Token, message: Any) -> None:
        self.effects.replies.append((token, message))

    def count(self, what: Counted, number: int = 1) -> None:
        """Count events for the metrics, once the records of this step are committed."""
        if number:
            self.effects.counted += ((what, number),)

    def reply_once_committed(self, token: Token, message: Any) -> None:
        """Reply once the records of this step are committed."""
        self.effects.replies_once_committed.append((token, message))

    def persist(self, group: Group, assignments: Mapping[str, bytes] | None = None) -> Steps[GroupRecord | None]:
        """Append the group's metadata, with ``assignments`` instead of the members' own if given.

        Return None, and append nothing, if the batch would exceed ``max.message.bytes``.
        """
        value = yield from group_value(group, assignments)
        if len(group.group_id) + len(value) + _BATCH_BYTES > self.max_batch_bytes():
            return None
        record = GroupRecord(group.group_id, value)
        self.effects.append.append(record)
        return record

    def answer_join(self, member: GroupMember, response: JoinGroupResponse, *, once_committed: bool = False) -> None:
        """Reply to a parked join and restart the member's session timeout."""
        assert member.join is not None
        (self.reply_once_committed if once_committed else self.reply)(member.join, response)
        member.join = None
        member.is_new = False
        member.alive(self.now)

    def answer_sync(self, member: GroupMember, response: SyncGroupResponse) -> None:
        assert member.sync is not None
        self.reply(member.sync, response)
        member.sync = None
        member.alive(self.now)


def join_error(version: int, code: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """Return an error response. Before version 7 the protocol name cannot be null."""
    return JoinGroupResponse(
        error_code=code,
        generation_id=-1,
        protocol_type=None,
        protocol_name=None if version >= 7 else "",
        leader="",
        member_id=member_id,
    )


def current_generation(group: Group, member: GroupMember, *, skip_assignment: bool = False) -> Steps[JoinGroupResponse]:
    """Return the response to a member of the current generation. The leader's also lists the members."""
    yield 1
    leads = group.leader == member.member_id
    members = (yield from group_roster(group)) if leads else []
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader or "",
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=members,
    )


def group_roster(group: Group) -> Steps[list[JoinGroupResponseMember]]:
    """Return every member with its metadata for the elected protocol."""
    roster = []
    for member in group.members.values():
        roster.append(
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(group.protocol_name),
            )
        )
        yield 1
    return roster


def prepare(step: Step, group: Group) -> Steps[None]:
    """Begin a rebalance, or complete the current one if all members have joined."""
    if group.state is GroupState.PREPARING_REBALANCE:
        yield from complete_if_ready(step, group)
        return
    if group.state is GroupState.COMPLETING_REBALANCE:
        for member in group.members.values():
            member.assignment = b""
            if member.sync is not None:
                step.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
            yield 1
    group.awaiting_sync.clear()
    group.sync_deadline = NO_DEADLINE
    group.storing = None
    first = group.state is GroupState.EMPTY
    group.become(GroupState.PREPARING_REBALANCE, step.timestamp_ms)
    delay_s = step.settings.group_initial_rebalance_delay_s
    timeout_s = group.rebalance_timeout_s()
    if first and delay_s > 0:
        group.initial_delay_left_s = max(timeout_s - delay_s, 0.0)
        group.member_added_in_delay = False
        group.join_deadline = step.now + delay_s
    elif first or group.all_joined():
        yield from complete_join(step, group)
    else:
        group.join_deadline = step.now + timeout_s


def complete_if_ready(step: Step, group: Group) -> Steps[None]:
    """Complete the join phase once every member has joined. The initial delay of an empty group is never cut short."""
    if group.state is not GroupState.PREPARING_REBALANCE or group.initial_delay_left_s is not None:
        return
    if group.all_joined():
        yield from complete_join(step, group)


def join_deadline_reached(step: Step, group: Group) -> Steps[None]:
    """Extend the initial delay if members joined during it (KIP-134). Otherwise complete the join phase."""
    left_s = group.initial_delay_left_s
    if left_s is not None and group.member_added_in_delay and left_s > 0:
        delay_s = min(step.settings.group_initial_rebalance_delay_s, left_s)
        group.member_added_in_delay = False
        group.initial_delay_left_s = left_s - delay_s
        group.join_deadline = step.now + delay_s
        return
    yield from complete_join(step, group)


def complete_join(step: Step, group: Group) -> Steps[None]:
    """Remove the dynamic members that did not join, keep the static ones, and begin the next generation."""
    group.initial_delay_left_s = None
    for member in [each for each in group.members.values() if each.join is None and not each.is_static]:
        group.remove(member.member_id)
        yield 1
    joined = [member for member in group.members.values() if member.join is not None]
    if group.members and not joined:
        # Only static members are left, and none has joined. Wait another rebalance timeout for one that can lead.
        group.join_deadline = step.now + group.rebalance_timeout_s()
        return
    group.join_deadline = NO_DEADLINE
    group.generation += 1
    if not group.members:
        group.protocol_name = None
        group.leader = None
        group.topics = yield from subscribed_topics(group)
        group.become(GroupState.EMPTY, step.timestamp_ms)
        yield from step.persist(group)
        return
    if group.leader not in {member.member_id for member in joined}:
        group.leader = joined[0].member_id
    group.protocol_name = yield from group.elect_protocol()
    group.topics = yield from subscribed_topics(group)
    group.become(GroupState.COMPLETING_REBALANCE, step.timestamp_ms)
    group.sync_deadline = step.now + group.rebalance_timeout_s()
    group.awaiting_sync = set(group.members)
    for member in joined:
        step.answer_join(member, (yield from current_generation(group, member)))
    for member in group.members.values():
        member.alive(step.now)


def sync_deadline_reached(step: Step, group: Group) -> Steps[None]:
    """Remove the members that sent no SyncGroup within the rebalance timeout, and begin a new rebalance."""
    for member_id in sorted(group.awaiting_sync):
        group.remove(member_id)
        yield 1
    yield from prepare(step, group)


def assignment_refused(step: Step, group: Group, code: ErrorCode) -> Steps[None]:
    """Refuse the leader's assignment, which cannot be appended or was not committed in time. The parked members rejoin.

    Apache: ``GroupMetadata.propagateAssignment`` with an error, then ``maybePrepareRebalance``.
    """
    for member in group.members.values():
        if member.sync is not None:
            step.answer_sync(member, SyncGroupResponse(error_code=code))
        yield 1
    yield from prepare(step, group)


def drop(step: Step, group: Group, member_id: str) -> None:
    """Remove a member that left or timed out, and refuse its parked requests. Callers then call :func:`settle` once."""
    member = group.remove(member_id)
    if member.join is not None:
        step.answer_join(member, join_error(member.join_version, ErrorCode.UNKNOWN_MEMBER_ID))
    if member.sync is not None:
        step.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))


def settle(step: Step, group: Group) -> Steps[None]:
    """Rebalance, or complete the join phase, without the dropped members."""
    if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        yield from prepare(step, group)
    else:
        yield from complete_if_ready(step, group)


def time_passed(step: Step, group: Group) -> Steps[None]:
    """Handle every deadline of the group that has passed."""
    lapsed = [each for each, until in group.pending.items() if until <= step.now]
    silent = [each.member_id for each in group.members.values() if each.next_deadline <= step.now]
    for member_id in lapsed:
        del group.pending[member_id]
    for member_id in silent:
        drop(step, group, member_id)
        yield 1
    if silent:
        yield from settle(step, group)
    elif lapsed:
        yield from complete_if_ready(step, group)
    if group.join_deadline <= step.now:
        yield from join_deadline_reached(step, group)
    if group.storing is not None and group.storing.deadline <= step.now:
        yield from assignment_refused(step, group, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if group.sync_deadline <= step.now:
        yield from sync_deadline_reached(step, group)
