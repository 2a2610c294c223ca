"""The ``.snapshot`` file beside a segment: the producers of a partition as of an offset.

Kafka's layout (big endian): version i16 = 1, CRC-32C u32 of the rest, count i32, then one entry per producer. An entry
is: id i64, epoch i16, last sequence i32, last offset i64, offset delta i32, timestamp i64, coordinator epoch i32, first
offset of the open transaction i64 (-1 for none). An entry keeps only the producer's last batch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from kraft.broker.producer_state import BatchMetadata, ProducerEntry
from kraft.records.batch import checksum
from kraft.wire.decode_error import DecodeError

_VERSION = 1
_PREFIX = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")
_NO_BATCH = BatchMetadata(last_sequence=-1, last_offset=-1, offset_delta=0, timestamp_ms=-1)


class CorruptSnapshot(DecodeError):
    """The bytes are not a valid snapshot. The log can rebuild the state."""


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """Encode the producers as the content of a ``.snapshot`` file."""
    packed = [_encode_entry(entry) for entry in entries]
    body = _COUNT.pack(len(packed)) + b"".join(packed)
    return _PREFIX.pack(_VERSION, checksum(body)) + body


def _encode_entry(entry: ProducerEntry) -> bytes:
    last = entry.batches[-1] if entry.batches else _NO_BATCH
    first_offset = entry.transaction_first_offset
    return _ENTRY.pack(
        entry.producer_id,
        entry.epoch,
        last.last_sequence,
        last.last_offset,
        last.offset_delta,
        entry.last_timestamp_ms,
        entry.coordinator_epoch,
        -1 if first_offset is None else first_offset,
    )


def decode_snapshot(content: bytes) -> list[ProducerEntry]:
    """Return the producers in the file, in its order. Raises CorruptSnapshot if the bytes are damaged."""
    if len(content) < _PREFIX.size + _COUNT.size:
        raise CorruptSnapshot(f"{len(content)} bytes are too few for a snapshot")
    version, crc = _PREFIX.unpack_from(content)
    if version != _VERSION:
        raise CorruptSnapshot(f"version {version}, expected {_VERSION}")
    if crc != checksum(memoryview(content)[_PREFIX.size :]):
        raise CorruptSnapshot("the CRC-32C of the content does not match")
    (count,) = _COUNT.unpack_from(content, _PREFIX.size)
    start = _PREFIX.size + _COUNT.size
    if count < 0 or len(content) - start != count * _ENTRY.size:
        raise CorruptSnapshot(f"{count} entries do not fill {len(content) - start} bytes")
    return [_decode_entry(fields) for fields in _ENTRY.iter_unpack(memoryview(content)[start:])]


def _decode_entry(fields: tuple[int, ...]) -> ProducerEntry:
    producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp_ms, coordinator_epoch, first_offset = fields
    entry = ProducerEntry(
        producer_id,
        epoch=epoch,
        coordinator_epoch=coordinator_epoch,
        last_timestamp_ms=timestamp_ms,
        transaction_first_offset=None if first_offset < 0 else first_offset,
    )
    if last_offset >= 0:
        entry.batches.append(BatchMetadata(last_sequence, last_offset, offset_delta, timestamp_ms))
    return entry
