"""The gauges of a broker's partitions that concern producers. ``test_isr`` has those of replicas."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraft.metrics import Registry
from kraft.records.control import EndTransactionMarker
from kraft.replication.metrics import declare_replica_metrics
from tests.support.held import Broker, leader_in
from tests.support.talk import batch

MAX_TIMEOUT_MS = 900_000
BUFFER_MS = 300_000


def begin(broker: Broker, producer_id: int, now_ms: int) -> None:
    data = batch(b"a", producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True)
    broker.partition.append(bytearray(data), now_ms)


@pytest.mark.parametrize(("age_ms", "late"), [(MAX_TIMEOUT_MS, 0), (MAX_TIMEOUT_MS + BUFFER_MS + 60_000, 1)])
async def test_a_transaction_that_its_coordinator_does_not_end_is_late(tmp_path: Path, age_ms: int, late: int) -> None:
    """KIP-664: PartitionsWithLateTransactionsCount counts those open for longer than ``transaction.max.timeout.ms``,
    and five minutes more.
    """
    registry = Registry()
    async with leader_in(tmp_path, 2) as broker:
        await broker.replicas.make_ids_durable(broker.replicas.all())
        declare_replica_metrics(registry, broker.replicas, MAX_TIMEOUT_MS)
        now_ms = broker.replicas.world.clock.now_ms()
        begin(broker, 7, now_ms - age_ms)
        begin(broker, 8, now_ms)

        def measured(name: str) -> float:
            return registry.get(f"kafka.server:type=ReplicaManager,name={name}").value

        assert measured("PartitionsWithLateTransactionsCount") == late
        assert measured("ProducerIdCount") == 2
        broker.partition.append(EndTransactionMarker(False, 0).batch(7, 0, now_ms), now_ms)
        assert measured("PartitionsWithLateTransactionsCount") == 0
