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
from tests.support.node_process import OURS

pytestmark = pytest.mark.interop

LIMIT_S = 60.0
RECORDS = 40
TOPIC = "orders"
QUICK_GROUPS = {
    "offsets_topic_num_partitions": "1",
    "offsets_topic_replication_factor": "2",
    "group_consumer_heartbeat_interval_ms": "1000",
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
        self.consumer = ck.Consumer(
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
        self.records: list[tuple[int, int]] = []
        self.consumer.subscribe([TOPIC], on_lost=self._on_lost)

    def _on_lost(self, *_: object) -> None:
        self.lost += 1

    @property
    def partitions(self) -> set[int]:
        return {each.partition for each in self.consumer.assignment()}

    def poll(self) -> None:
        record = self.consumer.poll(0.1)
        if record is not None and record.error() is None:
            self.records.append((record.partition(), record.offset()))

    def commits(self) -> bool:
        """Commit, and return whether it worked. librdkafka does not try again while a coordinator moves."""
        try:
            self.consumer.commit(asynchronous=False)
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
