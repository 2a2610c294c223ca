"""What a start finds of the metadata log, whatever moment the last one ended in (KIP-630).

A log is trimmed in this order: whole segments go, older snapshots go. A snapshot of a leader is durable under its name
first, then the log is dropped, then a new one begins behind it.
"""

from __future__ import annotations

import logging

from kraft.quorum.snapshots import MetadataSnapshots
from kraft.raft.messages import SnapshotId
from kraft.storage.errors import REJOIN_ADVICE, StorageError
from kraft.storage.log import Log

logger = logging.getLogger("kraft.quorum")

_BEGINNING = SnapshotId(0, 0)


def settle(log: Log, snapshots: MetadataSnapshots) -> SnapshotId:
    """Let the log begin where a snapshot ends, or at the beginning; return where that is.

    A snapshot that the log does not hold, and that is ahead of it, was installed, or about to be, when the last start
    ended: it takes its place, and a line in the node's log says so. Raises StorageError if a snapshot that is needed is
    missing or damaged, or if one says something else than the log; the log is then as it was.
    """
    there = snapshots.all()
    # Perhaps before where it was trimmed: files go in whole segments.
    start = log.log_start_offset
    held = [snapshot for snapshot in there if _holds(log, start, snapshot)]
    newest = there[-1] if there else _BEGINNING
    if newest.end_offset > start and newest not in held:
        _require_ahead(log, newest)
        snapshots.prove(newest)
        dropped = f"the log from offset {start} to {log.log_end_offset}, whose last epoch is {log.epochs.latest}"
        logger.warning("%s: %s takes the place of %s", log.directory, newest, dropped)
        log.truncate_fully_and_start_at(newest.end_offset)
        return newest
    if start == 0:
        return _BEGINNING
    if not held:
        what = f"the log begins at offset {start}, and no snapshot has what was before"
        raise StorageError(f"{log.directory}: {what}; restore the snapshot from a copy, or from another controller")
    log.delete_records(held[0].end_offset)
    return held[0]


def _require_ahead(log: Log, snapshot: SnapshotId) -> None:
    """Raise StorageError if a leader cannot have sent a snapshot that the log does not hold.

    A leader sends one that ends beyond the log, or one of a newer epoch: it then covers all of the log that may be
    committed. The epoch of the first kind may be older than that of the log: a deposed leader leaves a tail of its
    epoch that was never committed (Raft, figure 7). A log that reaches to where the snapshot ends, in the same or a
    newer epoch, has other records there, so one of the two is damaged.
    """
    is_beyond = snapshot.end_offset > log.log_end_offset
    if not is_beyond and snapshot.epoch <= log.epochs.latest:
        where = f"the log of epoch {log.epochs.latest} ends at offset {log.log_end_offset}, and parts from {snapshot}"
        what = f"{log.directory}: {where}, which is no newer"
        raise StorageError(f"{what}; one of them is damaged: {REJOIN_ADVICE}")


def _holds(log: Log, start: int, snapshot: SnapshotId) -> bool:
    """Whether the last record that a snapshot covers is in the log, or was trimmed: then so is all before it."""
    end_offset, epoch = snapshot
    if end_offset == start:
        return True
    return start < end_offset <= log.log_end_offset and log.epochs.epoch_at(end_offset - 1) == epoch
