"""A simulated world of a share group: two topic partitions, the brokers that lead them, and a share coordinator.

Members acquire records, acknowledge, release, reject and renew them, or crash. The leaders of the partitions and the
coordinator are replaced, and do not notice at once. ``SharedTopicPartition`` knows what happened to each record, and
has a model of the committed state: one entry for each record, changed by the requests whose records are committed.
"""

from __future__ import annotations

from itertools import count
from typing import Any, ClassVar

from kraft.broker.share.partition import RENEW, Acknowledgement, SharePartitionSettings
from kraft.coordinator.core import CoordinatorRequest, StoredRecord
from kraft.coordinator.share.core import ShareCoordinator, ShareStateRequest, ShareWorld, TidyShareStates
from kraft.coordinator.share.state import NO_START_OFFSET
from kraft.messages import initialize_share_group_state_request as initialize_request
from kraft.messages import read_share_group_state_response as read_response
from kraft.metadata.steps import finished
from kraft.wire.errors import KafkaError
from tests.coordinator.share.leaders import RETRIED, StateCall
from tests.coordinator.share.topic_partition import SharedTopicPartition
from tests.coordinator.world import CoordinatedWorld, Coordinator, Ledger

PARTITIONS = 2
MEMBERS = 4
LOCK_S = 6.0
ACCEPT, RELEASE, REJECT = 1, 2, 3
SETTLING_ROUNDS = 300


class ShareDriver(Coordinator["SharedWorld"]):
    def __init__(self, world: SharedWorld, ledger: Ledger[ShareDriver]) -> None:
        self.requests: dict[int, Any] = {}
        """By the id of their effects: the requests whose records are not committed."""
        super().__init__(world, ledger)

    def new_core(self) -> ShareCoordinator:
        return ShareCoordinator(
            ShareWorld(
                lambda topic_id: PARTITIONS,
                lambda: self.may_write,
                lambda: 1_048_588,
                updates_per_snapshot=self.world.updates_per_snapshot,
                cold_snapshot_interval_s=20.0,
            )
        )

    def decided(self, event: object, effects: Any) -> None:
        if effects.append and isinstance(event, CoordinatorRequest):
            self.requests[id(effects)] = event.message

    def reply(self, replies: list[tuple[Any, Any]]) -> None:
        if self.is_leader:
            for _, response in replies:
                if isinstance(response, read_response.PartitionResult) and not response.error_code:
                    self.world.partitions[response.partition].check_read(response)
        super().reply(replies)


class ShareLedger(Ledger[ShareDriver]):
    def append(self, coordinator: ShareDriver, effects: Any) -> None:
        request = coordinator.requests.pop(id(effects), None)
        super().append(coordinator, effects)
        if request is not None:
            self.world.partitions[request.data.partition].committed(request.data)
        self.world.check_replay()

    def prune(self) -> None:
        """Delete the records that no load needs, as the leader says."""
        kept = [each for each in self.committed if each.offset >= self.leader.core.redundant_offset]
        if len(kept) < len(self.committed):
            self.world.counts["prunings"] += 1
            self.committed = kept
            self.world.note("the log begins at", self.leader.core.redundant_offset)


class ShareMember:
    """A member of the group. ``holds`` has the offsets that it processes, by partition."""

    def __init__(self, world: SharedWorld, member_id: str) -> None:
        self.world, self.member_id = world, member_id
        self.holds: dict[int, set[int]] = {index: set() for index in range(PARTITIONS)}
        self.is_done = False

    def fetch(self, partition: SharedTopicPartition) -> None:
        leader = self.world.random.choice(partition.leaders)
        for each in leader.fetch(self.member_id):
            if not self.world.is_faulty():  # the response may be lost
                self.holds[partition.index].update(range(each.first_offset, each.last_offset + 1))

    def acknowledge(self, partition: SharedTopicPartition, kinds: list[int]) -> None:
        """Acknowledge some records, each with its own outcome."""
        random = self.world.random
        held = sorted(self.holds[partition.index])
        if not held:
            return
        chosen = sorted(random.sample(held, random.randint(1, len(held))))
        batches: list[Acknowledgement] = []
        first = 0
        while first < len(chosen):
            end = first + 1
            while end < len(chosen) and chosen[end] == chosen[end - 1] + 1:
                end += 1
            types = [random.choice(kinds) for _ in chosen[first:end]]
            if len(set(types)) == 1 and random.random() < 0.5:
                types = types[:1]
            batches.append(Acknowledgement(chosen[first], chosen[end - 1], types))
            outcomes = types * (end - first) if len(types) == 1 else types
            self.holds[partition.index].difference_update(
                each for each, kind in zip(chosen[first:end], outcomes, strict=True) if kind != RENEW
            )
            first = end
        leader = random.choice(partition.leaders)
        self.world.note(self.member_id, "acknowledges", [tuple(each) for each in batches])
        leader.acknowledge(self.member_id, batches)

    def crash(self) -> None:
        """Vanish. A leader notices the end of the connection, or the locks end."""
        self.is_done = True
        for partition in self.world.partitions:
            for leader in partition.leaders:
                if self.world.random.random() < 0.5:
                    leader.release(self.member_id)


