"""Kafka's offset checkpoints of a log directory: the start, durable, committed and compacted offset of each log.

The files identify a log by topic name and partition. So an entry can outlive its log, or its records. No entry on disk
may be higher than the log's own offset. The broker lowers an entry before it truncates a log, and removes it before it
deletes a log. After a crash an entry may be too low, but never too high.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping

import attrs

from kraft.replication.partition import HostedPartition
from kraft.storage.checkpoint import (
    CLEANER_OFFSET,
    HIGH_WATERMARK,
    LOG_START_OFFSET,
    RECOVERY_POINT,
    TopicPartition,
    known_offsets,
    write_offsets,
)
from kraft.world.world import InThread

FILES = (RECOVERY_POINT, LOG_START_OFFSET, HIGH_WATERMARK, CLEANER_OFFSET)


@attrs.frozen
class Checkpoints:
    """The entries of one directory, by file name."""

    files: Mapping[str, Mapping[TopicPartition, int]] = attrs.Factory(dict)

    @classmethod
    def read(cls, directory: str) -> Checkpoints:
        """Read the files of a directory. An absent or damaged file has no entries."""
        return cls({name: known_offsets(os.path.join(directory, name)) for name in FILES})

    @classmethod
    def of(cls, hosted: Iterable[HostedPartition]) -> Checkpoints:
        """Return the present offsets of the partitions of a directory."""
        each_of = {each.where: each for each in hosted}
        return cls(
            {
                RECOVERY_POINT: {where: each.log.recovery_point for where, each in each_of.items()},
                LOG_START_OFFSET: {where: each.log.log_start_offset for where, each in each_of.items()},
                HIGH_WATERMARK: {where: each.high_watermark for where, each in each_of.items()},
                CLEANER_OFFSET: {where: each.cleaned_offset for where, each in each_of.items() if each.cleaned_offset},
            }
        )

    def offset(self, name: str, where: TopicPartition) -> int:
        """Return the entry of a partition in one of the files, 0 for none."""
        return self.files.get(name, {}).get(where, 0)

    def only(self, names: Collection[str]) -> Checkpoints:
        """Return the files with these names only."""
        return Checkpoints({name: offsets for name, offsets in self.files.items() if name in names})

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
