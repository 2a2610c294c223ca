"""The coordinator of the groups of one partition of ``__consumer_offsets``, pure: ``step(now_ms, event) -> Effects``.

An event is a request, the passing of time, or that records are committed. The driver performs the effects in order:
append, then reply, then sleep until the deadline. Only committed records move the state that offsets and assignments
are answered from. If an append fails, the driver refuses the waiting clients and loads the partition again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator

import attrs

from kraft.coordinator import inquiry, offsets, session
from kraft.coordinator.effects import Effects, GroupRequest
from kraft.coordinator.group import NO_DEADLINE, Group, GroupState
from kraft.coordinator.join import join
from kraft.coordinator.offsets import Offsets
from kraft.coordinator.rebalance import GroupSettings, Turn, prepare, time_passed
from kraft.coordinator.records import CoordinatorRecord, OffsetRecord, decode_group, decode_record
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.join_group_request import JoinGroupRequest
from kraft.messages.leave_group_request import LeaveGroupRequest
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.offset_commit_request import OffsetCommitRequest
from kraft.messages.offset_delete_request import OffsetDeleteRequest
from kraft.messages.sync_group_request import SyncGroupRequest


@attrs.frozen
class DeadlineReached:
    """The deadline of the last step has passed."""


@attrs.frozen
class ExpireOffsets:
    """``offsets.retention.check.interval.ms`` has passed: it is the group's turn."""

    group_id: str


@attrs.frozen
class ForgetTopics:
    """Topics are gone: forget what the group committed for them, so that a new topic of that name starts without."""

    group_id: str
    is_gone: Callable[[str], bool]


@attrs.frozen
class Committed:
    """Records of an earlier step are committed, in the order in which they were appended."""

    records: list[CoordinatorRecord]


Event = GroupRequest | DeadlineReached | ExpireOffsets | ForgetTopics | Committed


_MEMBER_BYTES = 100
_FREED_BYTES = 4
"""What beginning one member's session, and freeing one offset, count for, in bytes of records that take as long to
load."""


def coordinator_partition(group_id: str, partitions: int) -> int:
    """Which partition of ``__consumer_offsets`` a group lives in: the absolute value of Java's ``String.hashCode``,
    where the least int32, which has none, counts as 0."""
    value = 0
    encoded = group_id.encode("utf-16-be")
    for position in range(0, len(encoded), 2):
        value = (31 * value + int.from_bytes(encoded[position : position + 2], "big")) & 0xFFFFFFFF
    absolute = value if value < 2**31 else 2**32 - value
    return absolute % 2**31 % partitions


