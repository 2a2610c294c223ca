"""librdkafka as the client: the throughput, latency and growth sections run it against every broker alike."""

from __future__ import annotations

import itertools
import os
import time

import attrs
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

TIMEOUT_S = 120.0
BATCH_BYTES = 1_000_000
MAX_MESSAGE_BYTES = 1_040_000
QUIET = {"enable.metrics.push": False, "log_level": 3}
"""No optional traffic on the wire, and only errors in the output."""

_QUEUED = 10_000
_numbers = itertools.count()


def create_topic(bootstrap_servers: str, partitions: int, name: str = "") -> str:
    """A new topic that the broker has already begun to lead; its name."""
    name = name or f"bench-{os.getpid()}-{next(_numbers)}"
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, **QUIET})
    admin.create_topics([NewTopic(name, partitions, 1)], operation_timeout=60)[name].result(TIMEOUT_S)
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        known = admin.list_topics(name, timeout=30).topics[name].partitions
        if len(known) == partitions and all(each.leader >= 0 for each in known.values()):
            return name
        time.sleep(0.02)
    raise TimeoutError(f"{name} has no leaders after {TIMEOUT_S} s")


def delete_topic(bootstrap_servers: str, name: str) -> None:
    """Give the space back, where the broker can."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, **QUIET})
    try:
        admin.delete_topics([name], operation_timeout=30)[name].result(TIMEOUT_S)
    except KafkaException:
        return


@attrs.frozen
class Moved:
    """A duration, and the amount of data in it."""

    elapsed_s: float
    messages: int
    bytes: int

    @property
    def mb_per_s(self) -> float:
        return self.bytes / 1e6 / self.elapsed_s


def produce(bootstrap_servers: str, topic: str, messages: int, size: int, **settings: object) -> Moved:
    """Produce with acks=all in batches of 1 MB; timed from the first message to the last acknowledgement."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            **QUIET,
            "acks": "all",
            "batch.size": BATCH_BYTES,
            "batch.num.messages": 1_000_000,
            "linger.ms": 50,
            "message.max.bytes": MAX_MESSAGE_BYTES,
            "queue.buffering.max.kbytes": 262_144,
            "queue.buffering.max.messages": 1_000_000,
            **settings,
        }
    )
    producer.list_topics(topic, timeout=30)  # connected, and the topic known, before the clock starts
    producer.poll(0)
    value = os.urandom(size)
    some = [{"value": value} for _ in range(min(_QUEUED, max(1, 16_000_000 // size)))]
    left = messages
    started = time.perf_counter()
    while left:
        batch = [dict(each) for each in some[: min(left, len(some))]]
        queued = producer.produce_batch(topic, batch)
        left -= queued
        if queued < len(batch):
            producer.poll(0.005)
    producer.flush(TIMEOUT_S)
    elapsed = time.perf_counter() - started
    if len(producer):
        raise RuntimeError(f"{len(producer)} of {messages} messages were not acknowledged")
    return Moved(elapsed, messages, messages * size)


def consume(bootstrap_servers: str, topic: str, partitions: int, messages: int, size: int, **settings: object) -> Moved:
    """Read the partitions from their start, without a group; timed from the first message to the last."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            **QUIET,
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.message.max.bytes": 4_000_000,
            "fetch.max.bytes": 64_000_000,
            "queued.min.messages": 1_000_000,
            "queued.max.messages.kbytes": 262_144,
            "fetch.wait.max.ms": 100,
            **settings,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
        deadline = time.monotonic() + TIMEOUT_S
        # After the first message the connection and the data flow exist; the clock starts there.
        received = len(consumer.consume(1, TIMEOUT_S))
        started = time.perf_counter()
        while received < messages:
            received += len(consumer.consume(_QUEUED, 0.5))
            if time.monotonic() > deadline:
                raise TimeoutError(f"{received} of {messages} messages arrived in {TIMEOUT_S} s")
        elapsed = time.perf_counter() - started
    finally:
        consumer.close()
    return Moved(elapsed, messages - 1, (messages - 1) * size)


class SingleProduces:
    """One connection that produces to one partition: acks=all, one in flight, no lingering."""

    WARM_UP = 50

    def __init__(self, bootstrap_servers: str, topic: str, size: int) -> None:
        self._topic = topic
        self._value = os.urandom(size)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                **QUIET,
                "acks": "all",
                "linger.ms": 0,
                "max.in.flight": 1,
                "socket.nagle.disable": True,
                "message.max.bytes": MAX_MESSAGE_BYTES,
            }
        )
        self.times_ms(self.WARM_UP)

    def times_ms(self, count: int) -> list[float]:
        """Milliseconds from each of ``count`` calls to its acknowledgement."""
        acknowledged: list[object] = []
        times: list[float] = []
        for number in range(count):
            started = time.perf_counter()
            self._producer.produce(
                self._topic, self._value, partition=0, on_delivery=lambda error, _: acknowledged.append(error)
            )
            while len(acknowledged) <= number:
                self._producer.poll(1.0)
            times.append((time.perf_counter() - started) * 1000)
        if any(acknowledged):
            raise RuntimeError(f"not acknowledged: {next(filter(None, acknowledged))}")
        return times


def first_record_ms(bootstrap_servers: str, topic: str, group: str) -> float:
    """From making a consumer of a new group to the first record in its hands, in milliseconds."""
    started = time.perf_counter()
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            **QUIET,
            "group.id": group,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([topic])
        deadline = started + TIMEOUT_S
        while time.perf_counter() < deadline:
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                return (time.perf_counter() - started) * 1000
        raise TimeoutError(f"no record in {TIMEOUT_S} s")
    finally:
        consumer.close()
