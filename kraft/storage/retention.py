"""Which old segments a log may delete: by ``retention.ms``, ``retention.bytes``, and the log start offset."""

from __future__ import annotations

import os
from collections.abc import Sequence

from kraft.config.topic import LogConfig
from kraft.storage.segment import Segment

NO_LIMIT = -1


def deletable(segments: Sequence[Segment], config: LogConfig, log_start_offset: int, now_ms: int, end: int) -> int:
    """Return how many of the oldest segments may go; all of them if even the active one is too old.

    No segment with an offset at or beyond ``end``, the high watermark, may go. Age and size count only if
    ``cleanup.policy`` contains delete. A segment before the log start always goes, except the active one. Raises
    OSError.
    """
    by_policy = "delete" in config.cleanup_policy
    excess = sum(segment.size for segment in segments) - config.retention_bytes
    for number, segment in enumerate(segments):
        active = number + 1 == len(segments)
        segment_end = segment.next_offset if active else segments[number + 1].base_offset
        before_start = not active and segment_end <= log_start_offset
        too_large = by_policy and config.retention_bytes != NO_LIMIT and excess >= segment.size
        too_old = by_policy and config.retention_ms != NO_LIMIT and now_ms - newest_ms(segment) > config.retention_ms
        is_empty = active and segment.size == 0
        if is_empty or segment_end > end or not (before_start or too_large or too_old):
            return number
        excess -= segment.size
    return len(segments)


def newest_ms(segment: Segment) -> int:
    """Return the largest timestamp in a segment, in ms; without timestamps, the time of its last write.

    Raises OSError.
    """
    if segment.max_timestamp >= 0:
        return segment.max_timestamp
    file = segment.file
    return int(os.fstat(file.fileno()).st_mtime * 1000)