@attrs.define
class GroupCoordinator:
    """All groups of one partition. ``may_write`` is as in :class:`Turn`."""

    settings: GroupSettings
    new_uuid: Callable[[], str]
    may_write: Callable[[], bool] = lambda: True
    groups: dict[str, Group] = attrs.Factory(dict)
    offsets: Offsets = attrs.Factory(Offsets)
    _alarms: list[tuple[int, str]] = attrs.Factory(list)
    """A heap of (time, group id). An alarm may be early, for sessions are pushed out all the time, but never late."""
    _alarm_of: dict[str, int] = attrs.Factory(dict)

    def step(self, now_ms: int, event: Event) -> Effects:
        turn = Turn(now_ms, self.settings, self.new_uuid, self.may_write)
        match event:
            case GroupRequest():
                self._request(turn, event)
            case Committed():
                for record in event.records:
                    self._committed(turn, record)
            case ExpireOffsets():
                offsets.expire(turn, self.groups, self.offsets, event.group_id)
            case ForgetTopics():
                offsets.forget_topics(turn, self.offsets, event.group_id, event.is_gone)
            case DeadlineReached():
                self._ring(turn)
        turn.effects.deadline_ms = self.deadline_ms
        return turn.effects

    @property
    def deadline_ms(self) -> int:
        """When the next :class:`DeadlineReached` is due."""
        return self._alarms[0][0] if self._alarms else NO_DEADLINE

    def _request(self, turn: Turn, request: GroupRequest) -> None:
        message = request.message
        match message:
            case HeartbeatRequest():
                session.heartbeat(turn, self.groups, request)
            case OffsetCommitRequest():
                offsets.commit(turn, self.groups, self.offsets, request)
            case JoinGroupRequest():
                join(turn, self.groups, request)
            case SyncGroupRequest():
                session.sync(turn, self.groups, request)
            case LeaveGroupRequest():
                session.leave(turn, self.groups, request)
            case DescribeGroupsRequest():
                turn.reply(request.token, inquiry.describe(self.groups, request))
            case ListGroupsRequest():
                turn.reply(request.token, inquiry.listed(self.groups, message))
            case DeleteGroupsRequest():
                inquiry.delete(turn, self.groups, self.offsets, request)
            case OffsetDeleteRequest():
                inquiry.delete_offsets(turn, self.groups, self.offsets, request)
            case _:
                raise TypeError(f"not a request of the group coordinator: {type(message).__name__}")
        self._set_alarm(getattr(message, "group_id", ""))

    def _committed(self, turn: Turn, record: CoordinatorRecord) -> None:
        """Offsets are answered from now on, and members are told their assignment. Of all else that a group's record
        says, the group in memory is ahead."""
        if isinstance(record, OffsetRecord):
            self.offsets.replay(record)
            return
        group = self.groups.get(record.group_id)
        if group is not None and group.storing is not None and group.storing.record is record:
            session.assignment_committed(turn, group)
            self._set_alarm(record.group_id)

    def _set_alarm(self, group_id: str) -> None:
        group = self.groups.get(group_id)
        if group is None:
            return
        at_ms = group.deadline_ms()
        if at_ms < self._alarm_of.get(group_id, NO_DEADLINE):
            self._alarm_of[group_id] = at_ms
            heapq.heappush(self._alarms, (at_ms, group_id))

    def _ring(self, turn: Turn) -> None:
        due = []
        while self._alarms and self._alarms[0][0] <= turn.now_ms:
            at_ms, group_id = heapq.heappop(self._alarms)
            if self._alarm_of.get(group_id) == at_ms:
                del self._alarm_of[group_id]
                due.append(group_id)
        for group_id in due:
            group = self.groups.get(group_id)
            if group is not None:
                time_passed(turn, group)
                self._set_alarm(group_id)

    def load(self, records: Iterable[tuple[bytes | None, bytes | None]]) -> Iterator[int]:
        """Take over a partition by replaying its (key, value) pairs in log order. All of them must be committed before
        anybody is answered.

        The caller draws the pieces of the work, each with its size in bytes, and may pause after any of them.

        Raises:
            DecodeError: a record is damaged.
        """
        for key, value in records:
            record = decode_record(key, value)
            if isinstance(record, OffsetRecord):
                self.offsets.replay(record)
            elif record is not None and record.value is None:
                self.groups.pop(record.group_id, None)
            elif record is not None and record.value is not None:
                self.groups[record.group_id] = decode_group(record.group_id, record.value)
            yield len(key or b"") + len(value or b"")

    def begin(self, now_ms: int) -> Iterator[int]:
        """Let the loaded members' sessions run, each for its whole length. The caller draws pieces, as of load."""
        for group_id in list(self.offsets.by_group):
            # A group that only ever committed has no metadata record of its own.
            self.groups.setdefault(group_id, Group(group_id, state_since_ms=now_ms))
            yield len(group_id)
        for group_id, group in self.groups.items():
            for member in group.members.values():
                member.alive(now_ms)
            if len(group.members) > self.settings.group_max_size and group.state is GroupState.STABLE:
                # ``group.max.size`` was lowered: a rebalance sheds the surplus, and gives it time to commit.
                prepare(Turn(now_ms, self.settings, self.new_uuid), group)
            self._set_alarm(group_id)
            yield len(group_id) + _MEMBER_BYTES * len(group.members)

    def unload(self) -> Iterator[int]:
        """Free the offsets, which takes a while where there are many. The caller draws pieces, as of load."""
        for table in self.offsets.by_group.values():
            while table:
                table.popitem()
                yield _FREED_BYTES

    def waiting(self) -> list[object]:
        """The tokens of the requests that are parked in the groups."""
        return [
            token
            for group in self.groups.values()
            for member in group.members.values()
            for token in (member.join, member.sync)
            if token is not None
        ]
