"""A simulated world of transactions: coordinators that crash, producers that are replaced, and partitions.

The partitions keep the producers in :class:`kraft.broker.producer_state.ProducerStates`, and verify a producer's first
write with the coordinator (KIP-890).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar

import attrs

from kraft.broker.producer_state import ProducerStates
from kraft.coordinator.transactions.core import MarkersWritten, TransactionCoordinator
from kraft.coordinator.transactions.effects import TransactionEffects, TransactionMarkers
from kraft.coordinator.transactions.step import TransactionCoordinatorSettings, TransactionWorld
from kraft.coordinator.transactions.transaction import BETWEEN_TRANSACTIONS, TransactionPartition
from kraft.records.batch import CONTROL_BIT, TRANSACTIONAL_BIT, BatchHeader
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordinator.transactions.desk import add_request, end_request, init_request
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


@attrs.define(eq=False)
class Write:
    """A record of a client's transaction. ``committed`` is None until the partition has the marker."""

    client: Client
    transaction: int
    partition: TransactionPartition
    producer: tuple[int, int]
    sequence: int
    appended_at: int | None = None
    committed: bool | None = None


class DataPartition:
    """The leader of one partition. It appends markers and verified writes."""

    def __init__(self, world: TransactionalWorld, name: TransactionPartition) -> None:
        self.world, self.name = world, name
        self.producers = ProducerStates()
        self.end_offset = 0
        self.open: dict[int, list[Write]] = {}
        self.guards: dict[int, object] = {}
        """By producer id: Apache's ``VerificationGuard``. A marker removes it, so the write that waits is refused."""

    def header(self, producer: tuple[int, int], sequence: int, attributes: int) -> BatchHeader:
        return BatchHeader(self.end_offset, 49, 0, 2, 0, attributes, 0, 0, 0, *producer, sequence, 1)

    def produce(self, write: Write, answered: Answered) -> None:
        """Append the write, after the coordinator has it in the transaction."""
        writes = self.open.get(write.producer[0])
        if writes and writes[0].producer == write.producer:
            answered(self.append(write))
            return
        guard = self.guards[write.producer[0]] = object()

        def verified(result: Any) -> None:
            code = ErrorCode(result.topic_results[0].results_by_partition[0].partition_error_code)
            if code is ErrorCode.NONE and self.guards.get(write.producer[0]) is guard:
                code = self.append(write)
            elif code is ErrorCode.NONE:
                code = ErrorCode.CONCURRENT_TRANSACTIONS
            answered(code)

        client = write.client
        request = add_request(
            write.producer, self.name, transactional_id=client.transactional_id, verify_only=not client.bumps
        )
        self.world.send(client.transactional_id, request, 5, verified)

    def append(self, write: Write) -> ErrorCode:
        header = self.header(write.producer, write.sequence, TRANSACTIONAL_BIT)
        try:
            duplicate = self.producers.check(header)
        except KafkaError as refused:
            return refused.code
        if duplicate is None:
            self.producers.append(header, 0)
            self.end_offset += 1
            write.appended_at = self.world.steps
            self.world.note(self.name, "has a write of", *write.producer)
            self.open.setdefault(write.producer[0], []).append(write)
        return ErrorCode.NONE

    def append_marker(self, markers: TransactionMarkers) -> None:
        header = self.header((markers.producer_id, markers.epoch), -1, TRANSACTIONAL_BIT | CONTROL_BIT)
        marker = EndTransactionMarker(markers.committed, markers.coordinator_epoch, markers.version)
        self.producers.check_marker(markers.producer_id, markers.epoch, marker)
        self.guards.pop(markers.producer_id, None)
        self.producers.append_marker(header, marker, 0)
        self.end_offset += 1
        self.world.note(self.name, "has the marker of", markers.producer_id, markers.epoch, markers.committed)
        for write in self.open.pop(markers.producer_id, ()):
            write.committed = markers.committed


