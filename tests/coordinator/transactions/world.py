"""A simulated world of transactions: coordinators that crash, producers that are replaced, partitions, and a group.

Transactions write to partitions, which consumers read (:mod:`.partitions`), and commit offsets of the group
(:mod:`.offsets`). Both keep the producers in :class:`kraft.broker.producer_state.ProducerStates`, and verify a
producer's first write with the coordinator (KIP-890).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar

import attrs

from kraft.coordinator.groups.core import ExpireOffsets
from kraft.coordinator.groups.transactional_offsets import TopicPartition
from kraft.coordinator.groups.transactions import EndTransaction
from kraft.coordinator.partitions import coordinator_partition
from kraft.coordinator.transactions.core import MarkersWritten, TransactionCoordinator
from kraft.coordinator.transactions.effects import TransactionEffects, TransactionMarkers
from kraft.coordinator.transactions.step import TransactionCoordinatorSettings, TransactionWorld
from kraft.coordinator.transactions.transaction import BETWEEN_TRANSACTIONS, TransactionPartition
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordinator.transactions.desk import add_request, end_request, init_request
from tests.coordinator.transactions.offsets import GROUP, KEYS, OFFSETS, OffsetsLedger, OffsetWrite
from tests.coordinator.transactions.partitions import DataPartition, Write
from tests.coordinator.world import Answered, CoordinatedWorld, Coordinator, InFlight, Ledger, SimulatedClient

IDS = ("a", "b", "c")
PARTITIONS: list[TransactionPartition] = [("topic", index) for index in range(3)]
COORDINATORS = 2
RETRIED = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
}
BUMPING = 2
LATE_MARKERS = 0.15
"""The share of markers that arrive once more, late."""


@attrs.frozen(eq=False)
class SentMarker:
    """A marker that has no response yet. ``sender`` sends it to the group coordinator, if it is for the group."""

    markers: TransactionMarkers
    partition: TransactionPartition
    sender: SimulatedClient[TransactionalWorld]


class TransactionDriver(Coordinator["TransactionalWorld"]):
    def __init__(self, world: TransactionalWorld, ledger: Ledger[TransactionDriver]) -> None:
        self.sending: list[SentMarker] = []
        super().__init__(world, ledger)

    def new_core(self) -> TransactionCoordinator:
        return TransactionCoordinator(
            TransactionWorld(
                TransactionCoordinatorSettings(),
                self.epoch,
                self.world.new_producer_id,
                lambda: self.world.transaction_version,
                lambda: self.may_write,
                lambda: 1_048_588,
            )
        )

    def decided(self, event: object, effects: TransactionEffects) -> None:
        self.world.require(not (effects.append and effects.markers), "MarkersAfterCommit", effects)

    def perform_own(self, effects: TransactionEffects) -> None:
        for markers in effects.markers:
            self.sending += [SentMarker(markers, each, SimulatedClient(self.world)) for each in markers.partitions]

    def deliver_marker(self) -> None:
        """Bring one marker to its partition. If the response is lost or late, the marker is sent again."""
        chosen = self.world.random.choice(self.sending)
        if chosen.sender.is_waiting and self.world.random.random() < 0.8:
            return
        if chosen.partition == OFFSETS:
            self.send_to_group(chosen)
        else:
            self.send_to_partition(chosen)

    def send_to_partition(self, sent: SentMarker) -> None:
        """The partition's leader writes the marker, and responds once it is replicated."""
        markers, partition = sent.markers, sent.partition

        def written(_: ErrorCode) -> None:
            if not self.world.is_faulty():
                self.sending.remove(sent)
                self.step(MarkersWritten(markers, [partition]))

        try:
            self.world.partitions[partition].append_marker(markers, sent.sender.expect(written))
            self.repeat_late(markers, partition)
        except KafkaError:
            self.world.counts["fenced markers"] += 1
            self.sending.remove(sent)  # Apache: TransactionMarkerRequestCompletionHandler gives the transaction up

    def send_to_group(self, sent: SentMarker) -> None:
        """The group coordinator writes the marker, and responds once it is committed. Below transaction.version 2 no
        request arrives that the coordinator gave up.
        """
        markers, sender = sent.markers, sent.sender
        if markers.version < BUMPING:
            sender.disconnect()

        def answered(result: Any) -> None:
            if not isinstance(result, KafkaError):
                is_committed = (markers.producer_id, markers.epoch) in self.world.offsets.ended
                self.world.require(is_committed, "AnsweredIsCommitted", markers)
                self.sending.remove(sent)
                self.step(MarkersWritten(markers, [OFFSETS]))
            elif result.code is not ErrorCode.NOT_ENOUGH_REPLICAS:
                self.world.counts["fenced markers"] += 1
                self.sending.remove(sent)

        self.world.send(GROUP, _ending(markers), 0, sender.expect(answered), sender)
        self.repeat_late(markers, OFFSETS)

    def repeat_late(self, markers: TransactionMarkers, partition: TransactionPartition) -> None:
        """A request that the coordinator gave up may arrive after all, even during the next transaction. Below
        transaction.version 2 nothing distinguishes it from a marker of that one (KIP-1228).
        """
        if markers.version < BUMPING or self.world.random.random() > LATE_MARKERS:
            return

        def refused() -> None:
            self.world.counts["late markers"] += 1

        def arrive() -> None:
            try:
                self.world.partitions[partition].append_marker(markers, lambda _: None)
            except KafkaError:
                refused()

        delay = self.world.random.randint(0, 300)
        if partition == OFFSETS:
            answered = lambda result: refused() if isinstance(result, KafkaError) else None  # noqa: E731
            self.world.send(GROUP, _ending(markers), 0, answered, delay=delay)
        else:
            self.world.messages.append(InFlight(arrive, earliest=self.world.steps + delay))


