"""The programs of the Kafka world that promise exactly once, unmodified, on a cluster of three nodes of ours: Kafka
Streams, Kafka Connect and MirrorMaker 2. They are killed in the middle.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest

from tests.interop.traffic import Traffic
from tests.support.cluster import BOTH, QUICK_FAILOVER, Cluster, Member, running_cluster
from tests.support.copier import OpenTransaction
from tests.support.eventually import eventually
from tests.support.java_program import (
    JavaProgram,
    ProgramProcess,
    compiled,
    connect_jars,
    running_programs,
    streams_jars,
)
from tests.support.librdkafka import Consumer
from tests.support.node_process import OURS, NodeProcess, free_ports, running_node
from tests.support.replica_logs import assert_equal_replicas
from tests.support.transactional_state import (
    GROUP_OFFSETS,
    TRANSACTION_STATE,
    assert_no_transaction_hangs,
    read_committed,
    stable_offsets,
)
from tests.support.writer import Writer

pytestmark = pytest.mark.interop

LIMIT_S = 120.0
SUMS = Path(__file__).parent / "java" / "Sums.java"
PARTITIONS = 4
STRINGS = "org.apache.kafka.common.serialization.Serdes$StringSerde"
STORES = "org.apache.kafka.streams.state.BuiltInDslStoreSuppliers$InMemoryDslStoreSuppliers"
"""Not RocksDB: each start would unpack its library of 60 MB. The state comes back from the changelog."""
SETTINGS = {
    **QUICK_FAILOVER,
    "default_replication_factor": "3",
    "min_insync_replicas": "2",
    "num_partitions": str(PARTITIONS),
    "group_min_session_timeout_ms": "1000",
    "offsets_topic_num_partitions": "2",
    "offsets_topic_replication_factor": "3",
    "transaction_state_log_num_partitions": "2",
    "transaction_state_log_replication_factor": "3",
    "transaction_state_log_min_isr": "2",
    "transaction_abort_timed_out_transaction_cleanup_interval_ms": "500",
}
STATE = [(topic, index) for topic in (TRANSACTION_STATE, GROUP_OFFSETS) for index in range(2)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    nodes = {node_id: Member(OURS, BOTH) for node_id in (1, 2, 3)}
    with running_cluster(tmp_path_factory.mktemp("programs"), nodes, **SETTINGS) as cluster:
        yield cluster


def all_partitions(topic: str, count: int = PARTITIONS) -> list[tuple[str, int]]:
    return [(topic, index) for index in range(count)]


def ends(servers: str, partitions: Sequence[tuple[str, int]]) -> list[int]:
    return [stable for stable, _ in stable_offsets(servers, partitions)]


def wait_for_commits(servers: str, partitions: list[tuple[str, int]]) -> None:
    """Wait until the last stable offset of one of the partitions has advanced."""

    before = ends(servers, partitions)
    eventually(lambda: ends(servers, partitions) != before, LIMIT_S)


# Kafka Streams


@pytest.fixture
def instances(cluster: Cluster, tmp_path: Path) -> list[ProgramProcess]:
    """Two instances of an application. Each holds a standby for the state of the other's tasks."""
    kind = JavaProgram("Sums", compiled(SUMS, streams_jars(), tmp_path / "classes"), "^state RUNNING")
    settings = {
        "application.id": "sums",
        "bootstrap.servers": cluster.bootstrap_servers,
        "commit.interval.ms": "200",
        "consumer.heartbeat.interval.ms": "300",
        "consumer.session.timeout.ms": "3000",
        "default.key.serde": STRINGS,
        "default.value.serde": STRINGS,
        "dsl.store.suppliers.class": STORES,
        "num.standby.replicas": "1",
        "processing.guarantee": "exactly_once_v2",
        "producer.transaction.timeout.ms": "5000",
        "statestore.cache.max.bytes": "0",
    }
    return [
        ProgramProcess(tmp_path / name, {**settings, "state.dir": str(tmp_path / name / "state")}, kind=kind)
        for name in ("first", "second")
    ]


def tasks(instance: ProgramProcess) -> tuple[int, int]:
    """The active tasks of an instance, and its standby tasks."""
    found = instance.last(r"tasks (\d+) (\d+)")
    return (int(found[1]), int(found[2])) if found else (0, 0)


def test_streams_sums_each_record_once(cluster: Cluster, instances: list[ProgramProcess]) -> None:
    """KIP-447, ``exactly_once_v2``. Each of the sums depends on all records before it, so a record that is lost or read
    twice changes all that follow. The instance is killed while its transaction is open.
    """
    servers, traffic = cluster.bootstrap_servers, Traffic(cluster.bootstrap_servers)
    for topic in ("in", "out"):
        traffic.create(topic, PARTITIONS, replication_factor=3)
    victim, other = instances
    with running_programs(*instances):
        with Writer(servers, "in", PARTITIONS, pause_s=0.01) as writer:
            eventually(lambda: all(min(tasks(each)) > 0 for each in instances), LIMIT_S)
            for _ in range(2):
                writer.wait_for_more(100)
                victim.kill()
                eventually(lambda: tasks(other)[0] == 2 * PARTITIONS, LIMIT_S)
                victim.start()
                eventually(lambda: tasks(victim)[0] > 0, LIMIT_S)
            writer.wait_for_more(100)
        eventually(lambda: len(sums(servers)) >= writer.written, LIMIT_S)
        for each in instances:
            each.stop()
            assert each.last("state ERROR") is None
    found = sums(servers)
    for remainder in range(PARTITIONS):
        expected = list(itertools.accumulate(range(remainder, writer.written, PARTITIONS)))
        assert [total for key, total in found if key == remainder] == expected
    written = [*all_partitions("out"), *all_partitions("sums-sums-changelog"), *all_partitions("sums-sums-repartition")]
    assert_no_transaction_hangs(servers, written, LIMIT_S)
    assert_equal_replicas(cluster, [*written, *STATE], LIMIT_S)


