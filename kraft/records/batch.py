"""The header of a record batch, magic 2, and all operations that do not decode its records.

A broker receives, checks, stamps, stores and serves whole batches with this module alone. Offsets, leader epoch and
length lie outside the checksum, so a leader stamps them in place.

Layout (big endian): base offset i64, length i32, leader epoch i32, magic i8, CRC-32C u32 | attributes i16, last offset
delta i32, base timestamp i64, max timestamp i64, producer id i64, producer epoch i16, base sequence i32, count i32,
records. The length counts the bytes after it; the checksum covers all bytes after itself.

Attributes: bits 0-2 codec, 3 timestamp type, 4 transactional, 5 control, 6 base timestamp is the delete horizon.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from crc32c import crc32c

from kraft.records.compression import Compression
from kraft.wire.decode_error import DecodeError
from kraft.wire.varint import Buffer

HEADER_SIZE = 61
MAGIC = 2
NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
MAX_OFFSET = 2**63 - 1
SEQUENCE_MASK = 0x7FFFFFFF
"""Sequences count from 0 to 2^31 - 1 and then wrap to 0."""

CODEC_BITS = 0b111
LOG_APPEND_TIME_BIT = 1 << 3
TRANSACTIONAL_BIT = 1 << 4
CONTROL_BIT = 1 << 5
DELETE_HORIZON_BIT = 1 << 6

HEADER = struct.Struct(">qiibIhiqqqhii")
UNCHECKED = struct.Struct(">qiibI")
"""The fields up to and including the checksum. The checksum does not cover them."""
CHECKED = struct.Struct(">hiqqqhii")
"""The fields from the attributes on. The checksum covers them."""
LOG_OVERHEAD = 12
"""Bytes of base offset and length, which the length field does not count."""
MINIMUM_LENGTH = HEADER_SIZE - LOG_OVERHEAD
_MAGIC_POSITION = 16
_CRC_POSITION = 17
CHECKED_POSITION = 21
"""Position of the attributes, where the checksum's range begins."""
_MAX_TIMESTAMP_POSITION = 35
_INT32 = struct.Struct(">i")
_UINT32 = struct.Struct(">I")
_INT16 = struct.Struct(">h")
_INT64 = struct.Struct(">q")
_CODECS = tuple(Compression)
_unpack_header = HEADER.unpack_from
_new_tuple = tuple.__new__

WritableBuffer = bytearray | memoryview


class CorruptBatch(DecodeError):
    """The bytes are not a valid record batch."""


class TruncatedBatch(CorruptBatch):
    """The buffer ends inside the batch: a torn tail of a log, or a Fetch response that was cut at its maximum size."""


class OldMagic(CorruptBatch):
    """A message of magic 0 or 1. Clients of the last decade do not write it, and this log does not store it."""


class TimestampType(IntEnum):
    """The source of a batch's timestamps (``message.timestamp.type``)."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """The fixed part of a batch, with its fields in the order of the layout."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which no one needs here

    @property
    def size(self) -> int:
        """Size of the whole batch in bytes."""
        return self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> Compression:
        """The codec of the records. Raises CorruptBatch for an unknown codec number."""
        try:
            return _CODECS[self.attributes & CODEC_BITS]
        except IndexError:
            raise CorruptBatch(f"unknown compression codec {self.attributes & CODEC_BITS}") from None

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_BIT else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which compaction may drop the batch's tombstones (KIP-534), in ms; None if it is not set."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, wrapped after 2^31 - 1; -1 if the batch has no sequences."""
        if self.base_sequence < 0:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & SEQUENCE_MASK


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Return the header at ``position``. The buffer need not contain the records.

    Raises:
        TruncatedBatch: the buffer ends inside the header.
        OldMagic: the batch has magic 0 or 1.
        CorruptBatch: unknown magic, a length that cannot hold a header, or a negative count or offset delta.
    """
    try:
        header = _new_tuple(BatchHeader, _unpack_header(buffer, position))
    except struct.error:
        _refuse_magic(buffer, position)
        raise TruncatedBatch(f"{len(buffer) - position} bytes left, a batch header needs {HEADER_SIZE}") from None
    if header[3] != MAGIC:
        _refuse_magic(buffer, position)
    if header[1] < MINIMUM_LENGTH:
        raise CorruptBatch(f"batch length {header[1]} is below the minimum of {MINIMUM_LENGTH}")
    if header[6] < 0 or header[12] < 0:
        raise CorruptBatch(f"negative record count {header[12]} or last offset delta {header[6]}")
    return header


def _refuse_magic(buffer: Buffer, position: int) -> None:
    """Raise for a magic byte other than 2. Every format has it at the same position, so a short old message is
    recognised.
    """
    if len(buffer) <= position + _MAGIC_POSITION:
        return
    magic = buffer[position + _MAGIC_POSITION]
    if magic in (0, 1):
        raise OldMagic(f"message format {magic} is not supported")
    if magic != MAGIC:
        raise CorruptBatch(f"unknown magic {magic}")


def whole_batches(data: Buffer, max_bytes: int | None = None) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each batch in ``data``. A truncated last batch is skipped.

    Raises CorruptBatch for an invalid header, or for a batch of more than ``max_bytes``.
    """
    position, end = 0, len(data)
    while end - position >= HEADER_SIZE:
        header = parse_header(data, position)
        if max_bytes is not None and header.size > max_bytes:
            raise CorruptBatch(f"a batch of {header.size} bytes; the maximum is {max_bytes}")
        if header.size > end - position:
            return
        yield position, header
        position += header.size


