"""Growth of the cost with connections, partitions and message size: this node compared with Apache Kafka."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.clients import SingleProduces, consume, create_topic, delete_topic, produce
from tests.bench.figures import Section, Table, percentile
from tests.bench.load import run_load
from tests.bench.peers import Peer, Running, in_turns, running

CONNECTIONS = (1, 10, 100, 500)
PARTITIONS = (1, 100, 1_000, 5_000)
MESSAGE_BYTES = (100, 1_000, 10_000, 100_000, 1_000_000)
REQUESTS = 10_000
BYTES = 100_000_000
SPREAD_BYTES = 20_000_000
MOST_MESSAGES = 400_000
PRODUCES = 500
FILES_PER_PARTITION = 3
SETTLE_S = 2.0
#: Room for a message of 1 MB with its batch around it.
SETTINGS = {"message.max.bytes": "1048588"}


def measure(peers: Sequence[Peer], rounds: int) -> Section:
    """Connections and sizes share one pair of warm brokers; each number of partitions gets brokers of its own."""
    subjects = [peer.name for peer in peers]
    connections = Table("Connections: produce requests of 100 bytes, one in flight each", subjects, base="Apache")
    sizes = Table("Message size: four partitions, acks=all", subjects, base="Apache")
    with tempfile.TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as scratch:
        with running(peers, Path(scratch), SETTINGS) as brokers:
            _warm(brokers)
            for number in range(rounds):
                order = in_turns(brokers, number)
                _by_connections(order, connections)
                _by_size(order, sizes)
    partitions = Table("Partitions of one topic", subjects, base="Apache")
    notes = _by_partitions(peers, partitions, rounds)
    return Section("growth", [connections, partitions, sizes], [], notes)


def _warm(brokers: Sequence[Running]) -> None:
    for broker in brokers:
        topic = create_topic(broker.bootstrap_servers, 4)
        for _ in range(2):
            run_load(broker.port, topic, 4, connections=10, requests=REQUESTS, depth=1, message_bytes=100)
            produce(broker.bootstrap_servers, topic, 200_000, 1_000)
        consume(broker.bootstrap_servers, topic, 4, 200_000, 1_000)
        delete_topic(broker.bootstrap_servers, topic)


def _by_connections(brokers: Sequence[Running], table: Table) -> None:
    for count in CONNECTIONS:
        for broker in brokers:
            topic = create_topic(broker.bootstrap_servers, 4)
            before = broker.cpu_s()
            load = run_load(broker.port, topic, 4, connections=count, requests=REQUESTS, depth=1, message_bytes=100)
            spent = broker.cpu_s() - before
            delete_topic(broker.bootstrap_servers, topic)
            table.row(f"{count} connections: requests per second").add(broker.name, load.per_s)
            table.row(f"{count} connections: server CPU per request", "µs").add(
                broker.name, spent / load.requests * 1e6
            )


def _by_size(brokers: Sequence[Running], table: Table) -> None:
    for size in MESSAGE_BYTES:
        messages = min(BYTES // size, MOST_MESSAGES)
        for broker in brokers:
            servers = broker.bootstrap_servers
            topic = create_topic(servers, 4)
            before = broker.cpu_s()
            produced = produce(servers, topic, messages, size)
            consumed = consume(servers, topic, 4, messages, size)
            spent = broker.cpu_s() - before
            times = SingleProduces(servers, topic, size).times_ms(PRODUCES // 5)
            delete_topic(servers, topic)
            words = f"{size:,} bytes"
            table.row(f"{words}: produce", "MB/s").add(broker.name, produced.mb_per_s)
            table.row(f"{words}: consume", "MB/s").add(broker.name, consumed.mb_per_s)
            table.row(f"{words}: server CPU", "s/GB").add(broker.name, spent / (messages * size / 1e9))
            table.row(f"{words}: single acked produce, p50", "ms").add(broker.name, percentile(times, 0.5))


def _by_partitions(peers: Sequence[Peer], table: Table, rounds: int) -> list[str]:
    allowed = _raise_open_files()
    left_out = [count for count in PARTITIONS if count * FILES_PER_PARTITION > allowed]
    for count in PARTITIONS:
        if count not in left_out:
            for number in range(rounds):
                for peer in in_turns(peers, number):
                    print(f"  {count} partitions, {peer.name}", file=sys.stderr, flush=True)
                    _with_partitions(peer, count, table)
    return [f"{count} partitions were left out: only {allowed} files may be open here." for count in left_out]


def _with_partitions(peer: Peer, count: int, table: Table) -> None:
    """Create them, measure the broker with them in place, then stop it in good order and start it again."""

    def add(label: str, unit: str, value: float) -> None:
        table.row(f"{count} partitions: {label}", unit).add(peer.name, value)

    with tempfile.TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as scratch:
        directory = Path(scratch) / peer.name
        broker = peer.start(directory)
        try:
            started = time.perf_counter()
            topic = create_topic(broker.bootstrap_servers, count)
            add("create", "s", time.perf_counter() - started)
            produced = produce(broker.bootstrap_servers, topic, SPREAD_BYTES // 1_000, 1_000)
            add("produce, 1 kB messages over all", "MB/s", produced.mb_per_s)
            times = SingleProduces(broker.bootstrap_servers, topic, 100).times_ms(PRODUCES)
            add("single acked produce, p50", "ms", percentile(times, 0.5))
            broker.stop()
            broker = peer.start(directory, port=broker.port)
            add("start to first answer", "s", broker.ready_s)
            time.sleep(SETTLE_S)
            add("memory (RSS)", "MiB", broker.rss_mib())
        finally:
            broker.stop()


def _raise_open_files() -> int:
    """As many open files as this user may have: the brokers inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
