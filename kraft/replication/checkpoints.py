"""Kafka's offset checkpoints of a log directory: the start, durable, committed and compacted offset of each log.

The files identify a log by topic name and partition. So an entry can outlive its log, or its records. No entry on disk
may be higher than the log's own offset. The broker lowers an entry before it truncates a log, and removes it before it
deletes a log. After a crash an entry may be too low, but never too high.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

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
from kraft.world.slices import Slices
from kraft.world.world import InThread

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
