"""The two sparse indexes of a segment, byte for byte Kafka's.

An entry of ``.index`` is (last offset of a batch - base offset) i32, position of that batch i32. An entry of
``.timeindex`` is the largest timestamp so far i64, (last offset of its batch - base offset) i32. Both rise strictly.

Lookups bisect the file with pread; memory holds only the last entry.

An index is derived from its log, so a missing or damaged one is rebuilt.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections.abc import Callable
from typing import ClassVar

from kraft.storage.atomic import write_all
from kraft.storage.open_files import LazyFile, OpenFile

NO_TIMESTAMP = -1
_RELATIVE_LIMIT = 2**31
_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")


class _IndexFile:
    """Entries of fixed size in one file. The first entry creates the file."""

    entry: ClassVar[struct.Struct]
    offset_column: ClassVar[int]
    """Which of an entry's two numbers is the relative offset."""
    last_offset: int
    """The offset of the last entry; the base offset if there is none."""

    def __init__(self, path: str, base_offset: int) -> None:
        """Stat the file. An absent file is an empty index. Raises OSError."""
        self.path = path
        self.base_offset = base_offset
        self.is_unsynced = False
        self._file = LazyFile(path)
        try:
            size = os.stat(path).st_size
            self.exists = True
        except FileNotFoundError:
            size = 0
            self.exists = False
        self.count, self._odd_bytes = divmod(size, self.entry.size)
        self._changed()

    @property
    def size(self) -> int:
        """Bytes of all entries."""
        return self.count * self.entry.size

    def read(self, number: int) -> tuple[int, int]:
        """Return entry ``number`` with its relative offset. Raises OSError."""
        return self._read(self._file.use(), number)

    def _read(self, file: OpenFile, number: int) -> tuple[int, int]:
        size = self.entry.size
        data = os.pread(file.fileno(), size, number * size)
        if len(data) < size:
            raise OSError(f"{self.path}: shorter than the {self.count} entries it had")
        first, second = self.entry.unpack(data)
        return first, second

    def _search(self, target: int, column: Callable[[tuple[int, int]], int]) -> tuple[int, int] | None:
        """Return the last entry whose ``column`` is at most ``target``."""
        if self.count == 0:
            return None
        file = self._file.use()
        number = bisect_right(range(self.count), target, key=lambda each: column(self._read(file, each)))
        return self._read(file, number - 1) if number else None

    def _append(self, first: int, second: int) -> None:
        file = self._file.use() if self.exists else self._create()
        self.is_unsynced = True
        try:
            write_all(file.fileno(), self.entry.pack(first, second))
        except OSError:
            os.ftruncate(file.fileno(), self.size)  # half an entry would misalign all later ones
            raise
        self.count += 1

    def truncate(self, offset: int) -> None:
        """Drop the entries at and beyond ``offset``. Raises OSError."""
        if self.count and self.last_offset >= offset:
            target = offset - self.base_offset - 1
            self.cut(bisect_right(range(self.count), target, key=lambda each: self.read(each)[self.offset_column]))

    def cut(self, count: int) -> None:
        """Keep only the first ``count`` entries. Raises OSError."""
        if self.exists and (count, 0) != (self.count, self._odd_bytes):
            file = self._file.use()
            os.ftruncate(file.fileno(), count * self.entry.size)
            self.is_unsynced = True
        self.count, self._odd_bytes = count, 0
        self._changed()

    def _changed(self) -> None:
        """Read the last entry again, because the end of the file has changed."""
        raise NotImplementedError

    def seal(self) -> None:
        """Close the index of a sealed segment. Creates the file if it has no entry, as Kafka expects it."""
        if not self.exists:
            self._create()
        self.close()

    def _create(self) -> OpenFile:
        file = self._file.create()
        self.exists = self.is_unsynced = True
        return file

    def close(self) -> None:
        self._file.close()


class OffsetIndex(_IndexFile):
    """Maps offsets to positions."""

    entry = _OFFSET_ENTRY
    offset_column = 0

    def _changed(self) -> None:
        relative, self.last_position = self.read(self.count - 1) if self.count else (0, 0)
        self.last_offset = self.base_offset + relative

    def is_sane(self, log_bytes: int) -> bool:
        """Whether the index fits a log of this size: whole entries, with the first and the last in order."""
        if self._odd_bytes:
            return False
        if self.count == 0:
            return True
        first_offset, first_position = self.read(0)
        ordered = self.count == 1 or (
            self.last_offset - self.base_offset >= first_offset + self.count - 1 and self.last_position > first_position
        )
        return ordered and first_offset >= 0 and first_position > 0 and self.last_position < log_bytes

    def append(self, offset: int, position: int) -> None:
        """Add the batch at ``position`` whose last offset is ``offset``. Raises OSError."""
        self._append(offset - self.base_offset, position)
        self.last_offset, self.last_position = offset, position

    def position_of(self, offset: int) -> int:
        """Return the start of a batch at or before the one that contains ``offset``. Raises OSError."""
        if self.count and offset >= self.last_offset:
            return self.last_position
        found = self._search(offset - self.base_offset, lambda entry: entry[0])
        return found[1] if found else 0

    def position_at_most(self, position: int) -> int:
        """Return the last indexed batch start at or before ``position``. Raises OSError."""
        if self.count and position >= self.last_position:
            return self.last_position
        found = self._search(position, lambda entry: entry[1])
        return found[1] if found else 0


class TimeIndex(_IndexFile):
    """Maps timestamps (ms) to offsets."""

    entry = _TIME_ENTRY
    offset_column = 1

    def _changed(self) -> None:
        self.last_timestamp, relative = self.read(self.count - 1) if self.count else (NO_TIMESTAMP, 0)
        self.last_offset = self.base_offset + relative

    def is_sane(self) -> bool:
        """Whether the file holds whole entries, with the first and the last in order."""
        if self._odd_bytes:
            return False
        if self.count == 0:
            return True
        first_timestamp, first_offset = self.read(0)
        ordered = self.count == 1 or (
            self.last_timestamp > first_timestamp and self.last_offset - self.base_offset > first_offset
        )
        return ordered and first_timestamp >= 0 and first_offset >= 0

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add the largest timestamp so far, unless the last entry has it already. Raises OSError."""
        if timestamp > self.last_timestamp:
            self._append(timestamp, offset - self.base_offset)
            self.last_timestamp, self.last_offset = timestamp, offset

    def offset_before(self, timestamp: int) -> int:
        """Return the largest offset known to lie at or before the first batch that reaches ``timestamp``.

        Raises OSError.
        """
        found = self._search(timestamp - 1, lambda entry: entry[0])
        return self.base_offset + found[1] if found else self.base_offset


def fits_index(offset: int, base_offset: int) -> bool:
    """Whether an index of this base offset can hold ``offset``: it stores the difference in 31 bits."""
    return 0 <= offset - base_offset < _RELATIVE_LIMIT