def sums(servers: str) -> list[tuple[int, int]]:
    """The committed remainders and sums, in the order of their partitions."""
    values = [value.decode() for each in all_partitions("out") for value in read_committed(servers, *each)]
    return [(int(key), int(total)) for key, _, total in (value.partition(":") for value in values)]


# Kafka Connect


class Lines:
    """A thread that appends numbered lines to a file."""

    def __init__(self, path: Path, pause_s: float = 0.01) -> None:
        self.written = 0
        self._path = path
        self._pause_s = pause_s
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lines")

    def __enter__(self) -> Lines:
        self._path.touch()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        with self._path.open("a", buffering=1) as file:
            while not self._done.wait(self._pause_s):
                file.write(f"{self.written}\n")
                self.written += 1

    def wait_for_more(self, count: int) -> None:
        target = self.written + count
        eventually(lambda: self.written >= target, LIMIT_S)


@pytest.fixture
def workers(cluster: Cluster, tmp_path: Path) -> list[ProgramProcess]:
    """Two workers of a Connect cluster with exactly-once sources (KIP-618)."""
    kind = JavaProgram("org.apache.kafka.connect.cli.ConnectDistributed", connect_jars(), ".*Kafka Connect started")
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": "connect",
        "config.storage.topic": "connect-configs",
        "offset.storage.topic": "connect-offsets",
        "offset.storage.partitions": "1",
        "status.storage.topic": "connect-status",
        "status.storage.partitions": "1",
        "exactly.once.source.support": "enabled",
        "heartbeat.interval.ms": "300",
        "session.timeout.ms": "3000",
        "scheduled.rebalance.max.delay.ms": "0",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "plugin.discovery": "service_load",
    }
    return [
        ProgramProcess(
            tmp_path / f"worker-{port}", {**settings, "listeners": f"http://127.0.0.1:{port}"}, ports=[port], kind=kind
        )
        for port in free_ports(2)
    ]


