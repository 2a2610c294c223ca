"""A simulated world of the members of a share group: their heartbeats, the brokers that coordinate them, and topics.

The members crash, leave, join again, lose responses and change their subscriptions. Topics come and go. The share
coordinator is a model: ``states`` has the partitions with a state. It answers late, refuses some requests, and performs
others whose response is lost. ``replayed`` is a coordinator that only loads the committed records.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any, ClassVar
from uuid import UUID

import attrs

from kraft.coordinator.core import StoredRecord
from kraft.coordinator.groups.core import GroupCoordinator
from kraft.coordinator.groups.effects import GroupEffects
from kraft.coordinator.groups.rebalance import CoordinatorSettings, ShareProtocolSettings
from kraft.coordinator.groups.share.effects import InitializeStates, StateRequest, StatesAnswered
from kraft.coordinator.groups.share.group import ShareGroup, ShareMember
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kraft.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from kraft.metadata.steps import finished
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.topics import CompactedLedger, InformedCoordinator, OwnedPartition, WorldOfTopics
from tests.coordinator.world import Answered, Ledger, SimulatedClient

GROUP = "g"
SESSION_S = 10.0
REQUEST_TIMEOUT_S = 6.0
RETRY_S = 8.0
MEMBERS = 5
SETTLING_ROUNDS = 40
RETRIED = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}
LOST = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND}
"""After these errors a member gives up all its partitions and joins again (KIP-932)."""


def partitions_in(topics: Mapping[UUID, Any]) -> set[OwnedPartition]:
    return {(topic_id, index) for topic_id, indexes in topics.items() for index in indexes}


@attrs.define(eq=False)
class StateCall:
    """A request to the share coordinator that is under way. ``left`` are the partitions that it has not seen."""

    driver: SharingDriver
    request: StateRequest
    left: list[OwnedPartition]
    until: float
    errors: dict[OwnedPartition, ErrorCode] = attrs.Factory(dict)


class SharingDriver(InformedCoordinator["ShareGroupWorld"]):
    core: GroupCoordinator

    def new_core(self) -> GroupCoordinator:
        return GroupCoordinator(self.world.settings, str, lambda: self.may_write, image=lambda: self.image)

    def perform_own(self, effects: GroupEffects) -> None:
        for request in effects.state_requests:
            named = request.start_offsets if isinstance(request, InitializeStates) else request.partitions
            self.world.calls.append(
                StateCall(self, request, sorted(partitions_in(named)), self.world.now + REQUEST_TIMEOUT_S)
            )

    def reply(self, replies: list[tuple[Any, Any]]) -> None:
        if self.is_leader:
            for _, response in replies:
                self.world.check_answer(response)
        super().reply(replies)


class Sharer(SimulatedClient["ShareGroupWorld"]):
    """A member. ``shares`` are the partitions whose records it may fetch."""

    def __init__(self, world: ShareGroupWorld, member_id: str) -> None:
        super().__init__(world)
        self.member_id = member_id
        self.epoch = 0
        self.shares: set[OwnedPartition] = set()
        self.sends_topics = True
        self.subscribe()

    def __repr__(self) -> str:
        return f"{self.member_id} at {self.epoch}, shares {self.world.named(self.shares)}"

    def subscribe(self) -> None:
        names = sorted(self.world.image.topic_ids)
        self.topics = frozenset(self.world.random.sample(names, self.world.random.randint(1, len(names))))
        self.sends_topics = True

    def act(self) -> None:
        """Send a heartbeat, unless the last one may still get its response."""
        if self.is_waiting:
            if self.world.random.random() < 0.8:
                return
            self.disconnect()
            self.sends_topics = True
        topics = sorted(self.topics) if self.sends_topics or not self.epoch else None
        self.sends_topics = False
        self.send(self.epoch, self.expect(self.answered), topics)

    def send(self, epoch: int, answered: Answered, topics: list[str] | None = None) -> None:
        message = ShareGroupHeartbeatRequest(GROUP, self.member_id, epoch, subscribed_topic_names=topics)
        self.world.send(GROUP, message, 1, answered, self)

    def answered(self, response: ShareGroupHeartbeatResponse) -> None:
        code = ErrorCode(response.error_code)
        if code in LOST:
            self.world.counts["fenced members"] += 1
            self.world.note(str(self), "is refused:", code.name)
            self.epoch = 0
            self.shares.clear()
        elif code is ErrorCode.NONE:
            is_later = response.member_epoch >= self.epoch
            self.world.require(is_later, "EpochsRise", f"{self} was answered {response.member_epoch}")
            self.epoch = response.member_epoch
            if response.assignment is not None:
                given = response.assignment.topic_partitions
                self.shares = {(topic.topic_id, index) for topic in given for index in topic.partitions}
                self.world.note(str(self), "has an assignment")
        else:
            self.world.require(code in RETRIED, "RefusalsAreKnown", code.name)
            self.sends_topics = True

    def leave(self) -> None:
        if self.epoch:
            self.disconnect()
            self.send(-1, lambda _: None)
        self.crash()

    def crash(self) -> None:
        self.is_done = True
        self.shares.clear()


class ShareGroupWorld(WorldOfTopics[SharingDriver]):
    INVARIANTS: ClassVar[dict[str, str]] = {
        "AllAreAssigned": "a target assignment has each initialized partition of the subscribed topics, at a member "
        "that subscribes (KIP-932)",
        "AssignedHasState": "the share coordinator has a state of each partition that a response assigns (KIP-932)",
        "OnlyMembersShare": "a member that left or was fenced has neither a target nor a session (KIP-932)",
        "EpochsRise": "the epochs of a group and of a member never go back (KIP-932)",
        "AnsweredIsCommitted": "a response has what is committed (Apache: CoordinatorRuntime)",
        "ReplayIsLive": "the replay of the log, compacted or not, gives the live group (Apache: CoordinatorShard)",
        "OnlyEmptyGroupsGo": "a group with members is not deleted",
        "StatesGoFirst": "a deleted group leaves no state at the share coordinator that it knew of (KIP-932)",
        "StatesGoWithTopics": "once nothing changes, a group knows no state of a deleted topic",
        "GroupSettles": "without faults, silent members go, and all partitions of subscribed topics are shared, "
        "by members that subscribe",
        "RefusalsAreKnown": "a member that keeps to the protocol gets no other error",
        "DeadlinesMove": "a deadline that has passed moves: an expired session ends",
        "CommitAppendsNothing": "the replay of committed records appends none",
    }
    REACHED: ClassVar[tuple[str, ...]] = (
        "assignments",
        "deleted groups",
        "deleted states",
        "elections",
        "expired members",
        "fenced members",
        "initialized states",
        "refused states",
    )
    STEPS: ClassVar[int] = 900

    def __init__(self, seed: int) -> None:
        super().__init__(seed, (0.0, 0.01, 0.05, 0.15))
        interval_s = self.random.choice([0.0, 2.0])
        self.settings = CoordinatorSettings(share=ShareProtocolSettings(SESSION_S, 3.0, 20, interval_s, RETRY_S))
        self._numbers = count(1)
        self.create_topics()
        self.states: set[OwnedPartition] = set()
        self.noted: set[OwnedPartition] = set()
        """The partitions that the group noted as initialized, until their states are deleted. A state whose request
        failed may exist, too, and the group forgets it, as in Apache Kafka.
        """
        self.calls: list[StateCall] = []
        self.members: list[Sharer] = []
        self.replayed = GroupCoordinator(self.settings, str)
        self.ledgers = [CompactedLedger(self, SharingDriver)]

    @property
    def driver(self) -> SharingDriver:
        return self.ledgers[0].leader

    @property
    def committed_group(self) -> ShareGroup | None:
        return self.replayed.shares.groups.get(GROUP)

    # The share coordinator.

    def state_coordinator_acts(self) -> None:
        """The share coordinator performs one element of a request, or the broker reports the end of all."""
        if not self.calls:
            return
        call = self.random.choice(self.calls)
        if call.left:
            partition = call.left.pop(self.random.randrange(len(call.left)))
            is_late = self.now >= call.until
            makes = isinstance(call.request, InitializeStates)
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE if is_late else self.changed(partition, makes=makes)
            if code is not ErrorCode.NONE:
                self.counts["refused states"] += 1
                call.errors[partition] = code
            return
        self.calls.remove(call)
        self.note("the share coordinator has answered", type(call.request).__name__, call.errors)
        if call.driver in self.coordinators():
            call.driver.step(StatesAnswered(call.request, call.errors))

    def changed(self, partition: OwnedPartition, *, makes: bool) -> ErrorCode:
        """Make or delete a state. Its response may be lost."""
        topic = self.image.topics.get(partition[0])
        if topic is None or partition[1] not in topic.partitions:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self.is_faulty():
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        self.counts["initialized states" if makes else "deleted states"] += 1
        if makes:
            self.states.add(partition)
        else:
            self.states.discard(partition)
            self.noted.discard(partition)
        self.note("the state of", self.named([partition]), "exists:", makes)
        return ErrorCode.COORDINATOR_NOT_AVAILABLE if self.is_faulty() else ErrorCode.NONE

    # The committed state.

    def committed(self, ledger: Ledger[SharingDriver], batch: list[StoredRecord]) -> None:
        before = self.committed_group
        finished(self.replayed.load(batch))
        group = self.committed_group
        if group is None:
            if before is not None:
                self.check_deletion(before)
            return
        states = [self.named(each) for each in self.known_states(group)]
        initializing, initialized = self.known_states(group)
        if initializing:
            self.noted.clear()
        elif initialized:
            self.noted = initialized
        self.note("the group is", group.epoch, group.assignment_epoch, sorted(group.members), *states)
        self.require(set(group.target) <= set(group.members), "OnlyMembersShare", (group.target, group.members))
        self.require(group.assignment_epoch <= group.epoch, "EpochsRise", group)
        for member in group.members.values():
            self.require(member.member_epoch <= group.epoch, "EpochsRise", (member, group.epoch))
        if before is None:
            return
        self.require(group.epoch >= before.epoch, "EpochsRise", (group.epoch, before.epoch))
        self.require(group.assignment_epoch >= before.assignment_epoch, "EpochsRise", (group, before))
        for member_id, old in before.members.items():
            new = group.members.get(member_id)
            self.require(new is None or new.member_epoch >= old.member_epoch, "EpochsRise", (old, new))
        if group.assignment_epoch > before.assignment_epoch:
            self.check_target(group)

    def known_states(self, group: ShareGroup) -> list[set[OwnedPartition]]:
        """Return the partitions that the group notes as initializing, and as initialized."""
        states = group.states
        return [
            {(topic_id, index) for topic_id, topic in topics.items() for index in topic.partitions}
            for topics in (states.initializing, states.initialized)
        ]

    def check_deletion(self, before: ShareGroup) -> None:
        self.counts["deleted groups"] += 1
        self.require(not before.members, "OnlyEmptyGroupsGo", before)
        left = {each for each in self.states & self.noted if each[0] in self.image.topics}
        self.require(not left, "StatesGoFirst", self.named(left))
        self.noted.clear()

    def check_target(self, group: ShareGroup) -> None:
        """Each initialized partition has at least one member that subscribes to its topic."""
        self.counts["assignments"] += 1
        shared = {each for member_id in group.target for each in self.target_of(group, group.members[member_id])}
        subscribed = group.subscribed_topics()
        for topic_id, topic in group.states.initialized.items():
            if topic.name in subscribed and topic_id in self.driver.image.topics:
                wanted = {(topic_id, index) for index in topic.partitions}
                self.require(wanted <= shared, "AllAreAssigned", (self.named(wanted - shared), group))

    def target_of(self, group: ShareGroup, member: ShareMember) -> set[OwnedPartition]:
        """Return the part of a member's target to which it subscribes."""
        target = partitions_in(group.target[member.member_id])
        return {each for each in target if self.names[each[0]] in member.topics}

    def check_answer(self, response: Any) -> None:
        if not isinstance(response, ShareGroupHeartbeatResponse) or response.error_code or response.member_epoch < 0:
            return
        group = self.committed_group
        member = None if group is None else group.members.get(response.member_id)
        is_committed = member is not None and member.member_epoch == response.member_epoch
        self.require(is_committed, "AnsweredIsCommitted", (response, member))
        assert member is not None
        if response.assignment is not None:
            given = {
                (each.topic_id, index) for each in response.assignment.topic_partitions for index in each.partitions
            }
            self.require(given == partitions_in(member.assigned), "AnsweredIsCommitted", (response, member))
            stateless = {each for each in given - self.states if each[0] in self.image.topics}
            self.require(not stateless, "AssignedHasState", (self.named(stateless), member))
            foreign = [each for each in given if self.names[each[0]] not in member.topics]
            self.require(not foreign, "OnlyMembersShare", (self.named(foreign), member))

    def check_replay(self) -> None:
        """The leader shows what a coordinator would load, and has a session of each member."""
        live, replayed = self.driver.core.shares, self.replayed.shares
        self.require(live.committed == replayed.groups, "ReplayIsLive", (live.committed, replayed.groups))
        if not self.driver.uncommitted:
            self.require(live.groups == replayed.groups, "ReplayIsLive", (live.groups, replayed.groups))
        group = live.groups.get(GROUP)
        members = set() if group is None else set(group.members)
        self.require(set(live.sessions.get(GROUP, ())) == members, "OnlyMembersShare", (live.sessions, members))

    # Steps.

    def take_step(self) -> None:
        kind = self.random.random()
        if kind < 0.33:
            self.message_arrives()
        elif kind < 0.60:
            self.member_acts()
        elif kind < 0.78:
            self.commit_one()
        elif kind < 0.87:
            self.state_coordinator_acts()
        elif kind < 0.91:
            self.pass_time(self.random.choice([0.1, 1.0, 1.0, 3.0, 3.0, SESSION_S + 2.0]))
        elif kind < 0.94:
            self.member_comes_or_goes()
        elif kind < 0.95:
            self.change_metadata()
        elif kind < 0.97:
            self.propagate_metadata()
        elif kind < 0.975:
            self.delete_group()
        elif kind < 0.975 + self.fault_rate / 10:
            self.ledgers[0].elect()
            self.check_replay()
        else:
            self.check_replay()

    @property
    def active(self) -> list[Sharer]:
        return [member for member in self.members if not member.is_done]

    def member_acts(self) -> None:
        if self.active:
            member = self.random.choice(self.active)
            if self.random.random() < 0.04:
                member.subscribe()
            member.act()

    def member_comes_or_goes(self) -> None:
        active, kind = self.active, self.random.random()
        if len(active) < MEMBERS and kind < 0.5:
            used = {member.member_id for member in active}
            gone = [member.member_id for member in self.members if member.member_id not in used]
            is_new = not gone or self.random.random() < 0.8
            self.members.append(Sharer(self, f"m{next(self._numbers)}" if is_new else gone[-1]))
            self.note(str(self.members[-1]), "comes")
        elif active:
            for member in active if kind > 0.9 else [self.random.choice(active)]:
                self.note(str(member), "goes")
                self.random.choice([member.leave, member.crash])()
        else:
            self.delete_group()

    def delete_group(self) -> None:
        self.send(GROUP, DeleteGroupsRequest(groups_names=[GROUP]), 2, lambda _: None)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.note("time passes:", seconds)
        before = self.driver.core.shares.groups.get(GROUP)
        self.fire_deadlines()
        after = self.driver.core.shares.groups.get(GROUP)
        if before is not None and after is not None:
            self.counts["expired members"] += len(before.members) - len(after.members)
        for driver in self.coordinators():
            self.require(driver.core.deadline > self.now, "DeadlinesMove", driver.core.deadline)

    # The end.

    def settle(self) -> None:
        """Let the members that are left send heartbeats, for two minutes."""
        self.driver.image_number = len(self.images) - 1
        for member in self.active:
            member.sends_topics = True
        for _ in range(SETTLING_ROUNDS):
            for member in self.active:
                member.is_waiting = False
                member.act()
                self.deliver_all()
            self.pass_time(3.0)
            self.deliver_all()
            if self.unsettled() is None:
                break
        self.check_replay()

    def deliver_all(self) -> None:
        while self.messages or self.driver.uncommitted or self.calls:
            if self.messages:
                self.messages.pop(0).arrive()
            elif self.driver.uncommitted:
                self.driver.commit()
            else:
                self.state_coordinator_acts()

    def unsettled(self) -> str | None:
        """Return what is missing until all partitions are shared by the members that are left."""
        active, group = self.active, self.driver.core.shares.groups.get(GROUP)
        members = set() if group is None else set(group.members)
        if members != {member.member_id for member in active}:
            return f"the group has the members {sorted(members)}, and should have {active}"
        for member in active:
            foreign = member.shares - self.partitions_of(self.image, member.topics)
            if foreign:
                return f"{member} has {self.named(foreign)}, to which it does not subscribe"
        topics = {name for member in active for name in member.topics}
        missing = self.partitions_of(self.image, topics) - {each for member in active for each in member.shares}
        return f"nobody shares {self.named(missing)}: {active}" if missing else None

    def check(self) -> None:
        unsettled = self.unsettled()
        self.require(unsettled is None, "GroupSettles", unsettled)
        group = self.committed_group
        if group is not None and group.members:
            states = group.states
            known = {*states.initializing, *states.initialized, *states.deleting}
            self.require(all(each in self.image.topics for each in known), "StatesGoWithTopics", states)
