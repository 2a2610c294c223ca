"""The rows of ``format("kraft-log")``: record batches of a file as Arrow, whole columns at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np
import pyarrow as pa

from kraft.records.batch import SEQUENCE_MASK, BatchHeader, CorruptBatch
from kraft.records.compression import Compression
from kraft.records.control import ControlType
from kraft.spark.arrow_records import HEADERS, RECORD_SCHEMA, Columns, decode
from kraft.spark.segment_scan import MAX_BATCH_BYTES, CorruptInput, DamagedBytes, SoundBatches, scan

SCHEMA = pa.schema(
    [
        *RECORD_SCHEMA,
        ("leaderEpoch", pa.int32()),
        ("producerId", pa.int64()),
        ("producerEpoch", pa.int16()),
        ("sequence", pa.int32()),
        ("isTransactional", pa.bool_()),
        ("isControl", pa.bool_()),
        ("controlType", pa.string()),
        ("batchOffset", pa.int64()),
        ("codec", pa.string()),
        ("file", pa.string()),
        ("position", pa.int64()),
        ("bytes", pa.binary()),
        ("error", pa.string()),
    ]
)
SCHEMA_WITH_HEADERS = SCHEMA.append(pa.field("headers", HEADERS))

DOCS: Mapping[str, str] = {
    "key": "Key of the record.",
    "value": "Value of the record; null for a tombstone.",
    "topic": "Topic, from the name of the directory.",
    "partition": "Partition, from the name of the directory.",
    "offset": "Offset of the record; of damaged bytes, the first offset that they may have.",
    "timestamp": "Time of the record.",
    "timestampType": "0 for the producer's time, 1 for the time of the append.",
    "leaderEpoch": "Epoch of the leader that appended the batch.",
    "producerId": "Id of an idempotent producer, or -1.",
    "producerEpoch": "Epoch of that producer, or -1.",
    "sequence": "Sequence number of the record, or -1.",
    "isTransactional": "Whether the batch is part of a transaction.",
    "isControl": "Whether the record is a control record, which consumers do not see.",
    "controlType": "Type of a control record, such as `COMMIT`; null for other records.",
    "batchOffset": "Base offset of the batch.",
    "codec": "Compression of the batch: `none`, `gzip`, `snappy`, `lz4` or `zstd`.",
    "file": "Path of the segment.",
    "position": "Position of the batch in the file, in bytes.",
    "bytes": "Damaged bytes, else null.",
    "error": "Why they are damaged, else null.",
    "headers": "Headers of the record; null if it has none. Only with `includeHeaders`.",
}
"""The meaning of each column, for the documentation."""

MAX_TIMESTAMP_MS = (2**63 - 1) // 1000
"""The latest time of a Spark timestamp, in ms since 1970."""

_CODECS = pa.array([codec.name.lower() for codec in Compression])
_CONTROL_TYPES = {int(kind): kind.name for kind in ControlType}
_MS_IN_US = 1000


@attrs.frozen
class LogFile:
    """A file that one task reads. ``topic`` and ``partition`` are None if its directory does not name them."""

    path: str
    topic: str | None
    partition: int | None
    is_active: bool


def read_log_file(file: LogFile, *, quarantine: bool, with_headers: bool) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file.

    An incomplete batch at the end of the newest segment is a row of the quarantine. Without a quarantine it is left
    out.

    Raises:
        CorruptInput: the file is damaged, and there is no quarantine.
        OSError: the file cannot be read.
    """
    rows = _Rows(file, with_headers)
    for found in scan(file.path, is_active=file.is_active):
        parts = [found] if isinstance(found, DamagedBytes) else _decoded(file.path, found, with_headers)
        for part in parts:
            if not isinstance(part, DamagedBytes):
                yield rows.of_records(*part)
            elif quarantine:
                yield rows.of_damage(part)
            elif not part.is_torn:
                raise CorruptInput(str(part))


def _decoded(path: str, group: SoundBatches, with_headers: bool) -> Iterator[tuple[int, Columns] | DamagedBytes]:
    """Yield the place of the group in the file with the records of some of its batches, and its damaged batches."""
    left = list(group.batches)
    try:
        for columns in decode(group.data, left, max_bytes=MAX_BATCH_BYTES, with_headers=with_headers):
            _check_times(columns)
            yield group.position, columns
            left = left[len(columns.batches) :]
        return
    except CorruptBatch:
        pass
    for position, header in left:  # One of them is damaged, although its checksum is right.
        try:
            for columns in decode(
                group.data, [(position, header)], max_bytes=MAX_BATCH_BYTES, with_headers=with_headers
            ):
                _check_times(columns)
                yield group.position, columns
        except CorruptBatch as error:
            data = group.data[position : position + header.size]
            yield DamagedBytes.of(path, group.position + position, header.size, header.base_offset, str(error), data)


