"""The state of a broker, on real files, for metadata that a test writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import attrs

from kraft.api.context import BrokerContext
from kraft.broker.fetch_session import FetchSessionCache
from kraft.config.properties import from_mapping
from kraft.config.throttle_settings import LEADER_RATE
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.changes import difference
from kraft.metadata.loader import Loader
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.replication.throttle import Throttle
from kraft.simulation.virtual_network import at_once
from kraft.storage.directory import LastStop, LogDirectory
from kraft.storage.meta_properties import MetaProperties
from kraft.testing.embedded import SETTINGS
from kraft.world.world import World

TOPIC, TOPIC_ID = "topic", UUID(int=77)
WITHOUT_THREADS = World(in_thread=at_once, compute=at_once)
"""For tests in virtual time: a clock with autojump does not see that a worker thread is at work, and jumps."""


@attrs.define
class Broker:
    """One broker and its metadata."""

    replicas: Replicas
    loader: Loader = attrs.Factory(Loader)

    async def hear(self, *records: Any) -> LeaderChanges:
        """Replay these records as one batch."""
        published = self.loader.load(records, self.loader.image.offset + len(records), 0, 0)
        assert published is not None
        return await self.replicas.apply(*published)

    async def hear_snapshot(self, *records: Any) -> LeaderChanges:
        """Install a snapshot of exactly these records."""
        before, loader = self.loader.image, Loader()
        assert loader.load(records, before.offset + 10, 0, 0) is not None
        self.loader = loader
        return await self.replicas.apply(loader.image, difference(before, loader.image))

    async def lead_again(self, partition: HostedPartition, records: bytes) -> None:
        """Lose a partition to broker 2, which truncates it, and lead it again alone, with other ``records``."""
        where = {"partition_id": partition.index, "topic_id": partition.topic_id}
        await self.hear(PartitionChangeRecord(**where, leader=2))
        partition.truncate_to(0, 0)
        await self.hear(PartitionChangeRecord(**where, leader=1, isr=[1]))
        partition.append(bytearray(records), 0)
        assert partition.high_watermark == partition.log.log_end_offset

    @property
    def partition(self) -> HostedPartition:
        return self.replicas.partitions[TOPIC][0]

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.partition.records()]


def broker_in(path: Path, node_id: int, world: World | None = None) -> Broker:
    directory = LogDirectory(str(path), -1, MetaProperties("cluster", node_id), LastStop.CLEAN)
    return Broker(Replicas(node_id, world or World(), [directory], {}))


@asynccontextmanager
async def leader_in(path: Path, partitions: int, *replicas: int) -> AsyncIterator[Broker]:
    """Broker 1, which leads all partitions of TOPIC. Each has ``replicas``, or broker 1 alone."""
    broker = broker_in(path, 1)
    await broker.replicas.registered(5)
    records = topic(*(replicas or (1,)), leader=1, partitions=partitions)
    await broker.hear(registration(1, 5), registration(2, 6), *records)
    yield broker
    for partition in broker.replicas.all():
        partition.log.abandon()


def serving(replicas: Replicas) -> BrokerContext:
    """The context of Produce, Fetch and ListOffsets at these replicas, without coordinators and a controller."""
    config = from_mapping(SETTINGS).config
    absent = cast(Any, None)
    sessions = FetchSessionCache(10, new_id=lambda: replicas.world.random.randrange(1, 2**31))
    return BrokerContext(
        config,
        "cluster",
        replicas.world.clock,
        replicas,
        absent,
        absent,
        absent,
        absent,
        sessions,
        absent,
        absent,
        Throttle(LEADER_RATE, replicas),
    )


def with_coordinators(context: BrokerContext, **parts: Any) -> BrokerContext:
    """``context`` with coordinators of the test, by the fields of ``BrokerCoordinators``."""
    made = SimpleNamespace(**parts)
    return attrs.evolve(context, lazy_coordinators=cast(Any, SimpleNamespace(made=made)))


def registration(node_id: int, epoch: int, port: int = 1, *, fenced: bool = False) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=node_id,
        incarnation_id=UUID(int=epoch),
        broker_epoch=epoch,
        end_points=[BrokerEndpoint(name="PLAINTEXT", host="127.0.0.1", port=port)],
        fenced=fenced,
    )


def topic(*replicas: int, leader: int, partitions: int = 1) -> tuple[TopicRecord | PartitionRecord, ...]:
    """A topic whose replicas are all in sync, in leader epoch 0."""
    return TopicRecord(name=TOPIC, topic_id=TOPIC_ID), *(
        _partition(index, replicas, leader) for index in range(partitions)
    )


def _partition(index: int, replicas: tuple[int, ...], leader: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=TOPIC_ID,
        replicas=list(replicas),
        isr=list(replicas),
        leader=leader,
        leader_epoch=0,
        partition_epoch=0,
        directories=[UUID(int=100)] * len(replicas),
    )
