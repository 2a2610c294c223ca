"""``transaction.version`` 2 (KIP-890) with unmodified clients, on a cluster of our broker and Apache's."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka import admin as cka

from tests.support.apache_process import APACHE_4
from tests.support.apache_tool import FEATURES, apache_tool
from tests.support.cluster import QUICK_FAILOVER, Cluster, members, running_cluster
from tests.support.fetchers import QUICK_JVM, java_client, require
from tests.support.librdkafka import Consumer
from tests.support.node_process import OURS

pytestmark = pytest.mark.interop

LIMIT_S = 60.0
PROGRAM = Path(__file__).parent / "java" / "Epochs.java"
JAVA = "4.3.1"
IDS = [f"payments-{number}" for number in range(4)]
TRANSACTIONS = 4
PARTITIONS = 4
STATE_TOPICS = {
    "transaction_state_log_num_partitions": "4",
    "transaction_state_log_replication_factor": "2",
    "transaction_state_log_min_isr": "1",
    "offsets_topic_num_partitions": "4",
    "offsets_topic_replication_factor": "2",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    nodes = members(controllers=[OURS], brokers=[OURS, APACHE_4])
    with running_cluster(tmp_path_factory.mktemp("version"), nodes, **QUICK_FAILOVER, **STATE_TOPICS) as cluster:
        wanted = ("upgrade", "--feature", "transaction.version=2")
        done = apache_tool(FEATURES, "--bootstrap-server", cluster.bootstrap_servers, *wanted)
        assert done == "transaction.version was upgraded to 2.\n"
        yield cluster


def create(cluster: Cluster, topic: str) -> None:
    admin = cka.AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([cka.NewTopic(topic, PARTITIONS, replication_factor=2)])[topic].result(LIMIT_S)


def committed(cluster: Cluster, topic: str) -> dict[int, list[tuple[bytes, bytes]]]:
    """Return the keys and values of each partition that a consumer with ``read_committed`` reads."""
    options: dict[str, Any] = {"isolation.level": "read_committed", "enable.partition.eof": True, "group.id": "reader"}
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, **options, "enable.auto.commit": False})
    consumer.assign([ck.TopicPartition(topic, partition, ck.OFFSET_BEGINNING) for partition in range(PARTITIONS)])
    read: dict[int, list[tuple[bytes, bytes]]] = {partition: [] for partition in range(PARTITIONS)}
    ended = set()
    while len(ended) < PARTITIONS:
        message = consumer.poll(LIMIT_S)
        assert message is not None, "the consumer did not reach the end of each partition"
        if message.error() is None:
            read[message.partition()].append((message.key(), message.value()))
        else:
            assert message.error().code() == ck.KafkaError._PARTITION_EOF, message.error()
            ended.add(message.partition())
    consumer.close()
    return read


def test_the_epoch_of_a_java_producer_rises_with_each_transaction(cluster: Cluster) -> None:
    """KIP-890: "bump the epoch after every transaction". Brokers of both kinds coordinate, and lead partitions."""
    create(cluster, "orders")
    command = [require("java"), *QUICK_JVM, "-cp", f"{java_client(JAVA)}/*", str(PROGRAM)]
    command += [cluster.bootstrap_servers, "orders", str(PARTITIONS), *IDS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ends = [line.split() for line in done.stdout.splitlines()]
    assert [(each[0], int(each[1]), int(each[3])) for each in ends] == [
        (transactional_id, number, number + 1) for transactional_id in IDS for number in range(TRANSACTIONS)
    ]
    expected = [(transactional_id.encode(), b"%d" % number) for transactional_id in IDS for number in (0, 2)]
    assert committed(cluster, "orders") == dict.fromkeys(range(PARTITIONS), expected)
    for transactional_id in IDS:
        group = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": transactional_id})
        assert [each.offset for each in group.committed([ck.TopicPartition("orders", 0)], LIMIT_S)] == [2]
        group.close()


def test_librdkafka_commits_and_aborts(cluster: Cluster) -> None:
    """KIP-890: a client of the first protocol goes on with it, whatever the level of the cluster."""
    create(cluster, "older")
    for transactional_id in IDS:
        settings = {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": transactional_id}
        producer = ck.Producer(settings)
        producer.init_transactions(LIMIT_S)
        for number, end in enumerate((producer.commit_transaction, producer.abort_transaction) * 2):
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.produce("older", b"%d" % number, transactional_id.encode(), partition)
            assert producer.flush(LIMIT_S) == 0
            end(LIMIT_S)
    expected = [(transactional_id.encode(), b"%d" % number) for transactional_id in IDS for number in (0, 2)]
    assert committed(cluster, "older") == dict.fromkeys(range(PARTITIONS), expected)
