"""The frame of a metadata record: uvarint frame version 1, uvarint record type, uvarint version, flexible message.

The frame is the value of a log record; its key is null. Bytes left over behind the message are an error: nothing that
writes this log would leave any.
"""

from __future__ import annotations

from typing import Any

from kraft.messages.registry import record_class
from kraft.metadata.delta import MetadataError
from kraft.wire.codec import decode, encode
from kraft.wire.decode_error import DecodeError
from kraft.wire.varint import read_uvarint, uvarint

FRAME_VERSION = 1


def encode_record(record: Any, version: int) -> bytes:
    """Return the frame of ``record``."""
    return uvarint(FRAME_VERSION) + uvarint(record.API_KEY) + uvarint(version) + encode(record, version)


def decode_record(value: bytes) -> Any:
    """Return the record in a frame.

    Raises MetadataError for a frame version, record type or record version that is not known, and for bytes that are
    malformed or left over.
    """
    try:
        frame_version, position = read_uvarint(value, 0)
        if frame_version != FRAME_VERSION:
            raise MetadataError(f"metadata record in frame version {frame_version}; only {FRAME_VERSION} is known")
        record_type, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
        try:
            cls = record_class(record_type)
        except KeyError:
            raise MetadataError(f"metadata record of unknown type {record_type}") from None
        lowest, highest = cls.VALID_VERSIONS
        if not lowest <= version <= highest:
            raise MetadataError(f"{cls.__name__} in version {version}; versions {lowest} to {highest} are known")
        record, end = decode(cls, version, value, position)
    except DecodeError as error:
        raise MetadataError(f"malformed metadata record: {error}") from None
    if end != len(value):
        raise MetadataError(f"{len(value) - end} bytes left over behind a {cls.__name__}")
    return record
