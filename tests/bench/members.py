"""Members of groups, many of them over few connections: of the consumer protocol (KIP-848), and of the classic one.

The members here send their next heartbeat at once while their group is not stable. So a rebalance takes the time of the
coordinator and of the requests, and no heartbeat interval.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from uuid import UUID, uuid4

import attrs

from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, OwnedTopicPartitions
from kraft.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from kraft.wire.errors import ErrorCode
from tests.bench.raw_clients import NOT_LOADED, Client, check, frame

CONSUMER_HEARTBEAT, JOIN, SYNC, HEARTBEAT, LEAVE = 1, 5, 3, 3, 3
"""The versions of the requests."""
LEAVE_EPOCH = -1
REBALANCE_TIMEOUT_MS = 60_000
SESSION_TIMEOUT_MS = 45_000
STABLE_TIMEOUT_S = 120.0
METADATA_BYTES, ASSIGNMENT_BYTES = 40, 30
"""About the sizes of a consumer's subscription and assignment for one topic."""
_ERROR_AT = 9
"""In a response: behind the correlation id, no tags, and the throttle time."""


@attrs.define(eq=False)
class ConsumerMember:
    """A member of a group with the consumer protocol."""

    group_id: str
    member_id: str = attrs.Factory(lambda: str(uuid4()))
    epoch: int = 0
    partitions: frozenset[tuple[UUID, int]] = frozenset()
    must_report: bool = True

    def heartbeat(self, topic: str) -> ConsumerGroupHeartbeatRequest:
        request = ConsumerGroupHeartbeatRequest(self.group_id, self.member_id, self.epoch)
        if self.epoch == 0:
            request.rebalance_timeout_ms, request.subscribed_topic_names = REBALANCE_TIMEOUT_MS, [topic]
        if self.must_report:
            topics: dict[UUID, list[int]] = {}
            for topic_id, index in self.partitions:
                topics.setdefault(topic_id, []).append(index)
            request.topic_partitions = [OwnedTopicPartitions(*each) for each in topics.items()]
        return request

    def take(self, response: ConsumerGroupHeartbeatResponse) -> None:
        if response.error_code in NOT_LOADED:
            return
        check(response.error_code)
        self.epoch, self.must_report = response.member_epoch, False
        if response.assignment is not None:
            topics = response.assignment.topic_partitions
            self.partitions = frozenset((each.topic_id, index) for each in topics for index in each.partitions)
            self.must_report = True


@attrs.define(eq=False)
class ConsumerGroup:
    """Members of the consumer protocol, which share the partitions of a topic."""

    topic: str
    partitions: int
    members: list[ConsumerMember]
    is_stable: bool = False

    @classmethod
    def create(cls, topic: str, partitions: int, size: int) -> ConsumerGroup:
        group_id = str(uuid4())
        return cls(topic, partitions, [ConsumerMember(group_id) for _ in range(size)])

    def add(self) -> None:
        """Add a member, which has not joined yet."""
        self.members.append(ConsumerMember(self.members[0].group_id))
        self.is_stable = False

    def leave(self, members: Sequence[ConsumerMember]) -> Client:
        """Have some members leave."""
        self.members = [each for each in self.members if each not in members]
        self.is_stable = False
        for member in members:
            request = ConsumerGroupHeartbeatRequest(member.group_id, member.member_id, LEAVE_EPOCH)
            check((yield request, CONSUMER_HEARTBEAT).error_code)

    def take(self, member: ConsumerMember, response: ConsumerGroupHeartbeatResponse) -> None:
        """Take a response. The group is stable once all members have the same epoch, have reported their partitions,
        own each one once, and have equal shares, give or take one. Between two assignments
        (``group.consumer.assignment.interval.ms``) a new member has none.
        """
        before = member.epoch, member.must_report, member.partitions
        member.take(response)
        if before == (member.epoch, member.must_report, member.partitions):
            return
        if all(each.epoch == member.epoch and not each.must_report for each in self.members):
            owned = [partition for each in self.members for partition in each.partitions]
            shares = [len(each.partitions) for each in self.members]
            self.is_stable = len(owned) == len(set(owned)) == self.partitions and max(shares) - min(shares) <= 1


