"""Encode records to the bytes of a batch, and decode them.

A record is: length, attributes (unused), timestamp delta, offset delta, key, value, headers. Every number is a zigzag
varint, and a length of -1 is null. The decoder checks each length against the remaining bytes. The records must match
the header: their count, ascending offsets, and no bytes left over. Anything else is CorruptBatch.

Varints of one byte are decoded inline: six of the seven fields of a record are varints, and most are short.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from kraft.records.batch import (
    CHECKED,
    CODEC_BITS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    LOG_APPEND_TIME_BIT,
    LOG_OVERHEAD,
    MAGIC,
    MINIMUM_LENGTH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    UNCHECKED,
    BatchHeader,
    CorruptBatch,
    TimestampType,
    TruncatedBatch,
    checksum,
)
from kraft.records.compression import Compression, compress, decompress
from kraft.wire.decode_error import DecodeError
from kraft.wire.varint import Buffer, read_varint, read_varlong, varint, varlong

Headers = tuple[tuple[str, bytes | None], ...]

_MIN_HEADER_SIZE = 2
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_ENCODED_AT_ONCE = 500


class Record(NamedTuple):
    """One record with its absolute offset and timestamp (ms since 1970; -1 for none).

    A header key is text. Bytes in it that are not UTF-8 are kept as surrogate escapes.
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


