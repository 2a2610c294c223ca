"""Transactions of real clients (KIP-98), also when the coordinator is killed between two of their requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka import admin as cka

from tests.support.librdkafka import Consumer
from tests.support.node_process import NodeProcess, running_node

pytestmark = pytest.mark.feature("confluent-kafka", "transactions")

TIMEOUT_S = 60.0
CLIENT = {"broker.address.family": "v4", "log_level": "1", "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100}
SINGLE = {
    "transaction_state_log_replication_factor": "1",
    "transaction_state_log_min_isr": "1",
    "transaction_state_log_num_partitions": "2",
}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    with running_node(tmp_path / "1", **SINGLE) as node:
        yield node


def settings(node: NodeProcess, **more: object) -> dict[str, Any]:
    extra = {key.replace("_", "."): value for key, value in more.items()}
    return {"bootstrap.servers": node.bootstrap_servers, **CLIENT, **extra}


def create_topic(node: NodeProcess, topic: str, partitions: int = 1) -> None:
    admin = cka.AdminClient(settings(node))
    admin.create_topics([cka.NewTopic(topic, partitions, 1)])[topic].result(TIMEOUT_S)


def producer(node: NodeProcess, transactional_id: str, **more: object) -> Any:
    made = ck.Producer(settings(node, transactional_id=transactional_id, linger_ms=0, **more))
    made.init_transactions(TIMEOUT_S)
    return made


def committed(node: NodeProcess, topic: str, partition: int = 0) -> list[bytes]:
    """The values that a consumer with ``isolation.level=read_committed`` reads, up to the last stable offset."""
    options = {"group_id": "reader", "isolation_level": "read_committed", "enable_partition_eof": True}
    consumer = Consumer(settings(node, **options, enable_auto_commit=False))
    consumer.assign([ck.TopicPartition(topic, partition, ck.OFFSET_BEGINNING)])
    values = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, "the consumer did not reach the end of the partition"
        if message.error() is not None:
            assert message.error().code() == ck.KafkaError._PARTITION_EOF, message.error()
            break
        values.append(message.value())
    consumer.close()
    return values


def test_only_committed_transactions_are_read(node: NodeProcess) -> None:
    """KIP-98: "messages in a transaction that was aborted will not be visible", nor those of an open one."""
    create_topic(node, "t", 2)
    writer = producer(node, "writer")
    for number, end in enumerate((writer.commit_transaction, writer.abort_transaction, writer.commit_transaction)):
        writer.begin_transaction()
        for partition in (0, 1):
            writer.produce("t", b"%d" % number, partition=partition)
        assert writer.flush(TIMEOUT_S) == 0
        end(TIMEOUT_S)
    writer.begin_transaction()
    writer.produce("t", b"open", partition=0)
    assert writer.flush(TIMEOUT_S) == 0
    assert [committed(node, "t", partition) for partition in (0, 1)] == [[b"0", b"2"]] * 2
    writer.commit_transaction(TIMEOUT_S)
    assert committed(node, "t") == [b"0", b"2", b"open"]


def test_offsets_are_committed_with_their_transaction(node: NodeProcess) -> None:
    """KIP-98 ``sendOffsetsToTransaction``: the offsets of an aborted transaction do not count."""
    create_topic(node, "in")
    create_topic(node, "out")
    consumer = Consumer(settings(node, group_id="g", enable_auto_commit=False))
    where = [ck.TopicPartition("in", 0)]
    writer = producer(node, "copier")
    for offset, end in ((1, writer.commit_transaction), (2, writer.abort_transaction)):
        writer.begin_transaction()
        writer.produce("out", b"%d" % offset)
        offsets = [ck.TopicPartition("in", 0, offset)]
        writer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), TIMEOUT_S)
        end(TIMEOUT_S)
        assert [each.offset for each in consumer.committed(where, TIMEOUT_S)] == [1]
    assert committed(node, "out") == [b"1"]
    consumer.close()


def test_the_next_producer_fences_the_last(node: NodeProcess) -> None:
    """KIP-98: a new producer with the id aborts the open transaction, and the zombie cannot commit it."""
    create_topic(node, "t")
    zombie = producer(node, "shared")
    zombie.begin_transaction()
    zombie.produce("t", b"of the zombie")
    assert zombie.flush(TIMEOUT_S) == 0
    successor = producer(node, "shared")
    successor.begin_transaction()
    successor.produce("t", b"of the successor")
    successor.commit_transaction(TIMEOUT_S)
    with pytest.raises(ck.KafkaException) as refused:
        zombie.commit_transaction(TIMEOUT_S)
    assert refused.value.args[0].code() in (ck.KafkaError._FENCED, ck.KafkaError.PRODUCER_FENCED)
    assert committed(node, "t") == [b"of the successor"]


def test_a_killed_coordinator_continues_the_transaction(node: NodeProcess) -> None:
    """The partitions of an open transaction are in ``__transaction_state``, so its producer can still commit."""
    create_topic(node, "t")
    writer = producer(node, "survivor", transaction_timeout_ms=300_000)
    writer.begin_transaction()
    writer.produce("t", b"before")
    assert writer.flush(TIMEOUT_S) == 0
    node.kill()
    node.start()
    writer.produce("t", b"after")
    assert writer.flush(TIMEOUT_S) == 0
    assert committed(node, "t") == []
    writer.commit_transaction(TIMEOUT_S)
    writer.begin_transaction()
    writer.produce("t", b"next")
    writer.commit_transaction(TIMEOUT_S)
    assert committed(node, "t") == [b"before", b"after", b"next"]
