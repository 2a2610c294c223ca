"""A coordinator without driver and sockets: the test sets the clock, and reads appended records and replies."""

from __future__ import annotations

import struct
from collections import Counter, deque
from collections.abc import Generator, Iterable
from itertools import count
from typing import Any, TypeVar, cast
from uuid import UUID

from kraft.coordinator.core import (
    Committed,
    CoordinatorDeadlineReached,
    CoordinatorRequest,
    StoredRecord,
)
from kraft.coordinator.groups.core import Event, ExpireOffsets, GroupCoordinator
from kraft.coordinator.groups.effects import Counted, GroupEffects, RegexSearch
from kraft.coordinator.groups.group import Group
from kraft.coordinator.groups.offsets import fetched
from kraft.coordinator.groups.rebalance import MAX_BATCH_BYTES, CoordinatorSettings
from kraft.coordinator.groups.records import CoordinatorRecord, OffsetRecord, TransactionEnd
from kraft.coordinator.groups.share.effects import StateRequest
from kraft.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from kraft.wire.codec import encode
from kraft.wire.uuids import ZERO_UUID

T = TypeVar("T")

SESSION_S = 10.0
REBALANCE_S = 60.0
DELAY_S = 3.0
GROUP = "g"


def subscription(*topics: str) -> bytes:
    """A consumer's subscription, the same for any assignor of the client."""
    return struct.pack(">h", 0) + encode(ConsumerProtocolSubscription(topics=list(topics)), 0)


def stored(record: CoordinatorRecord) -> StoredRecord:
    """Return what a coordinator later loads of a record that it wrote."""
    match record:
        case TransactionEnd():
            return StoredRecord(None, None, record.producer_id, record.marker.committed)
        case OffsetRecord():
            return StoredRecord(record.key, record.value, record.producer_id)
        case _:
            return StoredRecord(record.key, record.value)