def iter_headers(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each complete batch in ``buffer``.

    Raises as ``parse_header``. After the complete batches, an incomplete one raises TruncatedBatch.
    """
    position, end = 0, len(buffer)
    while position < end:
        header = parse_header(buffer, position)
        size = header.length + LOG_OVERHEAD
        if size > end - position:
            raise TruncatedBatch(f"{end - position} bytes left of a batch of {size}")
        yield position, header
        position += size


def check_batch(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Check that the batch at ``position`` is complete, and that its checksum and its header fields are consistent.

    Compacted batches pass: they have fewer records than offsets, perhaps none. Raises CorruptBatch.
    """
    base_offset, length, _, _, crc, attributes, last_offset_delta, _, _, _, _, _, count = header
    if length + LOG_OVERHEAD > len(buffer) - position:
        raise TruncatedBatch(f"{len(buffer) - position} bytes left of a batch of {header.size}")
    found = _checksum(buffer, position, length)
    if found != crc:
        raise CorruptBatch(f"checksum {crc:#010x} of the batch is not that of its bytes, {found:#010x}")
    if not 0 <= base_offset <= MAX_OFFSET - last_offset_delta - 1:
        raise CorruptBatch(f"offsets out of range: base {base_offset}, delta {last_offset_delta}")
    if count > last_offset_delta + 1:
        raise CorruptBatch(f"{count} records cannot lie in {last_offset_delta + 1} offsets")
    if attributes & CODEC_BITS >= len(_CODECS):
        raise CorruptBatch(f"unknown compression codec {attributes & CODEC_BITS}")


def _checksum(buffer: Buffer, position: int, length: int) -> int:
    """Return the CRC-32C of the batch of this ``length`` at ``position``."""
    return crc32c(memoryview(buffer)[position + CHECKED_POSITION : position + LOG_OVERHEAD + length])


def checksum(*parts: Buffer) -> int:
    """Return the CRC-32C of the concatenated ``parts``."""
    crc = 0
    for part in parts:
        crc = crc32c(part, crc)
    return crc


def stamp(buffer: WritableBuffer, position: int, base_offset: int, leader_epoch: int) -> None:
    """Write the fields that a leader assigns. They lie outside the checksum, which stays valid."""
    _INT64.pack_into(buffer, position, base_offset)
    _INT32.pack_into(buffer, position + LOG_OVERHEAD, leader_epoch)


def set_max_timestamp(
    buffer: WritableBuffer, position: int, header: BatchHeader, timestamp_type: TimestampType, max_timestamp: int
) -> BatchHeader:
    """Set timestamp type and max timestamp (ms) in place, update the checksum, and return the new header.

    With LOG_APPEND_TIME the timestamp applies to every record of the batch (``message.timestamp.type``, KIP-32).
    """
    attributes = header.attributes & ~LOG_APPEND_TIME_BIT
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= LOG_APPEND_TIME_BIT
    _INT16.pack_into(buffer, position + CHECKED_POSITION, attributes)
    _INT64.pack_into(buffer, position + _MAX_TIMESTAMP_POSITION, max_timestamp)
    crc = _checksum(buffer, position, header.length)
    _UINT32.pack_into(buffer, position + _CRC_POSITION, crc)
    return header._replace(attributes=attributes, max_timestamp=max_timestamp, crc=crc)
