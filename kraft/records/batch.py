"""The header of a record batch, magic 2, and what can be done to a batch without opening it.

A broker receives, checks, stamps, stores and serves whole batches; this module is all it needs for that. Nothing here
looks at a record. Offsets, leader epoch and length lie outside the checksum, so a leader stamps them in place.

Layout (big endian): base offset i64, length i32, leader epoch i32, magic i8, CRC-32C u32 | attributes i16, last offset
delta i32, base timestamp i64, max timestamp i64, producer id i64, producer epoch i16, base sequence i32, count i32,
records. The length counts what follows it; the checksum covers everything after itself.
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
"""Sequences count from 0 to 2^31 - 1 and start again at 0."""

CODEC_BITS = 0b111
LOG_APPEND_TIME_BIT = 1 << 3
TRANSACTIONAL_BIT = 1 << 4
CONTROL_BIT = 1 << 5
DELETE_HORIZON_BIT = 1 << 6

HEADER = struct.Struct(">qiibIhiqqqhii")
UNCHECKED = struct.Struct(">qiibI")
"""The fields up to the checksum itself, which it does not cover."""
CHECKED = struct.Struct(">hiqqqhii")
"""The fields that it covers: all from the attributes on."""
LOG_OVERHEAD = 12
"""Bytes of base offset and length, which the length does not count."""
MINIMUM_LENGTH = HEADER_SIZE - LOG_OVERHEAD
_MAGIC_POSITION = 16
_CRC_POSITION = 17
CHECKED_POSITION = 21
"""Where the attributes begin: what the checksum covers starts here."""
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
    """The bytes are not a sound record batch."""


class TruncatedBatch(CorruptBatch):
    """The buffer ends inside the batch: a torn tail of a log, or a fetch that was cut at its size."""


class OldMagic(CorruptBatch):
    """A message of magic 0 or 1, which no client of the last decade writes and this log does not hold."""


class TimestampType(IntEnum):
    """Who sets the timestamps of a batch (``message.timestamp.type``)."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """The fixed part of a batch, field by field as it lies on disk."""

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
        """Bytes of the whole batch."""
        return self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> Compression:
        """The codec of the records; CorruptBatch for a number that no codec has."""
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
        """When compaction may drop the tombstones of this batch (KIP-534), or None while that is not set."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, wrapped after 2^31 - 1; -1 when the batch has no sequences."""
        if self.base_sequence < 0:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & SEQUENCE_MASK


def parse_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Read the header at ``position``; the records behind it need not be in the buffer.

    Raises TruncatedBatch, OldMagic, or CorruptBatch for an unknown magic, a length that cannot hold a header, or a
    negative count or offset delta.
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
    """Raise for a magic byte other than 2. It lies at the same place in every format, so a short old message shows."""
    if len(buffer) <= position + _MAGIC_POSITION:
        return
    magic = buffer[position + _MAGIC_POSITION]
    if magic in (0, 1):
        raise OldMagic(f"message format {magic} is not supported")
    if magic != MAGIC:
        raise CorruptBatch(f"unknown magic {magic}")


def iter_headers(buffer: Buffer) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each batch that is whole in ``buffer``.

    Raises as ``parse_header``; a batch cut off at the end raises TruncatedBatch after all whole ones were yielded.
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
    """Prove the batch at ``position``: whole, checksum right, header in agreement with itself.

    Accepts what compaction leaves (fewer records than offsets, even none). Raises CorruptBatch.
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
    """CRC-32C of the batch of this ``length`` at ``position``."""
    return crc32c(memoryview(buffer)[position + CHECKED_POSITION : position + LOG_OVERHEAD + length])


def checksum(*parts: Buffer) -> int:
    """CRC-32C over ``parts`` as if they were one."""
    crc = 0
    for part in parts:
        crc = crc32c(part, crc)
    return crc


def stamp(buffer: WritableBuffer, position: int, base_offset: int, leader_epoch: int) -> None:
    """Write the fields that a leader decides. They are outside the checksum, which stays valid."""
    _INT64.pack_into(buffer, position, base_offset)
    _INT32.pack_into(buffer, position + LOG_OVERHEAD, leader_epoch)


def set_max_timestamp(
    buffer: WritableBuffer, position: int, header: BatchHeader, timestamp_type: TimestampType, max_timestamp: int
) -> BatchHeader:
    """Set timestamp type and max timestamp (ms) in place, with the new checksum; return the new header.

    With LOG_APPEND_TIME every record of the batch then has this timestamp (``message.timestamp.type``, KIP-32).
    """
    attributes = header.attributes & ~LOG_APPEND_TIME_BIT
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= LOG_APPEND_TIME_BIT
    _INT16.pack_into(buffer, position + CHECKED_POSITION, attributes)
    _INT64.pack_into(buffer, position + _MAX_TIMESTAMP_POSITION, max_timestamp)
    crc = _checksum(buffer, position, header.length)
    _UINT32.pack_into(buffer, position + _CRC_POSITION, crc)
    return header._replace(attributes=attributes, max_timestamp=max_timestamp, crc=crc)
