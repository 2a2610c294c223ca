"""Scan the batches of segments and snapshots for the data sources, past any damage.

A scan reads a file up to the size that it has when it is opened, or to its end if a follower truncates it meanwhile. So
it can read the log of a running broker. It yields ``SoundBatches``, and ``DamagedBytes`` for every stretch of bytes
between them. Behind a damage it continues at the end of the damaged batch if a sound batch begins there, else at the
next sound batch of the file.

An incomplete batch at the end of the newest segment of a log is no damage: a broker is writing it, or a crash has cut
it. The scan marks it as torn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

import attrs

from kraft.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch, TruncatedBatch, check_batch, parse_header
from kraft.spark.options import Option, one_of
from kraft.storage.creation import open_for_reading
from kraft.storage.scan import find_sound_batch, has_wrong_length, walk
from kraft.storage.snapshot import CHECKPOINT_SUFFIX

CHUNK_BYTES = 8 * 2**20
"""Bytes of a group of batches, unless one batch alone is larger."""
MAX_BATCH_BYTES = 100 * 2**20
"""The largest batch that is read, in bytes, compressed or not. Apache's ``message.max.bytes`` is at most 100 MiB in
practice: ``socket.request.max.bytes`` limits it."""
MAX_QUARANTINED_BYTES = 2**20
"""The most damaged bytes that one row shows. Its error gives the position of all of them."""
FAIL_FAST, QUARANTINE = "failFast", "quarantine"
MODE: Option[str] = Option(
    "mode",
    one_of(FAIL_FAST, QUARANTINE),
    "Whether damaged input and unknown records fail the query, or become rows with `bytes` and `error`.",
    FAIL_FAST,
)
_SEGMENT = re.compile(r"([0-9]{20})\.log")


class CorruptInput(Exception):
    """Input is damaged, and the mode is failFast. The text names the place."""


@attrs.frozen(eq=False)
class SoundBatches:
    """Consecutive sound batches. ``position`` is the place of ``data`` in the file, in bytes; ``batches`` has the
    position in ``data`` and the header of each.
    """

    position: int
    data: bytes
    batches: Sequence[tuple[int, BatchHeader]]


@attrs.frozen
class DamagedBytes:
    """Bytes of a file that are no sound batch.

    ``offset`` is the first offset that they may have. ``data`` has at most MAX_QUARANTINED_BYTES of them. ``is_torn``
    marks an incomplete batch that a broker may be writing.
    """

    path: str
    position: int
    size: int
    offset: int
    reason: str
    data: bytes
    is_torn: bool = False

    @classmethod
    def of(cls, path: str, position: int, size: int, offset: int, reason: str, data: bytes) -> DamagedBytes:
        """Return the damage of a complete batch with these bytes."""
        return cls(path, position, size, offset, reason, data[:MAX_QUARANTINED_BYTES])

    def __str__(self) -> str:
        what = "incomplete batch, still being written or cut by a crash" if self.is_torn else "damaged"
        shown = "" if len(self.data) == self.size else f"; the row has the first {len(self.data)} bytes"
        return f"{self.path}: {what} at position {self.position} ({self.size} bytes): {self.reason}{shown}"


def base_offset(path: str) -> int:
    """Return the offset in the name of a segment, or 0 if its name has none."""
    found = _SEGMENT.fullmatch(os.path.basename(path))
    return int(found[1]) if found else 0


def segments(directory: str) -> list[str]:
    """Return the paths of the segments in a partition's directory, oldest first. Raises OSError."""
    return [os.path.join(directory, name) for name in sorted(filter(_SEGMENT.fullmatch, os.listdir(directory)))]


def is_newest(path: str) -> bool:
    """Whether a broker may be writing to this file: it is the newest segment of its directory. Raises OSError."""
    return not path.endswith(CHECKPOINT_SUFFIX) and path == max(segments(os.path.dirname(path)), default=path)


