"""The coordinators of a broker before and after their modules are imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
import trio

from kraft.config.properties import from_mapping
from kraft.coordination.lazy_coordinators import LazyCoordinators
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metrics import Registry
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from tests.coordination.desk import settle
from tests.support.eventually import eventually_async
from tests.support.held import Broker, broker_in, leader_in, registration

STATE_ID = UUID(int=78)
OTHER = 2


def coordinators_of(broker: Broker) -> LazyCoordinators:
    replicas = broker.replicas
    config = from_mapping(SETTINGS).config
    return LazyCoordinators(config, replicas, replicas.world, Registry(), lambda: 0, lambda names: None)


def offsets_topic() -> tuple[TopicRecord | PartitionRecord, ...]:
    """Partitions 0 and 1 of ``__consumer_offsets``, with replicas on broker 1, the leader, and on OTHER."""
    return TopicRecord(name=OFFSETS_TOPIC, topic_id=STATE_ID), *(
        PartitionRecord(
            partition_id=index,
            topic_id=STATE_ID,
            replicas=[1, OTHER],
            isr=[1, OTHER],
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
            directories=[UUID(int=100)] * 2,
        )
        for index in (0, 1)
    )


def test_a_starting_node_imports_no_coordinator() -> None:
    """docs/architecture/coordinators.md: "The coordinators are a quarter of all that a node imports."."""
    listing = "import sys, kraft.node.command; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True, timeout=60)
    of_coordinators = ("kraft.coordination.coordinators", "kraft.coordinator.groups", "kraft.coordinator.transactions")
    assert [
        name for name in done.stdout.split() if name.startswith((*of_coordinators, "kraft.coordinator.share"))
    ] == []


async def test_a_partition_of_other_topics_needs_no_coordinator(tmp_path: Path) -> None:
    async with leader_in(tmp_path, 1) as broker, trio.open_nursery() as nursery:
        lazy = coordinators_of(broker)
        nursery.start_soon(lazy.run)
        lazy.apply(await broker.replicas.registered(6), ["deleted"])
        await lazy.offsets_deleted(broker.replicas.image)
        await settle()
        assert list(lazy.registry) == [], "their metrics would be declared"
        nursery.cancel_scope.cancel()


async def test_a_broker_that_serves_clients_makes_them(tmp_path: Path) -> None:
    async with leader_in(tmp_path, 1) as broker, trio.open_nursery() as nursery:
        lazy = coordinators_of(broker)
        nursery.start_soon(lazy.run)
        lazy.begin()

        async def is_made() -> bool:
            return any(name.name == "NumGroups" for name, _ in lazy.registry)

        await eventually_async(is_made)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("is_asked", [False, True], ids=["imported", "asked"])
async def test_changes_before_the_import_are_applied_in_order(tmp_path: Path, is_asked: bool) -> None:
    """The broker gains both partitions, and loses one of them before its coordinators are made."""
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    lazy = coordinators_of(broker)
    lazy.apply(await broker.hear(registration(1, 5), registration(OTHER, 6), *offsets_topic()))
    lost = PartitionChangeRecord(partition_id=0, topic_id=STATE_ID, isr=[1, OTHER], leader=OTHER)
    lazy.apply(await broker.hear(lost))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lazy.run)
        if not is_asked:
            await settle()
        groups = lazy.made.groups
        assert groups.partition_count(is_active=True) == 1
        with pytest.raises(KafkaError, match=ErrorCode.NOT_COORDINATOR.name):
            groups.end_transaction(0, None)  # type: ignore[arg-type]
        nursery.cancel_scope.cancel()
    for partition in broker.replicas.all():
        partition.log.abandon()


async def test_a_topic_waits_for_the_offsets_of_its_namesake(tmp_path: Path) -> None:
    """Records of offsets have no topic ids: a topic that is deleted before the import delays its successor, too."""
    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    lazy = coordinators_of(broker)
    lazy.apply(await broker.hear(registration(1, 5), registration(OTHER, 6), *offsets_topic()), ["again"])
    await broker.hear(TopicRecord(name="again", topic_id=UUID(int=79)))
    with trio.move_on_after(0) as scope:
        await lazy.offsets_deleted(broker.replicas.image)
    assert scope.cancelled_caught, "no task has deleted the offsets yet"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lazy.run)
        with trio.fail_after(10):
            await lazy.offsets_deleted(broker.replicas.image)
        nursery.cancel_scope.cancel()
    for partition in broker.replicas.all():
        partition.log.abandon()
