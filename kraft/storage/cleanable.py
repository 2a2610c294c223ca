"""Whether a log is due for compaction, and which part of it may be compacted."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kraft.config.topic import LogConfig
from kraft.records.batch import CorruptBatch
from kraft.storage.retention import newest_ms
from kraft.storage.segment import Segment


@attrs.frozen
class Cleanable:
    """The part of a log that can be compacted now. The clean part ends at ``clean_end``, the dirty part at
    ``dirty_end``.
    """

    clean_end: int
    dirty_end: int
    clean_bytes: int
    dirty_bytes: int
    overdue: bool
    """A record has waited longer than ``max.compaction.lag.ms``."""

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    def is_due(self, config: LogConfig) -> bool:
        """Whether to compact now: the log exceeds ``min.cleanable.dirty.ratio`` or ``max.compaction.lag.ms``."""
        return self.dirty_bytes > 0 and (self.overdue or self.dirty_ratio > config.min_cleanable_dirty_ratio)


def cleanable(
    segments: Sequence[Segment], config: LogConfig, checkpoint: int, log_start_offset: int, end: int, now_ms: int
) -> Cleanable:
    """Find the clean and the dirty part of a log. ``checkpoint`` is the cleaner's offset, ``end`` the last stable
    offset.

    The cleaner never compacts the active segment, anything at or beyond ``end``, or a segment with a record younger
    than a positive ``min.compaction.lag.ms``. Raises CorruptBatch for a damaged first batch of a segment, OSError.
    """
    clean_end = checkpoint if log_start_offset <= checkpoint <= segments[-1].next_offset else log_start_offset
    dirty_end = clean_end
    clean_bytes = dirty_bytes = 0
    overdue, lag_ms = False, config.min_compaction_lag_ms
    for segment in segments[:-1]:
        if segment.next_offset <= clean_end:
            clean_bytes += segment.size
            continue
        if segment.next_offset > end or (lag_ms > 0 and now_ms - newest_ms(segment) < lag_ms):
            break
        dirty_end = segment.next_offset
        dirty_bytes += segment.size
        try:
            overdue = overdue or segment.age_ms(now_ms, now_ms) > config.max_compaction_lag_ms
        except CorruptBatch as damage:
            raise CorruptBatch(f"{segment.path}: {damage}") from damage
    return Cleanable(clean_end, dirty_end, clean_bytes, dirty_bytes, overdue)
