"""What each log directory says of its logs in Kafka's checkpoint files: where they begin, what of them is durable, what
of them is committed, and what of them is compacted."""

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


@attrs.frozen
class Checkpoints:
    """Those of one directory, as they were found."""

    start_offsets: Mapping[TopicPartition, int]
    recovery_points: Mapping[TopicPartition, int]
    high_watermarks: Mapping[TopicPartition, int]
    cleaned_offsets: Mapping[TopicPartition, int]

    @classmethod
    def read(cls, directory: str) -> Checkpoints:
        """An absent or damaged file is as good as one that says nothing."""
        names = (LOG_START_OFFSET, RECOVERY_POINT, HIGH_WATERMARK, CLEANER_OFFSET)
        return cls(*(known_offsets(os.path.join(directory, name)) for name in names))

    @property
    def known(self) -> frozenset[TopicPartition]:
        """Every partition that is spoken of."""
        return frozenset((*self.start_offsets, *self.recovery_points, *self.high_watermarks, *self.cleaned_offsets))


async def write_checkpoints(directory: str, hosted: Collection[HostedPartition], in_thread: InThread) -> None:
    """Write those that follow from the logs, for the partitions in a directory. Raises: OSError."""
    recovered = {(each.topic, each.index): each.log.recovery_point for each in hosted}
    await in_thread(write_offsets, os.path.join(directory, RECOVERY_POINT), recovered)
    await write_start_offsets(directory, hosted, in_thread)
    await write_high_watermarks(directory, hosted, in_thread)


async def write_start_offsets(directory: str, hosted: Iterable[HostedPartition], in_thread: InThread) -> None:
    """Write where the logs begin. Raises: OSError."""
    starts = {each: each.log.log_start_offset for each in hosted}
    offsets = {(each.topic, each.index): offset for each, offset in starts.items()}
    await in_thread(write_offsets, os.path.join(directory, LOG_START_OFFSET), offsets)
    for each, offset in starts.items():
        each.checkpointed_start_offset = offset


async def write_high_watermarks(directory: str, hosted: Iterable[HostedPartition], in_thread: InThread) -> None:
    """Write what is committed. Raises: OSError."""
    committed = {(each.topic, each.index): each.high_watermark for each in hosted}
    await in_thread(write_offsets, os.path.join(directory, HIGH_WATERMARK), committed)


async def write_cleaned_offsets(directory: str, hosted: Iterable[HostedPartition], in_thread: InThread) -> None:
    """Write what is compacted. Raises: OSError."""
    cleaned = {(each.topic, each.index): each.cleaned_offset for each in hosted if each.cleaned_offset}
    await in_thread(write_offsets, os.path.join(directory, CLEANER_OFFSET), cleaned)
