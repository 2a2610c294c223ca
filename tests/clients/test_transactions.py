"""Transactions of aiokafka and kafka-python: they commit, abort, commit offsets, and fence an older producer (KIP-98).

``tests.process.test_transactions`` has those of confluent-kafka.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import aiokafka
import kafka
import pytest
from aiokafka import errors as aioerrors
from kafka import errors

from tests.clients.aio import LoopThread
from tests.support.copier import Copier
from tests.support.eventually import eventually
from tests.support.transactional_state import read_committed
from tests.support.writer import Writer

TIMEOUT_S = 30.0
FENCED = (
    errors.ProducerFencedError,
    errors.InvalidProducerEpochError,
    aioerrors.ProducerFenced,
    aioerrors.InvalidProducerEpoch,
)


class TransactionalClient(abc.ABC):
    """A producer with a transactional id, and the reads of the same library."""

    def __init__(self, bootstrap_servers: str, transactional_id: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.transactional_id = transactional_id

    @abc.abstractmethod
    def begin(self) -> None: ...
    @abc.abstractmethod
    def send(self, topic: str, value: bytes) -> None:
        """Send a record to partition 0, and wait for its acknowledgement."""

    @abc.abstractmethod
    def send_offsets(self, topic: str, group: str, offsets: Mapping[int, int]) -> None: ...
    @abc.abstractmethod
    def commit(self) -> None: ...
    @abc.abstractmethod
    def abort(self) -> None: ...
    @abc.abstractmethod
    def committed(self, topic: str, group: str) -> dict[int, int | None]:
        """The committed offsets of partitions 0 and 1."""

    @abc.abstractmethod
    def read(self, topic: str, count: int) -> list[bytes]:
        """The first ``count`` values of partition 0 with ``isolation.level=read_committed``."""

    @abc.abstractmethod
    def close(self) -> None: ...


class KafkaPythonTransactions(TransactionalClient):
    def __init__(self, bootstrap_servers: str, transactional_id: str) -> None:
        super().__init__(bootstrap_servers, transactional_id)
        self._producer = kafka.KafkaProducer(bootstrap_servers=bootstrap_servers, transactional_id=transactional_id)
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, value: bytes) -> None:
        self._producer.send(topic, value, partition=0).get(TIMEOUT_S)

    def send_offsets(self, topic: str, group: str, offsets: Mapping[int, int]) -> None:
        wanted = {
            kafka.TopicPartition(topic, number): kafka.OffsetAndMetadata(offset, "", -1)
            for number, offset in offsets.items()
        }
        self._producer.send_offsets_to_transaction(wanted, group)

    def commit(self) -> None:
        self._producer.commit_transaction()

    def abort(self) -> None:
        self._producer.abort_transaction()

    def committed(self, topic: str, group: str) -> dict[int, int | None]:
        with closing(kafka.KafkaConsumer(bootstrap_servers=self.bootstrap_servers, group_id=group)) as consumer:
            return {number: consumer.committed(kafka.TopicPartition(topic, number)) for number in (0, 1)}

    def read(self, topic: str, count: int) -> list[bytes]:
        settings = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
        found: list[bytes] = []
        with closing(kafka.KafkaConsumer(bootstrap_servers=self.bootstrap_servers, **settings)) as consumer:
            consumer.assign([kafka.TopicPartition(topic, 0)])

            def poll() -> bool:
                for records in consumer.poll(timeout_ms=100).values():
                    found.extend(record.value for record in records)
                return len(found) >= count

            eventually(poll, TIMEOUT_S)
        return found

    def close(self) -> None:
        self._producer.close(timeout=0)


class AioTransactions(TransactionalClient):
    def __init__(self, bootstrap_servers: str, transactional_id: str) -> None:
        super().__init__(bootstrap_servers, transactional_id)
        self._loop = LoopThread()

        async def start() -> Any:
            settings = {"bootstrap_servers": bootstrap_servers, "transactional_id": transactional_id}
            producer = aiokafka.AIOKafkaProducer(**settings)
            await producer.start()
            return producer

        self._producer = self._loop.run(start())

    def begin(self) -> None:
        self._loop.run(self._producer.begin_transaction())

    def send(self, topic: str, value: bytes) -> None:
        self._loop.run(self._producer.send_and_wait(topic, value, partition=0))

    def send_offsets(self, topic: str, group: str, offsets: Mapping[int, int]) -> None:
        wanted = {aiokafka.TopicPartition(topic, number): offset for number, offset in offsets.items()}
        self._loop.run(self._producer.send_offsets_to_transaction(wanted, group))

    def commit(self) -> None:
        self._loop.run(self._producer.commit_transaction())

    def abort(self) -> None:
        self._loop.run(self._producer.abort_transaction())

    def committed(self, topic: str, group: str) -> dict[int, int | None]:
        async def ask(consumer: Any) -> dict[int, int | None]:
            return {number: await consumer.committed(aiokafka.TopicPartition(topic, number)) for number in (0, 1)}

        return self._with_consumer(ask, group_id=group, enable_auto_commit=False)

    def read(self, topic: str, count: int) -> list[bytes]:
        async def poll(consumer: Any) -> list[bytes]:
            consumer.assign([aiokafka.TopicPartition(topic, 0)])
            return [(await consumer.getone()).value for _ in range(count)]

        return self._with_consumer(poll, auto_offset_reset="earliest", isolation_level="read_committed")

    def _with_consumer(self, use: Callable[[Any], Any], **settings: object) -> Any:
        async def work() -> Any:
            async with aiokafka.AIOKafkaConsumer(bootstrap_servers=self.bootstrap_servers, **settings) as consumer:
                return await use(consumer)

        return self._loop.run(work())

    def close(self) -> None:
        self._loop.run(self._producer.stop())
        self._loop.close()


def each_transactional(feature: str) -> pytest.MarkDecorator:
    """Run a test with each of the clients."""
    clients = ("aiokafka", AioTransactions), ("kafka-python", KafkaPythonTransactions)
    cases = [pytest.param(kind, id=client, marks=pytest.mark.feature(client, feature)) for client, kind in clients]
    return pytest.mark.parametrize("started", cases, indirect=True)


@pytest.fixture
def started(request: pytest.FixtureRequest, bootstrap_servers: str) -> Iterator[Callable[[str], TransactionalClient]]:
    """Starts a client with a transactional id."""
    clients: list[TransactionalClient] = []

    def start(transactional_id: str) -> TransactionalClient:
        clients.append(request.param(bootstrap_servers, transactional_id))
        return clients[-1]

    yield start
    for client in clients:
        client.close()


@pytest.fixture
def topic(fresh: Callable[[], str], bootstrap_servers: str) -> str:
    """A topic with two partitions."""
    name = fresh()
    with closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        admin.create_topics({name: {"num_partitions": 2, "replication_factor": 1}})
    return name


@each_transactional("transactions")
def test_only_committed_transactions_are_read(started: Callable[[str], TransactionalClient], topic: str) -> None:
    """KIP-98: a consumer with read_committed gets the records of committed transactions only."""
    client = started(topic)
    for number, end in enumerate((client.commit, client.abort, client.commit)):
        client.begin()
        client.send(topic, b"%d" % number)
        end()
    client.begin()
    client.send(topic, b"open")
    assert client.read(topic, 2) == read_committed(client.bootstrap_servers, topic, 0) == [b"0", b"2"]
    client.commit()
    assert client.read(topic, 3) == [b"0", b"2", b"open"]


@each_transactional("transactions")
def test_offsets_are_committed_with_their_transaction(
    started: Callable[[str], TransactionalClient], topic: str, group: str
) -> None:
    """KIP-98: the offsets of an aborted transaction do not count. The last marker follows that of the abort."""
    client = started(topic)
    for offsets, end in (({0: 1}, client.commit), ({0: 2}, client.abort), ({1: 7}, client.commit)):
        client.begin()
        client.send_offsets(topic, group, offsets)
        end()
    eventually(lambda: client.committed(topic, group)[1] == 7, TIMEOUT_S)
    assert client.committed(topic, group) == {0: 1, 1: 7}


@each_transactional("transactions")
def test_the_next_producer_fences_the_last(started: Callable[[str], TransactionalClient], topic: str) -> None:
    """KIP-98: the next producer with the id aborts the open transaction, and the older one cannot commit it."""
    zombie = started(topic)
    zombie.begin()
    zombie.send(topic, b"of the zombie")
    successor = started(topic)
    successor.begin()
    successor.send(topic, b"of the successor")
    successor.commit()
    with pytest.raises(FENCED):
        zombie.commit()
    assert successor.read(topic, 1) == [b"of the successor"]


@each_transactional("consume-transform-produce")
def test_records_are_copied_once(
    started: Callable[[str], TransactionalClient], fresh: Callable[[], str], topic: str, group: str
) -> None:
    """KIP-98: the consumed offsets and the produced records are committed as one. Every second transaction is aborted,
    so its records are copied again; and its producer is replaced.
    """
    target, records = fresh(), [b"%d" % number for number in range(10)]
    writer = started(f"{topic}-writer")
    writer.begin()
    for value in records:
        writer.send(topic, value)
    writer.commit()
    for number in range(8):
        copier = started(f"{topic}-copier")
        position = copier.committed(topic, group)[0] or 0
        batch = copier.read(topic, len(records))[position : position + 3]
        copier.begin()
        for value in batch:
            copier.send(target, value)
        copier.send_offsets(topic, group, {0: position + len(batch)})
        (copier.abort, copier.commit)[number % 2]()
    # EndTxn is answered before its markers are written.
    eventually(lambda: read_committed(writer.bootstrap_servers, target, 0) == records)


@pytest.mark.feature("confluent-kafka", "consume-transform-produce")
def test_confluent_copies_records_once(bootstrap_servers: str, fresh: Callable[[], str], topic: str) -> None:
    """As above, with the consumer's group metadata in the transaction (KIP-447)."""
    target = fresh()
    with Copier(bootstrap_servers, topic, target, 1) as copier, Writer(bootstrap_servers, topic, 1) as writer:
        copier.wait_for_more(5)
    assert copier.aborted > 0
    written = [b"%d" % number for number in range(writer.written)]
    eventually(lambda: read_committed(bootstrap_servers, target, 0) == written)
