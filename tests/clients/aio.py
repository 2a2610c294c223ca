"""aiokafka. Its event loop runs in a thread of its own, so that its background tasks live between the test's calls."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import aiokafka
from aiokafka import admin as aioadmin
from aiokafka import errors
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.clients.adapter import POLL_S, TIMEOUT_S, Client, Cluster, Group, Member, Message, OffsetSpec, Refused
from tests.clients.features import not_offered
from tests.support.eventually import eventually

T = TypeVar("T")


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except errors.KafkaError as error:
        if getattr(error, "errno", 0) <= 0:
            raise
        raise Refused(error.errno) from error


def _check(code: int) -> None:
    if code != 0:
        raise Refused(code)


def _message(record: Any) -> Message:
    return Message(
        value=record.value,
        key=record.key,
        headers=tuple(record.headers),
        timestamp_ms=record.timestamp,
        partition=record.partition,
        offset=record.offset,
    )


class LoopThread:
    """An asyncio event loop in a thread: ``run`` is a plain call into it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="aiokafka")
        self.thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        with refusals():
            return asyncio.run_coroutine_threadsafe(work, self.loop).result(2 * TIMEOUT_S)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(TIMEOUT_S)
        self.loop.close()


async def _poll(consumer: Any) -> list[Message]:
    batches = await consumer.getmany(timeout_ms=int(POLL_S * 1000))
    return [_message(record) for records in batches.values() for record in records]


class AioMember(Member):
    def __init__(self, loop: LoopThread, consumer: Any) -> None:
        self.loop, self.consumer = loop, consumer

    def poll(self) -> list[Message]:
        return self.loop.run(_poll(self.consumer))

    def assignment(self) -> set[int]:
        return {partition.partition for partition in self.consumer.assignment()}

    def commit(self) -> None:
        self.loop.run(self.consumer.commit())

    def close(self) -> None:
        self.loop.run(self.consumer.stop())


class Aio(Client):
    package = "aiokafka"

    def __init__(self, bootstrap_servers: str) -> None:
        super().__init__(bootstrap_servers)
        self.loop = LoopThread()

    def close(self) -> None:
        self.loop.close()

    def _ask(self, question: Callable[[Any], Awaitable[T]]) -> T:
        """Send one request through an admin client, and close the client."""

        async def ask() -> T:
            admin = aioadmin.AIOKafkaAdminClient(bootstrap_servers=self.bootstrap_servers)
            try:
                await admin.start()
                return await question(admin)
            finally:
                await admin.close()

        return self.loop.run(ask())

    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None, replicas: int = 1
    ) -> None:
        new = aioadmin.NewTopic(topic, partitions, replicas, topic_configs=dict(configs or {}))
        _check(self._ask(lambda admin: admin.create_topics([new])).topic_errors[0][1])

    def topics(self) -> set[str]:
        return set(self._ask(lambda admin: admin.list_topics()))

    def leaders(self, topic: str) -> dict[int, int]:
        (found,) = self._ask(lambda admin: admin.describe_topics([topic]))
        return {partition["partition"]: partition["leader"] for partition in found["partitions"]}

    def delete_topic(self, topic: str) -> None:
        _check(self._ask(lambda admin: admin.delete_topics([topic])).topic_error_codes[0][1])

    def create_partitions(self, topic: str, total: int) -> None:
        self._ask(lambda admin: admin.create_partitions({topic: aioadmin.NewPartitions(total)}))

    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        codec: str = "none",
        idempotent: bool = False,
        acks: int | str = "all",
    ) -> list[int]:
        async def produce() -> list[int]:
            producer = aiokafka.AIOKafkaProducer(
                bootstrap_servers=self.bootstrap_servers,
                compression_type=None if codec == "none" else codec,
                enable_idempotence=idempotent,
                acks=acks,
                linger_ms=20,
            )
            await producer.start()
            try:
                sent = [
                    await producer.send(
                        topic,
                        value=message.value,
                        key=message.key,
                        headers=list(message.headers),
                        partition=message.partition,
                        timestamp_ms=message.timestamp_ms,
                    )
                    for message in messages
                ]
                answers = await asyncio.gather(*sent)
                return [-1 if answer is None else answer.offset for answer in answers]
            finally:
                await producer.stop()

        return self.loop.run(produce())

    def _start(self, *topics: str, **settings: object) -> Any:
        async def start() -> Any:
            consumer = aiokafka.AIOKafkaConsumer(
                *topics,
                bootstrap_servers=self.bootstrap_servers,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                **settings,
            )
            await consumer.start()
            return consumer

        return self.loop.run(start())

    @contextlib.contextmanager
    def _started(self) -> Iterator[Any]:
        """A consumer without a group."""
        consumer = self._start()
        try:
            yield consumer
        finally:
            self.loop.run(consumer.stop())

    def consume(self, topic: str, count: int) -> list[Message]:
        async def assign(consumer: Any) -> None:
            consumer.assign([aiokafka.TopicPartition(topic, 0)])

        found: list[Message] = []
        with self._started() as consumer:
            self.loop.run(assign(consumer))
            eventually(lambda: found.extend(self.loop.run(_poll(consumer))) or len(found) >= count)
        return found

    def join(self, group: str, topic: str, static_id: str | None) -> Member:
        consumer = self._start(
            topic, group_id=group, group_instance_id=static_id, session_timeout_ms=30_000, heartbeat_interval_ms=500
        )
        return AioMember(self.loop, consumer)

    def cluster(self) -> Cluster:
        found = self._ask(lambda admin: admin.describe_cluster())
        brokers = {broker["node_id"]: f"{broker['host']}:{broker['port']}" for broker in found["brokers"]}
        return Cluster(found["controller_id"], brokers)

    def configs(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        (answer,) = self._ask(lambda admin: admin.describe_configs([resource]))
        (code, _, _, _, entries) = answer.resources[0]
        _check(code)
        return {entry[0]: entry[1] for entry in entries}

    def alter_config(self, topic: str, key: str, value: str) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {key: value})
        (answer,) = self._ask(lambda admin: admin.alter_configs([resource]))
        _check(answer.resources[0][0])

    def delete_records(self, topic: str, before_offset: int) -> None:
        wanted = {aiokafka.TopicPartition(topic, 0): aioadmin.RecordsToDelete(before_offset)}
        self._ask(lambda admin: admin.delete_records(wanted))

    def offset(self, topic: str, spec: OffsetSpec) -> int:
        partition = aiokafka.TopicPartition(topic, 0)
        with self._started() as consumer:
            if isinstance(spec, int):
                return int(self.loop.run(consumer.offsets_for_times({partition: spec}))[partition].offset)
            calls = {"earliest": consumer.beginning_offsets, "latest": consumer.end_offsets}
            if spec not in calls:
                not_offered("no call for the offset of the greatest timestamp")
            return int(self.loop.run(calls[spec]([partition]))[partition])

    def groups(self) -> set[str]:
        return {group[0] for group in self._ask(lambda admin: admin.list_consumer_groups())}

    def describe_group(self, group: str) -> Group:
        (answer,) = self._ask(lambda admin: admin.describe_consumer_groups([group]))
        (code, _, state, _, _, members, *_) = answer.groups[0]
        _check(code)
        return Group(state, len(members))
