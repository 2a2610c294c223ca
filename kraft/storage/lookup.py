"""Find offsets by timestamp: time index, then batch headers, then the records of one batch (ListOffsets)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kraft.records.batch import BatchHeader
from kraft.records.record import read_records
from kraft.storage.scan import read_batch
from kraft.storage.segment import Segment

MAX_DECOMPRESSED_BYTES = 256 * 2**20
"""A read decompresses no batch beyond this size."""


@attrs.frozen
class TimestampedOffset:
    """The timestamp (ms), offset and leader epoch of a record, for a ListOffsets response."""

    timestamp: int
    offset: int
    leader_epoch: int


def first_at_or_after(segments: Sequence[Segment], timestamp: int, start_offset: int) -> TimestampedOffset | None:
    """Return the first record from ``start_offset`` on whose timestamp is at least ``timestamp``, or None.

    Raises CorruptBatch, OSError.
    """
    for segment in segments:
        if segment.max_timestamp < timestamp or segment.next_offset <= start_offset:
            continue
        from_offset = max(segment.time_index.offset_before(timestamp), start_offset)
        for position, header in segment.headers(segment.locate(from_offset)[0]):
            if header.max_timestamp >= timestamp:
                found = _first_in_batch(segment, position, header, timestamp, start_offset)
                if found is not None:
                    return found
    return None


def newest(segments: Sequence[Segment], start_offset: int) -> TimestampedOffset | None:
    """Return the first record that has the largest timestamp (KIP-734). None if no record has a timestamp.

    Raises CorruptBatch, OSError.
    """
    segment = max(segments, key=lambda segment: segment.max_timestamp)
    if segment.max_timestamp < 0 or segment.size == 0:
        return None
    return first_at_or_after(segments, segment.max_timestamp, start_offset)


def _first_in_batch(
    segment: Segment, position: int, header: BatchHeader, timestamp: int, start_offset: int
) -> TimestampedOffset | None:
    file = segment.file
    data = read_batch(file.fileno(), position, header)
    for record in read_records(data, 0, header, max_bytes=MAX_DECOMPRESSED_BYTES):
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return TimestampedOffset(record.timestamp, record.offset, header.leader_epoch)
    return None
