"""A simulated world of one consumer group: its members, the brokers that coordinate it, and topics that come and go.

The members are classic ones and those of KIP-848 (:mod:`.members`). They crash, leave, return as static members, lose
responses and change their subscriptions. ``replayed`` is a coordinator that only loads the committed records: the live
coordinator must show the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, ClassVar

from kraft.coordinator.core import StoredRecord
from kraft.coordinator.groups.consumer.group import ConsumerGroup, ConsumerGroupState, ConsumerMember, ResolvedRegex
from kraft.coordinator.groups.consumer.regexes import RegexesResolved
from kraft.coordinator.groups.core import ExpireOffsets, ForgetTopics, GroupCoordinator
from kraft.coordinator.groups.effects import GroupEffects, RegexSearch
from kraft.coordinator.groups.group import Group, GroupState
from kraft.coordinator.groups.rebalance import ConsumerProtocolSettings, CoordinatorSettings
from kraft.coordinator.groups.records import OffsetRecord
from kraft.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.join_group_response import JoinGroupResponseMember
from kraft.messages.offset_commit_response import OffsetCommitResponse
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.metadata.steps import finished
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.members import (
    GROUP,
    SESSION_S,
    CommitReceipt,
    SimulatedClassicConsumer,
    SimulatedConsumer,
    SimulatedMember,
    decoded_assignment,
    decoded_subscription,
    embedded_assignment,
)
from tests.coordinator.groups.topics import CompactedLedger, InformedCoordinator, OwnedPartition, WorldOfTopics
from tests.coordinator.world import Ledger

INSTANCES = ("i1", "i2")
MEMBERS = 5
RETENTION_S = 60.0
SETTLING_ROUNDS = 80


class GroupDriver(InformedCoordinator["GroupWorld"]):
    def __init__(self, world: GroupWorld, ledger: Ledger[GroupDriver]) -> None:
        self.searches: list[RegexSearch] = []
        super().__init__(world, ledger)

    def new_core(self) -> GroupCoordinator:
        return GroupCoordinator(
            self.world.settings, self.world.new_uuid, lambda: self.may_write, image=lambda: self.image
        )

    def perform_own(self, effects: GroupEffects) -> None:
        self.searches += effects.searches

    def decided(self, event: object, effects: GroupEffects) -> None:
        self.world.check_expiry(self, effects)

    def reply(self, replies: list[tuple[Any, Any]]) -> None:
        if self.is_leader:
            for token, response in replies:
                self.world.check_answer(token, response)
        super().reply(replies)

    def resolve(self) -> None:
        """Finish a search for the topics of regular expressions."""
        search = self.searches.pop(self.world.random.randrange(len(self.searches)))
        resolved = {
            regex: ResolvedRegex(
                frozenset(name for name in search.image.topic_ids if re.fullmatch(regex, name)),
                search.image.offset,
                search.timestamp_ms,
            )
            for regex in search.regexes
        }
        self.world.counts["resolved searches"] += 1
        self.step(RegexesResolved(search.group_id, resolved, search.image))


class GroupWorld(WorldOfTopics[GroupDriver]):
    INVARIANTS: ClassVar[dict[str, str]] = {
        "OneOwner": "at most one member owns a partition and may commit its offsets (KIP-848, KIP-429)",
        "OneAssignment": "no two members of a committed group have one partition, not even to revoke it (KIP-848)",
        "EpochsRise": "the epochs of a group and of a member never go back (KIP-848)",
        "StableCoversAll": "the members of a stable group have all partitions of their topics (KIP-848)",
        "OffsetsAdvance": "a committed offset never goes back: the commits of fenced members are refused (KIP-62, 848)",
        "AnsweredIsCommitted": "a response has what is committed (Apache: CoordinatorRuntime)",
        "ReplayIsLive": "the replay of the log, compacted or not, gives the live state (Apache: CoordinatorShard)",
        "ExpiryIsAllowed": "an offset expires after its retention, and not while its topic is read (KIP-211, 496)",
        "OnlyEmptyGroupsGo": "a group with members is not deleted",
        "GroupSettles": "without faults, the group gets stable, and its members own all partitions of their topics",
        "RefusalsAreKnown": "a member that keeps to the protocol gets no other error",
        "DeadlinesMove": "a deadline that has passed moves",
        "CommitAppendsNothing": "the replay of committed records appends none",
    }
    REACHED: ClassVar[tuple[str, ...]] = (
        "commits",
        "deleted groups",
        "downgrades",
        "elections",
        "expired offsets",
        "fenced members",
        "refused commits",
        "resolved searches",
        "static returns",
        "upgrades",
    )
    STEPS: ClassVar[int] = 1200

    def __init__(self, seed: int) -> None:
        super().__init__(seed, (0.0, 0.01, 0.05, 0.15))
        delay_s = self.random.choice([0.0, 3.0])
        may_upgrade = self.random.random() < 0.9
        # Without either, members of both kinds would never be one group.
        may_downgrade = self.random.random() < 0.9 or not may_upgrade
        self.settings = CoordinatorSettings(
            group_initial_rebalance_delay_s=delay_s,
            offsets_retention_ms=round(RETENTION_S * 1000),
            consumer=ConsumerProtocolSettings(
                SESSION_S,
                3.0,
                assignment_interval_s=float(seed % 2),
                may_upgrade=may_upgrade,
                may_downgrade=may_downgrade,
            ),
        )
        self.is_cooperative = self.random.random() < 0.75
        self.protocol = "cooperative-sticky" if self.is_cooperative else "range"
        self.classic_share = self.random.choice([0.0, 0.5, 0.7, 1.0])
        self._uuids, self._member_numbers = count(1), count(1)
        self.create_topics()
        self.static_topics = {each: frozenset(self.random.sample(["t0", "t1", "t2"], 2)) for each in INSTANCES}
        """A classic static member that returns with other topics waits for the next rebalance (KIP-345)."""
        self.replayed = GroupCoordinator(self.settings, str)
        self.members: list[SimulatedMember] = []
        self.ledgers = [CompactedLedger(self, GroupDriver)]

    # Assignments of classic members.

    def new_uuid(self) -> str:
        return f"id{next(self._uuids)}"

    def decoded(self, assignment: bytes) -> set[OwnedPartition]:
        ids = {name: topic_id for topic_id, name in self.names.items()}
        return {(ids[name], index) for name, index in decoded_assignment(assignment)}

    def assigned_by_leader(self, roster: Sequence[JoinGroupResponseMember]) -> dict[str, bytes]:
        """Assign as the leader of a classic group: balance, and let owners keep or first give up what they have."""
        readers = {each.member_id: decoded_subscription(bytes(each.metadata)) for each in roster}
        owners: dict[OwnedPartition, tuple[int, str]] = {}
        ids = {name: topic_id for topic_id, name in self.names.items()}
        for member_id, subscription in readers.items():
            for topic in subscription.owned_partitions:
                for index in topic.partitions:
                    partition = ids[topic.topic], index
                    owners[partition] = max(owners.get(partition, (-1, "")), (subscription.generation_id, member_id))
        shares: dict[str, list[tuple[str, int]]] = {member_id: [] for member_id in readers}
        sizes = dict.fromkeys(readers, 0)
        for partition in sorted(self.partitions_of(self.image, {each for s in readers.values() for each in s.topics})):
            topic = self.names[partition[0]]
            able = [member_id for member_id, subscription in readers.items() if topic in subscription.topics]
            chosen = min(able, key=lambda member_id: (sizes[member_id], member_id))
            owner = owners.get(partition, (-1, ""))[1]
            if owner in able and sizes[owner] <= sizes[chosen]:
                chosen = owner
            sizes[chosen] += 1
            if not self.is_cooperative or owner in ("", chosen):
                shares[chosen].append((topic, partition[1]))
        return {member_id: embedded_assignment(partitions) for member_id, partitions in shares.items()}

    # The committed state.

    @property
    def driver(self) -> GroupDriver:
        return self.ledgers[0].leader

    @property
    def committed_group(self) -> ConsumerGroup | None:
        return self.replayed.consumers.groups.get(GROUP)

    def committed_offset(self, partition: OwnedPartition) -> int:
        """Return what OffsetFetch of the leader returns, or 0."""
        found = self.driver.core.offsets.of(GROUP).get((self.names[partition[0]], partition[1]))
        return 0 if found is None else found.offset

    def committed(self, ledger: Ledger[GroupDriver], batch: list[StoredRecord]) -> None:
        before = self.replayed
        offsets = dict(before.offsets.of(GROUP))
        classic, consumers = before.groups.get(GROUP), before.consumers.groups.get(GROUP)
        finished(self.replayed.load(batch))
        self.check_offsets(offsets)
        self.check_group(classic, consumers)

    def check_offsets(self, before: dict[tuple[str, int], Any]) -> None:
        after = self.replayed.offsets.of(GROUP)
        for key, offset in after.items():
            is_later = key not in before or before[key].offset <= offset.offset
            self.require(is_later, "OffsetsAdvance", f"{key} from {before.get(key)} to {offset}")

    def check_group(self, classic: Group | None, before: ConsumerGroup | None) -> None:
        group, successor = self.committed_group, self.replayed.groups.get(GROUP)
        self.counts["upgrades"] += bool(classic is not None and classic.members and group is not None)
        self.counts["downgrades"] += bool(before is not None and before.members and group is None and successor)
        if group is None and successor is None:
            had_members = (classic is not None and classic.members) or (before is not None and before.members)
            self.require(not had_members, "OnlyEmptyGroupsGo", classic or before)
            core = self.driver.core
            # A classic member may have taken the id of an empty group, with its offsets.
            has_heir = GROUP in core.groups or GROUP in core.consumers.groups
            if (classic is not None or before is not None) and not has_heir:
                self.counts["deleted groups"] += 1
                # The heir may be deleted, too, with tombstones that are not committed.
                left = self.replayed.offsets.of(GROUP).keys() & core.offsets.written(GROUP).keys()
                self.require(not left, "OnlyEmptyGroupsGo", ("offsets are left", left))
        old_epoch = before.epoch if before is not None else classic.generation if classic is not None else 0
        if group is None:
            if successor is not None and (before is None or before.members):  # an empty group leaves but its id
                self.require(successor.generation >= old_epoch, "EpochsRise", (successor.generation, old_epoch))
            return
        if classic is None or classic.members:
            self.require(group.epoch >= old_epoch, "EpochsRise", (group.epoch, old_epoch))
        held = [
            (each.member_id, each.member_epoch, each.state.name, self.named(dict(_held(each))))
            for each in group.members.values()
        ]
        self.note("the group is", group.state.value, group.epoch, group.assignment_epoch, held)
        owners: dict[OwnedPartition, str] = {}
        for member in group.members.values():
            self.require(member.member_epoch <= group.epoch, "EpochsRise", member)
            old = None if before is None else before.members.get(member.member_id)
            if old is not None and member.member_epoch >= 0:
                self.require(member.member_epoch >= old.member_epoch, "EpochsRise", (old, member))
            for partition, _ in _held(member):
                other = owners.setdefault(partition, member.member_id)
                self.require(other == member.member_id, "OneAssignment", (partition, other, member))
        self.check_coverage(group)

    def check_coverage(self, group: ConsumerGroup) -> None:
        """A stable group has all partitions, of the topics that its coordinator knew when it assigned them."""
        searched = all(member.regex in group.regexes for member in group.members.values() if member.regex)
        if group.state is not ConsumerGroupState.STABLE or not searched:
            return
        covered = {partition for member in group.members.values() for partition, _ in _held(member)}
        for member in group.members.values():
            targets = {
                (topic_id, index) for topic_id, some in group.target.get(member.member_id, {}).items() for index in some
            }
            self.require(targets <= covered, "StableCoversAll", (member, targets - covered))
        topics = group.subscribed_topics()
        for image in self.images[: self.driver.image_number + 1][::-1]:
            if self.partitions_of(image, topics) <= covered:
                return
        self.require(False, "StableCoversAll", group)

    def check_owners(self, member: SimulatedMember) -> None:
        for other in self.members:
            if other is not member:
                for partition in member.owns.keys() & other.owns.keys():
                    if self.may_commit(member, partition) and self.may_commit(other, partition):
                        self.require(False, "OneOwner", f"{self.named([partition])}: {member} and {other}")

    def may_commit(self, client: SimulatedMember, partition: OwnedPartition) -> bool:
        """Return whether the group, as it is committed, accepts a commit."""
        group = self.committed_group
        if group is not None:
            member = group.members.get(client.member_id)
            if member is None:
                return False
            if client.epoch == member.member_epoch:
                return True
            since = dict(_held(member)).get(partition)
            return member.classic is None and since is not None and since <= client.epoch <= member.member_epoch
        classic = self.driver.core.groups.get(GROUP)
        return (
            classic is not None
            and client.member_id in classic.members
            and client.epoch == classic.generation
            and classic.state in (GroupState.STABLE, GroupState.PREPARING_REBALANCE)
        )

    def check_answer(self, token: Any, response: Any) -> None:
        match response:
            case ConsumerGroupHeartbeatResponse(error_code=0) if response.member_epoch > 0:
                group = self.committed_group
                member = None if group is None else group.members.get(response.member_id)
                self.require(
                    member is not None and member.member_epoch == response.member_epoch,
                    "AnsweredIsCommitted",
                    (response, member),
                )
                assert member is not None
                if response.assignment is not None:
                    given = {(t.topic_id, each) for t in response.assignment.topic_partitions for each in t.partitions}
                    has = {(topic_id, each) for topic_id, some in member.assigned.items() for each in some}
                    self.require(given == has, "AnsweredIsCommitted", (response, member))
            case OffsetCommitResponse() if isinstance(token, CommitReceipt):
                offsets = self.replayed.offsets.of(GROUP)
                for topic in response.topics:
                    for each in topic.partitions:
                        if each.error_code == ErrorCode.NONE:
                            key = topic.name, each.partition_index
                            is_committed = key in offsets and offsets[key].offset == token.offsets[key]
                            self.require(is_committed, "AnsweredIsCommitted", (key, token.offsets, offsets.get(key)))
            case SyncGroupResponse(error_code=0) if self.committed_group is None:
                classic = self.replayed.groups.get(GROUP)
                given = bytes(response.assignment)
                known = [] if classic is None else [bytes(each.assignment) for each in classic.members.values()]
                self.require(not given or given in known, "AnsweredIsCommitted", response)

    def check_expiry(self, driver: GroupDriver, effects: GroupEffects) -> None:
        """An offset goes with its group or its topic, or expires."""
        gone = [each for each in effects.append if isinstance(each, OffsetRecord) and each.committed is None]
        core = driver.core
        classic, consumers = core.groups.get(GROUP), core.consumers.groups.get(GROUP)
        if classic is None and consumers is None:
            return  # the group was deleted: OnlyEmptyGroupsGo
        read: set[str] = set()
        for member in () if consumers is None else consumers.members.values():
            found = consumers.regexes.get(member.regex)
            read |= member.topics | (frozenset() if found is None else found.topics)
        if classic is not None and classic.state is not GroupState.EMPTY:
            read.update(*(decoded_subscription(each.protocols[0][1]).topics for each in classic.members.values()))
        for record in gone:
            if record.topic not in self.image.topic_ids:
                continue
            committed = core.offsets.of(GROUP)[record.topic, record.partition]
            age_s = self.now - committed.commit_timestamp_ms / 1000
            self.counts["expired offsets"] += 1
            self.require(age_s >= RETENTION_S, "ExpiryIsAllowed", (record, age_s))
            self.require(record.topic not in read, "ExpiryIsAllowed", (record, read))

    def check_replay(self) -> None:
        """The leader shows what a coordinator would load."""
        live, replayed = self.driver.core, self.replayed
        self.require(live.offsets.by_group == replayed.offsets.by_group, "ReplayIsLive", "the offsets differ")
        same = live.consumers.committed == replayed.consumers.groups
        self.require(same, "ReplayIsLive", (live.consumers.committed, replayed.consumers.groups))
        if not self.driver.uncommitted:
            same = live.consumers.groups == replayed.consumers.groups
            self.require(same, "ReplayIsLive", (live.consumers.groups, replayed.consumers.groups))
            classic, stored_group = live.groups.get(GROUP), replayed.groups.get(GROUP)
            if classic is not None and classic.state is GroupState.STABLE:
                same = stored_group is not None and _assigned(classic) == _assigned(stored_group)
                self.require(same, "ReplayIsLive", (classic, stored_group))

    # Steps.

    def take_step(self) -> None:
        kind = self.random.random()
        if kind < 0.35:
            self.message_arrives()
        elif kind < 0.62:
            self.member_acts()
        elif kind < 0.85:
            self.commit_one()
        elif kind < 0.89:
            self.resolve_one()
        elif kind < 0.93:
            self.pass_time(self.random.choice([0.1, 1.0, 1.0, 3.0, 3.0, 12.0]))
        elif kind < 0.95:
            self.member_comes_or_goes()
        elif kind < 0.96:
            self.change_metadata()
        elif kind < 0.98:
            self.propagate_metadata()
        elif kind < 0.985:
            self.broker_tidies()
        elif kind < 0.985 + self.fault_rate / 5:
            self.ledgers[0].elect()
            self.check_replay()
        elif not self.steps % 10:
            self.check_replay()

    def gives_up(self) -> bool:
        """Return whether a member sends its request again, instead of waiting for the response."""
        return self.random.random() < (0.08 if self.fault_rate else 0.3)

    @property
    def active(self) -> list[SimulatedMember]:
        return [member for member in self.members if not member.is_done]

    def member_acts(self) -> None:
        if self.active:
            member = self.random.choice(self.active)
            kind = self.random.random()
            if kind < 0.7:
                member.act()
            elif kind < 0.98:
                member.consume_and_commit()
            else:
                member.subscribe()

    def member_comes_or_goes(self) -> None:
        active = self.active
        kind = self.random.random()
        if len(active) < MEMBERS and kind < 0.6:
            free = [each for each in INSTANCES if each not in {member.instance_id for member in active}]
            self.add_member(self.random.choice([None, None, *free]))
        elif active:
            gone = active if kind > 0.97 else [self.random.choice(active)]
            for member in gone:
                self.note(str(member), "goes")
                self.random.choice([member.leave, member.leave, member.retire])()
            if len(gone) == 1 and self.random.random() < 0.5:
                self.add_member(gone[0].instance_id)  # a rolling restart, perhaps with another client

    def add_member(self, instance_id: str | None) -> None:
        if instance_id is not None and any(each.instance_id == instance_id for each in self.members):
            self.counts["static returns"] += 1
        is_classic = self.random.random() < self.classic_share
        kind = SimulatedClassicConsumer if is_classic else SimulatedConsumer
        self.members.append(kind(self, f"m{next(self._member_numbers)}", instance_id))
        self.note(str(self.members[-1]), "comes with", instance_id, kind.__name__)

    def resolve_one(self) -> None:
        searching = [driver for driver in self.coordinators() if driver.searches]
        if searching:
            self.random.choice(searching).resolve()

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.note("time passes:", seconds)
        self.fire_deadlines()
        for driver in self.coordinators():
            self.require(driver.core.deadline > self.now, "DeadlinesMove", driver.core.deadline)

    def broker_tidies(self) -> None:
        kind = self.random.random()
        if kind < 0.5:
            self.driver.step(ExpireOffsets(GROUP))
        elif kind < 0.8:
            image = self.driver.image
            # A topic that this broker does not know yet is not deleted.
            known = {*image.topic_ids, *self.image.topic_ids}
            deleted = {name for name in self.names.values() if name not in known}
            self.driver.step(ForgetTopics(GROUP, deleted.__contains__))
        else:
            self.send(GROUP, DeleteGroupsRequest(groups_names=[GROUP]), 2, lambda _: None)

    # The end.

    def settle(self) -> None:
        """Let all members that are left act until they own what they should, for a few minutes."""
        self.driver.image_number = len(self.images) - 1
        for _ in range(SETTLING_ROUNDS):
            self.find_leader()
            for member in self.active:
                member.act()
                self.deliver_all()
            self.pass_time(3.0)
            self.deliver_all()
            if self.unsettled() is None:
                break
        self.check_replay()

    def find_leader(self) -> None:
        """Let the classic members join again if none of them knows that it leads. A consumer group names no leader in
        JoinGroup, and if a returning static member downgrades it, no rebalance follows, here as in Apache Kafka.
        """
        classic = [member for member in self.active if isinstance(member, SimulatedClassicConsumer)]
        if GROUP in self.driver.core.groups and not any(member.leads for member in classic):
            for member in classic:
                member.must_join = True

    def deliver_all(self) -> None:
        driver = self.driver
        while self.messages or driver.uncommitted or driver.searches:
            if self.messages:
                self.messages.pop(0).arrive()
            elif driver.uncommitted:
                driver.commit()
            else:
                driver.resolve()

    def unsettled(self) -> str | None:
        """Return what is missing until each partition has its owner, and the group no other members."""
        active, core = self.active, self.driver.core
        known: set[str] = set()
        for groups in (core.groups, core.consumers.groups):
            group = groups.get(GROUP)
            known |= set() if group is None else set(group.members)
        if known != {member.member_id for member in active}:
            return f"the group has the members {sorted(known)}, and should have {active}"
        owned = [partition for member in active for partition in member.owns]
        topics: set[str] = set()
        for member in active:
            mine = set(member.topics)
            if member.regex:
                mine |= {name for name in self.image.topic_ids if re.fullmatch(member.regex, name)}
            topics |= mine
            foreign = [each for each in member.owns if self.names[each[0]] not in mine]
            if foreign:
                return f"{member} owns {self.named(foreign)}, to which it does not subscribe"
        if len(owned) != len(set(owned)):
            return f"a partition has two owners: {active}"
        missing = self.partitions_of(self.image, topics) ^ set(owned)
        return f"{self.named(missing)} are not owned as they should be: {active}" if missing else None

    def check(self) -> None:
        unsettled = self.unsettled()
        self.require(unsettled is None, "GroupSettles", unsettled)


def _held(member: ConsumerMember) -> Iterable[tuple[OwnedPartition, int]]:
    """Yield the partitions that a member has, also those to revoke, with the epochs since when."""
    for owned in (member.assigned, member.revoking):
        for topic_id, epochs in owned.items():
            for index, since in epochs.items():
                yield (topic_id, index), since


def _assigned(group: Group) -> dict[str, bytes]:
    return {member_id: bytes(member.assignment) for member_id, member in group.members.items()}
