"""The follower's side of one partition: where its log diverged from the leader's (KIP-101, KIP-279, KIP-595).

A follower fetches with an offset and the epoch of the record before it. If the leader's log lacks that pair, the
leader returns its largest epoch up to the follower's, and the end offset of that epoch. The follower truncates and
fetches again. This ends, because no two records of one offset and epoch differ.
"""

from __future__ import annotations

from collections.abc import Callable

UNKNOWN = -1


def truncation_offset(
    diverging_epoch: int,
    diverging_end_offset: int,
    end_of_epoch: Callable[[int], tuple[int, int]],
    log_end_offset: int,
    high_watermark: int,
) -> int:
    """Return the offset to truncate to, if ``diverging_epoch`` ends at ``diverging_end_offset`` in the leader's log.

    ``end_of_epoch`` maps an epoch to this log's largest epoch that is not above it, and to that epoch's end offset. It
    returns -1 for both if the log has no such epoch.
    """
    if diverging_end_offset < 0:
        # The leader does not know the epoch. Records below the high watermark are the same in every log.
        return min(high_watermark, log_end_offset)
    epoch, end_offset = end_of_epoch(diverging_epoch) if diverging_epoch >= 0 else (UNKNOWN, UNKNOWN)
    if epoch == UNKNOWN:
        return min(diverging_end_offset, log_end_offset)
    if epoch != diverging_epoch:
        # This log lacks the leader's epoch, so the logs diverge at or before the end of the previous one.
        return min(end_offset, log_end_offset)
    return min(end_offset, diverging_end_offset, log_end_offset)
