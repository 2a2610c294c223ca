"""Quorum drivers on real files, for the tests of what rests on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import trio

from kraft.config.listeners import Voter
from kraft.config.topic import LogConfig
from kraft.control.metadata import Metadata, SnapshotPolicy
from kraft.metadata.image import Image
from kraft.metadata.steps import finished
from kraft.quorum.driver import Lead, Quorum
from kraft.quorum.log import MetadataLog
from kraft.quorum.rpcs import Identity
from kraft.raft.timing import Timing
from kraft.world.world import World
from tests.support.cluster_id import CLUSTER_ID


def identity(node_id: int = 1, *voters: Voter) -> Identity:
    """Return the identity of ``node_id`` in a quorum of these voters; without any, node 1 is the only one."""
    known = {voter.node_id: voter for voter in voters or (Voter(1, "127.0.0.1", 1),)}
    return Identity(node_id, CLUSTER_ID, UUID(int=1000 + node_id), known, "CONTROLLER")


def open_quorum(path: Path, timing: Timing | None = None, config: LogConfig | None = None, **of_world: Any) -> Quorum:
    """A quorum of one; ``of_world`` are fields of its world that are not the real ones."""
    world = World(**of_world)
    log = MetadataLog.open(str(path), config or LogConfig(), now_ms=world.clock.now_ms())
    return Quorum(identity(), log, world, timing=timing)


def append(quorum: Quorum, records: Sequence[Any], epoch: int) -> int:
    """Append as the leader of ``epoch``; return the offset of the last record."""
    return quorum.append(finished(quorum.encode(records, epoch)))


async def idle(epoch: int) -> None:
    """A leader's work without a controller."""


@asynccontextmanager
async def running(
    path: Path,
    lead: Lead | None = None,
    policy: SnapshotPolicy | None = None,
    timing: Timing | None = None,
    config: LogConfig | None = None,
    **of_world: Any,
) -> AsyncIterator[tuple[Quorum, Metadata]]:
    """Run a quorum of one that leads, and its metadata. The end of the block cancels it without a shutdown."""
    quorum = open_quorum(path, timing, config, **of_world)
    metadata = Metadata(quorum, World(**of_world), policy or SnapshotPolicy())
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run, lead or idle)
        await nursery.start(metadata.run)
        nursery.start_soon(metadata.write_snapshots)
        with trio.fail_after(120):
            await metadata.caught_up()
        yield quorum, metadata
        nursery.cancel_scope.cancel()


async def committed_image(quorum: Quorum, metadata: Metadata) -> Image:
    """The image of all that is committed now."""
    with trio.fail_after(120):
        await metadata.replayed(quorum.high_watermark)
    return metadata.image