class Desk:
    """A coordinator under test. ``written`` is the partition of ``__consumer_offsets``. ``answers`` maps tokens to
    replies.

    Appended records are committed at once. While ``is_followed`` is false they wait in ``uncommitted``. ``may_write``
    is true if enough replicas are in sync. ``max_batch_bytes`` is the ``max.message.bytes`` of the partition.
    ``topic_ids`` are the present ids of topics. ``clock_set_s`` is how far the system's clock is ahead of ``now``.
    """

    def __init__(self, **settings: float) -> None:
        self.settings = CoordinatorSettings(**({"group_initial_rebalance_delay_s": DELAY_S} | settings))
        self.now = 1_000.0
        self.clock_set_s = 0.0
        self.written: list[StoredRecord] = []
        self.is_followed = True
        self.may_write = True
        self.max_batch_bytes = MAX_BATCH_BYTES
        self.topic_ids: dict[str, UUID] = {}
        self.uncommitted: list[GroupEffects] = []
        self.answers: dict[int, Any] = {}
        self.searches: list[RegexSearch] = []
        self.state_requests: list[StateRequest] = []
        self.counted: Counter[Counted] = Counter()
        self._tokens = count(1)
        self._ids = count(1)
        self.core = self._core()

    def _core(self) -> GroupCoordinator:
        return GroupCoordinator(
            self.settings,
            lambda: f"id{next(self._ids)}",
            lambda: self.may_write,
            lambda: self.max_batch_bytes,
            topic_id=lambda name: self.topic_ids.get(name, ZERO_UUID),
            timestamp_ms=self.timestamp_ms,
        )

    def timestamp_ms(self, now: float) -> int:
        return int((now + self.clock_set_s) * 1000)

    def group(self, group_id: str = GROUP) -> Group:
        return self.core.groups[group_id]

    def step(self, event: Event) -> None:
        effects = self.core.step(self.now, event)
        self.written += [stored(each) for each in effects.append]
        self.searches += effects.searches
        if effects.append:
            self.uncommitted.append(effects)
        else:
            self._answer(effects.replies_once_committed)
            self._perform(effects)
        if self.is_followed:
            self.commit_all()
        self._answer(effects.replies)
        assert self.core.deadline <= effects.deadline

    def commit_all(self) -> None:
        """Commit all appended records."""
        while self.uncommitted:
            effects = self.uncommitted.pop(0)
            replayed = self.core.step(self.now, Committed(effects.append))
            assert not replayed.append
            self._answer(replayed.replies)
            self._answer(effects.replies_once_committed)
            self._perform(effects)
            self._perform(replayed)

    def _perform(self, effects: GroupEffects) -> None:
        """Perform the effects that wait for the commit of their records."""
        self.state_requests += effects.state_requests
        for what, number in effects.counted:
            self.counted[what] += number

    @property
    def committed_log(self) -> list[StoredRecord]:
        return self.written[: len(self.written) - sum(len(effects.append) for effects in self.uncommitted)]

    @property
    def uncommitted_tokens(self) -> list[Any]:
        return [token for effects in self.uncommitted for token, _ in effects.replies_once_committed]

    def _answer(self, replies: list[tuple[Any, Any]]) -> None:
        for token, answer in replies:
            assert token not in self.answers, "a second answer to one request"
            self.answers[token] = answer

    def send(self, message: Any, version: int, client_id: str = "c") -> int:
        """Send a request and return its token."""
        token = next(self._tokens)
        self.step(CoordinatorRequest(token, message, version, client_id, "/127.0.0.1"))
        return token

    def ask(self, message: Any, version: int) -> Any:
        """Send a request that must get its reply at once, and return the reply."""
        return self.answers[self.send(message, version)]

    def pass_time(self, seconds: float) -> None:
        """Advance the time and step the core at each deadline. A deadline must not repeat at one instant."""
        until = self.now + seconds
        while self.core.deadline <= until:
            self.now = max(self.now, self.core.deadline)
            self.step(CoordinatorDeadlineReached())
            assert self.core.deadline > self.now, "an expired deadline must move"
        self.now = until

    def restart(self, *, has_all: bool = True) -> list[object]:
        """Move the partition to another broker, which loads all written or only the committed records. Return the
        tokens that the old coordinator parked.
        """
        dropped = self.core.waiting() + self.uncommitted_tokens
        if not has_all:
            self.written = self.committed_log
        self.uncommitted.clear()
        self.core = self._core()
        self.load(self.written)
        return dropped

    def load(self, written: Iterable[StoredRecord]) -> None:
        """Load records that another coordinator wrote."""
        deque(self.core.load(written), maxlen=0)
        deque(self.core.begin(self.now, self.core.new_effects()), maxlen=0)

    def expire(self, group_id: str = GROUP) -> None:
        """``offsets.retention.check.interval.ms`` has passed."""
        self.step(ExpireOffsets(group_id))

    def join_message(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: Iterable[tuple[str, bytes]] = (("range", subscription("t")),),
        protocol_type: str = "consumer",
        session_s: float = SESSION_S,
        rebalance_s: float = REBALANCE_S,
        group_id: str = GROUP,
    ) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=group_id,
            member_id=member_id,
            group_instance_id=instance,
            session_timeout_ms=round(session_s * 1000),
            rebalance_timeout_ms=round(rebalance_s * 1000),
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name, metadata) for name, metadata in protocols],
        )

    def join(self, member_id: str = "", *, version: int = 9, **what: Any) -> int:
        return self.send(self.join_message(member_id, **what), version)

    def enter(self, **what: Any) -> int:
        """Join as a new dynamic member in the two steps of KIP-394. Return the token of the second one."""
        member_id = self.answers[self.join(**what)].member_id
        return self.join(member_id, **what)

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        version: int = 5,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
        instance: str | None = None,
    ) -> int:
        message = SyncGroupRequest(
            group_id=GROUP,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[SyncGroupRequestAssignment(*each) for each in (assignments or {}).items()],
        )
        return self.send(message, version)

    def heartbeat(self, member_id: str, generation: int, instance: str | None = None) -> int:
        message = HeartbeatRequest(
            group_id=GROUP, member_id=member_id, generation_id=generation, group_instance_id=instance
        )
        code: int = self.ask(message, 4).error_code
        return code

    def leave_message(self, *members: tuple[str, str | None]) -> LeaveGroupRequest:
        return LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(*each) for each in members])

    def leave(self, *members: tuple[str, str | None]) -> list[int]:
        return [each.error_code for each in self.ask(self.leave_message(*members), 5).members]

    def commit(self, offset: int, **what: Any) -> int:
        """Commit one offset and return the error code, which must arrive at once."""
        code: int = self.answers[self.send_commit(offset, **what)].topics[0].partitions[0].error_code
        return code

    def send_commit(
        self,
        offset: int,
        *,
        member_id: str = "",
        generation: int = -1,
        topic: str = "t",
        partition: int = 0,
        metadata: str | None = "",
        retention_ms: int = -1,
        version: int = 8,
        instance: str | None = None,
    ) -> int:
        message = OffsetCommitRequest(
            group_id=GROUP,
            member_id=member_id,
            generation_id_or_member_epoch=generation,
            group_instance_id=instance,
            retention_time_ms=retention_ms,
            topics=[
                OffsetCommitRequestTopic(
                    topic, partitions=[OffsetCommitRequestPartition(partition, offset, committed_metadata=metadata)]
                )
            ],
        )
        return self.send(message, version)

    def committed(self) -> dict[tuple[str, int], int]:
        """Return all committed offsets of the group by OffsetFetch."""
        answer = result(fetched(self.core.offsets, GROUP, None))
        return {
            (topic.name, each.partition_index): each.committed_offset
            for topic in answer.topics
            for each in topic.partitions
        }

    def gather(self) -> None:
        """Advance the time until no join is parked."""
        while any(member.join is not None for member in self.group().members.values()):
            self.pass_time(self.core.deadline - self.now)

    def stable(self, size: int = 1, **what: Any) -> list[str]:
        """Make a stable group of new dynamic members. Return their ids, the leader first. Each one's assignment is its
        own id.
        """
        tokens = [self.enter(**what) for _ in range(size)]
        self.gather()
        return self.settle(tokens)

    def settle(self, tokens: list[int]) -> list[str]:
        """Send the SyncGroup of every member whose join completed, the leader's last."""
        joined: list[JoinGroupResponse] = [self.answers[token] for token in tokens]
        leader = next(each for each in joined if each.leader == each.member_id)
        others = [each.member_id for each in joined if each is not leader]
        for member_id in others:
            self.sync(member_id, leader.generation_id, protocol_name=leader.protocol_name)
        assignments = {each.member_id: each.member_id.encode() for each in leader.members}
        self.sync(leader.member_id, leader.generation_id, assignments, protocol_name=leader.protocol_name)
        return [leader.member_id, *others]


def result(work: Generator[int, None, T]) -> T:
    """Run work that its driver would do in slices."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return cast(T, end.value)
