"""Transactions, one at a time: what the end of one costs, and what reading only committed records costs."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
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
READ_RECORDS = 200_000
MESSAGE_BYTES = 100
PARTITIONS = 3
WARM_UP_ROUNDS = 2
SETTINGS = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}


def measure(peers: Sequence[Peer], rounds: int) -> Section:
    """Rounds as for throughput. Only peers that keep data on disk have transactions to compare."""
    whole = [peer for peer in peers if peer.keeps_on_disk]
    with (
        TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as scratch,
        running(whole, Path(scratch), SETTINGS) as brokers,
    ):
        return _measure(brokers, rounds)


def _measure(brokers: Sequence[Running], rounds: int) -> Section:
    table = Table("Transactions, one after the other", [broker.name for broker in brokers], base=APACHE)
    middle, slow = table.row("one record: commit, p50", "ms"), table.row("one record: commit, p99", "ms")
    rate, cpu = table.row("one record: transactions per second"), table.row("one record: server CPU each", "µs")
    large = table.row(f"{RECORDS:,} records: commit, p50", "ms")
    plain, committed = (table.row(f"consume, {level}", "MB/s") for level in ("read_uncommitted", "read_committed"))
    writers = {broker.name: _Writer.start(broker) for broker in brokers}
    for number in range(rounds + WARM_UP_ROUNDS):
        for broker in brokers:
            writer, before = writers[broker.name], broker.cpu_s()
            begun = time.perf_counter()
            small = [writer.transact(1) for _ in range(SMALL)]
            elapsed, spent = time.perf_counter() - begun, broker.cpu_s() - before
            ends = [writer.transact(RECORDS) for _ in range(LARGE)]
            if number >= WARM_UP_ROUNDS:
                middle.add(broker.name, percentile(small, 0.5))
                slow.add(broker.name, percentile(small, 0.99))
                rate.add(broker.name, SMALL / elapsed)
                cpu.add(broker.name, spent / SMALL * 1e6)
                large.add(broker.name, percentile(ends, 0.5))
    readable = {broker.name: _fill(broker) for broker in brokers}
    for _ in range(rounds):
        for broker in brokers:
            for row, level in ((plain, "read_uncommitted"), (committed, "read_committed")):
                row.add(broker.name, _read(broker, readable[broker.name], level))
    for broker in brokers:
        for topic in (writers[broker.name].topic, readable[broker.name]):
            delete_topic(broker.bootstrap_servers, topic)
    goal = "p50 of the commit of one small transaction at most Apache's"
    return Section("transactions", [table], [ratio_goal(goal, middle, KRAFT, APACHE, lambda ratio: ratio <= 1.0)])


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
                "transactional.id": f"bench-{os.getpid()}",
                "linger.ms": 0,
                "message.max.bytes": MAX_MESSAGE_BYTES,
            }
        )
        producer.init_transactions(TIMEOUT_S)
        return cls(producer, topic)

    def transact(self, records: int) -> float:
        """Write one transaction over all partitions. Return the milliseconds of its commit."""
        self.producer.begin_transaction()
        value = bytes(MESSAGE_BYTES)
        for number in range(records):
            self.producer.produce(self.topic, value, partition=number % PARTITIONS)
        self.producer.flush(TIMEOUT_S)
        begun = time.perf_counter()
        self.producer.commit_transaction(TIMEOUT_S)
        return (time.perf_counter() - begun) * 1e3


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


def _read(broker: Running, topic: str, level: str) -> float:
    """Consume what is visible, and return MB/s."""
    aborted = READ_RECORDS // 5 if level == "read_committed" else 0
    read = consume(
        broker.bootstrap_servers, topic, 1, READ_RECORDS - aborted, MESSAGE_BYTES, **{"isolation.level": level}
    )
    return read.mb_per_s
