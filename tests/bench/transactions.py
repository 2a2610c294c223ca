"""Transactions, one after the other and of several producers at a time, and the cost of reading only committed
records.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import attrs
from confluent_kafka import Producer

from tests.bench.clients import MAX_MESSAGE_BYTES, QUIET, TIMEOUT_S, consume, create_topic, delete_topic
from tests.bench.figures import Section, Table, percentile, ratio_goal
from tests.bench.peers import APACHE, KRAFT, Peer, Running, running

SMALL, LARGE = 300, 20
"""Transactions in a round: of one record, and of ``RECORDS`` records."""
RECORDS = 1_000
PRODUCERS, EACH = 8, 100
"""Producers at a time, and the transactions of each in a round."""
READ_RECORDS = 200_000
MESSAGE_BYTES = 100
PARTITIONS = 3
COMMIT, WHOLE = "one record: commit, p50", "one record: from begin to commit, p50"
WARM_UP_ROUNDS = 2
SETTINGS = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}
_numbers = itertools.count()


def measure(peers: Sequence[Peer], rounds: int) -> Section:
    """Rounds as for throughput. Only peers that keep data on disk have transactions to compare."""
    whole = [peer for peer in peers if peer.keeps_on_disk]
    with (
        TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as scratch,
        running(whole, Path(scratch), SETTINGS) as brokers,
    ):
        return _measure(brokers, rounds)


def _measure(brokers: Sequence[Running], rounds: int) -> Section:
    subjects = [broker.name for broker in brokers]
    single = Table("Transactions, one after the other", subjects, base=APACHE)
    many = Table(f"Transactions of {PRODUCERS} producers at a time", subjects, base=APACHE)
    levels = Table(f"Transactions of {RECORDS:,} records, every fifth aborted", subjects, base=APACHE)
    producers = {broker.name: [_Writer.start(broker) for _ in range(PRODUCERS)] for broker in brokers}
    for number in range(rounds + WARM_UP_ROUNDS):
        counted = number >= WARM_UP_ROUNDS
        for broker in brokers:
            writers = producers[broker.name]
            _one_after_the_other(broker, writers[0], single if counted else attrs.evolve(single, rows=[]))
            _at_a_time(broker, writers, many if counted else attrs.evolve(many, rows=[]))
    readable = {broker.name: _fill(broker) for broker in brokers}
    for _ in range(rounds):
        for broker in brokers:
            for level in ("read_uncommitted", "read_committed"):
                read, cpu = _read(broker, readable[broker.name], level)
                levels.row(f"consume, {level}", "MB/s").add(broker.name, read)
                levels.row(f"consume, {level}: server CPU", "s/GB").add(broker.name, cpu)
    for broker in brokers:
        for topic in (*(each.topic for each in producers[broker.name]), readable[broker.name]):
            delete_topic(broker.bootstrap_servers, topic)
    goals = [
        ratio_goal(
            f"p50 of {what} at most Apache's", single.row(label, "ms"), KRAFT, APACHE, lambda ratio: ratio <= 1.0
        )
        for what, label in (("the commit of one small transaction", COMMIT), ("one small transaction", WHOLE))
    ]
    return Section("transactions", [single, many, levels], goals)


def _one_after_the_other(broker: Running, writer: _Writer, table: Table) -> None:
    def add(label: str, unit: str, value: float) -> None:
        table.row(label, unit).add(broker.name, value)

    for count, words, is_small in ((SMALL, "one record", True), (LARGE, f"{RECORDS:,} records", False)):
        before, begun = broker.cpu_s(), time.perf_counter()
        times = [writer.transact(1 if is_small else RECORDS) for _ in range(count)]
        elapsed, spent = time.perf_counter() - begun, broker.cpu_s() - before
        for label, values in (
            ("commit", [each.commit_ms for each in times]),
            ("from begin to commit", [each.whole_ms for each in times]),
        ):
            add(f"{words}: {label}, p50", "ms", percentile(values, 0.5))
            add(f"{words}: {label}, p99", "ms", percentile(values, 0.99))
        add(f"{words}: transactions per second", "", count / elapsed)
        add(f"{words}: server CPU each", "µs", spent / count * 1e6)


def _at_a_time(broker: Running, writers: Sequence[_Writer], table: Table) -> None:
    """Each producer has a thread. librdkafka does its work without the interpreter's lock."""
    before, client, begun = broker.cpu_s(), time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(len(writers)) as threads:
        done = [threads.submit(writer.repeat, EACH) for writer in writers]
        times = [milliseconds for each in done for milliseconds in each.result()]
    elapsed, spent = time.perf_counter() - begun, broker.cpu_s() - before
    client = time.process_time() - client
    for label, unit, value in (
        ("transactions per second", "", len(times) / elapsed),
        ("from begin to commit, p50", "ms", percentile(times, 0.5)),
        ("from begin to commit, p99", "ms", percentile(times, 0.99)),
        ("server CPU each", "µs", spent / len(times) * 1e6),
        ("client CPU each", "µs", client / len(times) * 1e6),
    ):
        table.row(label, unit).add(broker.name, value)


@attrs.frozen
class _Times:
    """Of one transaction."""

    commit_ms: float
    whole_ms: float
    """From its start."""


@attrs.frozen
class _Writer:
    producer: Producer
    topic: str

    @classmethod
    def start(cls, broker: Running) -> _Writer:
        topic = create_topic(broker.bootstrap_servers, PARTITIONS)
        producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                **QUIET,
                "transactional.id": f"bench-{os.getpid()}-{next(_numbers)}",
                "linger.ms": 0,
                "message.max.bytes": MAX_MESSAGE_BYTES,
            }
        )
        producer.init_transactions(TIMEOUT_S)
        return cls(producer, topic)

    def transact(self, records: int) -> _Times:
        """Write one transaction over all partitions."""
        started = time.perf_counter()
        self.producer.begin_transaction()
        value = bytes(MESSAGE_BYTES)
        for number in range(records):
            self.producer.produce(self.topic, value, partition=number % PARTITIONS)
        self.producer.flush(TIMEOUT_S)
        begun = time.perf_counter()
        self.producer.commit_transaction(TIMEOUT_S)
        ended = time.perf_counter()
        return _Times((ended - begun) * 1e3, (ended - started) * 1e3)

    def repeat(self, count: int) -> list[float]:
        """Write transactions of one record. Return the milliseconds of each."""
        return [self.transact(1).whole_ms for _ in range(count)]


def _fill(broker: Running) -> str:
    """Return a topic with transactions of which every fifth is aborted."""
    writer = _Writer.start(broker)
    value = bytes(MESSAGE_BYTES)
    for number in range(READ_RECORDS // RECORDS):
        writer.producer.begin_transaction()
        for _ in range(RECORDS):
            writer.producer.produce(writer.topic, value, partition=0)
        writer.producer.flush(TIMEOUT_S)
        if number % 5:
            writer.producer.commit_transaction(TIMEOUT_S)
        else:
            writer.producer.abort_transaction(TIMEOUT_S)
    return writer.topic


def _read(broker: Running, topic: str, level: str) -> tuple[float, float]:
    """Consume what is visible. Return MB/s, and the seconds of the server's CPU for a GB."""
    aborted = READ_RECORDS // 5 if level == "read_committed" else 0
    before = broker.cpu_s()
    read = consume(
        broker.bootstrap_servers, topic, 1, READ_RECORDS - aborted, MESSAGE_BYTES, **{"isolation.level": level}
    )
    return read.mb_per_s, (broker.cpu_s() - before) / (read.bytes / 1e9)
