"""A simulated world of transactions: coordinators that crash, producers that are replaced, and partitions.

Each step takes one of the possible actions at random: a client acts, a message arrives or is lost, a record is
committed, a coordinator is replaced, time passes. A coordinator that was replaced continues until it notices, but its
replies are lost: one without a record could contradict the next coordinator, here as in Apache Kafka. The partitions
keep the producers in :class:`kraft.broker.producer_state.ProducerStates`, and verify a producer's first write with the
coordinator (KIP-890).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

import attrs

from kraft.broker.producer_state import ProducerStates
from kraft.coordinator.core import Committed, CoordinatorDeadlineReached, CoordinatorRequest, StoredRecord
from kraft.coordinator.partitions import coordinator_partition
from kraft.coordinator.transactions.core import MarkersWritten, TransactionCoordinator, TransactionEvent
from kraft.coordinator.transactions.effects import TransactionEffects, TransactionMarkers
from kraft.coordinator.transactions.step import TransactionCoordinatorSettings, TransactionWorld
from kraft.coordinator.transactions.transaction import BETWEEN_TRANSACTIONS, TransactionPartition
from kraft.metadata.steps import finished
from kraft.records.batch import CONTROL_BIT, TRANSACTIONAL_BIT, BatchHeader
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordinator.transactions.desk import add_request, end_request, init_request

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

Answered = Callable[[Any], object]


@attrs.frozen(eq=False)
class InFlight:
    """A request or a response under way. ``client`` is the producer that sent the request, if one did."""

    arrive: Callable[[], object]
    client: Client | None = None


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
            self.open.setdefault(write.producer[0], []).append(write)
        return ErrorCode.NONE

    def append_marker(self, markers: TransactionMarkers) -> None:
        header = self.header((markers.producer_id, markers.epoch), -1, TRANSACTIONAL_BIT | CONTROL_BIT)
        marker = EndTransactionMarker(markers.committed, markers.coordinator_epoch, markers.version)
        self.producers.check_marker(markers.producer_id, markers.epoch, marker)
        self.guards.pop(markers.producer_id, None)
        self.producers.append_marker(header, marker, 0)
        self.end_offset += 1
        for write in self.open.pop(markers.producer_id, ()):
            write.committed = markers.committed


class Coordinator:
    """A coordinator of one partition of ``__transaction_state``, from its election until it notices the next one."""

    def __init__(self, world: TransactionalWorld, ledger: Ledger) -> None:
        self.world, self.ledger, self.epoch = world, ledger, ledger.epoch
        self.sending: list[tuple[TransactionMarkers, TransactionPartition]] = []
        self.uncommitted: deque[TransactionEffects] = deque()
        self.core = TransactionCoordinator(
            TransactionWorld(
                TransactionCoordinatorSettings(),
                self.epoch,
                world.new_producer_id,
                lambda: world.transaction_version,
                lambda: world.random.random() > world.fault_rate,
                lambda: 1_048_588,
            )
        )
        finished(self.core.load(ledger.committed))
        effects = self.core.new_effects()
        finished(self.core.begin(world.now, effects))
        self.send_markers(effects)

    @property
    def is_leader(self) -> bool:
        return self.ledger.leader is self

    def step(self, event: TransactionEvent) -> None:
        effects = self.core.step(self.world.now, event)
        if effects.append:
            assert not effects.markers, "markers before the Prepare record is committed"
            self.uncommitted.append(effects)  # a coordinator that was replaced appends in vain
        else:
            self.send_markers(effects)
            self.reply(effects.replies_once_committed)
        self.reply(effects.replies)

    def commit(self) -> None:
        effects = self.uncommitted.popleft()
        self.ledger.committed += [StoredRecord(each.key, each.value) for each in effects.append]
        replayed = self.core.step(self.world.now, Committed(effects.append))
        self.reply(effects.replies_once_committed)
        self.send_markers(replayed)

    def reply(self, replies: list[tuple[Any, Any]]) -> None:
        if not self.is_leader:
            return
        for answered, response in replies:
            self.world.deliver(answered, response)

    def send_markers(self, effects: TransactionEffects) -> None:
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
        if self.world.random.random() >= self.world.fault_rate:
            self.sending.remove(chosen)
            self.step(MarkersWritten(markers, [partition]))

    def repeat_late(self, markers: TransactionMarkers, partition: TransactionPartition) -> None:
        """A request that the coordinator gave up may arrive after all, even during the next transaction. Below
        transaction.version 2 nothing distinguishes it from a marker of that one (KIP-1228).
        """
        if markers.version < BUMPING or self.world.random.random() >= self.world.fault_rate:
            return

        arrives_at = self.world.steps + self.world.random.randint(0, 200)

        def arrive() -> None:
            if self.world.fault_rate and self.world.steps < arrives_at:
                self.world.messages.append(InFlight(arrive))
                return
            try:
                self.world.partitions[partition].append_marker(markers)
            except KafkaError:
                self.world.counts["late markers"] += 1

        self.world.messages.append(InFlight(arrive))


class Ledger:
    """One partition of ``__transaction_state``: its committed records and its leader."""

    def __init__(self, world: TransactionalWorld) -> None:
        self.world = world
        self.epoch = 0
        self.committed: list[StoredRecord] = []
        self.leader = Coordinator(world, self)
        self.coordinators = [self.leader]

    def elect(self) -> None:
        """Replace the leader. Some of its appended records are on the next one, and are committed before it serves."""
        old = self.leader
        kept = self.world.random.randint(0, len(old.uncommitted))
        for effects in list(old.uncommitted)[:kept]:
            self.committed += [StoredRecord(each.key, each.value) for each in effects.append]
        old.uncommitted.clear()
        self.epoch += 1
        self.leader = Coordinator(self.world, self)
        self.coordinators = [old, self.leader] if self.world.random.random() < 0.5 else [self.leader]
        self.world.counts["elections"] += 1


class Client:
    """A producer: transactions one after another, until another one with its transactional id fences it."""

    def __init__(self, world: TransactionalWorld, transactional_id: str) -> None:
        self.world, self.transactional_id = world, transactional_id
        self.bumps = world.transaction_version >= BUMPING
        self.producer = (-1, -1)
        self.began_at: int | None = None
        self.first_producer = self.producer
        self.is_fenced = False
        self.waits_for = 0
        self.is_waiting = False
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

    def expect(self, answered: Answered) -> Answered:
        """Return the receiver of the response to the newest request. Later requests replace it."""
        self.waits_for += 1
        self.is_waiting = True
        expected = self.waits_for

        def received(response: Any) -> None:
            if expected == self.waits_for and not self.is_fenced:
                self.waits_for += 1
                self.is_waiting = False
                answered(response)

        return received

    def done(self, code: int) -> bool:
        """Return whether the action succeeded. A producer that is refused for good is fenced."""
        if code == ErrorCode.NONE:
            self.plan.popleft()
            return True
        self.is_fenced = code not in RETRIED
        return False

    def init(self) -> None:
        def answered(response: Any) -> None:
            if self.done(response.error_code):
                self.use((response.producer_id, response.producer_epoch))
                self.began_at = self.world.steps
                self.first_producer = self.producer
                assert self.producer not in self.world.given, "two producers with one id and epoch"
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
                if self.bumps:
                    self.use((response.producer_id, response.producer_epoch))

        request = end_request(self.producer, transactional_id=self.transactional_id, committed=committed)
        self.send(request, 5 if self.bumps else 3, answered)


class TransactionalWorld:
    def __init__(self, seed: int, transaction_version: int) -> None:
        self.random = Random(seed)
        self.transaction_version = transaction_version
        self.fault_rate = self.random.choice([0.0, 0.02, 0.1, 0.3])
        self.now = 1_000.0
        self.steps = 0
        self.counts: Counter[str] = Counter()
        self._producer_ids = count(1)
        self.given: set[tuple[int, int]] = set()
        self.writes: list[Write] = []
        self.messages: list[InFlight] = []
        self.partitions = {name: DataPartition(self, name) for name in PARTITIONS}
        self.ledgers = [Ledger(self) for _ in range(COORDINATORS)]
        self.clients = [Client(self, transactional_id) for transactional_id in IDS]

    def new_producer_id(self) -> int:
        if self.random.random() < self.fault_rate:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return next(self._producer_ids)

    def send(
        self, transactional_id: str, message: Any, version: int, answered: Answered, client: Client | None = None
    ) -> None:
        """Send a request to the coordinator, or to the one before, which does not know that it was replaced."""
        ledger = self.ledgers[coordinator_partition(transactional_id, COORDINATORS)]
        coordinator = self.random.choice(ledger.coordinators)
        request = CoordinatorRequest(answered, message, version)
        self.messages.append(InFlight(lambda: coordinator.step(request), client))

    def deliver(self, answered: Answered, response: Any) -> None:
        self.messages.append(InFlight(lambda: answered(response)))

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.take_step()
        self.settle()
        self.check()

    def take_step(self) -> None:
        self.steps += 1
        kind = self.random.random()
        coordinators = [each for ledger in self.ledgers for each in ledger.coordinators]
        if kind < 0.30 and self.messages:
            message = self.messages.pop(self.random.randrange(len(self.messages)))
            if self.random.random() >= self.fault_rate:
                message.arrive()
        elif kind < 0.60:
            active = [client for client in self.clients if not client.is_fenced]
            if active:
                self.client_acts(self.random.choice(active))
        elif kind < 0.80:
            self.commit_one(coordinators)
        elif kind < 0.95:
            sending = [each for each in coordinators if each.sending]
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
            self.messages = [each for each in self.messages if each.client is not client]
        client.act()

    def commit_one(self, coordinators: list[Coordinator]) -> None:
        ready = [each for each in coordinators if each.is_leader and each.uncommitted]
        if ready:
            self.random.choice(ready).commit()

    def fire_deadlines(self) -> None:
        for ledger in self.ledgers:
            for coordinator in ledger.coordinators:
                if coordinator.core.deadline <= self.now:
                    coordinator.step(CoordinatorDeadlineReached())

    def settle(self) -> None:
        """Without faults and clients: deliver all messages and markers, and let the timeouts pass."""
        self.fault_rate = 0.0
        for ledger in self.ledgers:
            ledger.coordinators = [ledger.leader]
        for client in self.clients:
            client.is_fenced = True
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
        """Check the guarantees of KIP-98 at the end of the run."""
        self.check_atomicity()
        self.check_fencing()
        for partition in self.partitions.values():
            assert not partition.open, "a transaction hangs in a partition"
        for ledger in self.ledgers:
            for entry in ledger.leader.core.entries.values():
                assert entry.pending is None, "a record is pending for ever"
                assert entry.transaction.status in BETWEEN_TRANSACTIONS, "a transaction hangs in its coordinator"

    def check_atomicity(self) -> None:
        by_transaction: dict[tuple[Client, int], list[Write]] = {}
        for write in self.writes:
            by_transaction.setdefault((write.client, write.transaction), []).append(write)
        for (client, number), writes in by_transaction.items():
            outcomes = {write.committed for write in writes if write.appended_at is not None}
            assert len(outcomes) <= 1, "a transaction is committed in one partition and aborted in another"
            assert None not in outcomes
            if number in client.outcomes and outcomes:
                assert outcomes == {client.outcomes[number]}, "the client was informed of another outcome"
            self.counts["aborted"] += outcomes == {False}
            if outcomes == {True}:
                self.counts["committed"] += 1
                assert all(write.appended_at is not None for write in writes), "a committed transaction lacks a write"

    def check_fencing(self) -> None:
        """No write of a producer is appended after a later one has its epoch."""
        for write in self.writes:
            client = write.client
            for other in self.clients:
                if write.appended_at is not None and other.began_at is not None and other.replaces(client):
                    assert write.appended_at <= other.began_at, "a fenced producer writes"
