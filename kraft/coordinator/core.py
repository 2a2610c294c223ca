"""The group coordinator of a broker as one pure core: ``step(now_ms, event) -> Effects``.

An event is a request or the passing of time. The driver performs the effects in order (append, then reply, then sleep
until the deadline); if an append fails it tells the waiting clients so and loads the partition anew.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

import attrs

from kraft.coordinator import inquiry, offsets, session
from kraft.coordinator.effects import Effects, GroupRequest
from kraft.coordinator.group import NO_DEADLINE, Group, GroupState
from kraft.coordinator.join import join
from kraft.coordinator.offsets import Offsets
from kraft.coordinator.rebalance import GroupSettings, Turn, prepare, time_passed
from kraft.coordinator.records import decode_group, decode_key, decode_offset
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.group_metadata_key import GroupMetadataKey
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.join_group_request import JoinGroupRequest
from kraft.messages.leave_group_request import LeaveGroupRequest
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.offset_commit_request import OffsetCommitRequest
from kraft.messages.offset_delete_request import OffsetDeleteRequest
from kraft.messages.sync_group_request import SyncGroupRequest


@attrs.frozen
class Timeout:
    """The deadline of the last step has passed."""


@attrs.frozen
class ExpireOffsets:
    """``offsets.retention.check.interval.ms`` has passed."""


@attrs.frozen
class TopicsDeleted:
    """Topics are gone; a later topic of the same name starts without what was committed for them."""

    names: frozenset[str]


Event = GroupRequest | Timeout | ExpireOffsets | TopicsDeleted


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
    """All groups of the partitions that this broker coordinates."""

    settings: GroupSettings
    new_uuid: Callable[[], str]
    groups: dict[str, Group] = attrs.Factory(dict)
    offsets: Offsets = attrs.Factory(Offsets)
    _alarms: list[tuple[int, str]] = attrs.Factory(list)
    """A heap of (time, group id). An alarm may be early, for sessions are pushed out all the time, but never late."""
    _alarm_of: dict[str, int] = attrs.Factory(dict)

    def step(self, now_ms: int, event: Event) -> Effects:
        turn = Turn(now_ms, self.settings, self.new_uuid)
        match event:
            case GroupRequest():
                self._request(turn, event)
            case ExpireOffsets():
                offsets.expire(turn, self.groups, self.offsets)
            case TopicsDeleted():
                offsets.forget_topics(turn, self.offsets, event.names)
            case Timeout():
                self._ring(turn)
        turn.effects.deadline_ms = self.deadline_ms
        return turn.effects

    @property
    def deadline_ms(self) -> int:
        """When the next :class:`Timeout` is due."""
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

    def load(self, now_ms: int, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        """Take over a partition of ``__consumer_offsets`` by replaying its (key, value) pairs in log order.

        Raises:
            DecodeError: a record is damaged.
        """
        for raw_key, value in records:
            key = None if raw_key is None else decode_key(raw_key)
            if isinstance(key, GroupMetadataKey):
                if value is None:
                    self.groups.pop(key.group, None)
                else:
                    self.groups[key.group] = decode_group(key.group, value, now_ms)
            elif key is not None:
                committed = None if value is None else decode_offset(value)
                self.offsets.replay(key.group, key.topic, key.partition, committed)
        for group_id in self.offsets.by_group:
            # A group that only ever committed has no metadata record of its own.
            self.groups.setdefault(group_id, Group(group_id, state_since_ms=now_ms))
        for group_id, group in self.groups.items():
            if len(group.members) > self.settings.group_max_size and group.state is GroupState.STABLE:
                # ``group.max.size`` was lowered: a rebalance sheds the surplus, and gives it time to commit.
                prepare(Turn(now_ms, self.settings, self.new_uuid), group)
            self._set_alarm(group_id)

    def unload(self, owns: Callable[[str], bool]) -> list[object]:
        """Forget the groups for which ``owns`` says yes; the tokens of the requests that were parked there."""
        tokens: list[object] = []
        for group_id in [each for each in self.groups if owns(each)]:
            group = self.groups.pop(group_id)
            group.state = GroupState.DEAD
            for member in group.members.values():
                tokens += [token for token in (member.join, member.sync) if token is not None]
        for group_id in [each for each in self.offsets.by_group if owns(each)]:
            del self.offsets.by_group[group_id]
        return tokens
