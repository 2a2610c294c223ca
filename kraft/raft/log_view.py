"""The core's view of its log: start and end, the first offset of each epoch, and how much of it is durable.

It holds no records. Entries of ``epochs`` rise strictly in both numbers; the first covers the start of the log.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from kraft.raft.messages import EpochEnd, LogSlice, SnapshotId


class LogView:
    """The shape of one log. ``epochs`` is (epoch, first offset), oldest first. All of it is durable at first.

    ``start_epoch`` is the epoch of the record before ``start_offset``, which a snapshot covers. ``snapshot`` is the
    newest snapshot. ``truncations`` counts the truncations. It identifies a flush that began before a truncation: such
    a flush does not cover later appends.
    """

    def __init__(
        self,
        epochs: Sequence[tuple[int, int]] = (),
        end_offset: int = 0,
        start_offset: int = 0,
        start_epoch: int = 0,
        snapshot: SnapshotId | None = None,
    ) -> None:
        self._epochs = [epoch for epoch, _ in epochs]
        self._starts = [start for _, start in epochs]
        self.start_offset = start_offset
        self.start_epoch = start_epoch
        self.end_offset = end_offset
        self.durable_offset = end_offset
        self.snapshot = snapshot
        self.truncations = 0

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record, or ``start_epoch`` for a log without records."""
        return self._epochs[-1] if self._epochs else self.start_epoch

    @property
    def all_durable(self) -> bool:
        return self.durable_offset == self.end_offset

    @property
    def epochs(self) -> list[tuple[int, int]]:
        return list(zip(self._epochs, self._starts, strict=True))

    def append(self, end_offset: int, epoch: int) -> None:
        """Extend the log to ``end_offset`` with records of ``epoch``."""
        assert end_offset > self.end_offset, "a log only grows by appending"
        assert epoch >= self.last_epoch, "epochs never go back along a log"
        if not self._epochs or epoch > self._epochs[-1]:
            self._epochs.append(epoch)
            self._starts.append(self.end_offset)
        self.end_offset = end_offset

    def flushed(self, end_offset: int, truncations: int) -> bool:
        """Record a finished flush; return whether it made more of the log durable."""
        if truncations != self.truncations:
            return False
        assert end_offset <= self.end_offset, "the durable end is at most the log end"
        grew = end_offset > self.durable_offset
        self.durable_offset = max(self.durable_offset, end_offset)
        return grew

    def truncate(self, end_offset: int) -> None:
        """Truncate the log to ``end_offset``."""
        assert self.start_offset <= end_offset < self.end_offset, f"cannot cut at {end_offset}"
        while self._starts and self._starts[-1] >= end_offset:
            self._starts.pop()
            self._epochs.pop()
        self.end_offset = end_offset
        self.durable_offset = min(self.durable_offset, end_offset)
        self.truncations += 1

    def install(self, snapshot: SnapshotId) -> None:
        """Drop the whole log. It now begins and ends at the end of ``snapshot``."""
        self._epochs, self._starts = [], []
        self.start_offset = self.end_offset = self.durable_offset = snapshot.end_offset
        self.start_epoch = snapshot.epoch
        self.snapshot = snapshot
        self.truncations += 1

    def advance_start(self, snapshot: SnapshotId) -> None:
        """Drop the part of the log that ``snapshot`` covers."""
        offset = snapshot.end_offset
        assert self.start_offset <= offset <= self.end_offset, "a log is trimmed inside of what it holds"
        gone = bisect_right(self._starts, offset) - 1
        if offset == self.end_offset:
            self._epochs, self._starts = [], []
        elif gone >= 0:
            del self._epochs[:gone], self._starts[:gone]
            self._starts[0] = offset
        self.start_offset = offset
        self.start_epoch = snapshot.epoch

    def end_of(self, epoch: int) -> EpochEnd:
        """Return the end of the records of ``epoch``, or of the highest known epoch below it (KIP-595)."""
        number = bisect_right(self._epochs, epoch)
        if number == 0:
            return EpochEnd(min(self.start_epoch, epoch), self.start_offset)
        end = self._starts[number] if number < len(self._starts) else self.end_offset
        return EpochEnd(self._epochs[number - 1], end)

    def diverging_from(self, leader_end: EpochEnd) -> int:
        """Return the offset to truncate to, for the diverging epoch of a leader's response (KIP-595)."""
        own = self.end_of(leader_end.epoch)
        return min(own.end_offset, leader_end.end_offset) if own.epoch == leader_end.epoch else own.end_offset

    def read(self, offset: int) -> LogSlice:
        """Return the log from ``offset`` to its end."""
        number = bisect_right(self._starts, offset)
        ends = [*self._starts[number:], self.end_offset]
        runs = [EpochEnd(epoch, end) for epoch, end in zip(self._epochs[number - 1 :], ends, strict=True)]
        return LogSlice(offset, tuple(runs))
