"""The positions of the newest batches of the active segment: a read at the end of the log then costs no system call."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

_CAPACITY = 1024


class RecentBatches:
    """Last offset and position of up to 1024 consecutive batches. The last one ends where the segment ends."""

    __slots__ = ("_offsets", "_positions")

    def __init__(self) -> None:
        self._offsets = array("q")
        self._positions = array("q")

    def add(self, last_offset: int, position: int) -> None:
        """Add the new last batch of the segment, which begins at ``position``."""
        if len(self._offsets) >= _CAPACITY:
            del self._offsets[: _CAPACITY // 2]
            del self._positions[: _CAPACITY // 2]
        self._offsets.append(last_offset)
        self._positions.append(position)

    def clear(self) -> None:
        self._offsets = array("q")
        self._positions = array("q")

    def locate(self, offset: int, size: int) -> tuple[int, int] | None:
        """Return (start, end) of the first batch that ends at or beyond ``offset``, or None if unknown.

        ``size`` is the size of the segment. An offset beyond the last batch gives (size, size).
        """
        number = bisect_left(self._offsets, offset)
        if number == 0 and (not self._positions or self._positions[0] != 0):
            return None
        count = len(self._positions)
        if number == count:
            return size, size
        return self._positions[number], self._positions[number + 1] if number + 1 < count else size

    def boundary_at_most(self, position: int) -> int | None:
        """Return the last start of a batch at or before ``position``, or None if unknown."""
        number = bisect_right(self._positions, position)
        return self._positions[number - 1] if number else None

    def truncate(self, position: int) -> None:
        """Remove the batches at and beyond ``position``."""
        keep = bisect_left(self._positions, position)
        del self._offsets[keep:]
        del self._positions[keep:]
