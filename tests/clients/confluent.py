"""confluent-kafka, and so librdkafka."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import confluent_kafka as ck
from confluent_kafka import admin as cka

from tests.clients.adapter import POLL_S, TIMEOUT_S, Client, Cluster, Group, Member, Message, OffsetSpec, Refused
from tests.support.eventually import eventually
from tests.support.librdkafka import Consumer

T = TypeVar("T")

LOCAL = {"broker.address.family": "v4", "log_level": "2"}


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Kafka's error codes are positive; librdkafka's own are negative and no refusal."""
    try:
        yield
    except ck.KafkaException as error:
        raise _refused(error.args[0]) from error


def _refused(error: Any) -> Exception:
    code = int(error.code())
    return Refused(code) if code > 0 else RuntimeError(str(error))


def _message(message: Any) -> Message:
    if message.error() is not None:
        raise _refused(message.error())
    return Message(
        value=message.value(),
        key=message.key(),
        headers=tuple(message.headers() or ()),
        timestamp_ms=message.timestamp()[1],
        partition=message.partition(),
        offset=message.offset(),
    )


class ConfluentMember(Member):
    def __init__(self, consumer: Any, topic: str) -> None:
        self.consumer = consumer
        consumer.subscribe([topic])

    def poll(self) -> list[Message]:
        with refusals():
            return [_message(message) for message in self.consumer.consume(100, POLL_S)]

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self.consumer.assignment()}

    def commit(self) -> None:
        with refusals():
            self.consumer.commit(asynchronous=False)

    def close(self) -> None:
        self.consumer.close()


class Confluent(Client):
    package = "confluent-kafka"

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers)
        self.settings = {"bootstrap.servers": bootstrap_servers, **LOCAL}
        self.admin = cka.AdminClient(self.settings)

    def close(self) -> None:
        del self.admin

    def _each(self, futures: Mapping[Any, Any]) -> Any:
        """Return the result for the only item of the request."""
        (future,) = futures.values()
        return self._one(future)

    def _one(self, future: Any) -> Any:
        with refusals():
            return future.result(TIMEOUT_S)

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None, replicas: int = 1
    ) -> None:
        new = cka.NewTopic(topic, partitions, replicas, config=dict(configs or {}))
        self._each(self.admin.create_topics([new]))

    def topics(self) -> set[str]:
        return set(self.admin.list_topics(timeout=TIMEOUT_S).topics)

    def leaders(self, topic: str) -> dict[int, int]:
        description = self._each(self.admin.describe_topics(ck.TopicCollection([topic])))
        return {partition.id: partition.leader.id for partition in description.partitions}

    def delete_topic(self, topic: str) -> None:
        self._each(self.admin.delete_topics([topic]))

    def create_partitions(self, topic: str, total: int) -> None:
        self._each(self.admin.create_partitions([cka.NewPartitions(topic, total)]))

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        codec: str = "none",
        idempotent: bool = False,
        acks: int | str = "all",
    ) -> list[int]:
        results: list[tuple[Any, int | None]] = []
        settings = {"compression.type": codec, "enable.idempotence": idempotent, "acks": acks, "linger.ms": 20}
        producer = ck.Producer(self.settings | settings)
        for message in messages:
            producer.produce(
                topic,
                value=message.value,
                key=message.key,
                partition=message.partition,
                timestamp=message.timestamp_ms,
                headers=list(message.headers),
                on_delivery=lambda error, sent: results.append((error, sent.offset())),
            )
        assert producer.flush(TIMEOUT_S) == 0, "not delivered in time"
        for error, _ in results:
            if error is not None:
                raise _refused(error)
        return [-1 if offset is None else offset for _, offset in results]

    def _consumer(self, group: str, **settings: object) -> Any:
        extra = {key.replace("_", "."): value for key, value in settings.items()}
        base = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        return Consumer(self.settings | base | extra)

    def consume(self, topic: str, count: int) -> list[Message]:
        found: list[Message] = []
        consumer = self._consumer("unused")
        try:
            consumer.assign([ck.TopicPartition(topic, 0, ck.OFFSET_BEGINNING)])
            eventually(lambda: found.extend(map(_message, consumer.consume(count, POLL_S))) or len(found) >= count)
        finally:
            consumer.close()
        return found

    def join(self, group: str, topic: str, static_id: str | None) -> Member:
        settings = {} if static_id is None else {"group_instance_id": static_id}
        consumer = self._consumer(group, session_timeout_ms=30_000, heartbeat_interval_ms=500, **settings)
        return ConfluentMember(consumer, topic)

    def cluster(self) -> Cluster:
        found = self._one(self.admin.describe_cluster())
        return Cluster(found.controller.id, {node.id: f"{node.host}:{node.port}" for node in found.nodes})

    def configs(self, topic: str) -> dict[str, str | None]:
        entries = self._each(self.admin.describe_configs([cka.ConfigResource(cka.ResourceType.TOPIC, topic)]))
        return {name: entry.value for name, entry in entries.items()}

    def alter_config(self, topic: str, key: str, value: str) -> None:
        entry = cka.ConfigEntry(key, value, incremental_operation=cka.AlterConfigOpType.SET)
        resource = cka.ConfigResource(cka.ResourceType.TOPIC, topic, incremental_configs=[entry])
        self._each(self.admin.incremental_alter_configs([resource]))

    def delete_records(self, topic: str, before_offset: int) -> None:
        self._each(self.admin.delete_records([ck.TopicPartition(topic, 0, before_offset)]))

    def offset(self, topic: str, spec: OffsetSpec) -> int:
        if isinstance(spec, int):
            wanted = cka.OffsetSpec.for_timestamp(spec)
        else:
            wanted = getattr(cka.OffsetSpec, spec.replace("-", "_"))()
        return int(self._each(self.admin.list_offsets({ck.TopicPartition(topic, 0): wanted})).offset)

    def groups(self) -> set[str]:
        return {group.group_id for group in self._one(self.admin.list_consumer_groups()).valid}

    def describe_group(self, group: str) -> Group:
        found = self._each(self.admin.describe_consumer_groups([group]))
        return Group(found.state.name.title(), len(found.members))

    def delete_group(self, group: str) -> None:
        self._each(self.admin.delete_consumer_groups([group]))
