"""The client of these tests: topics, records, groups; by librdkafka, which shares no code with the node."""

from __future__ import annotations

from typing import Any

import attrs
import confluent_kafka as ck
from confluent_kafka import admin as cka

from tests.support.eventually import eventually
from tests.support.librdkafka import Consumer

TIMEOUT_S = 60.0
ANSWER_TIMEOUT_S = 5.0
_FENCED_FOR_A_WHILE = ck.KafkaError.PREFERRED_LEADER_NOT_AVAILABLE  # a busy machine may fence a broker
_NO_ANSWER = ck.KafkaError._TIMED_OUT, ck.KafkaError._TRANSPORT, ck.KafkaError._ALL_BROKERS_DOWN
#: An admin client of librdkafka regularly requests the metadata of its known topics, as a producer does. Without this
#: setting it would create a deleted topic again.
_CLIENT = {
    "allow.auto.create.topics": False,
    "broker.address.family": "v4",
    "log_level": "1",
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 200,
    "topic.metadata.refresh.interval.ms": 1000,
}


@attrs.frozen
class Partition:
    """The leader as in the Metadata response."""

    leader: int
    replicas: list[int]
    isr: set[int]


@attrs.define
class Traffic:
    """A client of a cluster, and the values that it wrote to each topic and were acknowledged."""

    bootstrap_servers: str
    written: dict[str, list[str]] = attrs.Factory(dict)
    admin: cka.AdminClient = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.admin = cka.AdminClient(self._settings())

    def _settings(self, **more: object) -> dict[str, Any]:
        extra = {key.replace("_", "."): value for key, value in more.items()}
        return {"bootstrap.servers": self.bootstrap_servers, **_CLIENT, **extra}

    def create(self, topic: str, partitions: int = 1, replication_factor: int = 1, **configs: str) -> None:
        """Raises KafkaException when the cluster refuses."""
        values = {key.replace("_", "."): value for key, value in configs.items()}
        new = cka.NewTopic(topic, partitions, replication_factor, config=values)
        self.admin.create_topics([new])[topic].result(TIMEOUT_S)

    def create_at(self, topic: str, brokers: list[int], **configs: str) -> None:
        """Create a topic with one partition on these brokers. Raises as ``create``."""
        values = {key.replace("_", "."): value for key, value in configs.items()}
        new = cka.NewTopic(topic, 1, replica_assignment=[brokers], config=values)
        self.admin.create_topics([new])[topic].result(TIMEOUT_S)

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(TIMEOUT_S)

    def topics(self) -> set[str]:
        return set(self._metadata().topics)

    def describe(self, topic: str) -> dict[int, Partition]:
        partitions = self._metadata(topic).topics[topic].partitions
        return {
            number: Partition(each.leader, list(each.replicas), set(each.isrs)) for number, each in partitions.items()
        }

    def _metadata(self, topic: str | None = None) -> cka.ClusterMetadata:
        """Return the response of a broker. A request just after the kill of a broker may wait for that one, so
        retry.
        """

        def ask() -> cka.ClusterMetadata | None:
            try:
                return self.admin.list_topics(topic, timeout=ANSWER_TIMEOUT_S)
            except ck.KafkaException as failed:
                if failed.args[0].code() not in _NO_ANSWER:
                    raise
                return None

        answer = eventually(ask, TIMEOUT_S)
        assert answer is not None
        return answer

    def set_config(self, topic: str, name: str, value: str) -> None:
        entry = cka.ConfigEntry(name, value, incremental_operation=cka.AlterConfigOpType.SET)
        resource = cka.ConfigResource(cka.ResourceType.TOPIC, topic, incremental_configs=[entry])
        for future in self.admin.incremental_alter_configs([resource]).values():
            future.result(TIMEOUT_S)

    def config(self, topic: str, name: str) -> str:
        resource = cka.ConfigResource(cka.ResourceType.TOPIC, topic)
        (future,) = self.admin.describe_configs([resource]).values()
        return str(future.result(TIMEOUT_S)[name].value)

    def add_partitions(self, topic: str, total: int) -> None:
        for future in self.admin.create_partitions([cka.NewPartitions(topic, total)]).values():
            future.result(TIMEOUT_S)

    def elect_preferred(self, topic: str, partitions: int) -> None:
        chosen = [ck.TopicPartition(topic, number) for number in range(partitions)]

        def is_elected() -> bool:
            found = self.admin.elect_leaders(ck.ElectionType.PREFERRED, chosen).result(TIMEOUT_S)
            codes = {None if error is None else error.code() for error in found.values()}
            assert codes <= {None, ck.KafkaError.ELECTION_NOT_NEEDED, _FENCED_FOR_A_WHILE}, found
            return _FENCED_FOR_A_WHILE not in codes

        eventually(is_elected, TIMEOUT_S)

    def write(self, topic: str, count: int) -> None:
        """``count`` records more, round the partitions, each acknowledged by all in-sync replicas (idempotent)."""
        values = self.written.setdefault(topic, [])
        producer = ck.Producer(
            self._settings(enable_idempotence=True, linger_ms=5, compression_type="lz4", message_timeout_ms=60_000)
        )
        failed: list[Any] = []
        for number in range(len(values), len(values) + count):
            producer.produce(
                topic, str(number), on_delivery=lambda error, _: failed.append(error) if error is not None else None
            )
            values.append(str(number))
        assert producer.flush(TIMEOUT_S) == 0
        assert not failed

    def assert_all_is_there(self, topic: str) -> None:
        """Everything that was written, each record once."""
        partitions = self.describe(topic)
        consumer = Consumer(self._settings(group_id="unused", enable_partition_eof=True, enable_auto_commit=False))
        consumer.assign([ck.TopicPartition(topic, number, ck.OFFSET_BEGINNING) for number in partitions])
        found: list[str] = []
        ended: set[int] = set()

        def read() -> bool:
            for message in consumer.consume(1000, 0.1):
                if message.error() is None:
                    found.append(message.value().decode())
                else:
                    assert message.error().code() == ck.KafkaError._PARTITION_EOF, message.error()
                    ended.add(message.partition())
            return len(ended) == len(partitions)

        eventually(read, TIMEOUT_S)
        consumer.close()
        assert sorted(found, key=int) == self.written[topic]

    def read_in_group(self, topic: str, group: str, count: int) -> list[str]:
        """The next ``count`` records of the group, committed."""
        consumer = Consumer(self._settings(group_id=group, auto_offset_reset="earliest", enable_auto_commit=False))
        consumer.subscribe([topic])
        found: list[str] = []

        def read() -> bool:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                found.append(message.value().decode())
            return len(found) == count

        eventually(read, TIMEOUT_S)
        consumer.commit(asynchronous=False)
        consumer.close()
        return found