def _check_times(columns: Columns) -> None:
    if ((columns.timestamp_ms > MAX_TIMESTAMP_MS) | (columns.timestamp_ms < -MAX_TIMESTAMP_MS)).any():
        raise CorruptBatch("a timestamp beyond those of Spark")


class _Rows:
    """Makes the rows of one file."""

    def __init__(self, file: LogFile, with_headers: bool) -> None:
        self._file = file
        self._schema = SCHEMA_WITH_HEADERS if with_headers else SCHEMA

    def of_records(self, position: int, columns: Columns) -> pa.RecordBatch:
        """Return records as rows. ``position`` is the place in the file of the bytes that they were read from."""
        headers = [header for _, header in columns.batches]
        base_offset = columns.of_batches([header.base_offset for header in headers], "int64")
        places = [position + at for at, _ in columns.batches]
        count = len(columns.offset)
        arrays = {
            "key": columns.key,
            "value": columns.value,
            "topic": pa.repeat(pa.scalar(self._file.topic, pa.string()), count),
            "partition": pa.repeat(pa.scalar(self._file.partition, pa.int32()), count),
            "offset": pa.array(columns.offset),
            "timestamp": pa.array(columns.timestamp_ms * _MS_IN_US).view(SCHEMA.field("timestamp").type),
            "timestampType": pa.array(columns.of_batches([header.timestamp_type for header in headers], "int32")),
            "leaderEpoch": pa.array(columns.of_batches([header.leader_epoch for header in headers], "int32")),
            "producerId": pa.array(columns.of_batches([header.producer_id for header in headers], "int64")),
            "producerEpoch": pa.array(columns.of_batches([header.producer_epoch for header in headers], "int16")),
            "sequence": pa.array(_sequences(columns, headers, base_offset)),
            "isTransactional": pa.array(columns.of_batches([header.is_transactional for header in headers], "bool")),
            "isControl": pa.array(columns.of_batches([header.is_control for header in headers], "bool")),
            "controlType": _control_types(columns, headers),
            "batchOffset": pa.array(base_offset),
            "codec": _CODECS.take(pa.array(columns.of_batches([header.compression for header in headers], "int32"))),
            "file": pa.repeat(self._file.path, count),
            "position": pa.array(columns.of_batches(places, "int64")),
            "headers": columns.headers,
        }
        return self._batch(arrays, count)

    def of_damage(self, damage: DamagedBytes) -> pa.RecordBatch:
        """Return the one row of damaged bytes."""
        values = {
            "topic": self._file.topic,
            "partition": self._file.partition,
            "offset": damage.offset,
            "file": self._file.path,
            "position": damage.position,
            "bytes": damage.data,
            "error": str(damage),
        }
        return self._batch(
            {name: pa.array([value], self._schema.field(name).type) for name, value in values.items()}, 1
        )

    def _batch(self, arrays: Mapping[str, pa.Array], count: int) -> pa.RecordBatch:
        columns = [
            arrays[field.name] if field.name in arrays else pa.nulls(count, field.type) for field in self._schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _sequences(columns: Columns, headers: Sequence[BatchHeader], base_offset: np.ndarray) -> np.ndarray:
    first = columns.of_batches([header.base_sequence for header in headers], "int64")
    sequence = (first + columns.offset - base_offset) & SEQUENCE_MASK
    return np.where(first < 0, -1, sequence).astype(np.int32)


def _control_types(columns: Columns, headers: Sequence[BatchHeader]) -> pa.Array:
    if not any(header.is_control for header in headers):
        return pa.nulls(len(columns.offset), pa.string())
    is_control = columns.of_batches([header.is_control for header in headers], "bool")
    names: list[str | None] = [None] * len(columns.offset)
    for row in np.flatnonzero(is_control).tolist():
        key = columns.key[row].as_py() or b""
        number = int.from_bytes(key[2:4], "big", signed=True)
        names[row] = _CONTROL_TYPES.get(number, f"UNKNOWN({number})") if len(key) >= 4 else "MALFORMED"
    return pa.array(names, pa.string())
