"""Metadata records to Arrow, in the columns of ``kraft.spark.metadata_schema``.

Records are decoded one by one, into the message classes that the controllers use. Columns are then made of the
messages of each type and version at once, and scattered to the rows of the records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from kraft.metadata.delta import MetadataError
from kraft.metadata.frame import decode_record, record_head
from kraft.metadata.plain import CONTROL_MESSAGES, decode_control, record_text, type_name
from kraft.records.batch import BatchHeader
from kraft.records.control import control_type
from kraft.records.record import Record
from kraft.spark.log_rows import MAX_TIMESTAMP_MS
from kraft.spark.metadata_schema import COLUMNS, SCHEMA, field_type, struct_type
from kraft.spark.segment_scan import DamagedBytes
from kraft.wire.decode_error import DecodeError
from kraft.wire.schema import Field, Message
from kraft.wire.uuids import uuid_to_text
from kraft.wire.varint import read_uvarint

LOG, SNAPSHOT = "log", "snapshot"
_MS_IN_US = 1000

_Group = tuple[type[Message], int]
"""Class and version of messages that are made into Arrow arrays together."""


class UndecodableRecord(Exception):
    """A record cannot be decoded. The text names offset and reason."""


class MetadataRows:
    """Collects rows until ``take``. With ``quarantine`` a record that cannot be decoded becomes a row with its bytes.

    ``as_of`` is the offset of all rows of a snapshot; None for the log, whose records have offsets of their own.
    """

    def __init__(self, *, quarantine: bool, as_of: int | None = None) -> None:
        self._quarantine = quarantine
        self._as_of = as_of
        self._clear()

    def _clear(self) -> None:
        self._offsets: list[int | None] = []
        self._epochs: list[int | None] = []
        self._timestamps: list[int | None] = []
        self._types: list[str | None] = []
        self._api_keys: list[int | None] = []
        self._versions: list[int | None] = []
        self._texts: list[str | None] = []
        self._bytes: list[bytes | None] = []
        self._errors: list[str | None] = []
        self._groups: dict[_Group, tuple[list[int], list[Message]]] = defaultdict(lambda: ([], []))

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, header: BatchHeader, records: Iterable[Record]) -> None:
        """Add records of one batch. Raises UndecodableRecord if there is no quarantine."""
        epoch, is_control = header.leader_epoch, header.is_control
        for record in records:
            self._offsets.append(record.offset if self._as_of is None else self._as_of)
            self._epochs.append(epoch)
            has_time = abs(record.timestamp) <= MAX_TIMESTAMP_MS
            self._timestamps.append(record.timestamp * _MS_IN_US if has_time else None)
            try:
                if not has_time:
                    raise DecodeError(f"a timestamp beyond those of Spark: {record.timestamp} ms")
                if is_control:
                    self._add_control(record)
                else:
                    self._add_metadata(record.value or b"")
            except (MetadataError, DecodeError) as error:
                if not self._quarantine:
                    raise UndecodableRecord(
                        f"the record at offset {record.offset} cannot be decoded: {error}"
                    ) from None
                self._add_error(record.value or b"", is_control, str(error))

    def add_damage(self, damage: DamagedBytes) -> None:
        """Add a row for bytes that are no batch."""
        self._offsets.append(damage.offset if self._as_of is None else self._as_of)
        self._epochs.append(None)
        self._timestamps.append(None)
        self._append(None, None, None, None, damage.data, str(damage))

    def _append(
        self,
        type_: str | None,
        api_key: int | None,
        version: int | None,
        text: str | None,
        data: bytes | None = None,
        error: str | None = None,
    ) -> None:
        self._types.append(type_)
        self._api_keys.append(api_key)
        self._versions.append(version)
        self._texts.append(text)
        self._bytes.append(data)
        self._errors.append(error)

    def _add_metadata(self, value: bytes) -> None:
        message = decode_record(value)
        cls, version = record_head(value)
        name = _name(cls)
        positions, messages = self._groups[cls, version]
        positions.append(len(self._types))
        messages.append(message)
        self._append(name, cls.API_KEY, version, record_text(name, version, message))

    def _add_control(self, record: Record) -> None:
        kind = control_type(record)
        if kind is None or kind not in CONTROL_MESSAGES:
            raise DecodeError(f"control record of unknown type, key {(record.key or b'').hex()}")
        message, version = decode_control(kind, record.value or b"")
        positions, messages = self._groups[type(message), version]
        positions.append(len(self._types))
        messages.append(message)
        self._append(kind.name, None, version, record_text(kind.name, version, message))

    def _add_error(self, value: bytes, is_control: bool, error: str) -> None:
        """Add a row for a record that cannot be decoded, with its type as far as it is known."""
        name = api_key = version = None
        if not is_control:
            try:
                _, position = read_uvarint(value, 0)
                api_key, position = read_uvarint(value, position)
                version, _ = read_uvarint(value, position)
                name = _name(record_head(value)[0])
            except (DecodeError, MetadataError, IndexError):
                pass
        self._append(name, api_key, version, None, value, error)

    def take(self) -> pa.RecordBatch:
        """Return the collected rows and begin anew."""
        count = len(self)
        columns = {
            "offset": self._offsets,
            "epoch": self._epochs,
            "timestamp": self._timestamps,
            "type": self._types,
            "apiKey": self._api_keys,
            "version": self._versions,
            "record": self._texts,
            "bytes": self._bytes,
            "error": self._errors,
        }
        arrays = {name: pa.array(values, SCHEMA.field(name).type) for name, values in columns.items()}
        arrays["origin"] = pa.repeat(LOG if self._as_of is None else SNAPSHOT, count)
        for name, cls in COLUMNS.items():
            groups = [(version, *held) for (kind, version), held in self._groups.items() if kind is cls]
            arrays[name] = _scattered(cls, groups, count)
        self._clear()
        return pa.RecordBatch.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA)


def _name(cls: Any) -> str:
    return _NAMES.get(cls) or _NAMES.setdefault(cls, type_name(cls))


def _scattered(cls: type[Message], groups: Sequence[tuple[int, list[int], list[Message]]], count: int) -> pa.Array:
    """Return a column of ``count`` rows with the messages at their positions and null elsewhere."""
    if not groups:
        return pa.nulls(count, struct_type(cls))
    found = pa.concat_arrays([message_array(cls, version, messages) for version, _, messages in groups])
    rows = np.concatenate([np.array(positions, np.int64) for _, positions, _ in groups])
    taken: Any = np.full(count, -1, np.int64)
    taken[rows] = np.arange(len(rows))
    return found.take(pa.array(taken, mask=taken < 0))


def message_array(cls: type[Message], version: int, messages: Sequence[Message | None]) -> pa.StructArray:
    """Return messages of one version as structs. Fields that the version lacks are null, as are missing messages."""
    is_null = [message is None for message in messages]
    filled = [cls() if message is None else message for message in messages]
    arrays = [_field_array(field, version, filled) for field in cls.FIELDS]
    mask = pa.array(is_null) if any(is_null) else None
    return pa.StructArray.from_arrays(arrays, fields=list(struct_type(cls)), mask=mask)


def _field_array(field: Field, version: int, messages: Sequence[Message]) -> pa.Array:
    if not field.is_present(version):
        return pa.nulls(len(messages), field_type(field))
    values: list[Any] = [getattr(message, field.name) for message in messages]
    if field.struct is not None:
        return _struct_array(field, version, values)
    if field.item_type == "uuid":
        if field.is_array:
            values = [None if value is None else [_uuid_text(each) for each in value] for value in values]
        else:
            values = [_uuid_text(value) for value in values]
    return pa.array(values, field_type(field))


def _struct_array(field: Field, version: int, values: Sequence[Any]) -> pa.Array:
    if not field.is_array:
        return message_array(field.item_struct, version, values)
    items = message_array(field.item_struct, version, [each for value in values if value for each in value])
    ends = np.cumsum([0, *(len(value) if value else 0 for value in values)], dtype=np.int32)
    is_null = np.array([value is None for value in values])
    return pa.ListArray.from_arrays(
        pa.array(ends), items, type=field_type(field), mask=pa.array(is_null) if is_null.any() else None
    )


_NAMES: dict[Any, str] = {}
_uuid_text = lru_cache(maxsize=65536)(uuid_to_text)
