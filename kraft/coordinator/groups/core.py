"""The pure coordinator of the groups of one partition of ``__consumer_offsets``: ``step(now, event) -> effects``.

``now`` is for timeouts, in seconds. Records have timestamps of the system's clock, which may be set meanwhile. An event
is a request, a deadline, a task of the broker, or the commit of records. The driver performs the effects in order:
append, then reply, then sleep until the deadline. Offsets and assignments change only with committed records. If an
append fails, the driver refuses the waiting requests and loads the partition again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast
from uuid import UUID

import attrs

from kraft.coordinator.core import (
    NO_DEADLINE,
    Committed,
    CoordinatorDeadlineReached,
    CoordinatorRequest,
    StoredRecord,
    Token,
)
from kraft.coordinator.groups import admin, offsets, session, transactions
from kraft.coordinator.groups.consumer import classic_members
from kraft.coordinator.groups.consumer.description import describe_consumers
from kraft.coordinator.groups.consumer.heartbeat import fence_late
from kraft.coordinator.groups.consumer.heartbeat import heartbeat as consumer_heartbeat
from kraft.coordinator.groups.consumer.records import ConsumerGroupRecord
from kraft.coordinator.groups.consumer.regexes import InvalidRegexHeartbeat, RegexesResolved
from kraft.coordinator.groups.consumer.regexes import resolved as regexes_resolved
from kraft.coordinator.groups.consumer.registry import ConsumerGroups
from kraft.coordinator.groups.effects import GroupEffects
from kraft.coordinator.groups.group import Group, GroupState
from kraft.coordinator.groups.join import join
from kraft.coordinator.groups.offsets import Offsets
from kraft.coordinator.groups.rebalance import (
    MAX_BATCH_BYTES,
    CoordinatorSettings,
    Step,
    prepare,
    time_passed,
)
from kraft.coordinator.groups.records import (
    CoordinatorRecord,
    OffsetRecord,
    TransactionEnd,
    decode_group,
    decode_record,
)
from kraft.coordinator.groups.share.admin import states_answered
from kraft.coordinator.groups.share.effects import StatesAnswered
from kraft.coordinator.groups.share.heartbeat import fence_late as fence_late_share_members
from kraft.coordinator.groups.share.records import ShareGroupRecord
from kraft.coordinator.groups.share.registry import ShareGroups
from kraft.coordinator.groups.share.requests import perform as perform_for_share_group
from kraft.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.join_group_request import JoinGroupRequest
from kraft.messages.leave_group_request import LeaveGroupRequest
from kraft.messages.offset_commit_request import OffsetCommitRequest
from kraft.messages.offset_delete_request import OffsetDeleteRequest
from kraft.messages.sync_group_request import SyncGroupRequest
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps, finished
from kraft.wire.uuids import ZERO_UUID


@attrs.frozen
class ExpireOffsets:
    """Time to expire the offsets of one group (``offsets.retention.check.interval.ms``)."""

    group_id: str


@attrs.frozen
class ForgetTopics:
    """Delete the group's offsets of deleted topics, so that a new topic of the same name starts without offsets."""

    group_id: str
    is_gone: Callable[[str], bool]


Event = (
    CoordinatorRequest
    | CoordinatorDeadlineReached
    | Committed[CoordinatorRecord]
    | ExpireOffsets
    | ForgetTopics
    | RegexesResolved
    | StatesAnswered
)


T = TypeVar("T")

_MEMBER_BYTES = 100
_FREED_BYTES = 4
_ENDED_BYTES = 20
_MARKER_BYTES = 50
"""The costs of starting one member's session, of freeing one offset, of ending the transaction of one, and of a marker.
The unit is the time to load one byte of records.
"""


def _in_bytes(work: Steps[T]) -> Steps[T]:
    """Yield the costs of work on members in the unit of :meth:`GroupCoordinator.load`."""
    while True:
        try:
            cost = next(work)
        except StopIteration as end:
            return cast(T, end.value)
        yield _MEMBER_BYTES * cost


