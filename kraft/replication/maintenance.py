"""What a broker does now and then: retention, checkpoints, forgetting idle producers, removing what is
deleted.

Each is a task with its own interval. What may take long on a disk (fsync, deleting files, cleaning a log) runs on a
worker thread; the log itself is only touched on the node's own.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.config.setting import LONG_MAX
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.storage.directory import remove_retired
from kraft.storage.errors import StorageError
from kraft.storage.log import remove_files
from kraft.world.world import World

logger = logging.getLogger("kraft.maintenance")

CHECK_INTERVAL_MS = 1_000
"""How often to look whether something with a time of its own (``flush.ms``, ``file.delete.delay.ms``) is due."""
SHORTEST_INTERVAL_MS = 10
"""Kafka allows intervals of 0."""


@attrs.define(eq=False)
class Maintenance:
    """The recurring tasks of one broker."""

    config: NodeConfig
    world: World
    replicas: Replicas
    _doomed: list[tuple[float, list[str]]] = attrs.Factory(list)
    """Files that are out of their logs, and from when on they may be removed."""

    async def run(self) -> None:
        """Raises: StorageError if a log cannot be made durable. Whatever else fails is logged and tried again."""
        logs, replication = self.config.logs, self.config.replication
        async with trio.open_nursery() as nursery:
            for name, interval_ms, work in (
                ("retention", logs.log_retention_check_interval_ms, self.delete_old_segments),
                ("checkpoints", logs.log_flush_offset_checkpoint_interval_ms, self.flush),
                ("high watermarks", replication.replica_high_watermark_checkpoint_interval_ms, self.note_committed),
                ("producer expiry", self.config.transactions.producer_id_expiration_check_interval_ms, self.expire),
                ("flush", CHECK_INTERVAL_MS, self.flush_by_time),
                ("deleted segments", CHECK_INTERVAL_MS, self.remove_doomed),
                ("deleted partitions", self.config.log_defaults.file_delete_delay_ms, self.remove_deleted),
            ):
                nursery.start_soon(self._every, interval_ms, work, name=name)

    async def _every(self, interval_ms: int, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await trio.sleep(max(interval_ms, SHORTEST_INTERVAL_MS) / 1000)
            try:
                await work()
            except OSError as error:
                logger.error("%s: %s", work.__qualname__, error)

    def _held(self) -> Iterator[HostedPartition]:
        """All partitions, for a loop that waits in between: one that is deleted meanwhile is left out, for its path may
        be that of a new topic's log by then."""
        return (each for each in list(self.replicas.all()) if self.replicas.holds(each))

    async def delete_old_segments(self) -> None:
        """Take segments away that retention no longer holds; their files go after ``file.delete.delay.ms``."""
        for partition in self._held():
            files = partition.log.delete_old_segments(self.world.clock.now_ms(), partition.high_watermark)
            if files:
                partition.wake()
                delay_s = partition.log.config.file_delete_delay_ms / 1000
                self._doomed.append((trio.current_time() + delay_s, files))
            await trio.lowlevel.checkpoint()

    async def remove_doomed(self) -> None:
        """Remove the files whose delay is over."""
        for doomed in [each for each in self._doomed if each[0] <= trio.current_time()]:
            self._doomed.remove(doomed)
            await self.world.in_thread(remove_files, doomed[1])

    async def flush(self) -> None:
        """Make sealed segments durable and write down how far each log is: what a power cut then has to scan is
        short."""
        for partition in self._held():
            log = partition.log
            if log.recovery_point < log.segments.active.base_offset:
                await self._flush(partition, log.segments.active.base_offset)
            await trio.lowlevel.checkpoint()
        await self.replicas.write_checkpoints()

    async def note_committed(self) -> None:
        """Write down what is committed: after a kill a replica begins with that."""
        await self.replicas.write_high_watermarks()

    async def flush_by_time(self) -> None:
        """Make logs durable that ask for it by time (``flush.ms``)."""
        now_ms = self.world.clock.now_ms()
        for partition in self._held():
            log = partition.log
            if log.failure is not None:
                raise _cannot_go_on(partition, log.failure)
            due = log.config.flush_ms < LONG_MAX and now_ms - partition.flushed_at_ms >= log.config.flush_ms
            if due and log.recovery_point < log.log_end_offset:
                await self._flush(partition, log.log_end_offset)
                partition.flushed_at_ms = now_ms

    async def _flush(self, partition: HostedPartition, end_offset: int) -> None:
        """Raises: StorageError if that fails. A kernel may drop what it could not write and report it only once, so the
        next flush would succeed without it: the node must end."""
        try:
            flush = partition.log.begin_flush(end_offset)
            await self.world.in_thread(self.world.sync, flush)
        except OSError as error:
            if self.replicas.holds(partition):
                raise _cannot_go_on(partition, error) from error
            return  # deleted meanwhile
        partition.log.flushed(flush)

    async def expire(self) -> None:
        """Forget idempotent producers that have been silent for ``producer.id.expiration.ms``."""
        for partition in self.replicas.all():
            limit_ms = self.config.transactions.producer_id_expiration_ms
            partition.log.producers.expire(self.world.clock.now_ms(), limit_ms)

    async def remove_deleted(self) -> None:
        """Remove the directories of deleted partitions."""
        retired, self.replicas.retired = self.replicas.retired, []
        for path in retired:
            await self.world.in_thread(remove_retired, path)


def _cannot_go_on(partition: HostedPartition, failure: OSError) -> StorageError:
    path = failure.filename or partition.log.directory
    return StorageError(f"{path}: cannot be made durable: {failure.strerror}; check the disk, then start again")