def rest(worker: ProgramProcess, path: str, body: Mapping[str, object] | None = None) -> Any:
    """Ask a worker: GET, or POST with a body. None if it does not answer, or refuses."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(
        f"http://127.0.0.1:{worker.ports[0]}{path}", data, {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return json.load(answer)
    except OSError:
        return None


def runner(asked: ProgramProcess, workers: list[ProgramProcess]) -> ProgramProcess | None:
    """The worker that runs the task, as ``asked`` knows it."""
    status = rest(asked, "/connectors/lines/status") or {"tasks": []}
    running = [task["worker_id"] for task in status["tasks"] if task["state"] == "RUNNING"]
    return next((each for each in workers if running == [f"127.0.0.1:{each.ports[0]}"]), None)


def test_connect_copies_each_line_once(cluster: Cluster, workers: list[ProgramProcess], tmp_path: Path) -> None:
    """KIP-618: a source's records and its offsets are in one transaction, and the next generation of tasks fences the
    last. First the worker of the task is killed; then it stops for longer than its session, and goes on as a zombie.
    """
    servers, traffic = cluster.bootstrap_servers, Traffic(cluster.bootstrap_servers)
    traffic.create("lines", replication_factor=3)
    source = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "exactly.once.support": "required",
        "file": str(tmp_path / "lines.txt"),
        "tasks.max": "1",
        "topic": "lines",
        "transaction.boundary": "interval",
        "transaction.boundary.interval.ms": "500",
    }
    with running_programs(*workers):
        with Lines(tmp_path / "lines.txt") as lines:
            eventually(lambda: rest(workers[0], "/connectors", {"name": "lines", "config": source}), LIMIT_S)
            for is_kill in (True, False):
                struck = eventually(lambda: runner(workers[0], workers), LIMIT_S)
                assert struck is not None
                [other] = [each for each in workers if each is not struck]
                wait_for_commits(servers, [("lines", 0)])
                struck.kill() if is_kill else struck.pause()
                eventually(lambda other=other: runner(other, workers) is other, LIMIT_S)
                wait_for_commits(servers, [("lines", 0)])
                struck.start() if is_kill else struck.resume()
            eventually(lambda: runner(struck, workers), LIMIT_S)
            lines.wait_for_more(50)
        eventually(lambda: len(read_committed(servers, "lines", 0)) >= lines.written, LIMIT_S)
    assert read_committed(servers, "lines", 0) == [b"%d" % number for number in range(lines.written)]
    assert_no_transaction_hangs(servers, [("lines", 0), ("connect-offsets", 0)], LIMIT_S)
    assert_equal_replicas(cluster, [("lines", 0), ("connect-offsets", 0), ("connect-configs", 0)], LIMIT_S)


# MirrorMaker 2


MIRRORED = "a.orders"
SINGLE = {
    "offsets_topic_num_partitions": "1",
    "transaction_abort_timed_out_transaction_cleanup_interval_ms": "500",
    "transaction_state_log_num_partitions": "1",
}


@pytest.fixture
def target(tmp_path: Path) -> Iterator[NodeProcess]:
    """A second cluster, of one node."""
    with running_node(tmp_path / "target", **SINGLE) as node:
        yield node


@pytest.fixture
def mirror(cluster: Cluster, target: NodeProcess, tmp_path: Path) -> ProgramProcess:
    """MirrorMaker 2 with exactly-once sources, from the cluster to the target."""
    kind = JavaProgram("org.apache.kafka.connect.mirror.MirrorMaker", connect_jars(), ".*Kafka MirrorMaker started")
    [port] = free_ports(1)
    factors = ("checkpoints.topic", "config.storage", "heartbeats.topic", "offset.storage", "status.storage", "a->b")
    settings = {
        "clusters": "a,b",
        "a.bootstrap.servers": cluster.bootstrap_servers,
        "b.bootstrap.servers": target.bootstrap_servers,
        "a->b.enabled": "true",
        "a->b.topics": "orders",
        "b->a.enabled": "false",
        "a.consumer.isolation.level": "read_committed",
        "b.producer.transaction.timeout.ms": "60000",
        "b.exactly.once.source.support": "enabled",
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": f"http://127.0.0.1:{port}",
        "emit.checkpoints.interval.seconds": "1",
        "refresh.groups.interval.seconds": "1",
        "refresh.topics.interval.seconds": "1",
        "sync.group.offsets.enabled": "true",
        "sync.group.offsets.interval.seconds": "1",
        "offset.lag.max": "0",
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
        "plugin.discovery": "service_load",
        **{f"{name}.replication.factor": "1" for name in factors},
    }
    return ProgramProcess(tmp_path / "mirror", settings, kind=kind)


def copied(target: NodeProcess) -> list[list[bytes]]:
    return [read_committed(target.bootstrap_servers, *each) for each in all_partitions(MIRRORED)]


def positions(target: NodeProcess, group: str) -> list[int]:
    """The committed offsets of a group in the mirrored topic."""
    with contextlib.closing(Consumer({"bootstrap.servers": target.bootstrap_servers, "group.id": group})) as consumer:
        asked = [ck.TopicPartition(*each) for each in all_partitions(MIRRORED)]
        return [each.offset for each in consumer.committed(asked, LIMIT_S)]


def commit(servers: str, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Commit offsets of a group without members."""
    with contextlib.closing(Consumer({"bootstrap.servers": servers, "group.id": group})) as consumer:
        wanted = [ck.TopicPartition(*each, offset) for each, offset in offsets.items()]
        consumer.commit(offsets=wanted, asynchronous=False)


def test_mirror_maker_copies_each_record_once(cluster: Cluster, target: NodeProcess, mirror: ProgramProcess) -> None:
    """KIP-618 for MirrorMaker 2 (KIP-710). It is killed while it copies, and started again. Aborted records stay
    behind, and a group goes on in the target cluster where it was in the source cluster.
    """
    servers, traffic = cluster.bootstrap_servers, Traffic(cluster.bootstrap_servers)
    traffic.create("orders", PARTITIONS, replication_factor=3, max_message_bytes="123456")
    mirrored, orders = Traffic(target.bootstrap_servers), all_partitions("orders")

    OpenTransaction(servers, "unlucky", "orders", b"aborted").end(is_committed=False)
    with running_programs(mirror):
        with Writer(servers, "orders", PARTITIONS, pause_s=0.01) as writer:
            eventually(lambda: MIRRORED in mirrored.topics(), LIMIT_S)
            wait_for_commits(target.bootstrap_servers, all_partitions(MIRRORED))
            mirror.kill()
            writer.wait_for_more(50)
            mirror.start()
            wait_for_commits(target.bootstrap_servers, all_partitions(MIRRORED))
        eventually(lambda: sum(map(len, copied(target))) >= writer.written, LIMIT_S)
        commit(servers, "group", dict(zip(orders, ends(servers, orders), strict=True)))
        # Behind the last record of a partition is the marker of its transaction.
        eventually(
            lambda: (
                [at + 1 for at in positions(target, "group")]
                == ends(target.bootstrap_servers, all_partitions(MIRRORED))
            ),
            LIMIT_S,
        )
    assert copied(target) == [
        [b"%d" % number for number in range(partition, writer.written, PARTITIONS)] for partition in range(PARTITIONS)
    ]
    assert mirrored.config(MIRRORED, "max.message.bytes") == "123456"
    assert_no_transaction_hangs(target.bootstrap_servers, all_partitions(MIRRORED), LIMIT_S)
