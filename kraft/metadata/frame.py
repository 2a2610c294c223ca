"""The frame of a metadata record: uvarint frame version 1, uvarint record type, uvarint version, flexible message.

The frame is the value of a log record; its key is null. Bytes left over behind the message are an error: no writer of
this log leaves any.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from kraft.messages.registry import record_class
from kraft.metadata.delta import MetadataError, UnsupportedMetadata
from kraft.wire.codec import decode, encode_spliced
from kraft.wire.decode_error import DecodeError
from kraft.wire.varint import read_uvarint, uvarint

FRAME_VERSION = 1

_Head = tuple[type[Any], int, int]
#: A record's head usually has three bytes: each kind of head is parsed once.
_HEAD_SIZE = 3
_heads: dict[bytes, _Head] = {}


def encode_record(record: Any, version: int) -> bytes:
    """Return the frame of ``record``."""
    frame, _ = encode_spliced(record, version, _prefix(record.API_KEY, version))
    return bytes(frame)


@cache
def _prefix(record_type: int, version: int) -> bytes:
    return uvarint(FRAME_VERSION) + uvarint(record_type) + uvarint(version)


def decode_record(value: bytes) -> Any:
    """Return the record in a frame.

    Raises:
        UnsupportedMetadata: a frame version, record type or record version of a later Kafka.
        MetadataError: bytes that are malformed or left over.
    """
    try:
        cls, version, position = _heads.get(value[:_HEAD_SIZE]) or _read_head(value)
        record, end = decode(cls, version, value, position)
    except DecodeError as error:
        raise MetadataError(f"malformed metadata record: {error}") from None
    if end != len(value):
        raise MetadataError(f"{len(value) - end} bytes left over behind a {cls.__name__}")
    return record


def record_head(value: bytes) -> tuple[type[Any], int]:
    """Return the class and version of the record in a frame.

    Raises:
        UnsupportedMetadata: a frame version, record type or record version of a later Kafka.
        MetadataError: malformed bytes.
    """
    try:
        cls, version, _ = _heads.get(value[:_HEAD_SIZE]) or _read_head(value)
    except DecodeError as error:
        raise MetadataError(f"malformed metadata record: {error}") from None
    return cls, version


def _read_head(value: bytes) -> _Head:
    """Return the class and version of the record in a frame, and its position. Raises MetadataError and DecodeError."""
    frame_version, position = read_uvarint(value, 0)
    if frame_version < FRAME_VERSION:
        raise MetadataError(f"metadata record in frame version {frame_version}; only {FRAME_VERSION} is known")
    if frame_version > FRAME_VERSION:
        raise UnsupportedMetadata(f"a metadata record in frame version {frame_version}", f"only {FRAME_VERSION}")
    record_type, position = read_uvarint(value, position)
    version, position = read_uvarint(value, position)
    try:
        cls = record_class(record_type)
    except KeyError:
        raise UnsupportedMetadata(f"a metadata record of unknown type {record_type}", "") from None
    lowest, highest = cls.VALID_VERSIONS
    if not lowest <= version <= highest:
        raise UnsupportedMetadata(f"{cls.__name__} in version {version}", f"versions {lowest} to {highest}")
    if position == _HEAD_SIZE:
        _heads[value[:_HEAD_SIZE]] = cls, version, position
    return cls, version, position
