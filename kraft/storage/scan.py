"""Walk the batches of a log file, and distinguish a torn tail from other damage.

A crash leaves a torn tail: the last batch is incomplete, or garbage runs to the end of the file. No undamaged batch
follows it. If one does, the damage is in the middle of the log, and a cut there would silently lose records.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from crc32c import crc32c

from kraft.records.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    CorruptBatch,
    TruncatedBatch,
    check_batch,
    parse_header,
)

_HEADER_CHUNK = 16 * 1024
_DATA_CHUNK = 2**20
_SEARCH_CHUNK = 4 * 2**20
_CHECKED_POSITION = 21
_MAGIC_POSITION = 16
_PLAUSIBLE_OFFSETS = 2**31
"""No segment spans more offsets than its index can name."""


def walk(fd: int, position: int, end: int, *, verify: bool) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each batch from ``position`` on. With ``verify``, check its checksum first.

    Without ``verify`` only headers are read. Raises CorruptBatch at the first damaged batch, after it yielded the ones
    before it, and OSError.
    """
    chunk, start = b"", position
    wanted = _DATA_CHUNK if verify else _HEADER_CHUNK
    while position < end:
        at = position - start
        if at + HEADER_SIZE > len(chunk):
            chunk, start, at = os.pread(fd, min(wanted, end - position), position), position, 0
        header = parse_header(chunk, at)
        size = header.size
        if size > end - position:
            raise TruncatedBatch(f"{end - position} bytes left of a batch of {size}")
        if verify and size <= _DATA_CHUNK:
            if at + size > len(chunk):
                chunk, start, at = os.pread(fd, min(wanted, end - position), position), position, 0
            check_batch(chunk, at, header)
        elif verify:
            _check_large_batch(fd, position, header)
        yield position, header
        position += size


def _check_large_batch(fd: int, position: int, header: BatchHeader) -> None:
    """Check a checksum piece by piece, because a damaged length may span the whole file."""
    end = position + header.size
    position += _CHECKED_POSITION
    crc = 0
    while position < end:
        piece = os.pread(fd, min(_DATA_CHUNK, end - position), position)
        if not piece:
            raise TruncatedBatch(f"the file ends inside a batch of {header.size} bytes")
        crc = crc32c(piece, crc)
        position += len(piece)
    if crc != header.crc:
        raise CorruptBatch(f"checksum {header.crc:#010x} of the batch is not that of its bytes, {crc:#010x}")


def read_batch(fd: int, position: int, header: BatchHeader) -> bytes:
    """Return the bytes of one batch. Raises TruncatedBatch, OSError."""
    data = os.pread(fd, header.size, position)
    if len(data) < header.size:
        raise TruncatedBatch(f"{len(data)} bytes left of a batch of {header.size}")
    return data


def find_sound_batch(fd: int, position: int, end: int, offset: int) -> int | None:
    """Return the position of the first undamaged batch at or beyond ``position`` that may follow ``offset``, or None.

    It tries every byte, because the length that would lead there may be damaged. Raises OSError.
    """
    overlap = HEADER_SIZE - 1
    while position < end:
        chunk = os.pread(fd, min(_SEARCH_CHUNK, end - position), position)
        magic = chunk.find(b"\x02", _MAGIC_POSITION)
        while magic >= 0:
            candidate = magic - _MAGIC_POSITION
            base_offset = int.from_bytes(chunk[candidate : candidate + 8], "big")
            if offset <= base_offset < offset + _PLAUSIBLE_OFFSETS and _is_sound(fd, position + candidate, end):
                return position + candidate
            magic = chunk.find(b"\x02", magic + 1)
        if position + len(chunk) >= end or len(chunk) <= overlap:
            return None
        position += len(chunk) - overlap
    return None


def has_wrong_length(fd: int, position: int, end: int) -> bool:
    """Whether the checksum proves a batch from ``position`` to ``end`` whose length field gives another end.

    Raises OSError.
    """
    try:
        header = parse_header(os.pread(fd, HEADER_SIZE, position))
        _check_large_batch(fd, position, header._replace(length=end - position - LOG_OVERHEAD))
    except CorruptBatch:
        return False
    return True


def _is_sound(fd: int, position: int, end: int) -> bool:
    try:
        next(walk(fd, position, end, verify=True))
    except CorruptBatch:
        return False
    return True
