"""A process of the workload: a thread that runs one transaction after the other, and writes down what it saw."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import attrs
import confluent_kafka as ck

from tests.support.writer import CLIENT
from tests.transactions_workload.history import Append, Outcome, Seen, Transaction

TOPIC = "lists"
PARTITIONS = 6
SOURCE = "source"
"""The topic whose offsets the transactions commit. It has no records."""
LIMIT_S = 120.0
"""Until a transaction has an end, however long the faults last."""
TRY_S = 5.0
STUCK_S = 15.0
"""Until a call of the client that has no time limit counts as stuck."""
TRANSACTION_TIMEOUT_MS = 20_000
READ_S = 0.02
ABORTED_SHARE = 0.2
REPLACED_SHARE = 0.05
_QUICK: dict[str, Any] = {"socket.timeout.ms": 5_000, "retry.backoff.ms": 20, "retry.backoff.max.ms": 200}


def consumer(bootstrap_servers: str, group: str) -> Any:
    """A consumer of all lists from their starts, in a group that has no members."""
    options = {"group.id": group, "isolation.level": "read_committed", "enable.auto.commit": False}
    ends = {"enable.partition.eof": True, "auto.offset.reset": "error", "fetch.wait.max.ms": 100}
    made = ck.Consumer({"bootstrap.servers": bootstrap_servers, **CLIENT, **_QUICK, **options, **ends})
    made.assign([ck.TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    return made


def records(messages: list[Any], ended: set[int]) -> list[Seen]:
    """The records among these messages. The partitions of which the end was reached are added to ``ended``.

    Raises:
        ck.KafkaException: the consumer cannot go on, for example since its position is not in the log.
    """
    found = []
    for message in messages:
        error = message.error()
        if error is None:
            found.append(Seen(message.partition(), message.offset(), message.value().decode()))
        elif error.code() == ck.KafkaError._PARTITION_EOF:
            ended.add(message.partition())
        elif error.code() == ck.KafkaError._AUTO_OFFSET_RESET or error.fatal():
            raise ck.KafkaException(error)
    return found


@attrs.define(eq=False)
class Worker:
    """One process. ``transactions`` grows until ``done`` is set and the thread has ended."""

    process: int
    bootstrap_servers: str
    chance: random.Random
    done: threading.Event
    transactions: list[Transaction] = attrs.Factory(list)
    failure: BaseException | None = None
    fenced: int = 0
    """Producers that were replaced in the middle of a transaction, and then refused."""
    stuck: int = 0
    """Producers that were replaced because a call did not return."""
    _producer: Any = None
    _thread: threading.Thread | None = None

    @property
    def group(self) -> str:
        return f"group-{self.process}"

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name=f"process {self.process}", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Wait for the end of the thread. Raises its failure."""
        assert self._thread is not None
        self._thread.join(2 * LIMIT_S)
        assert not self._thread.is_alive(), f"process {self.process} is stuck"
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            reader = consumer(self.bootstrap_servers, self.group)
            self._producer = self._connected()
            number = 0
            while not self.done.is_set():
                number += 1
                self.transactions.append(_Attempt(self, reader, number).run())
            reader.close()
        except BaseException as error:
            self.failure = error

    def _connected(self) -> Any:
        """A producer that has fenced the ones before it."""
        own = {"transactional.id": f"process-{self.process}", "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS}
        made = ck.Producer({"bootstrap.servers": self.bootstrap_servers, **CLIENT, **_QUICK, **own, "linger.ms": 0})
        _patiently(lambda: made.init_transactions(TRY_S))
        return made

    def replace(self) -> Any:
        """Take a new producer with the same transactional id. Return the old one."""
        old, self._producer = self._producer, self._connected()
        return old

    @property
    def producer(self) -> Any:
        return self._producer


class ClientStuck(Exception):
    """A call of the client did not return."""


def _patiently(call: Any) -> None:
    """Call again after errors that may pass.

    Raises:
        ck.KafkaException: an error that cannot, or no success within LIMIT_S.
    """
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            call()
        except ck.KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise
        else:
            return


def in_time(call: Callable[[], object], limit_s: float) -> None:
    """Make a call in a thread of its own, which stays behind if the call does not return.

    Raises:
        ck.KafkaException: the call failed.
        ClientStuck: it did not return within ``limit_s``.
    """
    ended = threading.Event()
    failures: list[ck.KafkaException] = []

    def run() -> None:
        try:
            call()
        except ck.KafkaException as error:
            failures.append(error)
        finally:
            ended.set()

    threading.Thread(target=run, name="call of a client", daemon=True).start()
    if not ended.wait(limit_s):
        raise ClientStuck
    if failures:
        raise failures[0]


class _Attempt:
    """One transaction of a worker."""

    def __init__(self, worker: Worker, reader: Any, number: int) -> None:
        self._worker = worker
        self._reader = reader
        self._number = number
        self._name = f"{worker.process}.{number}"
        self._appends: dict[str, Append] = {}
        self._reads: list[Seen] = []

    def run(self) -> Transaction:
        begun_s, chance = time.monotonic(), self._worker.chance
        try:
            self._worker.producer.begin_transaction()
            self._write()
            if chance.random() < REPLACED_SHARE:
                outcome = self._be_replaced()
            else:
                outcome = self._end(is_commit=chance.random() >= ABORTED_SHARE)
        except ck.KafkaException as error:
            outcome = self._give_up(error.args[0])
        except ClientStuck:
            self._worker.stuck += 1
            self._worker.replace()
            outcome = Outcome.ABORTED
        ended_s = None if outcome is Outcome.UNKNOWN else time.monotonic()
        appends, reads = tuple(self._appends.values()), tuple(self._reads)
        return Transaction(self._worker.process, self._number, begun_s, ended_s, outcome, appends, reads)

    def _write(self) -> None:
        chance, producer = self._worker.chance, self._worker.producer
        for partition in chance.sample(range(PARTITIONS), chance.randint(1, 3)):
            self._reads += records(self._reader.consume(500, READ_S), set())
            for _ in range(chance.randint(1, 3)):
                self._append(producer, partition)
            producer.poll(0)
        if chance.random() < 0.5:  # else the commit flushes them
            producer.flush(TRY_S)
        self._send_offsets(producer)

    def _send_offsets(self, producer: Any) -> None:
        """librdkafka waits without a time limit for a group coordinator that left the cluster (its issues 5456 and
        5511). The next producer fences this one, so a late success of the call changes nothing.
        """
        offsets = [ck.TopicPartition(SOURCE, 0, self._number)]
        metadata = self._reader.consumer_group_metadata()
        in_time(lambda: _patiently(lambda: producer.send_offsets_to_transaction(offsets, metadata, TRY_S)), STUCK_S)

    def _append(self, producer: Any, partition: int) -> None:
        value = f"{self._name}.{len(self._appends)}"
        self._appends[value] = Append(partition, value, time.monotonic())
        producer.produce(TOPIC, value, partition=partition, on_delivery=self._delivered)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            value = message.value().decode()
            known = self._appends[value]
            self._appends[value] = attrs.evolve(known, acked_s=time.monotonic(), offset=message.offset())

    def _end(self, *, is_commit: bool) -> Outcome:
        """Commit or abort, and abort after an error that asks for it."""
        producer = self._worker.producer
        if is_commit:
            try:
                _patiently(lambda: producer.commit_transaction(TRY_S))
            except ck.KafkaException as error:
                if not error.args[0].txn_requires_abort():
                    self._worker.replace()
                    return Outcome.UNKNOWN
            else:
                return Outcome.COMMITTED
        try:
            _patiently(lambda: producer.abort_transaction(TRY_S))
        except ck.KafkaException:
            self._worker.replace()
            return Outcome.UNKNOWN if is_commit else Outcome.ABORTED
        return Outcome.ABORTED

    def _give_up(self, error: Any) -> Outcome:
        """End a transaction that failed before its end: no commit was ever requested."""
        if error.txn_requires_abort():
            return self._end(is_commit=False)
        self._worker.replace()
        return Outcome.ABORTED

    def _be_replaced(self) -> Outcome:
        """A successor fences this producer, which then goes on and asks for a commit: a zombie (KIP-98)."""
        zombie = self._worker.replace()
        with contextlib.suppress(ck.KafkaException):
            self._append(zombie, self._worker.chance.randrange(PARTITIONS))
            zombie.commit_transaction(TRY_S)
            return Outcome.ABORTED
        self._worker.fenced += 1
        return Outcome.ABORTED