def encode_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    last_offset: int | None = None,
    compression: Compression = Compression.NONE,
    compression_level: int | None = None,
    leader_epoch: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    control: bool = False,
    transactional: bool = False,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    delete_horizon_ms: int | None = None,
    empty_max_timestamp: int = NO_TIMESTAMP,
) -> bytes:
    """Encode one batch. Offsets of the records must ascend from ``base_offset``; compaction may leave gaps.

    ``last_offset`` keeps the end of a batch whose last records compaction removed. A batch may be empty if it is given.
    The max timestamp is that of the records, or ``empty_max_timestamp`` without records.

    Raises ValueError for offsets out of order.
    """
    records = list(records)
    if last_offset is None:
        if not records:
            raise ValueError("an empty batch needs a last offset")
        last_offset = records[-1].offset
    if delete_horizon_ms is not None:
        base_timestamp = delete_horizon_ms
    else:
        base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    payload = _encode_records(records, base_offset, base_offset - 1, last_offset, base_timestamp)
    attributes = (
        compression
        | (LOG_APPEND_TIME_BIT if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
        | (TRANSACTIONAL_BIT if transactional else 0)
        | (CONTROL_BIT if control else 0)
        | (DELETE_HORIZON_BIT if delete_horizon_ms is not None else 0)
    )
    checked = CHECKED.pack(
        attributes,
        last_offset - base_offset,
        base_timestamp,
        max([record.timestamp for record in records], default=empty_max_timestamp),
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    return b"".join(_parts(base_offset, leader_epoch, checked, compress(compression, payload, compression_level)))


def encode_pairs(
    pairs: Iterable[tuple[bytes | None, bytes | None]],
    *,
    base_offset: int,
    leader_epoch: int,
    timestamp_ms: int,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    control: bool = False,
) -> Generator[int, None, bytes]:
    """Encode one batch of records that have a key and a value, share one timestamp, and have no headers.

    It is transactional if it has a producer, and has no sequence. ``pairs`` is iterated as the batch grows. Yield the
    records of each step.
    """
    payload = bytearray()
    count, rest = 0, iter(pairs)
    while part := list(islice(rest, _ENCODED_AT_ONCE)):
        parts: list[bytes] = []
        for delta, (key, value) in enumerate(part, count):
            fields = [b"\0\0", varint(delta)]  # no attributes, and no distance from the first timestamp
            _append_bytes(fields, key)
            _append_bytes(fields, value)
            fields.append(b"\0")
            body = b"".join(fields)
            parts += (varint(len(body)), body)
        payload += b"".join(parts)
        count += len(part)
        yield len(part)
    attributes = (CONTROL_BIT if control else 0) | (TRANSACTIONAL_BIT if producer_id != NO_PRODUCER_ID else 0)
    producer = producer_id, producer_epoch, NO_SEQUENCE
    checked = CHECKED.pack(attributes, count - 1, timestamp_ms, timestamp_ms, *producer, count)
    return b"".join(_parts(base_offset, leader_epoch, checked, payload))


def read_records(buffer: Buffer, position: int, header: BatchHeader, *, max_bytes: int) -> Iterator[Record]:
    """Yield the records of the batch at ``position``, decompressed to at most ``max_bytes``.

    Raises CorruptBatch, perhaps after some records. A caller that must not act on half a batch makes a list first.
    """
    return decode_records(bytes(batch_payload(buffer, position, header, max_bytes)), header)


def recompress(payload: Buffer, header: BatchHeader, compression: Compression, level: int | None = None) -> bytearray:
    """Return the batch of this header and these encoded records in another codec (the topic's ``compression.type``).

    It may be changed: the leader writes offsets into it.
    """
    base_offset, _, leader_epoch, _, _, attributes, *fields = header
    checked = CHECKED.pack(attributes & ~CODEC_BITS | compression, *fields)
    return bytearray().join(_parts(base_offset, leader_epoch, checked, compress(compression, payload, level)))


def _parts(base_offset: int, leader_epoch: int, checked: bytes, payload: Buffer) -> tuple[bytes, bytes, Buffer]:
    """Return the parts of one batch: its length and checksum, the checksummed fields, and the compressed records."""
    length, crc = MINIMUM_LENGTH + len(payload), checksum(checked, payload)
    return UNCHECKED.pack(base_offset, length, leader_epoch, MAGIC, crc), checked, payload


def batch_payload(buffer: Buffer, position: int, header: BatchHeader, max_bytes: int) -> Buffer:
    """Return the encoded records of a batch, decompressed to at most ``max_bytes``. Without a codec they are a view.

    Raises CorruptBatch.
    """
    size = header.length + LOG_OVERHEAD
    if size > len(buffer) - position:
        raise TruncatedBatch(f"{len(buffer) - position} bytes left of a batch of {size}")
    whole = memoryview(buffer)
    if not header.attributes & CODEC_BITS:
        return whole[position + HEADER_SIZE : position + size]
    with whole, whole[position + HEADER_SIZE : position + size] as body:
        try:
            return decompress(header.compression, body, max_bytes)
        except DecodeError as error:
            raise CorruptBatch(str(error)) from error


def _encode_records(
    records: list[Record], base_offset: int, previous: int, last_offset: int, base_timestamp: int
) -> bytes:
    parts: list[bytes] = []
    for offset, timestamp, key, value, headers in records:
        if not previous < offset <= last_offset:
            raise ValueError(f"offset {offset} is not between {previous} and the end of the batch, {last_offset}")
        previous = offset
        fields = [b"\0", varlong(timestamp - base_timestamp), varint(offset - base_offset)]
        _append_bytes(fields, key)
        _append_bytes(fields, value)
        fields.append(varint(len(headers)))
        for name, content in headers:
            _append_bytes(fields, name.encode("utf-8", "surrogateescape"))
            _append_bytes(fields, content)
        body = b"".join(fields)
        parts += (varint(len(body)), body)
    return b"".join(parts)


def _append_bytes(fields: list[bytes], value: bytes | None) -> None:
    if value is None:
        fields.append(b"\x01")
    else:
        fields += (varint(len(value)), value)


def decode_times(data: Buffer, header: BatchHeader) -> Iterator[tuple[int, int]]:
    """Yield offset and timestamp (ms) of each encoded record, without its other fields. Raises CorruptBatch."""
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    fixed_timestamp = header.max_timestamp if header.attributes & LOG_APPEND_TIME_BIT else None
    position = 0
    try:
        for _ in range(header.count):
            length, position = read_varint(data, position)
            end = position + length
            timestamp, position = read_varlong(data, position + 1)
            delta, position = read_varint(data, position)
            if not position <= end <= len(data):
                raise CorruptBatch(f"record of {length} bytes, {len(data) - position} are left")
            yield base_offset + delta, base_timestamp + timestamp if fixed_timestamp is None else fixed_timestamp
            position = end
    except CorruptBatch:
        raise
    except DecodeError as error:
        raise CorruptBatch(str(error)) from None


def decode_records(data: bytes, header: BatchHeader) -> Iterator[Record]:
    """Yield the records of a batch from their encoded bytes. Raises CorruptBatch, perhaps after some records."""
    base_offset, _, _, _, _, attributes, last_delta, base_timestamp, max_timestamp, _, _, _, count = header
    fixed_timestamp = max_timestamp if attributes & LOG_APPEND_TIME_BIT else None
    position, previous = 0, -1
    try:
        for _ in range(count):
            length, position = read_varint(data, position)
            end = position + length
            if length < 0 or end > len(data):
                raise CorruptBatch(f"record of {length} bytes, {len(data) - position} are left")
            position += 1  # attributes, which are unused
            byte = data[position]
            if byte < 0x80:
                timestamp = base_timestamp + ((byte >> 1) ^ -(byte & 1))
                position += 1
            else:
                delta, position = read_varlong(data, position)
                timestamp = base_timestamp + delta
            if not _INT64_MIN <= timestamp <= _INT64_MAX:
                raise CorruptBatch(f"timestamp {timestamp} out of range")
            byte = data[position]
            if byte < 0x80:
                delta = (byte >> 1) ^ -(byte & 1)
                position += 1
            else:
                delta, position = read_varint(data, position)
            if not previous < delta <= last_delta:
                raise CorruptBatch(f"offset delta {delta} does not lie between {previous} and {last_delta}")
            previous = delta
            if data[position] == 1:
                key = None
                position += 1
            else:
                key, position = _read_bytes(data, position, end)
            value, position = _read_bytes(data, position, end)
            headers: Headers = ()
            if data[position] == 0:
                position += 1
            else:
                headers, position = read_headers(data, position, end)
            if position != end:
                raise CorruptBatch("the fields of a record do not add up to its length")
            if fixed_timestamp is not None:
                timestamp = fixed_timestamp
            yield Record(base_offset + delta, timestamp, key, value, headers)
    except IndexError:
        raise CorruptBatch(f"the bytes end before record {header.count} does") from None
    except CorruptBatch:
        raise
    except DecodeError as error:
        raise CorruptBatch(str(error)) from None
    if position != len(data):
        raise CorruptBatch(f"{len(data) - position} bytes left over behind the last record")


def _read_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    byte = data[position]
    if byte < 0x80:
        length = (byte >> 1) ^ -(byte & 1)
        position += 1
    else:
        length, position = read_varint(data, position)
    if length == -1:
        return None, position
    stop = position + length
    if length < 0 or stop > end:
        raise CorruptBatch(f"field of {length} bytes, {end - position} are left in the record")
    return data[position:stop], stop


def read_headers(data: bytes, position: int, end: int) -> tuple[Headers, int]:
    """Return the headers at ``position``, and the position after them.

    Raises DecodeError, and IndexError if the bytes end first.
    """
    count, position = read_varint(data, position)
    if not 0 <= count <= (end - position) // _MIN_HEADER_SIZE:
        raise CorruptBatch(f"{count} headers in {end - position} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, position = _read_bytes(data, position, end)
        if name is None:
            raise CorruptBatch("null header key")
        value, position = _read_bytes(data, position, end)
        headers.append((name.decode("utf-8", "surrogateescape"), value))
    return tuple(headers), position
