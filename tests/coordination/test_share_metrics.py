"""The metrics of share partitions: the names are those of ``SharePartitionMetrics`` and ``ShareGroupMetrics``."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
import trio
import trio.testing

from kraft.coordination.group_metrics import declare_group_metrics
from kraft.coordination.groups import Groups
from kraft.metrics import Histogram, Meter, Registry
from tests.api.shares import ACCEPT, GROUP, RELEASE, share_broker
from tests.coordination.test_group_metrics import Cores
from tests.coordinator.groups.share.desk import ShareDesk, Sharer


async def test_records_in_flight_and_acknowledgements_are_counted(tmp_path: Path) -> None:
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a", b"b", b"c")
        member = desk.member("m")
        assert await member.acquired() == [(0, 2, 1)]
        registry = desk.context.coordinators.shares.metrics.registry
        topic = desk.broker.partition.topic
        partition = f"group={GROUP},topic={topic},partition=0"

        def in_flight(what: str) -> float:
            return registry.get(f"kafka.server:type=SharePartitionMetrics,name=InFlight{what}Count,{partition}").value

        def acknowledged(kind: str) -> float:
            name = "kafka.server:type=ShareGroupMetrics,name=RecordAcknowledgementsPerSec"
            return registry.get(f"{name},ackType={kind}").value

        assert (in_flight("Message"), in_flight("Batch")) == (3, 1)
        await member.acknowledge([(0, 1, [ACCEPT]), (2, 2, [RELEASE])])
        assert (in_flight("Message"), in_flight("Batch")) == (1, 1)
        assert (acknowledged("Accept"), acknowledged("Release")) == (2, 1)
        loads = registry.get("kafka.server:type=ShareGroupMetrics,name=PartitionLoadTimeMs")
        assert isinstance(loads, Histogram)
        assert loads.count == 1
        await member.fetch(epoch=-1)
        with pytest.raises(KeyError):
            in_flight("Message")


async def test_records_whose_locks_time_out_are_counted(tmp_path: Path, autojump_clock: object) -> None:
    """KIP-1103: ``AcquisitionLockTimeoutPerSec`` counts records."""
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a", b"b", b"c")
        member = desk.member("m")
        assert await member.acquired() == [(0, 2, 1)]
        await member.acknowledge([(0, 0, [ACCEPT])])
        await trio.sleep(31)
        tags = f"group={GROUP},topic={desk.broker.partition.topic},partition=0"
        name = f"kafka.server:type=SharePartitionMetrics,name=AcquisitionLockTimeoutPerSec,{tags}"
        timeouts = desk.context.coordinators.shares.metrics.registry.get(name)
        assert isinstance(timeouts, Meter)
        assert timeouts.count == 2


def test_share_groups_are_counted_by_state() -> None:
    desk, registry = ShareDesk(t=1), Registry()
    declare_group_metrics(registry, cast(Groups, Cores([desk.core])))
    new = "kafka.server:type=group-coordinator-metrics"

    def counts() -> list[float]:
        return [registry.get(f"{new},name=share-group-count,state={state}").value for state in ("Empty", "Stable")]

    Sharer(desk, "m")
    assert counts() == [0, 1]
    desk.beat("m", -1)
    assert counts() == [1, 0]
    states = [registry.get(f"{new},name=num-partitions,state={state}").value for state in ("active", "loading")]
    assert states == [1, 0]
