"""A controller's driver on real files, on a quorum of one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import trio
import trio.testing

from kraft.control.controller import Controller
from kraft.control.metadata import Metadata, SnapshotPolicy
from kraft.controller.context import ControllerConfig
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_registration_request import BrokerRegistrationRequest, Feature
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.quorum.driver import Quorum
from kraft.storage.flush import Flush
from kraft.wire.errors import ErrorCode
from kraft.world.world import World
from tests.support.quorums import open_quorum


@asynccontextmanager
async def running(
    path: Path,
    *,
    level: int = 21,
    idle_ms: int = 0,
    sync: Callable[[Flush], None] = Flush.run,
    world: World | None = None,
    **settings: Any,
) -> AsyncIterator[tuple[Quorum, Metadata, Controller]]:
    """A controller that is active, on a quorum of one."""
    quorum = open_quorum(path, sync=sync)
    metadata = Metadata(quorum, World(), SnapshotPolicy())
    controller = Controller(
        quorum,
        metadata,
        ControllerConfig("c", **settings),
        world or World(),
        bootstrap=[FeatureLevelRecord(name="metadata.version", feature_level=level)],
        max_idle_interval_ms=idle_ms,
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run, controller.lead)
        await nursery.start(metadata.run)
        with trio.fail_after(30):
            while not controller.is_active:
                await trio.lowlevel.checkpoint()
            await quorum.committed(quorum.end_offset - 1)
        yield quorum, metadata, controller
        nursery.cancel_scope.cancel()


async def start_broker(quorum: Quorum, controller: Controller, incarnation: int = 1) -> int:
    registration = BrokerRegistrationRequest(
        broker_id=1,
        cluster_id="c",
        incarnation_id=UUID(int=incarnation),
        log_dirs=[UUID(int=1000)],
        features=[Feature(name="metadata.version", min_supported_version=7, max_supported_version=21)],
    )
    response = await controller.request(registration)
    assert response.error_code == ErrorCode.NONE
    epoch: int = response.broker_epoch
    heartbeat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=quorum.high_watermark)
    assert not (await controller.request(heartbeat)).is_fenced
    return epoch


def create(name: str, partitions: int = 1) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)])
