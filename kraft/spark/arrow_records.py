"""Record batches to Arrow columns, without a Python call per field.

Python walks the lengths of the records only. Numpy then finds the other fields of all records at once: each field
begins where the one before it ends, so a column of positions moves from field to field. Keys and values become Arrow
arrays over the payload itself: its 2N + 1 pieces (a gap, a value, a gap, …) are one array, of which the odd ones are
taken.

``kraft.records.record.read_records`` is the specification. Where the columns contradict the format, that decoder reads
the same batch again and raises its error, so both refuse the same batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa

from kraft.records.batch import LOG_APPEND_TIME_BIT, BatchHeader, CorruptBatch, check_batch
from kraft.records.record import batch_payload, read_headers, read_records
from kraft.wire.decode_error import DecodeError
from kraft.wire.varint import Buffer, read_varint

GROUP_BYTES = 32 * 2**20
"""Decompressed bytes from which no further batch joins a group. A group has these, and one batch more."""
RECORD_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
)
"""The columns of Spark's Kafka connector, which all sources of records begin with."""
HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))

_PAD = 16
"""Zero bytes behind the payload, so that a varint that runs over its end stays inside the array."""
_LONG_BYTES, _INT_BYTES = 10, 5

Batches = Sequence[tuple[int, BatchHeader]]
"""Position and header of each batch in a buffer."""


@attrs.frozen(eq=False)
class Columns:
    """The records of some consecutive batches, by column. ``offset`` and ``timestamp_ms`` are numpy arrays."""

    batches: Batches
    counts: np.ndarray
    """Number of records in each batch."""
    offset: np.ndarray
    timestamp_ms: np.ndarray
    key: pa.BinaryArray
    value: pa.BinaryArray
    headers: pa.ListArray | None
    """None unless they were asked for. Bytes in a header's key that are not UTF-8 become U+FFFD, as in Java."""

    def of_batches(self, values: Sequence[int], dtype: str) -> np.ndarray:
        """Return a column from one value for each batch."""
        return np.repeat(np.array(values, dtype), self.counts)

    def between(self, start: int, end: int) -> Columns:
        """Return the records with offsets from ``start`` to below ``end``; the batches of one partition ascend."""
        first, last = (int(at) for at in np.searchsorted(self.offset, [start, end]))
        if (first, last) == (0, len(self.offset)):
            return self
        ends = np.clip(np.cumsum(self.counts), first, last)
        part = slice(first, last)
        return attrs.evolve(
            self,
            counts=np.diff(ends, prepend=first),
            offset=self.offset[part],
            timestamp_ms=self.timestamp_ms[part],
            key=self.key[part],
            value=self.value[part],
            headers=None if self.headers is None else self.headers[part],
        )


def decode(buffer: Buffer, batches: Batches, *, max_bytes: int, with_headers: bool = False) -> Iterator[Columns]:
    """Yield the records of complete batches in groups. A batch decompresses to at most ``max_bytes``.

    The batches are checked, also against their checksums. The caller leaves out control batches, or means to see
    their records.

    Raises CorruptBatch with the batch's offset. Earlier groups were yielded; the group of the damage is not.
    """
    group: list[tuple[int, BatchHeader]] = []
    payloads: list[Buffer] = []
    size = 0
    for position, header in batches:
        try:
            check_batch(buffer, position, header)
            payload = batch_payload(buffer, position, header, max_bytes)
        except DecodeError as error:
            raise _at(header, error) from None
        group.append((position, header))
        payloads.append(payload)
        size += len(payload)
        if size >= GROUP_BYTES:
            yield _columns(buffer, group, payloads, max_bytes, with_headers)
            group, payloads, size = [], [], 0
    if group:
        yield _columns(buffer, group, payloads, max_bytes, with_headers)


class _Inconsistent(Exception):
    """The fields of the records contradict each other or their batch."""


def _columns(
    buffer: Buffer, batches: Batches, payloads: Sequence[Buffer], max_bytes: int, with_headers: bool
) -> Columns:
    try:
        return _Group(batches, payloads).columns(with_headers)
    except (_Inconsistent, DecodeError, IndexError):
        for position, header in batches:
            try:
                for _ in read_records(buffer, position, header, max_bytes=max_bytes):
                    pass
            except DecodeError as error:
                raise _at(header, error) from None
        raise AssertionError("the columns contradict the format, and its decoder accepts every record") from None


def _at(header: BatchHeader, error: DecodeError) -> CorruptBatch:
    return CorruptBatch(f"batch at offset {header.base_offset}: {error}")


