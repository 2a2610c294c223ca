"""Kafka's offset checkpoints of a log directory: where its logs begin, what is durable, committed and compacted.

The files know a log by topic name and partition, so an entry can outlive the log, or the records, that it speaks of.
Rule: no entry on disk is higher than what the log has. It is lowered before a log is cut, and removed before a log is
deleted. After a crash at any point an entry claims too little, never too much.
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
        """An absent or damaged file has no entries."""
        return cls({name: known_offsets(os.path.join(directory, name)) for name in FILES})

    @classmethod
    def of(cls, hosted: Iterable[HostedPartition]) -> Checkpoints:
        """What the partitions of a directory have now."""
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
        """The entry of a partition in one of the files, 0 if there is none."""
        return self.files.get(name, {}).get(where, 0)

    def only(self, names: Collection[str]) -> Checkpoints:
        """Some of the files."""
        return Checkpoints({name: offsets for name, offsets in self.files.items() if name in names})

    def lowered(self, where: TopicPartition, offset: int) -> Checkpoints:
        """The same, but no entry of one partition is higher than ``offset``."""
        return Checkpoints(
            {
                name: {each: min(known, offset) if each == where else known for each, known in offsets.items()}
                for name, offsets in self.files.items()
            }
        )

    def exceed(self, present: Checkpoints) -> bool:
        """Whether an entry speaks of a partition that is not in ``present``, or is higher than the one there."""
        held = present.files[RECOVERY_POINT]
        return any(
            where not in held or offset > present.offset(name, where)
            for name, offsets in self.files.items()
            for where, offset in offsets.items()
        )

    async def write(self, directory: str, in_thread: InThread) -> None:
        """Replace these files of a directory, durably. Raises: OSError."""
        await in_thread(self._write, directory)

    def _write(self, directory: str) -> None:
        for name, offsets in self.files.items():
            write_offsets(os.path.join(directory, name), offsets)
