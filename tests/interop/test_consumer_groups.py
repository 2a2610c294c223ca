"""Consumers with ``group.protocol=consumer`` (KIP-848), unmodified: librdkafka, and Apache's Java client and tool.

Apache's broker and ours take a group over from each other, because both write the same records.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka import admin as cka

from tests.support.apache_process import APACHE_4
from tests.support.apache_tool import CONSOLE_CONSUMER, CONSUMER_GROUPS, FEATURES, apache_tool
from tests.support.cluster import QUICK_FAILOVER, Cluster, members, running_cluster
from tests.support.eventually import eventually
from tests.support.librdkafka import Consumer
from tests.support.node_process import OURS

pytestmark = pytest.mark.interop

LIMIT_S = 60.0
RECORDS = 40
TOPIC = "orders"
QUICK_GROUPS = {
    "offsets_topic_num_partitions": "1",
    "offsets_topic_replication_factor": "2",
    # librdkafka gives a heartbeat up after one interval. Its member may then be fenced, and reads records again.
    "group_consumer_heartbeat_interval_ms": "3000",
    "group_consumer_min_heartbeat_interval_ms": "1000",
}
MOVING = (
    ck.KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    ck.KafkaError.NOT_COORDINATOR,
    ck.KafkaError.COORDINATOR_NOT_AVAILABLE,
)
GROUP_VERSION = ("upgrade", "--feature", "group.version=1")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A controller of ours, and a broker of each kind."""
    nodes = members(controllers=[OURS], brokers=[OURS, APACHE_4])
    with running_cluster(tmp_path, nodes, **QUICK_FAILOVER, **QUICK_GROUPS) as cluster:
        apache_tool(FEATURES, "--bootstrap-server", cluster.bootstrap_servers, *GROUP_VERSION)
        admin = cka.AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([cka.NewTopic(TOPIC, 4, replication_factor=2)])[TOPIC].result(LIMIT_S)
        yield cluster


class Reader:
    """A member. It keeps the records that it reads, and commits on request."""

    def __init__(self, cluster: Cluster, client_id: str, **settings: str) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "group.id": "g",
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "client.id": client_id,
                **{key.replace("_", "."): value for key, value in settings.items()},
            }
        )
        self.lost = 0
        self.has_uncommitted = False
        self.records: list[tuple[int, int]] = []
        self.consumer.subscribe([TOPIC], on_lost=self._on_lost)

    def _on_lost(self, *_: object) -> None:
        self.lost += 1

    @property
    def partitions(self) -> set[int]:
        return {each.partition for each in self.consumer.assignment()}

    def close(self) -> None:
        """Commit what was read since the last commit, and leave the group."""
        polled(lambda: not self.has_uncommitted or self.commits())
        self.consumer.close()

    def poll(self) -> None:
        record = self.consumer.poll(0.1)
        if record is not None and record.error() is None:
            self.has_uncommitted = True
            self.records.append((record.partition(), record.offset()))

    def commits(self) -> bool:
        """Commit, and return whether it worked. librdkafka does not try again while a coordinator moves."""
        try:
            self.consumer.commit(asynchronous=False)
            self.has_uncommitted = False
        except ck.KafkaException as refused:
            if refused.args[0].code() not in MOVING:
                raise
            return False
        return True


def polled(condition: Callable[[], bool], *readers: Reader) -> None:
    """Poll until a condition holds."""
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until, [(reader.partitions, len(reader.records)) for reader in readers]
        for reader in readers:
            reader.poll()


def produce(cluster: Cluster) -> None:
    producer = ck.Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    for number in range(RECORDS):
        producer.produce(TOPIC, str(number), partition=number % 4)
    assert producer.flush(LIMIT_S) == 0


def coordinator(cluster: Cluster) -> int:
    shown = cka.AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics("__consumer_offsets", LIMIT_S)
    leader: int = shown.topics["__consumer_offsets"].partitions[0].leader
    return leader


def test_a_group_moves_between_our_broker_and_apaches(cluster: Cluster) -> None:
    """Both write the same records, so the members keep their partitions and lose no epoch."""
    produce(cluster)
    first, second = Reader(cluster, "first"), Reader(cluster, "second", group_instance_id="second")
    polled(lambda: len(first.partitions) == len(second.partitions) == 2, first, second)
    polled(lambda: len({*first.records, *second.records}) == RECORDS, first, second)
    held = first.partitions, second.partitions
    for _ in range(2):
        was = coordinator(cluster)
        cluster.nodes[was].stop()  # Java's exit status is that of the signal
        produce(cluster)
        total = len(first.records) + len(second.records)
        polled(lambda total=total: len(first.records) + len(second.records) >= total + RECORDS, first, second)
        for reader in (first, second):
            polled(reader.commits, first, second)
        assert (first.partitions, second.partitions) == held
        cluster.start(was)
        eventually(lambda was=was: _in_sync(cluster, was), LIMIT_S)
    assert (first.lost, second.lost) == (0, 0)
    second.consumer.close()
    first.consumer.close()