class _Group:
    """Decodes the joined payloads of some batches."""

    def __init__(self, batches: Batches, payloads: Sequence[Buffer]) -> None:
        self._batches = batches
        self._data = b"".join((*payloads, bytes(_PAD)))
        self._bytes = np.frombuffer(self._data, np.uint8)
        self._counts = np.array([header.count for _, header in batches], np.int64)
        self._starts, self._ends = self._records([len(payload) for payload in payloads])

    def columns(self, with_headers: bool) -> Columns:
        position = self._starts + 1  # attributes, which are unused
        timestamp_delta, position = self._varints(position, _LONG_BYTES)
        offset_delta, position = self._varints(position, _INT_BYTES)
        key, position = self._binary(position)
        value, position = self._binary(position)
        offset = self._offsets(offset_delta)
        timestamp_ms = self._timestamps(timestamp_delta)
        headers = self._headers(position, with_headers)
        return Columns(self._batches, self._counts, offset, timestamp_ms, key, value, headers)

    def _per_batch(self, values: Sequence[int]) -> np.ndarray:
        return np.repeat(np.array(values, np.int64), self._counts)

    def _records(self, sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return where the fields of each record begin and end, in the joined payloads.

        Each record ends where the next one begins, and the last one of a batch at the end of its payload.
        """
        begins, stops = self._walk(sizes)
        length, starts = self._varints(np.array(begins, np.int64), _INT_BYTES)
        ends = starts + length
        if (length < 0).any() or (ends != np.array(stops, np.int64)).any():
            raise _Inconsistent
        return starts, ends

    def _walk(self, sizes: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return where each record's length begins, and where the next one's does.

        This loop decides the speed of decoding, so it reads lengths of one and two bytes itself, and neither their
        sign nor the end of the payload: the caller checks both for all records at once.
        """
        data = self._data
        begins: list[int] = []
        stops: list[int] = []
        position = 0
        for (_, header), size in zip(self._batches, sizes, strict=True):
            stop = position + size
            first = len(begins)
            append = begins.append
            for _ in range(header.count):
                append(position)
                low = data[position]
                if low < 0x80:
                    position += 1 + (low >> 1)
                elif (high := data[position + 1]) < 0x80:
                    position += 2 + ((high << 7 | low & 0x7F) >> 1)
                else:
                    length, position = read_varint(data, position)
                    position += abs(length)
            if position != stop:
                raise _Inconsistent
            stops += begins[first + 1 :]
            if header.count:
                stops.append(stop)
        return begins, stops

    def _varints(self, position: np.ndarray, max_bytes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the zigzag varints at these positions, and the positions behind them."""
        byte = self._bytes[position]
        position = position + 1
        value = (byte & 0x7F).astype(np.uint64)
        more = np.flatnonzero(byte & 0x80)
        shift = 0
        while len(more):
            shift += 7
            if shift == 7 * max_bytes:
                raise _Inconsistent
            byte = self._bytes[position[more]]
            position[more] += 1
            low = (byte & 0x7F).astype(np.uint64)
            if (
                shift == 7 * (max_bytes - 1)
                and (low >> np.uint64(64 % 7 if max_bytes == _LONG_BYTES else 32 % 7)).any()
            ):
                raise _Inconsistent
            value[more] |= low << np.uint64(shift)
            more = more[byte & 0x80 != 0]
        return (value >> np.uint64(1)).astype(np.int64) ^ -(value & np.uint64(1)).astype(np.int64), position

    def _binary(self, position: np.ndarray) -> tuple[pa.BinaryArray, np.ndarray]:
        """Return the byte strings at these positions, and the positions behind them."""
        length, position = self._varints(self._inside(position), _INT_BYTES)
        is_null = length == -1
        size = np.where(is_null, 0, length)
        stop = position + size
        if (size < 0).any() or (stop > self._ends).any():
            raise _Inconsistent
        pieces = np.empty(2 * len(length) + 1, np.int32)
        pieces[0] = 0
        pieces[1::2] = position
        pieces[2::2] = stop
        whole = pa.BinaryArray.from_buffers(
            pa.binary(), 2 * len(length), [None, pa.py_buffer(pieces), pa.py_buffer(self._data)]
        )
        wanted = pa.array(np.arange(1, 2 * len(length), 2), mask=is_null if is_null.any() else None)
        return whole.take(wanted), stop

    def _inside(self, position: np.ndarray) -> np.ndarray:
        """Return the positions, if a field can begin there."""
        if (position >= self._ends).any():
            raise _Inconsistent
        return position

    def _offsets(self, delta: np.ndarray) -> np.ndarray:
        last_delta = self._per_batch([header.last_offset_delta for _, header in self._batches])
        if (delta < 0).any() or (delta > last_delta).any():
            raise _Inconsistent
        ascends = delta[1:] > delta[:-1]
        first_of_batch = np.cumsum(self._counts)[:-1]
        ascends[first_of_batch[(first_of_batch > 0) & (first_of_batch < len(delta))] - 1] = True
        if not ascends.all():
            raise _Inconsistent
        return self._per_batch([header.base_offset for _, header in self._batches]) + delta

    def _timestamps(self, delta: np.ndarray) -> np.ndarray:
        base = self._per_batch([header.base_timestamp for _, header in self._batches])
        timestamp = base + delta
        if (((base ^ timestamp) & (delta ^ timestamp)) < 0).any():  # the sum needs more than 64 bits
            raise _Inconsistent
        append_time = [bool(header.attributes & LOG_APPEND_TIME_BIT) for _, header in self._batches]
        if any(append_time):
            maximum = self._per_batch([header.max_timestamp for _, header in self._batches])
            timestamp = np.where(np.repeat(append_time, self._counts), maximum, timestamp)
        return timestamp

    def _headers(self, position: np.ndarray, wanted: bool) -> pa.ListArray | None:
        """Read the headers, record by record: most records have none, and null, as in Spark's connector."""
        has_headers = self._bytes[self._inside(position)] != 0
        behind = np.where(has_headers, self._ends, position + 1)
        if (behind != self._ends).any():
            raise _Inconsistent
        counts = np.zeros(len(position) + 1, np.int32)
        keys: list[str] = []
        values: list[bytes | None] = []
        for at in np.flatnonzero(has_headers).tolist():
            end = int(self._ends[at])
            headers, stop = read_headers(self._data, int(position[at]), end)
            if stop != end:
                raise _Inconsistent
            counts[at + 1] = len(headers)
            if wanted:
                for key, value in headers:
                    keys.append(key.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
                    values.append(value)
        if not wanted:
            return None
        pairs = pa.StructArray.from_arrays(
            [pa.array(keys, pa.string()), pa.array(values, pa.binary())], ["key", "value"]
        )
        offsets = pa.array(np.cumsum(counts, dtype=np.int32))
        return pa.ListArray.from_arrays(offsets, pairs, type=HEADERS, mask=pa.array(~has_headers))