def until_stable(groups: Sequence[ConsumerGroup], connections: int) -> list[Client]:
    """The clients that send heartbeats of all members, until their groups are stable."""
    deadline = time.monotonic() + STABLE_TIMEOUT_S

    def client(owned: Sequence[tuple[ConsumerGroup, ConsumerMember]]) -> Client:
        while any(not group.is_stable for group, _ in owned):
            for group, member in owned:
                if not group.is_stable:
                    group.take(member, (yield member.heartbeat(group.topic), CONSUMER_HEARTBEAT))
            if time.monotonic() > deadline:
                raise TimeoutError(f"a group is not stable after {STABLE_TIMEOUT_S} s")

    members = [(group, member) for group in groups for member in group.members]
    return [client(members[first::connections]) for first in range(connections)]


def heartbeats(groups: Sequence[ConsumerGroup], connections: int, each: int, times: list[float]) -> list[Client]:
    """The clients that send ``each`` heartbeats of every member of stable groups. ``times`` gets the seconds of each
    heartbeat.
    """

    def client(frames: Sequence[bytes]) -> Client:
        for sent in frames * each:
            begun = time.perf_counter()
            response = yield sent
            times.append(time.perf_counter() - begun)
            check(int.from_bytes(response[_ERROR_AT : _ERROR_AT + 2], "big"))

    frames = [frame(each.heartbeat(""), CONSUMER_HEARTBEAT) for group in groups for each in group.members]
    return [client(frames[first::connections]) for first in range(connections)]


@attrs.define(eq=False)
class ClassicMember:
    """A member of a group with the classic protocol."""

    member_id: str = ""
    generation: int = -1


@attrs.define(eq=False)
class ClassicGroup:
    """Members of the classic protocol. A member has a connection of its own, because a JoinGroup is parked."""

    members: list[ClassicMember]
    group_id: str = attrs.Factory(lambda: str(uuid4()))

    @classmethod
    def create(cls, size: int) -> ClassicGroup:
        return cls([ClassicMember() for _ in range(size)])

    def add(self) -> None:
        """Add a member, which has not joined yet."""
        self.members.append(ClassicMember())

    def leave(self, members: Sequence[ClassicMember]) -> Client:
        """Have some members leave."""
        self.members = [each for each in self.members if each not in members]
        leaving = [MemberIdentity(each.member_id) for each in members]
        response = yield LeaveGroupRequest(self.group_id, members=leaving), LEAVE
        check(response.error_code or max(each.error_code for each in response.members))

    def until_stable(self) -> list[Client]:
        """The clients of all members, until all are in the same new generation."""
        former = max(each.generation for each in self.members)
        deadline = time.monotonic() + STABLE_TIMEOUT_S
        return [self._until_stable(member, former, deadline) for member in self.members]

    def _is_stable(self, former: int) -> bool:
        first = self.members[0].generation
        return first > former and all(each.generation == first for each in self.members)

    def _until_stable(self, member: ClassicMember, former: int, deadline: float) -> Client:
        must_join = not member.member_id
        while not self._is_stable(former):
            if time.monotonic() > deadline:
                raise TimeoutError(f"a group is not stable after {STABLE_TIMEOUT_S} s")
            if must_join:
                joined = yield self._join(member), JOIN
                if joined.error_code in NOT_LOADED:
                    continue
                member.member_id = joined.member_id
                if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                    continue
                check(joined.error_code)
                synced = yield self._sync(joined), SYNC
                if synced.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
                    continue
                check(synced.error_code)
                member.generation, must_join = joined.generation_id, False
                continue
            request = HeartbeatRequest(self.group_id, member.generation, member.member_id)
            code = (yield request, HEARTBEAT).error_code
            must_join = code == ErrorCode.REBALANCE_IN_PROGRESS
            check(0 if must_join else code)

    def _join(self, member: ClassicMember) -> JoinGroupRequest:
        protocols = [JoinGroupRequestProtocol("range", bytes(METADATA_BYTES))]
        return JoinGroupRequest(
            self.group_id, SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS, member.member_id, None, "consumer", protocols
        )

    def _sync(self, joined: JoinGroupResponse) -> SyncGroupRequest:
        shares = [SyncGroupRequestAssignment(each.member_id, bytes(ASSIGNMENT_BYTES)) for each in joined.members]
        return SyncGroupRequest(self.group_id, joined.generation_id, joined.member_id, assignments=shares)
