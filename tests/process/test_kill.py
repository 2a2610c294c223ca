"""``kill -9``: after each one every acknowledged record exists exactly once.

``acks=all`` means that the leader has the record as durably as the in-sync set can make it, and an idempotent producer
that its retries leave one copy (KIP-98). Topics, configs and committed offsets are records like any other.
"""

from __future__ import annotations

import itertools
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import confluent_kafka as ck
import pytest
from confluent_kafka import admin as cka

from tests.clients.requests import NO_SESSION, fetch_request
from tests.support.eventually import eventually
from tests.support.librdkafka import Consumer
from tests.support.node_process import NodeProcess, running_node
from tests.support.wire_client import wire_client

KILLS = 20
ACKNOWLEDGED_BETWEEN_KILLS = 500
PARTITIONS = 3
TIMEOUT_S = 60.0
CLIENT = {"broker.address.family": "v4", "log_level": "1", "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100}


def settings(node: NodeProcess, **more: object) -> dict[str, Any]:
    extra = {key.replace("_", "."): value for key, value in more.items()}
    return {"bootstrap.servers": node.bootstrap_servers, **CLIENT, **extra}


@attrs.define
class Ledger:
    """The records that a producer thread sent, and the acknowledged ones: value to (partition, offset)."""

    sent: int = 0
    acknowledged: dict[bytes, tuple[int, int]] = attrs.Factory(dict)
    failures: list[Any] = attrs.Factory(list)
    done: threading.Event = attrs.Factory(threading.Event)

    def delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failures.append(error)
            self.done.set()
        else:
            self.acknowledged[message.value()] = (message.partition(), message.offset())

    def produce(self, producer: Any, topic: str) -> None:
        """The thread: one numbered message after the other until ``done``, and then all answers awaited."""
        for number in itertools.count():
            if self.done.is_set():
                break
            try:
                producer.produce(topic, b"%d" % number, partition=number % PARTITIONS, on_delivery=self.delivered)
            except BufferError:
                producer.poll(0.1)
                continue
            self.sent += 1
            producer.poll(0)
        producer.flush(TIMEOUT_S)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    with running_node(tmp_path / "1") as node:
        yield node


def create_topic(node: NodeProcess, topic: str, partitions: int, configs: dict[str, str]) -> None:
    admin = cka.AdminClient(settings(node))
    new = cka.NewTopic(topic, partitions, 1, config=configs)
    admin.create_topics([new])[topic].result(TIMEOUT_S)


def retention_of(node: NodeProcess, topic: str) -> str:
    resource = cka.ConfigResource(cka.ResourceType.TOPIC, topic)
    admin = cka.AdminClient(settings(node))
    (future,) = admin.describe_configs([resource]).values()
    return str(future.result(TIMEOUT_S)["retention.ms"].value)


def commit(node: NodeProcess, group: str, topic: str, offset: int) -> None:
    consumer = Consumer(settings(node, group_id=group))
    consumer.commit(offsets=[ck.TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def committed(node: NodeProcess, group: str, topic: str) -> int:
    consumer = Consumer(settings(node, group_id=group))
    (found,) = consumer.committed([ck.TopicPartition(topic, 0)], timeout=TIMEOUT_S)
    consumer.close()
    return int(found.offset)


def read_all(node: NodeProcess, topic: str) -> dict[tuple[int, int], bytes]:
    """Every record of the topic: (partition, offset) to value."""
    consumer = Consumer(settings(node, group_id="reader", enable_partition_eof=True))
    consumer.assign([ck.TopicPartition(topic, partition, ck.OFFSET_BEGINNING) for partition in range(PARTITIONS)])
    found: dict[tuple[int, int], bytes] = {}
    ended: set[int] = set()

    def read() -> bool:
        for message in consumer.consume(1000, 0.1):
            if message.error() is None:
                found[message.partition(), message.offset()] = message.value()
            else:
                assert message.error().code() == ck.KafkaError._PARTITION_EOF
                ended.add(message.partition())
        return len(ended) == PARTITIONS

    eventually(read, TIMEOUT_S)
    consumer.close()
    return found


def test_nothing_acknowledged_is_lost_or_doubled_over_20_kills(node: NodeProcess) -> None:
    """Records, topics, configs and committed offsets, each acknowledged right before a kill that it must outlive."""
    create_topic(node, "ledger", PARTITIONS, {"retention.ms": "-1"})
    ledger = Ledger()
    producer = ck.Producer(
        settings(
            node,
            enable_idempotence=True,
            acks="all",
            linger_ms=1,
            message_timeout_ms=300_000,
            queue_buffering_max_messages=1_000,
        )
    )
    thread = threading.Thread(target=ledger.produce, args=(producer, "ledger"), name="producer")
    thread.start()
    try:
        for kill in range(KILLS):
            target = len(ledger.acknowledged) + ACKNOWLEDGED_BETWEEN_KILLS
            eventually(lambda target=target: ledger.failures or len(ledger.acknowledged) >= target, TIMEOUT_S)
            create_topic(node, f"kill-{kill}", 1, {"retention.ms": str(1_000_000 + kill)})
            commit(node, "group", "ledger", kill)
            node.kill()
            node.start()
            assert committed(node, "group", "ledger") == kill
    finally:
        ledger.done.set()
        thread.join(2 * TIMEOUT_S)

    assert not ledger.failures
    assert len(ledger.acknowledged) == ledger.sent
    found = read_all(node, "ledger")
    doubled = [value for value, count in Counter(found.values()).items() if count > 1]
    assert not doubled
    assert set(found.values()) == set(ledger.acknowledged)
    # A retry whose first try had been written is answered without an offset (-1).
    told = {place: value for value, place in ledger.acknowledged.items() if place[1] >= 0}
    assert told.items() <= found.items()
    for kill in range(KILLS):
        assert retention_of(node, f"kill-{kill}") == str(1_000_000 + kill)
    assert retention_of(node, "ledger") == "-1"


def test_a_stopped_node_exits_with_0_and_restarts_with_its_data(node: NodeProcess) -> None:
    """SIGTERM is a controlled stop."""
    create_topic(node, "kept", PARTITIONS, {})
    producer = ck.Producer(settings(node, acks="all"))
    for number in range(30):
        producer.produce("kept", b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(TIMEOUT_S) == 0
    assert node.stop() == 0
    node.start()
    assert sorted(read_all(node, "kept").values(), key=int) == [b"%d" % number for number in range(30)]


def test_a_second_signal_does_not_wait(node: NodeProcess) -> None:
    """A client that waits for data may hold up a controlled stop; the second signal ends it at once, and not with 0."""
    create_topic(node, "quiet", 1, {})
    assert node.process is not None
    with wire_client(node.bootstrap_servers) as waiting:
        waiting.send(fetch_request(NO_SESSION, max_wait_ms=25_000, topic="quiet"), 11)
        node.process.send_signal(signal.SIGTERM)
        node.process.send_signal(signal.SIGINT)
        assert node.process.wait(TIMEOUT_S) != 0
    node.start()
    assert retention_of(node, "quiet") == "604800000"