class Roller(Reader):
    """A member of either protocol. It goes on with the records that another one has ``seen`` before it, and commits
    when it gives partitions up, so that no record is read twice.
    """

    def __init__(self, cluster: Cluster, protocol: str, seen: list[tuple[int, int]]) -> None:
        # Not cooperative-sticky: librdkafka's adds data to assignments, and Apache's broker does not upgrade the group.
        classic = {"partition_assignment_strategy": "range", "heartbeat_interval_ms": "500"}
        settings = classic if protocol == "classic" else {}
        super().__init__(cluster, protocol, group_protocol=protocol, **settings)
        self.records = list(seen)
        self.consumer.subscribe([TOPIC], on_lost=self._on_lost, on_revoke=self._on_revoke)

    def _on_revoke(self, consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        positions = [each for each in consumer.position(partitions) if each.offset >= 0]
        if positions:
            consumer.commit(offsets=positions, asynchronous=False)
            self.has_uncommitted = False


def _shared(readers: list[Reader]) -> bool:
    return sorted(len(reader.partitions) for reader in readers) == [2, 2]


def _read_more(cluster: Cluster, readers: list[Reader]) -> None:
    """Produce, and let the members read it all, each record once."""
    wanted = sum(len(reader.records) for reader in readers) + RECORDS
    produce(cluster)
    polled(lambda: sum(len(reader.records) for reader in readers) >= wanted, *readers)
    records = [record for reader in readers for record in reader.records]
    assert len(records) == len(set(records)) == wanted


def _roll(cluster: Cluster, protocol: str, readers: list[Reader], place: int) -> None:
    """Replace one member by one with the protocol."""
    readers[place].close()
    readers[place] = Roller(cluster, protocol, readers[place].records)
    polled(lambda: _shared(readers), *readers)
    assert not readers[0].partitions & readers[1].partitions
    _read_more(cluster, readers)


def test_a_group_rolls_to_the_consumer_protocol_and_back(cluster: Cluster) -> None:
    """KIP-848, online migration. The coordinator moves to the other kind of broker while the protocols are mixed."""
    readers: list[Reader] = [Roller(cluster, "classic", []), Roller(cluster, "classic", [])]
    polled(lambda: _shared(readers), *readers)
    _read_more(cluster, readers)
    _roll(cluster, "consumer", readers, 0)
    cluster.nodes[coordinator(cluster)].stop()
    _read_more(cluster, readers)
    _roll(cluster, "consumer", readers, 1)
    _roll(cluster, "classic", readers, 0)
    _roll(cluster, "classic", readers, 1)
    for reader in readers:
        reader.close()
    assert sum(reader.lost for reader in readers) == 0
    admin = cka.AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    listed = admin.list_consumer_groups().result(LIMIT_S).valid
    assert [(each.group_id, each.type) for each in listed] == [("g", ck.ConsumerGroupType.CLASSIC)]


def _in_sync(cluster: Cluster, broker: int) -> bool:
    topics = cka.AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(timeout=LIMIT_S).topics
    return all(broker in each.isrs for topic in topics.values() for each in topic.partitions.values())


def test_apaches_client_and_tool(cluster: Cluster) -> None:
    """The Java client consumes and commits, and the tool describes, lists and deletes the group."""
    produce(cluster)
    server = ("--bootstrap-server", cluster.bootstrap_servers)
    options = ("--topic", TOPIC, "--group", "g", "--from-beginning", "--max-messages", str(RECORDS))
    protocol = ("--command-property", "group.protocol=consumer")
    read = apache_tool(CONSOLE_CONSUMER, *server, *options, *protocol, "--timeout-ms", "40000")
    assert sorted(map(int, read.split())) == list(range(RECORDS))
    reader = Reader(cluster, "reader")
    polled(lambda: len(reader.partitions) == 4, reader)
    state = apache_tool(CONSUMER_GROUPS, *server, "--describe", "--group", "g", "--state")
    assert "Stable" in state
    assert "uniform" in state
    shown = apache_tool(CONSUMER_GROUPS, *server, "--describe", "--group", "g", "--members", "--verbose")
    assert "reader" in shown
    assert f"{TOPIC}:0,1,2,3" in shown
    reader.consumer.close()
    listed = apache_tool(CONSUMER_GROUPS, *server, "--list", "--type", "consumer", "--state")
    assert [line.split() for line in listed.splitlines() if line.startswith("g ")] == [["g", "Consumer", "Empty"]]
    assert "successful" in apache_tool(CONSUMER_GROUPS, *server, "--delete", "--group", "g")