def _ending(markers: TransactionMarkers) -> EndTransaction:
    end = EndTransactionMarker(markers.committed, markers.coordinator_epoch, markers.version)
    return EndTransaction(markers.producer_id, markers.epoch, end)


class Client(SimulatedClient["TransactionalWorld"]):
    """A producer: transactions one after another, until another one with its transactional id fences it."""

    def __init__(self, world: TransactionalWorld, transactional_id: str) -> None:
        super().__init__(world)
        self.transactional_id = transactional_id
        self.bumps = world.transaction_version >= BUMPING
        self.producer = (-1, -1)
        self.began_at: int | None = None
        self.first_producer = self.producer
        self.transaction = 0
        self.sequences: Counter[TransactionPartition] = Counter()
        self.plan: deque[Callable[[], None]] = deque([self.init])
        self.writing_actions = 0
        """The number of actions of a plan between the requests that add partitions and the end."""
        self.outcomes: dict[int, bool] = {}
        """By transaction: the outcome of which the coordinator informed the client."""

    def act(self) -> None:
        """Take the next action of the plan, or the same one again after a lost message or a refusal. A client that
        misses a response may abort its transaction instead.
        """
        if not self.plan:
            self.begin()
        if self.is_waiting and 1 < len(self.plan) <= self.writing_actions + 1 and self.world.random.random() < 0.05:
            self.give_up()
        self.plan[0]()

    def send(self, message: Any, version: int, answered: Answered) -> None:
        self.world.send(self.transactional_id, message, version, self.expect(answered), self)

    def done(self, code: int) -> bool:
        """Return whether the action succeeded. A producer that is refused for good is fenced."""
        if code == ErrorCode.NONE:
            self.plan.popleft()
            return True
        self.is_done = code not in RETRIED
        self.world.note(self.transactional_id, *self.producer, "is refused:", ErrorCode(code).name)
        return False

    def init(self) -> None:
        def answered(response: Any) -> None:
            if self.done(response.error_code):
                self.use((response.producer_id, response.producer_epoch))
                self.began_at = self.world.steps
                self.world.note(self.transactional_id, *self.producer, "begins")
                self.first_producer = self.producer
                self.world.require(self.producer not in self.world.given, "OneProducer", self.producer)
                self.world.given.add(self.producer)

        self.send(init_request(transactional_id=self.transactional_id), 4, answered)

    def replaces(self, other: Client) -> bool:
        return self.transactional_id == other.transactional_id and self.first_producer > other.first_producer

    def use(self, producer: tuple[int, int]) -> None:
        if producer != self.producer:
            self.producer = producer
            self.sequences.clear()

    def begin(self) -> None:
        random = self.world.random
        self.transaction += 1
        partitions = random.sample(PARTITIONS, random.randint(0 if self.bumps else 1, len(PARTITIONS)))
        keys = random.sample(KEYS, random.randint(1, len(KEYS))) if random.random() < 0.5 else []
        if not self.bumps:
            self.plan.append(lambda: self.add(partitions))
            if keys:
                self.plan.append(lambda: self.add([OFFSETS]))
        written = partitions + [partition for partition in partitions if random.random() < 0.2]
        for partition in written:
            write = Write(self, self.transaction, partition, self.producer, self.sequences[partition])
            self.sequences[partition] += 1
            self.world.writes.append(write)
            self.plan.append(lambda write=write: self.produce(write))  # type: ignore[misc]
        if keys:
            offsets = [self.world.new_offset_write(self, key) for key in keys]
            self.plan.append(lambda: self.commit_offsets(offsets))
        committed = bool(partitions or keys) and random.random() < 0.6
        self.plan.append(lambda: self.end(committed))
        self.writing_actions = len(written) + bool(keys)
        if random.random() < 0.05:
            self.plan.pop()  # the client hangs
            self.plan.append(lambda: None)

    def give_up(self) -> None:
        """Abort. Below transaction.version 2 the client does not know its sequences any more, and ends."""
        self.world.counts["given up"] += 1
        self.plan = deque([lambda: self.end(False)])
        if not self.bumps:
            self.plan.append(self.close)

    def close(self) -> None:
        self.is_done = True

    def add(self, partitions: list[TransactionPartition]) -> None:
        request = add_request(self.producer, *partitions, transactional_id=self.transactional_id)
        self.send(
            request, 3, lambda result: self.done(result.topic_results[0].results_by_partition[0].partition_error_code)
        )

    def produce(self, write: Write) -> None:
        partition = self.world.partitions[write.partition]
        answered = self.expect(self.done)
        arrive = lambda: partition.produce(write, lambda code: self.world.deliver(answered, code))  # noqa: E731
        self.world.messages.append(InFlight(arrive, self))

    def commit_offsets(self, writes: list[OffsetWrite]) -> None:
        def committed(code: ErrorCode) -> None:
            if self.done(code):
                is_committed = all(write.appended_at is not None for write in writes)
                self.world.require(is_committed, "AnsweredIsCommitted", writes)

        answered = self.expect(committed)
        coordinator = self.world.random.choice(self.world.offsets.coordinators)
        arrive = lambda: coordinator.commit_in_transaction(self, writes, answered)  # noqa: E731
        delay = self.world.random.choice([0, 0, self.world.random.randint(0, 200)])
        self.world.messages.append(InFlight(arrive, self, self.world.steps + delay))

    def end(self, committed: bool) -> None:
        def answered(response: Any) -> None:
            if self.done(response.error_code):
                self.outcomes[self.transaction] = committed
                if committed:
                    self.world.promise(self)
                self.world.note(self.transactional_id, *self.producer, "has ended; it is committed:", committed)
                if self.bumps:
                    self.use((response.producer_id, response.producer_epoch))

        request = end_request(self.producer, transactional_id=self.transactional_id, committed=committed)
        self.send(request, 5 if self.bumps else 3, answered)