class SharedWorld(CoordinatedWorld[ShareDriver]):
    INVARIANTS: ClassVar[dict[str, str]] = {
        "DeliveryLimit": "no record has more deliveries than group.share.delivery.count.limit (KIP-932)",
        "CountsAreKept": "a delivery counts one more than the last one that the leader made or loaded (KIP-932)",
        "OneHolder": "a leader delivers a record to one member at a time, until its acquisition lock ends (KIP-932)",
        "LocksEnd": "after its acquisition lock no record stays with a member, present or gone (KIP-932)",
        "AcceptedIsFinal": "a record is not delivered after a member was answered that it is accepted (KIP-932)",
        "NothingIsSkipped": "all records below the start offset are accepted, archived, or gone from the log (KIP-932)",
        "StartAdvances": "the start offset (SPSO) never goes back in a state epoch; nothing is delivered below",
        "AbortedIsNotDelivered": "read_committed groups get no record of an aborted transaction (KIP-932)",
        "EverythingIsDelivered": "while members fetch, each record is delivered in the end",
        "StaleWritesAreFenced": "no write is committed with an earlier leader epoch or state epoch (KIP-932)",
        "AnsweredIsCommitted": "a leader reads the committed state (Apache: CoordinatorRuntime)",
        "ReplayIsLive": "the replay of snapshots and updates, pruned or not, gives the live state (KIP-932)",
        "RefusalsAreKnown": "a group coordinator that keeps to the protocol gets no other error",
        "DeadlinesMove": "the deadline of a lock that has passed moves",
        "CommitAppendsNothing": "the replay of committed records appends none",
    }
    REACHED: ClassVar[tuple[str, ...]] = (
        "acknowledgements",
        "deliveries",
        "elections",
        "fenced writes",
        "leader moves",
        "prunings",
        "refused acknowledgements",
        "resets",
        "spent records",
    )
    STEPS: ClassVar[int] = 900

    def __init__(self, seed: int) -> None:
        super().__init__(seed, (0.0, 0.01, 0.05, 0.15))
        random = self.random
        self.settings = SharePartitionSettings(random.choice([1, 2, 3, 5]), LOCK_S, random.choice([6, 12, 30]))
        self.updates_per_snapshot = random.choice([0, 1, 3, 10])
        self.calls: list[StateCall] = []
        self.partitions = [SharedTopicPartition(self, index) for index in range(PARTITIONS)]
        self.replayed = ShareCoordinator(ShareWorld(lambda _: PARTITIONS, lambda: True, lambda: 1_048_588))
        self._numbers = count(1)
        self.members: list[ShareMember] = []
        self.ledgers = [ShareLedger(self, ShareDriver)]
        for partition in self.partitions:
            self.initialize(partition, NO_START_OFFSET)

    def committed(self, ledger: Ledger[ShareDriver], batch: list[StoredRecord]) -> None:
        finished(self.replayed.load(batch))

    def initialize(self, partition: SharedTopicPartition, start_offset: int) -> None:
        """Initialize the state, as the group coordinator does for a new group and for AlterShareGroupOffsets. It
        repeats the request until it succeeds, and the group has no members meanwhile.
        """
        partition.is_initializing = True
        data = initialize_request.PartitionData(partition.index, partition.state_epoch + 1, start_offset)
        request = ShareStateRequest(partition.key, data)
        self.note("partition", partition.index, "is initialized", data.state_epoch, start_offset)

        def ended(outcome: Any) -> None:
            if isinstance(outcome, KafkaError):
                self.require(outcome.code in RETRIED, "RefusalsAreKnown", outcome)
                StateCall(self, request, ended)
            else:
                partition.is_initializing = False

        StateCall(self, request, ended)

    # Steps.

    def take_step(self) -> None:
        kind = self.random.random()
        partition = self.random.choice(self.partitions)
        if kind < 0.25:
            self.message_arrives()
        elif kind < 0.40:
            self.commit_one()
        elif kind < 0.70:
            self.member_acts(partition)
        elif kind < 0.78:
            partition.produce()
        elif kind < 0.82:
            if self.calls:
                self.random.choice(self.calls).act()
        elif kind < 0.87:
            self.pass_time(self.random.choice([0.1, 0.1, 1.0, 3.0, 12.0]))
        elif kind < 0.90:
            self.member_comes_or_goes()
        elif kind < 0.905:
            partition.compact()
        elif kind < 0.91:
            partition.move_log_start()
        elif kind < 0.93:
            partition.notice()
        elif kind < 0.94:
            self.coordinator_tidies()
        elif kind < 0.94 + self.fault_rate / 10:
            self.ledgers[0].elect()
            self.check_replay()
        elif kind < 0.94 + self.fault_rate / 4:
            partition.elect()
        elif kind > 0.998 and not partition.is_initializing:
            self.counts["resets"] += 1
            for leader in partition.leaders[:]:
                if self.random.random() < 0.5:
                    partition.dropped(leader)  # it forgets a group without sessions
            self.initialize(partition, self.random.randint(partition.log_start, partition.log_end))

    def member_acts(self, partition: SharedTopicPartition) -> None:
        if self.members and not partition.is_initializing:
            member = self.random.choice(self.members)
            if self.random.random() < 0.4:
                member.fetch(partition)
            else:
                kinds = self.random.choice([[ACCEPT], [ACCEPT, RELEASE, REJECT, RENEW], [ACCEPT, RELEASE]])
                member.acknowledge(partition, kinds)

    def member_comes_or_goes(self) -> None:
        if len(self.members) < MEMBERS:
            self.members.append(ShareMember(self, f"m{next(self._numbers)}"))
        elif self.random.random() < 0.3:
            gone = self.random.choice(self.members)
            self.members.remove(gone)
            self.note(gone.member_id, "crashes")
            gone.crash()

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.note("time passes:", seconds)
        for partition in self.partitions:
            for leader in partition.leaders:
                leader.expire()
                leader.check_locks()

    def coordinator_tidies(self) -> None:
        leader = self.ledgers[0].leader
        if self.random.random() < 0.5:
            leader.step(TidyShareStates())
        else:
            self.ledgers[0].prune()

    # The end.

    def settle(self) -> None:
        """Let two members accept all that they get."""
        for partition in self.partitions:
            partition.notice()
        self.members = [ShareMember(self, "last-1"), ShareMember(self, "last-2")]
        for _ in range(SETTLING_ROUNDS):
            for partition in self.partitions:
                for member in self.members:
                    member.fetch(partition)
                    self.deliver_all()
                    member.acknowledge(partition, [ACCEPT])
                    self.deliver_all()
            self.pass_time(1.0)
            if all(each.is_finished for each in self.partitions):
                break

    def deliver_all(self) -> None:
        driver = self.ledgers[0].leader
        for _ in range(10):
            while self.messages or driver.uncommitted:
                if self.messages:
                    self.messages.pop(0).arrive()
                else:
                    driver.commit()
            for call in list(self.calls):
                call.act()

    def check_replay(self) -> None:
        """The committed log has the state that the model has, and so has a coordinator without pending records."""
        driver = self.ledgers[0].leader
        for partition in self.partitions:
            partition.check_replay(self.replayed)
            if not driver.uncommitted:
                partition.check_replay(driver.core)

    def check(self) -> None:
        self.check_replay()
        for partition in self.partitions:
            core = partition.leader.core
            self.require(partition.is_finished, "EverythingIsDelivered", (partition.index, core, partition.log_end))
            assert core is not None
            for offset in range(max(partition.first_offset, 0), partition.log_end):
                times = partition.deliveries[core.state_epoch, offset]
                self.counts["spent records"] += times >= self.settings.max_deliveries
                self.require(times or not partition.has(offset), "EverythingIsDelivered", (partition.index, offset))
