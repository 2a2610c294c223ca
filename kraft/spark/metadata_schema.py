"""The columns of ``format("kraft-metadata")``, generated from the message classes of the metadata log.

Each record type has one nullable struct column. Its name is that of the type in lower case (``partition_record``), and
its fields are the attributes of the message class. A new Kafka adds record types and fields, never removes any, so the
schema grows by nullable columns only. Record types without fields (``NO_OP_RECORD``) have no column: a Parquet file
cannot hold a struct without fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from kraft.messages.registry import record_classes
from kraft.metadata.plain import CONTROL_MESSAGES, type_name
from kraft.wire.schema import Field, Message

TIMESTAMP = pa.timestamp("us", tz="UTC")

#: UUIDs are Kafka's text of 22 characters. Spark has no unsigned integers, so these get the next wider type.
_TYPES: Mapping[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "uint16": pa.int32(),
    "int32": pa.int32(),
    "uint32": pa.int64(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "uuid": pa.string(),
    "string": pa.string(),
    "bytes": pa.binary(),
}

COMMON = pa.schema(
    [
        pa.field("offset", pa.int64()),
        pa.field("epoch", pa.int32()),
        pa.field("timestamp", TIMESTAMP),
        pa.field("type", pa.string()),
        pa.field("apiKey", pa.int32()),
        pa.field("version", pa.int32()),
        pa.field("record", pa.string()),
        pa.field("bytes", pa.binary()),
        pa.field("error", pa.string()),
        pa.field("origin", pa.string()),
    ]
)
"""The columns of every row."""

DOCS: Mapping[str, str] = {
    "offset": "Offset in the log. For a row of a snapshot, the offset of the last record that the snapshot covers.",
    "epoch": "Epoch of the leader that appended the record, or of the snapshot.",
    "timestamp": "Append time. For a row of a snapshot, that of the last record that the snapshot covers.",
    "type": "Kafka's name of the record type, such as `PARTITION_RECORD`; null if it is unknown.",
    "apiKey": "Number of the record type; null for control records.",
    "version": "Version of the record.",
    "record": "The record as JSON, as `kraft dump-log --cluster-metadata-decoder` prints it.",
    "bytes": "The bytes that could not be decoded, else null.",
    "error": "Why they could not be decoded, else null.",
    "origin": "`log` or `snapshot`.",
}
"""The meaning of each common column, for the documentation."""


def column_classes() -> Iterator[tuple[str, type[Message]]]:
    """Yield the name of each struct column and its message class: metadata records by type, then control records."""
    for cls in record_classes():
        if cls.FIELDS:
            yield type_name(cls).lower(), cls
    for kind, cls in CONTROL_MESSAGES.items():
        yield kind.name.lower(), cls


def field_type(field: Field) -> pa.DataType:
    """Return the type of a message's field."""
    item = struct_type(field.struct) if field.struct is not None else _TYPES[field.item_type]
    return pa.list_(item) if field.is_array else item


def struct_type(cls: type[Message]) -> pa.StructType:
    """Return the type of a message: all fields of all versions, each nullable."""
    return pa.struct([pa.field(field.name, field_type(field)) for field in cls.FIELDS])


COLUMNS: Mapping[str, type[Message]] = dict(column_classes())
"""The message class of each struct column."""

SCHEMA = pa.schema([*COMMON, *(pa.field(name, struct_type(cls)) for name, cls in COLUMNS.items())])