@attrs.define
class GroupCoordinator:
    """All groups of one partition. :class:`Step` describes ``may_write`` and ``max_batch_bytes``, ``transactions``
    ``check_producer``.

    ``groups`` are the classic groups. ``image`` returns the metadata of topics as this broker knows it. ``topic_id``
    returns the id that is stored with an offset of a topic, or zero. ``timestamp_ms`` returns the time of records at
    ``now``, in milliseconds.
    """

    settings: CoordinatorSettings
    new_uuid: Callable[[], str]
    may_write: Callable[[], bool] = lambda: True
    max_batch_bytes: Callable[[], int] = lambda: MAX_BATCH_BYTES
    image: Callable[[], Image] = Image
    check_producer: transactions.CheckProducer = lambda *_, **__: None
    topic_id: Callable[[str], UUID] = lambda _: ZERO_UUID
    timestamp_ms: Callable[[float], int] = lambda now: int(now * 1000)
    groups: dict[str, Group] = attrs.Factory(dict)
    consumers: ConsumerGroups = attrs.field(
        init=False, default=attrs.Factory(lambda self: ConsumerGroups(self.image), takes_self=True)
    )
    shares: ShareGroups = attrs.field(
        init=False, default=attrs.Factory(lambda self: ShareGroups(self.image), takes_self=True)
    )
    offsets: Offsets = attrs.field(
        init=False, default=attrs.Factory(lambda self: Offsets(self.topic_id), takes_self=True)
    )
    _timers: list[tuple[float, str]] = attrs.Factory(list)
    """A heap of (time, group id). A heartbeat postpones a deadline but not its timer: timers may be early, but never
    late.
    """
    _timer_of: dict[str, float] = attrs.Factory(dict)

    def step(self, now: float, event: Event) -> GroupEffects:
        """Run all steps of :meth:`in_steps` at once."""
        effects = self.new_effects()
        finished(self.in_steps(now, event, effects))
        return effects

    def new_effects(self) -> GroupEffects:
        return GroupEffects()

    def in_steps(self, now: float, event: Event, effects: GroupEffects) -> Steps[None]:
        """Decide on one event, and add its effects to ``effects``.

        The groups change with each step. So the next event must wait for the last one. A driver that cannot go on
        discards this coordinator, and refuses the requests of ``effects``, too.
        """
        times = now, self.timestamp_ms(now)
        step = Step(*times, self.settings, self.new_uuid, self.may_write, self.max_batch_bytes, effects)
        match event:
            case CoordinatorRequest():
                yield from self._request(step, event)
            case Committed():
                for record in event.records:
                    yield from self._committed(step, record)
            case ExpireOffsets():
                yield from offsets.expire(step, self.groups, self.consumers, self.offsets, event.group_id)
            case ForgetTopics():
                yield from offsets.forget_topics(step, self.offsets, event.group_id, event.is_gone)
            case RegexesResolved():
                yield from regexes_resolved(step, self.consumers, event)
            case StatesAnswered():
                yield from states_answered(step, self.shares, event)
            case CoordinatorDeadlineReached():
                yield from self._fire_timers(step)
        effects.deadline = self.deadline

    @property
    def deadline(self) -> float:
        """When the next :class:`CoordinatorDeadlineReached` is due."""
        return self._timers[0][0] if self._timers else NO_DEADLINE

    def group_ids(self) -> list[str]:
        return [*self.groups, *self.consumers.groups]

    def _request(self, step: Step, request: CoordinatorRequest) -> Steps[None]:
        message = request.message
        others = self.groups, self.consumers.groups
        if (yield from perform_for_share_group(step, others, self.shares, request)):
            self._set_timer(getattr(message, "group_id", ""))
            return
        match message:
            case ConsumerGroupHeartbeatRequest() | InvalidRegexHeartbeat():
                yield from consumer_heartbeat(step, self.groups, self.consumers, request)
            case JoinGroupRequest() | SyncGroupRequest() | HeartbeatRequest() | LeaveGroupRequest():
                yield from self._classic_request(step, request)
            case OffsetCommitRequest():
                yield from offsets.commit(step, self.groups, self.consumers, self.offsets, request)
            case ConsumerGroupDescribeRequest():
                step.reply(request.token, (yield from describe_consumers(self.consumers, self.groups, request)))
            case DescribeGroupsRequest():
                step.reply(request.token, (yield from admin.describe(self.groups, self.consumers.committed, request)))
            case DeleteGroupsRequest():
                yield from admin.delete(step, self.groups, self.consumers, self.offsets, request)
            case transactions.TransactionalCommit():
                yield from transactions.commit(
                    step, self.groups, self.consumers, self.offsets, request, self.check_producer
                )
            case transactions.EndTransaction():
                transactions.end(step, request.token, message, self.check_producer)
            case OffsetDeleteRequest():
                yield from admin.delete_offsets(step, self.groups, self.consumers, self.offsets, request)
            case _:
                raise TypeError(f"not a request of the group coordinator: {type(message).__name__}")
        if isinstance(message, HeartbeatRequest | OffsetCommitRequest):
            self._postpone(message.group_id, message.member_id)
        else:
            self._set_timer(getattr(message, "group_id", ""))

    def _classic_request(self, step: Step, request: CoordinatorRequest) -> Steps[None]:
        """Perform a request of the classic protocol, on a classic group or on a consumer group with members."""
        message = request.message
        is_consumer_group = self.consumers.has_members(message.group_id)
        match message:
            case JoinGroupRequest():
                if is_consumer_group:
                    yield from classic_members.join(step, self.groups, self.consumers, request)
                elif (yield from self.consumers.gives_way(step, self.groups, request)):
                    yield from join(step, self.groups, request)
            case SyncGroupRequest():
                if is_consumer_group:
                    classic_members.sync(step, self.consumers, request)
                else:
                    yield from session.sync(step, self.groups, request)
            case HeartbeatRequest():
                if is_consumer_group:
                    classic_members.heartbeat(step, self.consumers, request)
                else:
                    session.heartbeat(step, self.groups, request)
            case LeaveGroupRequest():
                if is_consumer_group:
                    yield from classic_members.leave(step, self.groups, self.consumers, request)
                else:
                    yield from session.leave(step, self.groups, request)

    def _committed(self, step: Step, record: CoordinatorRecord) -> Steps[None]:
        """Apply a committed offset, or send members the assignment that a committed group record holds.

        All other fields of a group record are already in ``groups``.
        """
        yield 1
        if isinstance(record, OffsetRecord):
            self.offsets.replay(record)
            return
        if isinstance(record, TransactionEnd):
            yield from self.offsets.end(record.producer_id, is_committed=record.marker.committed)
            return
        if isinstance(record, ConsumerGroupRecord):
            self.consumers.commit(record)
            return
        if isinstance(record, ShareGroupRecord):
            self.shares.commit(record)
            return
        group = self.groups.get(record.group_id)
        if group is not None and group.storing is not None and group.storing.record is record:
            yield from session.assignment_committed(step, group)
            self._set_timer(record.group_id)

    def _set_timer(self, group_id: str) -> None:
        group = self.groups.get(group_id)
        at = self._protocol_deadline(group_id) if group is None else group.deadline()
        if at < self._timer_of.get(group_id, NO_DEADLINE):
            self._timer_of[group_id] = at
            heapq.heappush(self._timers, (at, group_id))

    def _postpone(self, group_id: str, member_id: str) -> None:
        """:meth:`_set_timer` after a request that changes no deadline but that of its sender: it looks at no others."""
        group, at = self.groups.get(group_id), self._timer_of.get(group_id)
        member = None if group is None else group.members.get(member_id)
        if at is None or member is None or member.next_deadline < at:
            self._set_timer(group_id)

    def _protocol_deadline(self, group_id: str) -> float:
        return min(self.consumers.deadline(group_id), self.shares.deadline(group_id))

    def _fire_timers(self, step: Step) -> Steps[None]:
        due = []
        while self._timers and self._timers[0][0] <= step.now:
            at, group_id = heapq.heappop(self._timers)
            if self._timer_of.get(group_id) == at:
                del self._timer_of[group_id]
                due.append(group_id)
        for group_id in due:
            group = self.groups.get(group_id)
            if group is not None:
                yield from time_passed(step, group)
            else:
                yield from fence_late(step, self.groups, self.consumers, group_id)
                yield from fence_late_share_members(step, self.shares, group_id)
            self._set_timer(group_id)
            yield 1

    def load(self, records: Iterable[StoredRecord]) -> Steps[None]:
        """Load a partition: replay its records in log order. The driver must not reply before all are
        committed.

        After each record it yields the record's size in bytes, so that the caller can pause between records.

        Raises DecodeError if a record is damaged.
        """
        for key, value, producer_id, is_committed, _ in records:
            record = None if key is None else decode_record(key, value, producer_id)
            if is_committed is not None:
                for cost in self.offsets.end(producer_id, is_committed=is_committed):
                    yield _ENDED_BYTES * cost
                yield _MARKER_BYTES
            elif isinstance(record, OffsetRecord):
                self.offsets.replay(record)
            elif isinstance(record, ConsumerGroupRecord):
                self.consumers.load(record)
            elif isinstance(record, ShareGroupRecord):
                self.shares.load(record)
            elif record is not None and record.value is None:
                self.groups.pop(record.group_id, None)
            elif record is not None and record.value is not None:
                self.groups[record.group_id] = yield from _in_bytes(decode_group(record.group_id, record.value))
            yield len(key or b"") + len(value or b"")

    def begin(self, now: float, effects: GroupEffects) -> Steps[None]:
        """Start the sessions of the loaded members, each with its full timeout. Yields costs as :meth:`load` does."""
        step = Step(now, self.timestamp_ms(now), self.settings, self.new_uuid, effects=effects)
        for group_id in self.offsets.groups():
            # A group that only committed offsets has no group metadata record.
            if group_id not in self.consumers.groups:
                self.groups.setdefault(group_id, Group(group_id, state_since_ms=step.timestamp_ms))
            yield len(group_id)
        for group_id, group in self.groups.items():
            for member in group.members.values():
                member.alive(now)
            if len(group.members) > self.settings.group_max_size and group.state is GroupState.STABLE:
                # ``group.max.size`` was lowered. A rebalance removes the surplus members, which can commit before it.
                yield from _in_bytes(prepare(step, group))
            self._set_timer(group_id)
            yield len(group_id) + _MEMBER_BYTES * len(group.members)
        yield from _in_bytes(self.consumers.begin(now, self.settings))
        yield from _in_bytes(self.shares.begin(now, self.settings))
        for group_id in (*self.consumers.groups, *self.shares.groups):
            self._set_timer(group_id)

    def unload(self) -> Steps[None]:
        """Free the offsets, which takes long for many of them. Yields costs as :meth:`load` does."""
        tables: Iterable[dict[Any, Any]] = (
            *self.offsets.by_group.values(),
            *self.offsets.transactional.by_group.values(),
        )
        for table in tables:
            while table:
                table.popitem()
                yield _FREED_BYTES

    def waiting(self) -> list[Token]:
        """Return the tokens of all parked requests."""
        return [
            token
            for group in self.groups.values()
            for member in group.members.values()
            for token in (member.join, member.sync)
            if token is not None
        ] + self.shares.waiting