def scan(path: str, *, is_active: bool, chunk_bytes: int = CHUNK_BYTES) -> Iterator[SoundBatches | DamagedBytes]:
    """Yield the batches of a file in groups, and the damage between them. ``is_active``: a broker may be writing to it.

    Raises OSError.
    """
    fd = open_for_reading(path)
    try:
        yield from _Scan(path, fd, os.fstat(fd).st_size, is_active, chunk_bytes).run()
    finally:
        os.close(fd)


class _Scan:
    def __init__(self, path: str, fd: int, size: int, is_active: bool, chunk_bytes: int) -> None:
        self._path = path
        self._fd = fd
        self._size = size
        self._is_active = is_active
        self._chunk_bytes = max(chunk_bytes, HEADER_SIZE)
        self._offset = base_offset(path)

    def run(self) -> Iterator[SoundBatches | DamagedBytes]:
        position = 0
        while position < self._size:
            data = self._read(self._chunk_bytes, position)
            batches, end, reason = self._batches(data, position)
            if data and not batches and reason is None:
                # The first batch is larger than a chunk.
                size = parse_header(data).size
                data = self._read(size, position)
                batches, end, reason = self._batches(data, position)
            if batches:
                yield SoundBatches(position, data, batches)
                self._offset = batches[-1][1].next_offset
            position += end
            if reason is not None:
                damage = self._damage(position, reason)
                yield damage
                position += damage.size

    def _read(self, size: int, position: int) -> bytes:
        """Read ``size`` bytes, or to the end of the file, which may have come nearer."""
        data = os.pread(self._fd, min(size, self._size - position), position)
        if len(data) < size:
            self._size = position + len(data)
        return data

    def _batches(self, data: bytes, position: int) -> tuple[list[tuple[int, BatchHeader]], int, CorruptBatch | None]:
        """Return the sound batches at the start of ``data``, their end, and what is wrong there if it is not the end of
        the data.
        """
        batches: list[tuple[int, BatchHeader]] = []
        at, left = 0, self._size - position
        try:
            while at < len(data) and (len(data) - at >= HEADER_SIZE or left == len(data)):
                header = parse_header(data, at)
                if header.size > left - at:
                    raise TruncatedBatch(f"{left - at} bytes left of a batch of {header.size}")
                if header.size > MAX_BATCH_BYTES:
                    raise CorruptBatch(f"a batch of {header.size} bytes; no more than {MAX_BATCH_BYTES} are read")
                if header.size > len(data) - at:
                    break
                check_batch(data, at, header)
                batches.append((at, header))
                at += header.size
        except CorruptBatch as damage:
            return batches, at, damage
        return batches, at, None

    def _damage(self, position: int, reason: CorruptBatch) -> DamagedBytes:
        end = self._resume(position)
        data = os.pread(self._fd, min(end - position, MAX_QUARANTINED_BYTES), position)
        is_torn = self._is_active and end == self._size and self._may_be_torn(position, reason)
        return DamagedBytes(self._path, position, end - position, self._offset, str(reason), data, is_torn)

    def _resume(self, position: int) -> int:
        """Return where the next sound batch begins, or the end of the file."""
        try:
            follows = position + parse_header(os.pread(self._fd, HEADER_SIZE, position)).size
        except CorruptBatch:
            follows = self._size
        if follows < self._size and self._is_sound(follows):
            return follows
        sound = find_sound_batch(self._fd, position + 1, self._size, self._offset)
        return self._size if sound is None else sound

    def _is_sound(self, position: int) -> bool:
        try:
            next(walk(self._fd, position, self._size, verify=True))
        except CorruptBatch:
            return False
        return True

    def _may_be_torn(self, position: int, reason: CorruptBatch) -> bool:
        """Whether the last write may have left these bytes: part of a batch, or zeros allocated in advance."""
        if isinstance(reason, TruncatedBatch):
            return not has_wrong_length(self._fd, position, self._size)
        while position < self._size:
            piece = os.pread(self._fd, self._chunk_bytes, position)
            if not piece or piece.strip(b"\0"):
                return False
            position += len(piece)
        return True
