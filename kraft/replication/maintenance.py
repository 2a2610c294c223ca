"""The recurring work of a broker: retention, flushes, checkpoints, expiry of idle producers, removal of deleted files.

Each job is a task with its own interval. Slow disk work (fsync, deletion of files) runs on a worker thread. Only the
event loop's thread uses the log itself.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.config.setting import LONG_MAX
from kraft.replication.partition import PARTITIONS_AT_ONCE, HostedPartition
from kraft.replication.replicas import Replicas
from kraft.storage.checkpoint import HIGH_WATERMARK
from kraft.storage.directory import remove_retired
from kraft.storage.errors import StorageError
from kraft.storage.log import remove_files
from kraft.world.slices import Slices
from kraft.world.world import World

logger = logging.getLogger("kraft.maintenance")

CHECK_INTERVAL_MS = 1_000
"""Interval of the checks for work with a deadline of its own (``flush.ms``, ``file.delete.delay.ms``)."""
SHORTEST_INTERVAL_MS = 10
"""A lower bound, because Kafka allows intervals of 0."""


@attrs.define(eq=False)
class Maintenance:
    """The recurring tasks of one broker."""

    config: NodeConfig
    world: World
    replicas: Replicas
    _removed: list[tuple[float, list[str]]] = attrs.Factory(list)
    """Files removed from their logs, with the time (s) from which they may be deleted."""

    async def run(self) -> None:
        """Run the tasks until cancelled.

        Error handling: StorageError if a log cannot be made durable. Any other OSError is logged, and the task tries
        again.
        """
        logs, replication = self.config.logs, self.config.replication
        async with trio.open_nursery() as nursery:
            for name, interval_ms, work in (
                ("retention", logs.log_retention_check_interval_ms, self.delete_old_segments),
                ("checkpoints", logs.log_flush_offset_checkpoint_interval_ms, self.write_checkpoints),
                ("high watermarks", replication.replica_high_watermark_checkpoint_interval_ms, self.note_committed),
                ("producer expiry", self.config.transactions.producer_id_expiration_check_interval_ms, self.expire),
                ("flush", CHECK_INTERVAL_MS, self.flush_by_time),
                ("sealed segments", CHECK_INTERVAL_MS, self.flush_sealed),
                ("deleted segments", CHECK_INTERVAL_MS, self.delete_removed),
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
        """Yield all partitions, for a loop that awaits between them.

        It omits those that were deleted meanwhile, because the path of one may belong to a new topic's log by then.
        """
        topics = [list(hosted.values()) for hosted in self.replicas.partitions.values()]
        return (each for hosted in topics for each in hosted if self.replicas.holds(each))

    async def delete_old_segments(self) -> None:
        """Remove the segments that retention no longer keeps. Their files follow after ``file.delete.delay.ms``."""
        for partition in self._held():
            if partition.is_being_compacted or not partition.is_assigned:
                continue
            try:
                files = partition.log.delete_old_segments(self.world.clock.now_ms(), partition.high_watermark)
            except OSError as error:  # of this log alone: others may free space
                logger.error("%s: cannot delete old segments now: %s", partition.name, error)
                files = []
            if files:
                partition.wake()
                self._delete_later(partition, files)
            await trio.lowlevel.checkpoint()

    def _delete_later(self, partition: HostedPartition, files: list[str]) -> None:
        delay_s = partition.log.config.file_delete_delay_ms / 1000
        self._removed.append((trio.current_time() + delay_s, files))

    async def delete_removed(self) -> None:
        """Delete the files whose delay is over."""
        for removed in [each for each in self._removed if each[0] <= trio.current_time()]:
            self._removed.remove(removed)
            await self.world.in_thread(remove_files, removed[1])

    async def flush_sealed(self) -> None:
        """Flush sealed segments soon after they are sealed (Apache: ``flush-log``, scheduled by ``UnifiedLog.roll``).

        A power cut can take the end of an unflushed one and leave the next one. Nothing distinguishes that hole from
        one of compaction.
        """
        slices = Slices(PARTITIONS_AT_ONCE)
        for partition in self._held():
            await slices.spend()
            log = partition.log
            if log.recovery_point < log.segments.active.base_offset:
                await self._flush(partition, log.segments.active.base_offset)

    async def write_checkpoints(self) -> None:
        """Write all checkpoints. The delay of truncated segments begins here (``LocalLog.truncateTo`` passes
        ``asyncDelete``).
        """
        for partition in self._held():
            if files := partition.log.segments.take_dropped():
                self._delete_later(partition, files)
            await trio.lowlevel.checkpoint()
        await self.replicas.checkpoints.write()

    async def note_committed(self) -> None:
        """Write the high watermarks. A replica starts with them after a kill."""
        await self.replicas.checkpoints.write((HIGH_WATERMARK,))

    async def flush_by_time(self) -> None:
        """Flush the logs whose ``flush.ms`` has passed."""
        now_s = self.world.clock.now_s()
        slices = Slices(PARTITIONS_AT_ONCE)
        for partition in self._held():
            await slices.spend()
            log = partition.log
            if log.failure is not None:
                raise _cannot_go_on(partition, log.failure)
            due = log.config.flush_ms < LONG_MAX and now_s - partition.flushed_at_s >= log.config.flush_ms / 1000
            if due and log.recovery_point < log.log_end_offset:
                await self._flush(partition, log.log_end_offset)
                partition.flushed_at_s = now_s

    async def _flush(self, partition: HostedPartition, end_offset: int) -> None:
        """Make a log durable below ``end_offset``.

        Raises StorageError if the flush failed: the node must end. A kernel may drop data that it could not write,
        and report it only once, so the next flush would succeed without that data.
        """
        log = partition.log  # another one may take its place meanwhile
        try:
            flush = log.begin_flush(end_offset)
            await self.world.in_thread(self.world.sync, flush)
        except OSError as error:
            if self.replicas.holds(partition) and partition.log is log:
                raise _cannot_go_on(partition, error) from error
            return  # the partition was deleted meanwhile, or its log
        log.flushed(flush)

    async def expire(self) -> None:
        """Remove idempotent producers that appended nothing for ``producer.id.expiration.ms``."""
        limit_ms = self.config.transactions.producer_id_expiration_ms
        slices = Slices(PARTITIONS_AT_ONCE)
        for partition in self._held():
            await slices.spend()
            partition.log.producers.expire(self.world.clock.now_ms(), limit_ms)

    async def remove_deleted(self) -> None:
        """Delete the directories of deleted partitions. One that cannot be deleted is tried again."""
        retired, self.replicas.retired = self.replicas.retired, []
        for path in retired:
            try:
                await self.world.in_thread(remove_retired, path)
            except OSError as error:
                logger.error("%s cannot be deleted now: %s", path, error)
                self.replicas.retired.append(path)


def _cannot_go_on(partition: HostedPartition, failure: OSError) -> StorageError:
    path = failure.filename or partition.log.directory
    return StorageError(f"{path}: cannot be made durable: {failure.strerror}; check the disk, then start again")
