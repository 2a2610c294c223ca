"""Runs the flushes of many logs on worker threads, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import trio

from kraft.replication.partition import HostedPartition
from kraft.storage.flush import Flush
from kraft.storage.log import Log
from kraft.world.world import World

_SYNCED_AT_ONCE = 8
"""Not a Kafka setting. The logs that are synced at the same time: a file system commits such syncs together."""


async def run_flushes(
    partitions: Iterable[HostedPartition],
    begin: Callable[[Log], Flush],
    world: World,
    holds: Callable[[HostedPartition], bool],
) -> None:
    """Run the flush that ``begin`` returns for each log. After a failure a log rejects appends.

    Raises OSError with the first failure, after the end of all flushes. Those of logs that moved, and of partitions
    that the broker no longer ``holds``, do not count.
    """
    failures: list[OSError] = []
    waiting = iter(partitions)

    async def sync_one_by_one() -> None:
        for partition in waiting:
            log = partition.log  # its copy in another directory, which is durable, may take its place meanwhile
            try:
                flush = begin(log)
                if not flush.is_empty:
                    await world.in_thread(world.sync, flush)
            except OSError as error:
                if holds(partition) and partition.log is log:
                    log.failure = error
                    failures.append(error)
            else:
                log.flushed(flush)
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        for _ in range(_SYNCED_AT_ONCE):
            nursery.start_soon(sync_one_by_one, name="sync")
    if failures:
        raise failures[0]
