"""Decode keys and values of records for ``kraft dump-log``, in the format of kafka-dump-log.

A decoder takes a record and returns the texts of key and value. A text of None is not printed. If a record cannot be
decoded, the text says so, and the dump goes on with the next record.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

from kraft.coordinator.groups.consumer.records import KINDS as CONSUMER_GROUPS
from kraft.coordinator.groups.share.records import KINDS as SHARE_GROUPS
from kraft.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kraft.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kraft.messages.group_metadata_key import GroupMetadataKey
from kraft.messages.group_metadata_value import GroupMetadataValue
from kraft.messages.json_text import json_text
from kraft.messages.offset_commit_key import OffsetCommitKey
from kraft.messages.offset_commit_value import OffsetCommitValue
from kraft.messages.plain import to_plain
from kraft.messages.share_snapshot_key import ShareSnapshotKey
from kraft.messages.share_snapshot_value import ShareSnapshotValue
from kraft.messages.share_update_key import ShareUpdateKey
from kraft.messages.share_update_value import ShareUpdateValue
from kraft.messages.transaction_log_key import TransactionLogKey
from kraft.messages.transaction_log_value import TransactionLogValue
from kraft.metadata.delta import MetadataError
from kraft.metadata.frame import decode_record, record_head
from kraft.metadata.plain import decode_control, record_text, type_name
from kraft.records.batch import CorruptBatch
from kraft.records.control import ControlType, EndTransactionMarker, control_type
from kraft.records.record import Record
from kraft.wire.codec import decode
from kraft.wire.decode_error import DecodeError, UnsupportedVersionError
from kraft.wire.schema import Message

Texts = tuple[str | None, str | None]
Decoder = Callable[[Record], Texts]

_VERSION = struct.Struct(">h")
_CONTROL_KEY = struct.Struct(">hh")
_DELETED = "<DELETE>"

_CONTROL_LABELS: Mapping[ControlType, str] = {
    ControlType.LEADER_CHANGE: "LeaderChange: ",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeader ",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooter ",
    ControlType.KRAFT_VERSION: "KRaftVersion ",
    ControlType.KRAFT_VOTERS: "KRaftVoters ",
}

_Schemas = Mapping[int, tuple[type[Message], type[Message]]]

#: The messages of key and value by the version of the key, for each option.
COORDINATORS: Mapping[str, _Schemas] = {
    "offsets": {
        0: (OffsetCommitKey, OffsetCommitValue),
        1: (OffsetCommitKey, OffsetCommitValue),
        2: (GroupMetadataKey, GroupMetadataValue),
        **CONSUMER_GROUPS,
        **SHARE_GROUPS,
    },
    "transactions": {0: (TransactionLogKey, TransactionLogValue)},
    "share_states": {0: (ShareSnapshotKey, ShareSnapshotValue), 1: (ShareUpdateKey, ShareUpdateValue)},
}


#: JSON as Kafka's tools print it.
compact_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def control_text(record: Record) -> str:
    """Return the text of a control record. Raises DecodeError if it cannot be decoded."""
    kind = control_type(record)
    if kind is None:
        return f"controlType: UNKNOWN({_CONTROL_KEY.unpack_from(record.key or b'')[1]})"
    if kind in _CONTROL_LABELS:
        message, version = decode_control(kind, record.value or b"")
        return _CONTROL_LABELS[kind] + json_text(message, version)
    marker = EndTransactionMarker.from_record(record)
    assert marker is not None, "the remaining types are transaction markers"
    return f"endTxnMarker: {kind.name} coordinatorEpoch: {marker.coordinator_epoch}"


def metadata_texts(record: Record) -> Texts:
    """Return a record of ``__cluster_metadata`` as JSON."""
    try:
        message = decode_record(record.value or b"")
        cls, version = record_head(record.value or b"")
        return None, record_text(type_name(cls), version, message)
    except (MetadataError, DecodeError) as error:
        return None, f"Error at {record.offset}, skipping. {error}"


def coordinator_decoder(schemas: _Schemas) -> Decoder:
    """Return a decoder of a coordinator's records. Key and value are each an int16 version and a message."""

    def texts(record: Record) -> Texts:
        if record.key is None or len(record.key) < _VERSION.size:
            return f"Error at offset {record.offset}, skipping. The record has no key.", None
        (key_version,) = _VERSION.unpack_from(record.key)
        if key_version not in schemas:
            return f"Unknown record type {key_version} at offset {record.offset}, skipping.", None
        key_class, value_class = schemas[key_version]
        try:
            version = min(key_version, key_class.VALID_VERSIONS[1])
            key, _ = decode(key_class, version, record.key, _VERSION.size)
            key_text = compact_json({"type": str(key_version), "data": to_plain(key, version)})
            if record.value is None:
                return key_text, _DELETED
            message, version = _versioned(value_class, record.value)
        except DecodeError as error:
            return f"Error at offset {record.offset}, skipping. {error}", None
        data = to_plain(message, version)
        if isinstance(message, GroupMetadataValue) and message.protocol_type == "consumer":
            _open_members(message, data)
        return key_text, compact_json({"version": str(version), "data": data})

    return texts


def _open_members(message: GroupMetadataValue, data: dict[str, Any]) -> None:
    """Decode the subscriptions and assignments of a group's members. One that cannot be decoded stays base64."""
    for member, plain in zip(message.members, data["members"], strict=True):
        parts: tuple[tuple[str, type[Message], bytes], ...] = (
            ("subscription", ConsumerProtocolSubscription, member.subscription),
            ("assignment", ConsumerProtocolAssignment, member.assignment),
        )
        for name, cls, content in parts:
            if content:
                try:
                    opened, version = _versioned(cls, content)
                except DecodeError:
                    continue
                plain[name] = to_plain(opened, version)


def plain_decoder(key: Callable[[bytes], str], value: Callable[[bytes], str]) -> Decoder:
    """Return a decoder that decodes key and value independently of each other."""

    def texts(record: Record) -> Texts:
        return (
            None if record.key is None else key(record.key),
            None if record.value is None else value(record.value),
        )

    return texts


def string(data: bytes) -> str:
    """Decode UTF-8. Other bytes become the replacement character."""
    return data.decode(errors="replace")


def integer(size: int) -> Callable[[bytes], str]:
    """Return a decoder of signed big-endian integers of ``size`` bytes."""

    def text(data: bytes) -> str:
        if len(data) != size:
            return f"Error: {len(data)} bytes are not a number of {size} bytes"
        return str(int.from_bytes(data, "big", signed=True))

    return text


#: The decoders of ``--key-decoder-class`` and ``--value-decoder-class``, by the last part of Kafka's class names.
CLASSES: Mapping[str, Callable[[bytes], str]] = {
    "DefaultDecoder": lambda data: data.hex(),
    "IntegerDecoder": integer(4),
    "LongDecoder": integer(8),
    "StringDecoder": string,
}


def _versioned(cls: type[Message], data: bytes) -> tuple[Message, int]:
    """Return the message behind the two bytes of its version, and the version. Raises DecodeError if invalid."""
    if len(data) < _VERSION.size:
        raise CorruptBatch(f"{len(data)} bytes are not a {cls.__name__}")
    (version,) = _VERSION.unpack_from(data)
    try:
        return decode(cls, version, data, _VERSION.size)[0], version
    except UnsupportedVersionError as error:
        raise DecodeError(str(error)) from None
