"""Restores the metadata log and its snapshots to a consistent state at a start, after any crash (KIP-630).

A trim deletes whole segments first and older snapshots next. The installation of a leader's snapshot makes it durable
under its name, then drops the log, then begins a new one at its end.
"""

from __future__ import annotations

import logging

from kraft.quorum.snapshots import MetadataSnapshots
from kraft.raft.messages import SnapshotId
from kraft.storage.errors import REJOIN_ADVICE, StorageError
from kraft.storage.log import Log, remove_files

logger = logging.getLogger("kraft.quorum")

_BEGINNING = SnapshotId(0, 0)


def settle(log: Log, snapshots: MetadataSnapshots) -> SnapshotId:
    """Let the log begin at the end of a snapshot, or at offset 0. Return that position.

    A snapshot ahead of the log that the log does not hold comes from an installation that a crash interrupted. It
    replaces the log, with a warning in the node's log.

    Raises StorageError if a required snapshot is missing or damaged, or if one contradicts the log. The log is then
    unchanged.
    """
    there = snapshots.all()
    # This may lie before the offset of the last trim, because only whole segments are deleted.
    start = log.log_start_offset
    held = [snapshot for snapshot in there if _holds(log, start, snapshot)]
    newest = there[-1] if there else _BEGINNING
    if newest.end_offset > start and newest not in held:
        _require_ahead(log, newest)
        snapshots.load_ahead(newest)
        dropped = f"the log from offset {start} to {log.log_end_offset}, whose last epoch is {log.epochs.latest}"
        logger.warning("%s: %s replaces %s", log.directory, newest, dropped)
        log.truncate_fully_and_start_at(newest.end_offset)
        remove_files(log.segments.take_dropped())
        return newest
    if start == 0:
        return _BEGINNING
    if not held:
        what = f"the log begins at offset {start}, and no snapshot covers the earlier records"
        raise StorageError(f"{log.directory}: {what}; restore the snapshot from a copy, or from another controller")
    log.delete_records(held[0].end_offset)
    return held[0]


def _require_ahead(log: Log, snapshot: SnapshotId) -> None:
    """Raise StorageError if no leader can have sent a snapshot that the log does not hold.

    A leader sends a snapshot that ends beyond the log, or one of a newer epoch, which covers all of the log that may be
    committed. The epoch of the first kind may be older than the log's: a deposed leader has a tail that was never
    committed (Raft, figure 7). If the log reaches the end of the snapshot in the same or a newer epoch, it has other
    records there, so one of the two is damaged.
    """
    is_beyond = snapshot.end_offset > log.log_end_offset
    if not is_beyond and snapshot.epoch <= log.epochs.latest:
        where = (
            f"the log of epoch {log.epochs.latest} ends at offset {log.log_end_offset}, and diverges from {snapshot}"
        )
        what = f"{log.directory}: {where}, which is not newer"
        raise StorageError(f"{what}; one of them is damaged: {REJOIN_ADVICE}")


def _holds(log: Log, start: int, snapshot: SnapshotId) -> bool:
    """Whether the log holds, or has trimmed, the last record of a snapshot. It then holds all earlier records too."""
    end_offset, epoch = snapshot
    if end_offset == start:
        return True
    return start < end_offset <= log.log_end_offset and log.epochs.epoch_at(end_offset - 1) == epoch
