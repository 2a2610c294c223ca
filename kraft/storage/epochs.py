"""The offset at which each leader epoch begins (KIP-101, KIP-279): the cache and its ``leader-epoch-checkpoint``.

Entries rise in epoch and in start offset. Every change replaces the file, and the log's next flush makes it durable. If
a power cut removes entries, recovery restores them from the batches that it scans.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from kraft.records.batch import BatchHeader
from kraft.storage.checkpoint import LEADER_EPOCH, read_lines, write_lines
from kraft.storage.errors import CheckpointError

NO_EPOCH = -1
NO_OFFSET = -1


class EpochStarts:
    """The epochs of consecutive batches, as their headers say: ``entries`` as those of LeaderEpochs."""

    def __init__(self, headers: Iterable[BatchHeader] = ()) -> None:
        self.entries: list[tuple[int, int]] = []
        for header in headers:
            self.learn(header)

    def learn(self, header: BatchHeader) -> None:
        """Take the next batch."""
        if header.leader_epoch > (self.entries[-1][0] if self.entries else NO_EPOCH):
            self.entries.append((header.leader_epoch, header.base_offset))


class LeaderEpochs:
    """The epochs of one log. Reading raises CheckpointError for a damaged file; every change may raise OSError."""

    def __init__(self, directory: str) -> None:
        self.path = os.path.join(directory, LEADER_EPOCH)
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.unsynced = False

    def load(self) -> None:
        """Read the file; an absent one has no entries. Raises CheckpointError, OSError."""
        epochs: list[int] = []
        starts: list[int] = []
        for words in read_lines(self.path):
            try:
                epoch, start = map(int, words)
            except ValueError:
                raise CheckpointError(f"{self.path}: an entry is not 'epoch start-offset'") from None
            if epochs and (epoch <= epochs[-1] or start < starts[-1]):
                raise CheckpointError(f"{self.path}: epoch {epoch} at offset {start} is out of order")
            epochs.append(epoch)
            starts.append(start)
        self._epochs, self._starts = epochs, starts

    def recover(self, scanned: EpochStarts, certain: int, everything: Iterable[BatchHeader] | None) -> None:
        """Load the file at a start, and correct it by the batches that recovery ``scanned``.

        The entries of the file from the offset ``certain`` on do not count. ``everything``, all batches of the log,
        replaces a damaged file. It is None if recovery scanned all of them: then only they count. Raises CorruptLog,
        OSError.
        """
        try:
            self.load()
            is_known = True
        except CheckpointError:
            is_known = False
        self.truncate_from_end(certain)
        if everything is not None and not is_known:
            scanned = EpochStarts(everything)  # the scan may begin in the middle of the log
        if not is_known or (everything is None and scanned.entries != self.entries):
            self.replace(scanned.entries)
        # Add only entries that the file lacks: the scan may begin in the middle of an epoch.
        self.assign_all([entry for entry in scanned.entries if entry[0] > self.latest])

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset) of each entry, oldest first."""
        return list(zip(self._epochs, self._starts, strict=True))

    @property
    def latest(self) -> int:
        """The newest epoch, -1 if there is none."""
        return self._epochs[-1] if self._epochs else NO_EPOCH

    def assign(self, epoch: int, start_offset: int) -> None:
        """Note that records from ``start_offset`` on are of ``epoch``. Entries that contradict it are removed."""
        self.assign_all([(epoch, start_offset)])

    def assign_all(self, entries: Iterable[tuple[int, int]]) -> None:
        """:meth:`assign` each (epoch, start offset), and write the file once."""
        epochs, starts = self._epochs, self._starts
        for epoch, start in entries:
            if epoch >= 0 and not (epochs and epoch == epochs[-1] and start >= starts[-1]):
                keep = min(bisect_left(epochs, epoch), bisect_left(starts, start))
                epochs, starts = [*epochs[:keep], epoch], [*starts[:keep], start]
        if epochs is not self._epochs:
            self._replace(epochs, starts)

    def epoch_at(self, offset: int) -> int:
        """Return the epoch that wrote ``offset``, -1 if unknown."""
        number = bisect_right(self._starts, offset)
        return self._epochs[number - 1] if number else NO_EPOCH

    def end_offset(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Return (largest known epoch not above ``epoch``, start offset of the next one), as OffsetForLeaderEpoch does.

        For a negative epoch, or one that is newer than all known ones, return (-1, -1) (KIP-279).
        """
        if epoch < 0 or not self._epochs or epoch > self._epochs[-1]:
            return NO_EPOCH, NO_OFFSET
        if epoch == self._epochs[-1]:
            return epoch, log_end_offset
        number = bisect_right(self._epochs, epoch)
        return (self._epochs[number - 1] if number else epoch), self._starts[number]

    def truncate_from_end(self, end_offset: int) -> None:
        """Remove the epochs that start at or beyond ``end_offset``."""
        keep = bisect_left(self._starts, end_offset)
        if keep < len(self._starts):
            self._replace(self._epochs[:keep], self._starts[:keep])

    def truncate_from_start(self, start_offset: int) -> None:
        """Remove the epochs that end before ``start_offset``, the new log start. The epoch that contains it now starts
        there.
        """
        gone = bisect_right(self._starts, start_offset) - 1
        if gone >= 0 and (gone > 0 or self._starts[0] != start_offset):
            self._replace(self._epochs[gone:], [start_offset, *self._starts[gone + 1 :]])

    def clear(self) -> None:
        """Remove every entry."""
        if self._epochs or os.path.exists(self.path):
            self._replace([], [])

    def replace(self, entries: list[tuple[int, int]]) -> None:
        """Make ``entries`` the only ones, whatever the file contains."""
        self._replace([epoch for epoch, _ in entries], [start for _, start in entries])

    def _replace(self, epochs: list[int], starts: list[int]) -> None:
        """Write the file first. If the write fails, memory stays unchanged and the next change tries again."""
        lines = (f"{epoch} {start}" for epoch, start in zip(epochs, starts, strict=True))
        write_lines(self.path, lines, durable=False)
        self._epochs, self._starts = epochs, starts
        self.unsynced = True
