"""Kafka's offset checkpoints of a log directory: the start, durable, committed and compacted offset of each log.

The files identify a log by topic name and partition. So an entry can outlive its log, or its records. No entry on disk
may be higher than the log's own offset. The broker lowers an entry before it truncates a log, and removes it before it
deletes a log. After a crash an entry may be too low, but never too high.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

import attrs
import trio

from kraft.replication.partition import HostedPartition
from kraft.storage.atomic import sync_directory
from kraft.storage.checkpoint import (
    CLEANER_OFFSET,
    HIGH_WATERMARK,
    LOG_START_OFFSET,
    RECOVERY_POINT,
    TopicPartition,
    known_offsets,
    write_offsets,
)
from kraft.storage.directory import LogDirectory
from kraft.world.slices import Slices
from kraft.world.world import InThread, World

logger = logging.getLogger("kraft.replicas")

_PRESENT: Final[Mapping[str, Callable[[HostedPartition], int]]] = {
    RECOVERY_POINT: lambda each: each.log.recovery_point,
    LOG_START_OFFSET: lambda each: each.log.log_start_offset,
    HIGH_WATERMARK: lambda each: each.high_watermark,
    CLEANER_OFFSET: lambda each: each.cleaned_offset,
}
FILES = tuple(_PRESENT)
_PARTITIONS_IN_A_ROW = 300
"""Not a Kafka setting. The partitions whose offsets are read before other tasks run: some milliseconds."""


@attrs.frozen
class Checkpoints:
    """The entries of one directory, by file name."""

    files: Mapping[str, Mapping[TopicPartition, int]] = attrs.Factory(dict)

    @classmethod
    def read(cls, directory: str) -> Checkpoints:
        """Read the files of a directory. An absent or damaged file has no entries."""
        return cls({name: known_offsets(os.path.join(directory, name)) for name in FILES})

    @classmethod
    async def of(cls, hosted: Iterable[HostedPartition], names: Collection[str] = FILES) -> Checkpoints:
        """Return the present offsets of the partitions of a directory, for the files with these names.

        Works in slices. An offset may rise before the others are read, and a partition may be deleted.
        """
        files: dict[str, dict[TopicPartition, int]] = {name: {} for name in names}
        slices = Slices(_PARTITIONS_IN_A_ROW)
        for each in hosted:
            for name, offsets in files.items():
                offset = _PRESENT[name](each)
                if offset or name != CLEANER_OFFSET:
                    offsets[each.where] = offset
            await slices.spend()
        return cls(files)

    def offset(self, name: str, where: TopicPartition) -> int:
        """Return the entry of a partition in one of the files, 0 for none."""
        return self.files.get(name, {}).get(where, 0)

    async def start_offsets(
        self, partitions: Mapping[str, Mapping[int, HostedPartition]]
    ) -> list[tuple[HostedPartition, int]]:
        """Return the log start offset of each of ``partitions`` that has an entry. Works in slices."""
        found, slices = [], Slices(_PARTITIONS_IN_A_ROW)
        for (topic, index), start_offset in self.files.get(LOG_START_OFFSET, {}).items():
            partition = partitions.get(topic, {}).get(index)
            if partition is not None:
                found.append((partition, start_offset))
            await slices.spend()
        return found

    def lowered(self, where: TopicPartition, offset: int) -> Checkpoints:
        """Return the same entries, but none of the partition ``where`` above ``offset``."""
        return Checkpoints(
            {
                name: {each: min(known, offset) if each == where else known for each, known in offsets.items()}
                for name, offsets in self.files.items()
            }
        )

    def exceed(self, present: Checkpoints) -> bool:
        """Whether an entry belongs to no partition in ``present``, or is higher than the offset there."""
        held = present.files[RECOVERY_POINT]
        return any(
            where not in held or offset > present.offset(name, where)
            for name, offsets in self.files.items()
            for where, offset in offsets.items()
        )

    async def write(self, directory: str, in_thread: InThread) -> None:
        """Replace these files of a directory, durably. Raises OSError."""
        await in_thread(self._write, directory)

    def _write(self, directory: str) -> None:
        for name, offsets in self.files.items():
            write_offsets(os.path.join(directory, name), offsets)


@attrs.define(eq=False)
class CheckpointFiles:
    """The checkpoint files of a broker's directories. ``partitions`` are all that it holds, by topic and index."""

    world: World
    directories: Sequence[LogDirectory]
    partitions: Mapping[str, Mapping[int, HostedPartition]]
    are_outdated: bool = False
    """Whether an entry on disk may be above its log's offset, or of a deleted log."""
    _writing: trio.Lock = attrs.Factory(trio.Lock)

    async def compare(self, directory: LogDirectory, read: Checkpoints) -> None:
        """Compare what was read in a directory with the logs that were opened there."""
        self.are_outdated |= read.exceed(await Checkpoints.of(self._held_in(directory)))

    async def write(self, names: Collection[str] = FILES) -> None:
        """Write the files with these names in each directory, also in those behind a full one.

        Raises OSError, the first one.
        """
        failures: list[OSError] = []
        async with self._writing:
            for directory in self.directories:
                try:
                    await self._write(directory, await Checkpoints.of(self._held_in(directory), names))
                except OSError as failure:
                    failures.append(failure)
        if failures:
            raise failures[0]

    async def _write(self, directory: LogDirectory, checkpoints: Checkpoints) -> None:
        """Write the files of one directory, and record which start offsets are durable. Raises OSError."""
        written = await checkpoints.start_offsets(self.partitions)
        for each, start_offset in written:
            # A failed write may already have lowered the entry.
            each.checkpointed_start_offset = min(each.checkpointed_start_offset, start_offset)
        await checkpoints.write(directory.path, self.world.in_thread)
        for each, start_offset in written:
            each.checkpointed_start_offset = start_offset

    def _held_in(self, directory: LogDirectory) -> Iterator[HostedPartition]:
        """Yield the partitions of a directory, also for a loop that awaits between them: one that is deleted meanwhile
        is omitted, and a new one may be.
        """
        for each in [each for hosted in self.partitions.values() for each in hosted.values()]:
            is_held = self.partitions.get(each.topic, {}).get(each.index) is each
            if is_held and directory.has(each.log.directory):
                yield each

    async def forget_deleted(self) -> None:
        """Remove the entries of deleted logs, and those beyond the end of a log.

        Otherwise, after a kill, a new topic of the same name would begin at the old one's start offset and lose the
        records before it. The cleaner would never compact its first records.
        """
        if not self.are_outdated:
            return
        try:
            await self.write()
        except OSError as error:  # a full disk must not prevent the deletion of topics
            logger.error("cannot write checkpoints, the next change of the metadata tries again: %s", error)
        else:
            self.are_outdated = False

    async def prepare_for(self, new: Iterable[TopicPartition]) -> None:
        """Remove what the files have about earlier logs of partitions that are created next.

        A file that cannot be written is deleted, which needs no space. All logs of its directory then need a longer
        recovery after a kill. Raises OSError.
        """
        if self.are_outdated:
            await self.forget_deleted()
        if self.are_outdated:
            async with self._writing:
                removed = await self.world.in_thread(self._unlink_files_with, frozenset(new))
            for directory in removed:
                for each in self._held_in(directory):
                    each.checkpointed_start_offset = 0

    def _unlink_files_with(self, new: frozenset[TopicPartition]) -> list[LogDirectory]:
        """Delete each file with an entry of ``new``, and return the directories that lost one."""
        removed = []
        for directory in self.directories:
            paths = [os.path.join(directory.path, name) for name in FILES]
            named = [path for path in paths if not new.isdisjoint(known_offsets(path))]
            for path in named:
                logger.error("%s is deleted: it has entries of an earlier topic, and cannot be written", path)
                os.unlink(path)
            if named:
                sync_directory(directory.path)
                removed.append(directory)
        return removed

    @asynccontextmanager
    async def cutting(self, partition: HostedPartition, end_offset: int) -> AsyncIterator[None]:
        """Lower the entries of ``partition`` before the block truncates its log to ``end_offset``.

        The block must check again that the truncation is still wanted, and must not await. Raises OSError.
        """
        # No entry on disk is higher than its value in memory, unless lowering it failed.
        if end_offset >= partition.highest_checkpoint and not self.are_outdated:
            yield
            return
        # A flush may raise the recovery point again before the truncation. The lock keeps it from being written.
        async with self._writing:
            directory = next(each for each in self.directories if each.has(partition.log.directory))
            present = await Checkpoints.of(self._held_in(directory))
            await self._write(directory, present.lowered(partition.where, end_offset))
            yield
