"""Simulated members of one group: consumers of KIP-848 and of the classic protocol, which do what a Java client does.

``owns`` has the position of each partition that a member believes to own. It consumes, and commits its positions.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, OwnedTopicPartitions
from kraft.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kraft.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kraft.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from kraft.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kraft.messages.consumer_protocol_subscription import TopicPartition as OwnedTopic
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kraft.messages.join_group_response import JoinGroupResponse, JoinGroupResponseMember
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_commit_response import OffsetCommitResponse
from kraft.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.wire.codec import decode, encode
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.topics import OwnedPartition
from tests.coordinator.world import Answered, SimulatedClient

if TYPE_CHECKING:
    from tests.coordinator.groups.world import GroupWorld

GROUP = "g"
SESSION_S = 10.0
REBALANCE_S = 20.0
_VERSION = struct.Struct(">h")
_EMBEDDED_VERSION = 3
RETRIED = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}
LOST = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH}


@attrs.frozen(eq=False)
class CommitReceipt:
    """Receives the response to an OffsetCommit of these offsets, by topic and partition."""

    world: GroupWorld
    offsets: dict[tuple[str, int], int]

    def __call__(self, response: OffsetCommitResponse) -> None:
        code = ErrorCode(response.topics[0].partitions[0].error_code)
        self.world.counts["commits" if code is ErrorCode.NONE else "refused commits"] += 1


class SimulatedMember(SimulatedClient["GroupWorld"]):
    """``epoch`` is the member epoch, or the generation of a classic member. 0 and -1: none."""

    NO_EPOCH: int

    def __init__(self, world: GroupWorld, name: str, instance_id: str | None) -> None:
        super().__init__(world)
        self.name, self.instance_id = name, instance_id
        self.member_id = ""
        self.epoch = self.NO_EPOCH
        self.topics: frozenset[str] = frozenset()
        self.regex = ""
        self.owns: dict[OwnedPartition, int] = {}
        self.commits = SimulatedClient(world)
        self.subscribe()

    def __repr__(self) -> str:
        return f"{self.name}({self.member_id} at {self.epoch}, owns {self.world.named(self.owns)})"

    def subscribe(self) -> None:
        """Choose topics."""
        names = sorted(self.world.image.topic_ids)
        self.topics = frozenset(self.world.random.sample(names, self.world.random.randint(1, len(names))))

    def send(self, message: Any, version: int, answered: Answered) -> None:
        if self.is_waiting:
            self.disconnect()
        self.world.send(GROUP, message, version, self.expect(answered), self)

    def retire(self) -> None:
        """Stop for good: the member crashed, left, or was refused. It may still be a member for its coordinator."""
        self.is_done = True
        self.owns.clear()

    def act(self) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        raise NotImplementedError

    def consume_and_commit(self) -> None:
        """Commit the positions of some partitions. A member that was fenced does not know it yet."""
        random = self.world.random
        some = random.sample(sorted(self.owns), random.randint(1, len(self.owns))) if self.owns else []
        offsets: dict[tuple[str, int], int] = {}
        for partition in some:
            self.owns[partition] += random.randint(0, 5)
            topic = self.world.names[partition[0]]
            offsets[topic, partition[1]] = self.owns[partition]
        if not offsets:
            return
        by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            by_topic.setdefault(topic, []).append(OffsetCommitRequestPartition(index, offset))
        message = OffsetCommitRequest(
            group_id=GROUP,
            member_id=self.member_id,
            generation_id_or_member_epoch=self.epoch,
            group_instance_id=self.instance_id,
            topics=[OffsetCommitRequestTopic(topic, partitions=each) for topic, each in by_topic.items()],
        )
        self.commits.disconnect()
        self.world.note(self.name, "commits", offsets, "at", self.epoch)
        delay = random.choice([0, 0, random.randint(0, 200)])
        self.world.send(GROUP, message, 9, CommitReceipt(self.world, offsets), self.commits, delay=delay)

    def take(self, partitions: Iterable[OwnedPartition]) -> None:
        """Own more partitions, from their committed offsets on."""
        for partition in sorted(partitions):
            if partition not in self.owns:
                self.owns[partition] = self.world.committed_offset(partition)
        self.world.note(str(self), "has an assignment")
        self.world.check_owners(self)


class SimulatedConsumer(SimulatedMember):
    """A member of KIP-848. It gives up partitions some time after it was asked to."""

    NO_EPOCH = 0

    def __init__(self, world: GroupWorld, name: str, instance_id: str | None) -> None:
        super().__init__(world, name, instance_id)
        self.member_id = name
        self.target: set[OwnedPartition] | None = None
        """The assignment that the member has not taken over yet."""
        self.sends_all = True
        self.sent_owned: set[OwnedPartition] = set()

    def subscribe(self) -> None:
        super().subscribe()
        self.sends_all = True
        self.regex = ""
        if self.world.random.random() < 0.4:
            self.topics, self.regex = frozenset(), self.world.random.choice(["t.*", "t[0-2]", "[tu]1"])

    def act(self) -> None:
        if self.is_waiting:
            if not self.world.gives_up():
                return
            self.sends_all = True
        if self.target is not None and (self.sends_all or self.world.random.random() < 0.5):
            self.reconcile()
        self.heartbeat()

    def reconcile(self) -> None:
        assert self.target is not None
        target, self.target = self.target, None
        if not self.owns.keys() <= target:
            self.commits.disconnect()  # a consumer waits for its commits before it gives up partitions
        for partition in sorted(self.owns.keys() - target):
            del self.owns[partition]
        self.take(target)

    def heartbeat(self) -> None:
        message = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.member_id, member_epoch=self.epoch, instance_id=self.instance_id
        )
        owned = set(self.owns)
        if self.sends_all:
            message.rebalance_timeout_ms = round(REBALANCE_S * 1000)
            message.subscribed_topic_names = sorted(self.topics)
            message.subscribed_topic_regex = self.regex
        if self.sends_all or owned != self.sent_owned:
            by_topic: dict[UUID, list[int]] = {}
            for topic_id, index in sorted(owned):
                by_topic.setdefault(topic_id, []).append(index)
            message.topic_partitions = [OwnedTopicPartitions(*each) for each in by_topic.items()]
        self.sent_owned, self.sends_all = owned, False
        self.send(message, 1, self.answered)

    def answered(self, response: ConsumerGroupHeartbeatResponse) -> None:
        code = ErrorCode(response.error_code)
        if code is not ErrorCode.NONE:
            self.refused(code)
            return
        self.world.require(
            response.member_epoch >= self.epoch, "EpochsRise", f"{self} was answered {response.member_epoch}"
        )
        self.epoch = response.member_epoch
        if response.assignment is not None:
            self.target = {
                (topic.topic_id, index) for topic in response.assignment.topic_partitions for index in topic.partitions
            }
            if not self.owns.keys() - self.target:
                self.reconcile()

    def refused(self, code: ErrorCode) -> None:
        self.world.note(str(self), "is refused:", code.name)
        self.sends_all = True
        if code in LOST:
            self.world.counts["fenced members"] += 1
            self.commits.disconnect()  # they were sent on this connection, before the member joins again
            self.epoch, self.target = 0, None
            self.owns.clear()
        elif code not in RETRIED and code is not ErrorCode.UNRELEASED_INSTANCE_ID:
            self.world.require(
                code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.FENCED_INSTANCE_ID), "RefusalsAreKnown", code.name
            )
            self.retire()

    def leave(self) -> None:
        """Leave for good. A static member announces that it returns."""
        if self.epoch > 0:
            self.disconnect()
            epoch = -1 if self.instance_id is None else -2
            message = ConsumerGroupHeartbeatRequest(
                group_id=GROUP, member_id=self.member_id, member_epoch=epoch, instance_id=self.instance_id
            )
            self.world.send(GROUP, message, 1, lambda _: None)
        self.retire()


class SimulatedClassicConsumer(SimulatedMember):
    """A member of the classic protocol, whose rebalances are eager or cooperative (KIP-429) in a whole world."""

    NO_EPOCH = -1

    def __init__(self, world: GroupWorld, name: str, instance_id: str | None) -> None:
        super().__init__(world, name, instance_id)
        self.must_join = True
        self.joined_topics = self.topics
        self.roster: list[JoinGroupResponseMember] = []
        self.leads = self.skips_assignment = False
        self.must_sync = False
        self.assigned_image: object = None
        self.owned_since = -1
        """The generation of the last assignment."""

    def subscribe(self) -> None:
        super().subscribe()
        if self.instance_id is not None:
            self.topics = self.world.static_topics[self.instance_id]

    def act(self) -> None:
        if self.is_waiting and not self.world.gives_up():
            return
        has_news = self.leads and self.assigned_image is not self.world.image
        if not self.must_sync and (has_news or self.topics != self.joined_topics):
            self.must_join = True
        if self.must_join:
            self.join()
        elif self.must_sync:
            self.sync()
        else:
            message = HeartbeatRequest(
                group_id=GROUP,
                member_id=self.member_id,
                generation_id=self.epoch,
                group_instance_id=self.instance_id,
            )
            self.send(message, 4, lambda response: self.accepted(response.error_code))

    def subscription(self) -> bytes:
        owned: dict[str, list[int]] = {}
        for topic_id, index in sorted(self.owns):
            owned.setdefault(self.world.names[topic_id], []).append(index)
        message = ConsumerProtocolSubscription(
            topics=sorted(self.topics),
            owned_partitions=[OwnedTopic(*each) for each in owned.items()],
            generation_id=self.owned_since,
        )
        return _VERSION.pack(_EMBEDDED_VERSION) + encode(message, _EMBEDDED_VERSION)

    def join(self) -> None:
        if not self.world.is_cooperative:
            self.owns.clear()
        self.must_sync = False
        self.joined_topics = self.topics
        message = JoinGroupRequest(
            group_id=GROUP,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            session_timeout_ms=round(SESSION_S * 1000),
            rebalance_timeout_ms=round(REBALANCE_S * 1000),
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(self.world.protocol, self.subscription())],
        )
        self.send(message, 9, self.joined)

    def joined(self, response: JoinGroupResponse) -> None:
        code = ErrorCode(response.error_code)
        if code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
        elif self.accepted(code):
            self.member_id, self.epoch = response.member_id, response.generation_id
            self.must_join, self.must_sync = False, True
            self.leads = response.leader == self.member_id
            self.skips_assignment = response.skip_assignment
            self.roster = [] if response.skip_assignment else response.members

    def sync(self) -> None:
        # A static leader that returned keeps the assignment of before. It has to look for news since then.
        self.assigned_image = None if self.skips_assignment else self.world.image
        assignments = self.world.assigned_by_leader(self.roster) if self.leads else {}
        message = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name=self.world.protocol,
            assignments=[SyncGroupRequestAssignment(*each) for each in assignments.items()],
        )
        self.send(message, 5, self.synced)

    def synced(self, response: SyncGroupResponse) -> None:
        if not self.accepted(response.error_code):
            return
        self.must_sync = False
        self.owned_since = self.epoch
        assigned = self.world.decoded(bytes(response.assignment))
        revoked = self.owns.keys() - assigned
        for partition in sorted(revoked):
            del self.owns[partition]
        self.must_join = bool(revoked) or self.topics != self.joined_topics
        self.take(assigned)

    def accepted(self, code: int) -> bool:
        """Return whether a request succeeded, and do what its error demands."""
        if code == ErrorCode.NONE:
            return True
        self.world.note(str(self), "is refused:", ErrorCode(code).name)
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self.world.counts["fenced members"] += 1
            self.epoch = self.owned_since = -1
            self.owns.clear()
            self.must_join = True
            if code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
        elif code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.must_join = True
        elif code not in RETRIED:
            self.world.require(code == ErrorCode.FENCED_INSTANCE_ID, "RefusalsAreKnown", ErrorCode(code).name)
            self.retire()
        return False

    def leave(self) -> None:
        """Leave for good. A static member sends no LeaveGroup."""
        if self.member_id and self.instance_id is None:
            self.disconnect()
            message = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(self.member_id)])
            self.world.send(GROUP, message, 5, lambda _: None)
        self.retire()


def decoded_subscription(data: bytes) -> ConsumerProtocolSubscription:
    return decode(ConsumerProtocolSubscription, _EMBEDDED_VERSION, data, _VERSION.size)[0]


def embedded_assignment(partitions: Iterable[tuple[str, int]]) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        by_topic.setdefault(topic, []).append(index)
    message = ConsumerProtocolAssignment([AssignedTopic(*each) for each in by_topic.items()])
    return _VERSION.pack(_EMBEDDED_VERSION) + encode(message, _EMBEDDED_VERSION)


def decoded_assignment(data: bytes) -> list[tuple[str, int]]:
    if not data:
        return []
    message = decode(ConsumerProtocolAssignment, _EMBEDDED_VERSION, data, _VERSION.size)[0]
    return [(topic.topic, index) for topic in message.assigned_partitions for index in topic.partitions]
