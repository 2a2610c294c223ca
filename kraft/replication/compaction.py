"""The log cleaner of a broker: compacts the dirtiest log that is due, and repeats (``log.cleaner.*``).

A worker thread reads sealed segments and writes their compacted copies. It lets go of the interpreter's lock every
millisecond, so that requests do not wait for it. The event loop's thread puts the copies in place.
``HostedPartition.cleaned_offset`` is the end of the compacted part of each log. The cleaner logs a damaged log once and
then skips it. It retries after an error of the disk, such as a full one.
"""

from __future__ import annotations

import logging
from uuid import UUID

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.config.topic import COMPACT
from kraft.records.batch import CorruptBatch
from kraft.replication.partition import PARTITIONS_AT_ONCE, HostedPartition
from kraft.replication.replicas import Replicas
from kraft.storage.atomic import sync_directory
from kraft.storage.cleanable import Cleanable, cleanable
from kraft.storage.cleaner import Cleaning, CleaningStopped
from kraft.storage.errors import StorageError
from kraft.storage.log import remove_files
from kraft.world.slices import Slices
from kraft.world.world import World

logger = logging.getLogger("kraft.compaction")


@attrs.define(eq=False)
class Compaction:
    """The log cleaner. ``stopping`` ends a running compaction."""

    config: NodeConfig
    world: World
    replicas: Replicas
    stopping: trio.Event
    _uncleanable: set[tuple[UUID, int]] = attrs.Factory(set)
    """Damaged logs, by topic id and partition, because a new topic may reuse the name."""

    async def run(self) -> None:
        """Compact for as long as the node lives."""
        while True:
            if not await self.clean_one():
                await trio.sleep(self.config.logs.log_cleaner_backoff_ms / 1000)

    async def clean_one(self) -> bool:
        """Compact the log with the largest dirty ratio among those that are due.

        Returns False if none is due, or if the cleaner should wait before it tries again.
        """
        partition = await self._dirtiest()
        extent = None if partition is None else self._due(partition)
        if partition is None or extent is None:
            return False
        try:
            await self._clean(partition, extent)
        except CleaningStopped:
            return False
        except (OSError, CorruptBatch, StorageError) as failure:
            return self._fail(partition, failure)
        except Exception:
            # A log that the cleaner cannot process would end this node at each start, and those of the other replicas.
            logger.exception("%s: the log cleaner skips it until the next start", partition.name)
            self._uncleanable.add((partition.topic_id, partition.index))
        return True

    def _fail(self, partition: HostedPartition, failure: Exception) -> bool:
        """Log an error, and skip a damaged log from now on. Return False if the cleaner should wait."""
        if not isinstance(failure, OSError):
            logger.error("%s: the log cleaner skips it until the next start: %s", partition.name, failure)
            self._uncleanable.add((partition.topic_id, partition.index))
            return True
        if self.replicas.holds(partition):
            logger.error("%s cannot be compacted now: %s", partition.name, failure)
        return False

    async def _dirtiest(self) -> HostedPartition | None:
        """Return the partition with the largest dirty ratio among those that are due. Other tasks run meanwhile."""
        slices = Slices(PARTITIONS_AT_ONCE)
        dirtiest, most = None, -1.0
        for partition in list(self.replicas.all()):
            await slices.spend()
            extent = self._due(partition)
            if extent is not None and extent.dirty_ratio >= most:
                dirtiest, most = partition, extent.dirty_ratio
        return dirtiest

    def _due(self, partition: HostedPartition) -> Cleanable | None:
        """Return the extent to clean; None if the partition is not due, deleted, or cannot be read."""
        log, where = partition.log, (partition.topic_id, partition.index)
        if COMPACT not in log.config.cleanup_policy or where in self._uncleanable or not self.replicas.holds(partition):
            return None
        if partition.is_moving or not partition.is_assigned:
            return None
        now_ms, end = self.world.clock.now_ms(), partition.last_stable_offset
        try:
            extent = cleanable(log.segments, log.config, partition.cleaned_offset, log.log_start_offset, end, now_ms)
        except (OSError, CorruptBatch) as failure:
            self._fail(partition, failure)
            return None
        return extent if extent.is_due(log.config) else None

    async def _clean(self, partition: HostedPartition, extent: Cleanable) -> None:
        log = partition.log
        cleaning = Cleaning.begin(log.segments, extent.clean_end, extent.dirty_end, log.config, log.producers)
        cuts = log.cuts

        def unwanted() -> bool:
            is_gone = partition.log is not log or not self.replicas.holds(partition)
            return self.stopping.is_set() or log.cuts != cuts or is_gone or partition.is_moving

        partition.is_being_compacted = True
        try:
            cleaned = await self.world.in_thread(cleaning.run, self.world.clock.now_ms(), unwanted, self.world.let_go)
        finally:
            partition.is_being_compacted = False
        if unwanted():
            cleaned.discard()
            return
        files = log.replace_segments(cleaned)
        # The checkpoint may only count the compaction once a power cut cannot undo the renames.
        await self.world.in_thread(sync_directory, log.directory)
        if log.cuts == cuts and partition.log is log:
            partition.cleaned_offset = cleaned.clean_end
        # Readers of an old segment hold its file open, so its name can go at once.
        await self.world.in_thread(remove_files, files)
        await self.replicas.checkpoints.write()
