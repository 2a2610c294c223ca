"""kafka-python."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import kafka
from kafka import errors
from kafka.admin import ConfigResource, ConfigResourceType

from tests.clients.adapter import TIMEOUT_S, Client, Cluster, Group, Member, Message, OffsetSpec, Refused
from tests.support.eventually import eventually

_POLL_S = 1.0
"""A poll without records. A member that has joined joins again if its poll ends before its SyncGroup does. With shorter
polls on a busy machine a leader joins for ever, and the others have to rejoin each time.
"""
LISTED_OFFSETS = {"latest": -1, "earliest": -2, "max-timestamp": -3}


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except errors.KafkaError as error:
        if error.errno is None or error.errno <= 0:
            raise
        raise Refused(error.errno) from error


def _message(record: Any) -> Message:
    return Message(
        value=record.value,
        key=record.key,
        headers=tuple(record.headers),
        timestamp_ms=record.timestamp,
        partition=record.partition,
        offset=record.offset,
    )


def _poll(consumer: Any) -> list[Message]:
    with refusals():
        batches = consumer.poll(timeout_ms=int(_POLL_S * 1000))
    return [_message(record) for records in batches.values() for record in records]


class KafkaPythonMember(Member):
    def __init__(self, consumer: Any, topic: str) -> None:
        self.consumer = consumer
        # A group leader without metadata of the topic assigns it to no member, and may not notice the topic later.
        consumer.partitions_for_topic(topic)
        consumer.subscribe([topic])

    def poll(self) -> list[Message]:
        return _poll(self.consumer)

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self.consumer.assignment()}

    def commit(self) -> None:
        with refusals():
            self.consumer.commit()

    def close(self) -> None:
        self.consumer.close()


class KafkaPython(Client):
    package = "kafka-python"

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers)
        self.admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap_servers)

    def close(self) -> None:
        self.admin.close()

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None, replicas: int = 1
    ) -> None:
        wanted = {"num_partitions": partitions, "replication_factor": replicas, "configs": dict(configs or {})}
        with refusals():
            self.admin.create_topics({topic: wanted})

    def topics(self) -> set[str]:
        return set(self.admin.list_topics())

    def leaders(self, topic: str) -> dict[int, int]:
        with refusals():
            (found,) = self.admin.describe_topics([topic])
        return {partition["partition_index"]: partition["leader_id"] for partition in found["partitions"]}

    def delete_topic(self, topic: str) -> None:
        with refusals():
            self.admin.delete_topics([topic])

    def create_partitions(self, topic: str, total: int) -> None:
        with refusals():
            self.admin.create_partitions({topic: total})

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        codec: str = "none",
        idempotent: bool = False,
        acks: int | str = "all",
    ) -> list[int]:
        producer = kafka.KafkaProducer(
            bootstrap_servers=self.bootstrap_servers,
            compression_type=None if codec == "none" else codec,
            enable_idempotence=idempotent,
            acks=acks,
            linger_ms=20,
        )
        try:
            sent = [
                producer.send(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    partition=message.partition,
                    timestamp_ms=message.timestamp_ms,
                )
                for message in messages
            ]
            with refusals():
                return [future.get(TIMEOUT_S).offset for future in sent]
        finally:
            producer.close()

    def _consumer(self, **settings: object) -> Any:
        return kafka.KafkaConsumer(
            bootstrap_servers=self.bootstrap_servers,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            **settings,
        )

    def consume(self, topic: str, count: int) -> list[Message]:
        found: list[Message] = []
        consumer = self._consumer()
        try:
            consumer.assign([kafka.TopicPartition(topic, 0)])
            eventually(lambda: found.extend(_poll(consumer)) or len(found) >= count)
        finally:
            consumer.close()
        return found

    def join(self, group: str, topic: str, static_id: str | None) -> Member:
        consumer = self._consumer(
            group_id=group,
            group_instance_id=static_id,
            session_timeout_ms=30_000,
            heartbeat_interval_ms=500,
        )
        return KafkaPythonMember(consumer, topic)

    def cluster(self) -> Cluster:
        found = self.admin.describe_cluster()
        brokers = {broker["broker_id"]: f"{broker['host']}:{broker['port']}" for broker in found["brokers"]}
        return Cluster(found["controller_id"], brokers)

    def configs(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        found = self.admin.describe_configs([resource], config_filter="all")
        return {name: entry["value"] for name, entry in found["topic"][topic].items()}

    def alter_config(self, topic: str, key: str, value: str) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {key: value})
        answer = self.admin.alter_configs([resource], raise_on_unknown=False)["topic"][topic]
        if refusal := re.match(r"\[Error (\d+)\]", answer):
            raise Refused(int(refusal[1]))
        assert answer == "OK"

    def delete_records(self, topic: str, before_offset: int) -> None:
        with refusals():
            self.admin.delete_records({kafka.TopicPartition(topic, 0): before_offset})

    def offset(self, topic: str, spec: OffsetSpec) -> int:
        partition = kafka.TopicPartition(topic, 0)
        wanted = spec if isinstance(spec, int) else LISTED_OFFSETS[spec]
        with refusals():
            return int(self.admin.list_partition_offsets({partition: wanted})[partition].offset)

    def groups(self) -> set[str]:
        return {group["group_id"] for group in self.admin.list_groups()}

    def describe_group(self, group: str) -> Group:
        found = self.admin.describe_groups([group])[group]
        return Group(found["group_state"], len(found["members"]))

    def delete_group(self, group: str) -> None:
        answer = self.admin.delete_groups([group])[group]
        if answer != "OK":
            raise Refused(getattr(errors, answer).errno)
