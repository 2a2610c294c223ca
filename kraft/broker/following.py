"""The follower's side of one partition: where its log parted from the leader's (KIP-101, KIP-279, KIP-595).

A leader that is asked for what follows an epoch and an offset it does not have answers with the last that both may
have. A log never has two different records of the same offset and epoch, so cutting there, and asking again, ends.
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
    """Return where to cut a log whose leader says that epoch ``diverging_epoch`` ends at ``diverging_end_offset``.

    ``end_of_epoch`` gives this log's largest epoch not above one, and where it ends; both are -1 if it has none.
    """
    if diverging_end_offset < 0:
        # The leader cannot tell; what is committed is the same everywhere.
        return min(high_watermark, log_end_offset)
    epoch, end_offset = end_of_epoch(diverging_epoch) if diverging_epoch >= 0 else (UNKNOWN, UNKNOWN)
    if epoch == UNKNOWN:
        return min(diverging_end_offset, log_end_offset)
    if epoch != diverging_epoch:
        # This log does not have that epoch, so the two part at the end of one before it, or earlier.
        return min(end_offset, log_end_offset)
    return min(end_offset, diverging_end_offset, log_end_offset)