class TransactionalWorld(CoordinatedWorld[Any]):
    INVARIANTS: ClassVar[dict[str, str]] = {
        "Atomicity": "all partitions and offsets of a transaction have one outcome, and it is the client's (KIP-98)",
        "NoHangingTransaction": "each transaction ends, in its coordinator and in all partitions (KIP-98)",
        "ZombiesAreFenced": "a producer writes nothing after another one has its transactional id (KIP-98)",
        "CommittedIsRead": "OffsetFetch with require_stable returns no offset before that of a committed transaction "
        "(KIP-447)",
        "PendingIsUnstable": "an offset that an open transaction may change is UNSTABLE_OFFSET_COMMIT (KIP-447)",
        "OnlyPendingIsUnstable": "an offset is stable that neither a transaction nor an append may change (KIP-447)",
        "OffsetsAreTheLogs": "OffsetFetch returns the last offset in the log, without those of open and aborted "
        "transactions, and none before a tombstone (KIP-98)",
        "AbortedIsNotRead": "a consumer with read_committed reads no record of an open or aborted transaction (KIP-98)",
        "CommittedIsConsumed": "a consumer with read_committed reads each record of a committed transaction (KIP-98)",
        "StableOffsetRises": "the last stable offset is never above the high watermark, and falls only with it, when "
        "the leader changes (KIP-98)",
        "AnsweredIsCommitted": "a response has what is committed (Apache: CoordinatorRuntime)",
        "ReplayIsLive": "the replay of the log, compacted or not, gives the live offsets (Apache: CoordinatorShard)",
        "ExpiryIsAllowed": "an offset expires after its retention, and not while a transaction may change it (KIP-211)",
        "OneProducer": "no two producers have one id and epoch (KIP-360)",
        "MarkersAfterCommit": "a marker is sent once the prepared outcome is committed (KIP-98)",
        "CommitAppendsNothing": "the replay of committed records appends none",
    }
    REACHED: ClassVar[tuple[str, ...]] = (
        "aborted",
        "aborted offsets",
        "committed",
        "committed offsets",
        "deleted groups",
        "elections",
        "expired offsets",
        "fenced markers",
        "given up",
        "partition elections",
        "reads up to an open transaction",
        "skipped records",
        "truncated markers",
        "truncated records",
        "unstable offsets",
    )
    STEPS: ClassVar[int] = 1500

    def __init__(self, seed: int, transaction_version: int) -> None:
        super().__init__(seed)
        self.transaction_version = transaction_version
        self._producer_ids = count(1)
        self.given: set[tuple[int, int]] = set()
        self.writes: list[Write] = []
        self.partitions = {name: DataPartition(self, name) for name in PARTITIONS}
        self.all_partitions = list(self.partitions.values())
        self.offset_writes: dict[int, OffsetWrite] = {}
        self._offsets = count(1)
        self.transaction_ledgers = [Ledger(self, TransactionDriver) for _ in range(COORDINATORS)]
        self.offsets = OffsetsLedger(self)
        self.ledgers = [*self.transaction_ledgers, self.offsets]
        self.clients = [Client(self, transactional_id) for transactional_id in IDS]

    def new_producer_id(self) -> int:
        if self.is_faulty():
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return next(self._producer_ids)

    def ledger_of(self, key: str) -> Ledger[Any]:
        if key == GROUP:
            return self.offsets
        return self.transaction_ledgers[coordinator_partition(key, COORDINATORS)]

    def new_offset_write(self, client: Client, key: TopicPartition) -> OffsetWrite:
        offset = next(self._offsets)
        write = OffsetWrite(client, client.transaction, OFFSETS, client.producer, 0, key=key, offset=offset)
        self.writes.append(write)
        self.offset_writes[offset] = write
        return write

    def promise(self, client: Client) -> None:
        """The client knows that its transaction is committed. From now on OffsetFetch must return its offsets."""
        for write in self.offset_writes.values():
            if write.client is client and write.transaction == client.transaction:
                promised = self.offsets.promised
                promised[write.key] = max(promised[write.key], write.position)

    def take_step(self) -> None:
        kind = self.random.random()
        if kind < 0.30:
            self.message_arrives()
        elif kind < 0.58:
            active = [client for client in self.clients if not client.is_done]
            if active:
                self.client_acts(self.random.choice(active))
        elif kind < 0.60:
            self.group_is_used()
        elif kind < 0.80:
            self.commit_one()
            self.one_partition().serve()
        elif kind < 0.95:
            if sending := self.sending():
                self.random.choice(sending).deliver_marker()
        elif kind < 0.96:
            self.now += self.random.choice([0.1, 1.0, 20.0])
            self.fire_deadlines()
        elif kind < 0.96 + self.fault_rate / 12:
            uncommitted = [ledger for ledger in self.ledgers if ledger.leader.uncommitted]
            self.random.choice(uncommitted or self.ledgers).elect()
            self.offsets.check_replay()
        elif 0.990 < kind < 0.995 and self.fault_rate:
            self.one_partition().elect()
        elif kind > 0.995:
            self.clients.append(Client(self, self.random.choice(IDS)))

    def one_partition(self) -> DataPartition:
        """Return a partition that is behind, if there is one."""
        behind = [partition for partition in self.all_partitions if partition.is_behind]
        return self.random.choice(behind or self.all_partitions)

    def sending(self) -> list[TransactionDriver]:
        """Return the coordinators that have markers to send."""
        return [each for ledger in self.transaction_ledgers for each in ledger.coordinators if each.sending]

    def group_is_used(self) -> None:
        """Read the offsets of the group, commit one without a transaction, or let them expire."""
        self.offsets.check_fetch()
        self.offsets.check_replay()
        kind = self.random.random()
        if kind < 0.1:
            self.offsets.commit_outside(next(self._offsets))
        elif kind < 0.3:
            self.offsets.leader.step(ExpireOffsets(GROUP))
        elif kind < 0.33:
            self.offsets.delete_group()

    def client_acts(self, client: Client) -> None:
        """A client waits for its response, and sends the request again after a while. Below transaction.version 2 its
        connection brings no request that it gave up: nothing distinguishes a late one from the next transaction's.
        """
        if client.is_waiting and self.random.random() < 0.8:
            return
        if not client.bumps:
            client.disconnect()
        client.act()

    def settle(self) -> None:
        """Without clients: deliver all messages and markers, and let the timeouts pass."""
        for client in self.clients:
            client.is_done = True
        for _ in range(10):
            while self.messages or self.sending() or any(ledger.leader.uncommitted for ledger in self.ledgers):
                self.settle_one()
            self.now += 100.0
            self.fire_deadlines()

    def settle_one(self) -> None:
        """Deliver the next message, or commit all, and send each coordinator's next marker."""
        if self.messages:
            self.messages.pop(0).arrive()
            return
        for ledger in self.ledgers:
            while ledger.leader.uncommitted:
                ledger.leader.commit()
        for partition in self.all_partitions:
            partition.replicate(partition.end_offset)
        for driver in self.sending():
            driver.deliver_marker()

    def check(self) -> None:
        self.check_atomicity()
        self.check_fencing()
        for partition in self.partitions.values():
            self.require(not partition.open, "NoHangingTransaction", partition.name)
            partition.check_reader()
        self.offsets.check_fetch()
        self.offsets.check_replay()
        self.require(not self.offsets.open, "NoHangingTransaction", self.offsets.open)
        for ledger in self.transaction_ledgers:
            for entry in ledger.leader.core.entries.values():
                self.require(entry.pending is None, "NoHangingTransaction", "a record is pending for ever")
                ended = entry.transaction.status in BETWEEN_TRANSACTIONS
                self.require(ended, "NoHangingTransaction", "a transaction hangs in its coordinator")

    def check_atomicity(self) -> None:
        by_transaction: dict[tuple[Client, int], list[Write]] = {}
        for write in self.writes:
            by_transaction.setdefault((write.client, write.transaction), []).append(write)
        for (client, number), writes in by_transaction.items():
            outcomes = {write.committed for write in writes if write.appended_at is not None}
            self.require(len(outcomes) <= 1, "Atomicity", "a transaction is both committed and aborted")
            self.require(None not in outcomes, "NoHangingTransaction", "a write has no outcome")
            if number in client.outcomes and outcomes:
                self.require(outcomes == {client.outcomes[number]}, "Atomicity", "the client got another outcome")
            self.counts["aborted"] += outcomes == {False}
            if outcomes == {True}:
                self.counts["committed"] += 1
                is_whole = all(write.appended_at is not None for write in writes)
                self.require(is_whole, "Atomicity", "a committed transaction lacks a write")

    def check_fencing(self) -> None:
        for write in self.writes:
            if write.appended_at is not None:
                self.check_is_not_fenced(write, write.appended_at)

    def check_is_not_fenced(self, write: Write, appended_at: int) -> None:
        for other in self.clients:
            if other.began_at is not None and other.replaces(write.client):
                self.require(appended_at <= other.began_at, "ZombiesAreFenced", write)