class TransactionDriver(Coordinator["TransactionalWorld"]):
    def __init__(self, world: TransactionalWorld, ledger: Ledger[TransactionDriver]) -> None:
        self.sending: list[tuple[TransactionMarkers, TransactionPartition]] = []
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
            self.sending += [(markers, partition) for partition in markers.partitions]

    def deliver_marker(self) -> None:
        """Bring one marker to its partition. If the response is lost, the marker is sent again."""
        chosen = self.world.random.choice(self.sending)
        markers, partition = chosen
        try:
            self.world.partitions[partition].append_marker(markers)
            self.repeat_late(markers, partition)
        except KafkaError:
            self.world.counts["fenced markers"] += 1
            self.sending.remove(chosen)  # Apache: TransactionMarkerRequestCompletionHandler gives the transaction up
            return
        if not self.world.is_faulty():
            self.sending.remove(chosen)
            self.step(MarkersWritten(markers, [partition]))

    def repeat_late(self, markers: TransactionMarkers, partition: TransactionPartition) -> None:
        """A request that the coordinator gave up may arrive after all, even during the next transaction. Below
        transaction.version 2 nothing distinguishes it from a marker of that one (KIP-1228).
        """
        if markers.version < BUMPING or not self.world.is_faulty():
            return

        def arrive() -> None:
            try:
                self.world.partitions[partition].append_marker(markers)
            except KafkaError:
                self.world.counts["late markers"] += 1

        earliest = self.world.steps + self.world.random.randint(0, 200)
        self.world.messages.append(InFlight(arrive, earliest=earliest))


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
        self.outcomes: dict[int, bool] = {}
        """By transaction: the outcome of which the coordinator informed the client."""

    def act(self) -> None:
        """Take the next action of the plan, or the same one again after a lost message or a refusal."""
        if not self.plan:
            self.begin()
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
        if not self.bumps:
            self.plan.append(lambda: self.add(partitions))
        for partition in partitions:
            write = Write(self, self.transaction, partition, self.producer, self.sequences[partition])
            self.sequences[partition] += 1
            self.world.writes.append(write)
            self.plan.append(lambda write=write: self.produce(write))  # type: ignore[misc]
        committed = bool(partitions) and random.random() < 0.6
        self.plan.append(lambda: self.end(committed))
        if random.random() < 0.05:
            self.plan.pop()  # the client hangs
            self.plan.append(lambda: None)

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

    def end(self, committed: bool) -> None:
        def answered(response: Any) -> None:
            if self.done(response.error_code):
                self.outcomes[self.transaction] = committed
                self.world.note(self.transactional_id, *self.producer, "has ended; it is committed:", committed)
                if self.bumps:
                    self.use((response.producer_id, response.producer_epoch))

        request = end_request(self.producer, transactional_id=self.transactional_id, committed=committed)
        self.send(request, 5 if self.bumps else 3, answered)


class TransactionalWorld(CoordinatedWorld[TransactionDriver]):
    INVARIANTS: ClassVar[dict[str, str]] = {
        "Atomicity": "all partitions of a transaction have one outcome, and it is the client's (KIP-98)",
        "NoHangingTransaction": "each transaction ends, in its coordinator and in all partitions (KIP-98)",
        "ZombiesAreFenced": "a producer writes nothing after another one has its transactional id (KIP-98)",
        "OneProducer": "no two producers have one id and epoch (KIP-360)",
        "MarkersAfterCommit": "a marker is sent once the prepared outcome is committed (KIP-98)",
        "CommitAppendsNothing": "the replay of committed records appends none",
    }
    REACHED: ClassVar[tuple[str, ...]] = ("aborted", "committed", "elections", "fenced markers")
    STEPS: ClassVar[int] = 1500

    def __init__(self, seed: int, transaction_version: int) -> None:
        super().__init__(seed)
        self.transaction_version = transaction_version
        self._producer_ids = count(1)
        self.given: set[tuple[int, int]] = set()
        self.writes: list[Write] = []
        self.partitions = {name: DataPartition(self, name) for name in PARTITIONS}
        self.ledgers = [Ledger(self, TransactionDriver) for _ in range(COORDINATORS)]
        self.clients = [Client(self, transactional_id) for transactional_id in IDS]

    def new_producer_id(self) -> int:
        if self.is_faulty():
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return next(self._producer_ids)

    def take_step(self) -> None:
        kind = self.random.random()
        if kind < 0.30:
            self.message_arrives()
        elif kind < 0.60:
            active = [client for client in self.clients if not client.is_done]
            if active:
                self.client_acts(self.random.choice(active))
        elif kind < 0.80:
            self.commit_one()
        elif kind < 0.95:
            sending = [each for each in self.coordinators() if each.sending]
            if sending:
                self.random.choice(sending).deliver_marker()
        elif kind < 0.96:
            self.now += self.random.choice([0.1, 1.0, 20.0])
            self.fire_deadlines()
        elif kind < 0.96 + self.fault_rate / 20:
            self.random.choice(self.ledgers).elect()
        elif kind > 0.995:
            self.clients.append(Client(self, self.random.choice(IDS)))

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
            while self.messages:
                self.messages.pop(0).arrive()
            for ledger in self.ledgers:
                while ledger.leader.uncommitted or ledger.leader.sending:
                    if ledger.leader.uncommitted:
                        ledger.leader.commit()
                    else:
                        ledger.leader.deliver_marker()
            self.now += 100.0
            self.fire_deadlines()

    def check(self) -> None:
        self.check_atomicity()
        self.check_fencing()
        for partition in self.partitions.values():
            self.require(not partition.open, "NoHangingTransaction", partition.name)
        for ledger in self.ledgers:
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
            client = write.client
            for other in self.clients:
                if write.appended_at is not None and other.began_at is not None and other.replaces(client):
                    self.require(write.appended_at <= other.began_at, "ZombiesAreFenced", write)
