"""Find offsets by timestamp: time index, then batch headers, then the records of one batch (ListOffsets)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kraft.records.batch import BatchHeader
from kraft.records.record import decode_times
from kraft.storage.opening import RECORDS_PER_SLICE, opened
from kraft.storage.scan import read_batch, walk
from kraft.storage.segment import Segment
from kraft.world.slices import Slices
from kraft.world.world import InThread

MAX_DECOMPRESSED_BYTES = 256 * 2**20
"""A read decompresses no batch beyond this size."""


@attrs.frozen
class TimestampedOffset:
    """The timestamp (ms), offset and leader epoch of a record, for a ListOffsets response."""

    timestamp: int
    offset: int
    leader_epoch: int


async def first_at_or_after(
    segments: Sequence[Segment], timestamp: int, start_offset: int, compute: InThread
) -> TimestampedOffset | None:
    """Return the first record from ``start_offset`` on whose timestamp is at least ``timestamp``, or None.

    Works in slices. ``segments`` may change meanwhile by appends, retention and compaction. Raises CorruptBatch,
    OSError.
    """
    slices = Slices(RECORDS_PER_SLICE)
    end_offset = segments[-1].next_offset
    searched = start_offset
    while searched < end_offset:
        segment = next(
            (each for each in segments if each.next_offset > searched and each.max_timestamp >= timestamp), None
        )
        if segment is None:
            return None
        file = segment.file  # still the same after the log has replaced it
        start, _ = segment.locate(max(segment.time_index.offset_before(timestamp), searched))
        searched = segment.next_offset
        for position, header in walk(file.fileno(), start, segment.size, verify=False):
            await slices.spend()
            if header.max_timestamp >= timestamp:
                data = read_batch(file.fileno(), position, header)
                found = await _first_in_batch(data, header, timestamp, start_offset, slices, compute)
                if found is not None:
                    return found
    return None


async def newest(segments: Sequence[Segment], compute: InThread) -> TimestampedOffset | None:
    """Return the first record that has the largest timestamp (KIP-734). None if no record has a timestamp, or if
    compaction has emptied the batch that has the largest one.

    The record may lie before the log start, until its segment is deleted. Both are as in Kafka (MAX_TIMESTAMP in
    ``UnifiedLog.fetchOffsetByTimestamp``). Raises CorruptBatch, OSError.
    """
    segment = max(segments, key=lambda segment: segment.max_timestamp)
    if segment.max_timestamp < 0 or segment.size == 0:
        return None
    return await first_at_or_after(segments, segment.max_timestamp, segments[0].base_offset, compute)


async def _first_in_batch(
    data: bytes, header: BatchHeader, timestamp: int, start_offset: int, slices: Slices, compute: InThread
) -> TimestampedOffset | None:
    async with opened(data, 0, header, max_bytes=MAX_DECOMPRESSED_BYTES, compute=compute) as payload:
        for offset, at in decode_times(payload, header):
            await slices.spend()
            if at >= timestamp and offset >= start_offset:
                return TimestampedOffset(at, offset, header.leader_epoch)
    return None
