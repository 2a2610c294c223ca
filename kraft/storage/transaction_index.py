"""The aborted transactions of a segment, in its ``.txnindex`` file, byte for byte Kafka's.

An entry is version i16, producer id, first offset, last offset and last stable offset, each i64. It belongs to the
segment that holds the abort marker, so last offsets rise strictly. Most segments have no entry and no file.

A Fetch with read_committed names the transactions whose records the consumer must skip (KIP-98). The last stable offset
bounds the search: an aborted transaction that begins below it has its entry here or before.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kraft.storage.atomic import write_all
from kraft.storage.open_files import LazyFile, OpenFile

ENTRY = struct.Struct(">hqqqq")
_WITHOUT_VERSION = struct.Struct(">2xqqqq")
_VERSION = 0
_ENTRIES_AT_ONCE = 1024


class AbortedTransaction(NamedTuple):
    """``last_offset`` is that of the marker. ``last_stable_offset`` is the partition's after this marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def overlapping(entries: Iterable[AbortedTransaction], end: int) -> Iterator[AbortedTransaction]:
    """Yield the transactions with records below ``end``. ``entries`` are a partition's in the order of their markers,
    from the first one of interest on: no more are read than needed.
    """
    for aborted in entries:
        if aborted.first_offset < end:
            yield aborted
        if aborted.last_stable_offset >= end:
            return


class TransactionIndex:
    """The entries of one segment. Looks at the file when it is first used. Every method may raise OSError."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_unsynced = False
        self._file = LazyFile(path)
        self._count: int | None = None
        self._last_offset = -1

    def __len__(self) -> int:
        self.load()
        return self._count or 0

    def load(self) -> None:
        """Look at the file, unless that was done before, and cut half an entry off its end."""
        if self._count is not None:
            return
        try:
            size = os.stat(self.path).st_size
        except FileNotFoundError:
            self._count = 0
            return
        self._count, torn_bytes = divmod(size, ENTRY.size)
        if torn_bytes:
            os.ftruncate(self._file.use().fileno(), self._count * ENTRY.size)
        self._last_offset = self._read(self._file.use(), self._count - 1).last_offset if self._count else -1

    def record(self, transaction: AbortedTransaction) -> None:
        """Add a transaction, unless the index knows it already: recovery replays markers a second time."""
        count = len(self)
        if transaction.last_offset <= self._last_offset:
            return
        file = self._file.use() if os.path.exists(self.path) else self._file.create()
        try:
            write_all(file.fileno(), ENTRY.pack(_VERSION, *transaction))
        except OSError:
            os.ftruncate(file.fileno(), count * ENTRY.size)  # half an entry would misalign all later ones
            raise
        self._count, self._last_offset, self.is_unsynced = count + 1, transaction.last_offset, True

    def truncate(self, offset: int) -> None:
        """Drop the transactions whose markers lie at or beyond ``offset``."""
        if not len(self) or self._last_offset < offset:
            return
        file = self._file.use()
        count = self._first_from(file, offset)
        os.ftruncate(file.fileno(), count * ENTRY.size)
        self._count = count
        self._last_offset = self._read(file, count - 1).last_offset if count else -1
        self.is_unsynced = True

    def clear(self) -> None:
        """Drop all entries, as ``TransactionIndex.reset``."""
        if len(self):
            os.ftruncate(self._file.use().fileno(), 0)
            self._count, self._last_offset, self.is_unsynced = 0, -1, True

    def from_offset(self, offset: int) -> Iterator[AbortedTransaction]:
        """Yield the transactions whose markers lie at or beyond ``offset``, in the order of their markers."""
        if not len(self) or self._last_offset < offset:
            return
        file = self._file.use()
        for first in range(self._first_from(file, offset), len(self), _ENTRIES_AT_ONCE):
            yield from self._read_several(file, first, min(_ENTRIES_AT_ONCE, len(self) - first))

    def _first_from(self, file: OpenFile, offset: int) -> int:
        return bisect_left(range(len(self)), offset, key=lambda each: self._read(file, each).last_offset)

    def _read(self, file: OpenFile, number: int) -> AbortedTransaction:
        return next(self._read_several(file, number, 1))

    def _read_several(self, file: OpenFile, first: int, count: int) -> Iterator[AbortedTransaction]:
        data = os.pread(file.fileno(), count * ENTRY.size, first * ENTRY.size)
        if len(data) < count * ENTRY.size:
            raise OSError(f"{self.path}: shorter than the {self._count} entries it had")
        return map(AbortedTransaction._make, _WITHOUT_VERSION.iter_unpack(data))

    def close(self) -> None:
        self._file.close()
