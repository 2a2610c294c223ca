"""Functions that generated decoders call for rare cases: errors, long lengths, tagged fields."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from typing import Any

from kraft.wire.decode_error import DecodeError
from kraft.wire.schema import FIXED, Field
from kraft.wire.source import Source
from kraft.wire.uuids import ZERO_UUID
from kraft.wire.varint import Buffer, read_uvarint

__all__ = [
    "SMALL_ARRAY",
    "SMALL_UNPACKERS",
    "bad_length",
    "check_tags",
    "default_value",
    "read_string_length",
    "read_tag",
    "skip_tags",
    "too_many",
    "unpacker",
]

SMALL_ARRAY = 33
"""Shorter arrays of numbers are read by a precompiled struct."""

MAX_TAGGED_FIELDS = 1_000
"""Not a limit of Kafka's. The tagged fields that one structure may have. KIP-482 numbers the tags of a structure from 0
on, and no structure of Kafka has ten.
"""

SMALL_UNPACKERS = {
    code: tuple(Struct(f">{count}{code}").unpack_from for count in range(SMALL_ARRAY))
    for code, _ in FIXED.values()
    if code != "16s"
}


@lru_cache(maxsize=1024)
def unpacker(code: str) -> tuple[Callable[..., tuple[Any, ...]], int]:
    """Return the ``unpack_from`` of big-endian ``code``, and the number of bytes that it reads."""
    made = Struct(f">{code}")
    return made.unpack_from, made.size


def bad_length(name: str, length: int, remaining: int) -> DecodeError:
    """Return the error for an impossible length of a field."""
    if length == -1:
        return DecodeError(f"{name} is null, which it must not be")
    return DecodeError(f"{name} claims a length of {length}; {remaining} bytes remain")


def read_string_length(buffer: Buffer, position: int) -> tuple[int, int]:
    """Read the compact length of a string, as ``read_uvarint`` does. As in Kafka, a string has at most 32767 bytes."""
    length, position = read_uvarint(buffer, position)
    if length > 0x8000:
        raise DecodeError(f"a string claims {length - 1} bytes; at most 32767 are allowed")
    return length, position


def too_many(most: int) -> DecodeError:
    """Return the error for a message with more elements than its reader takes."""
    return DecodeError(f"more than {most} elements")


def check_tags(count: int) -> None:
    """Raise DecodeError if a structure has more tagged fields than any version of Kafka will define."""
    if count > MAX_TAGGED_FIELDS:
        raise DecodeError(f"{count} tagged fields; at most {MAX_TAGGED_FIELDS} are allowed")


def read_tag(buffer: Buffer, position: int, last: int) -> tuple[int, int, int]:
    """Read the head of a tagged field. Return its tag, the position of its value and the position after the value."""
    tag, position = read_uvarint(buffer, position)
    size, position = read_uvarint(buffer, position)
    if tag <= last:
        raise DecodeError(f"tag {tag} follows tag {last}; tags must ascend")
    if size > len(buffer) - position:
        raise bad_length(f"tag {tag}", size, len(buffer) - position)
    return tag, position, position + size


def skip_tags(buffer: Buffer, position: int) -> tuple[int, int]:
    """Check and skip a structure's tagged fields, all of them unknown. Return their count and the position after
    them.
    """
    count, position = read_uvarint(buffer, position)
    check_tags(count)
    tag = -1
    for _ in range(count):
        tag, _value, position = read_tag(buffer, position, tag)
    return count, position


def default_value(source: Source, field: Field) -> str:
    """Return the expression of a field's value if the bytes do not contain the field."""
    if field.default_is_null:
        return "None"
    if field.is_array:
        return "[]"
    if field.type == "struct":
        return f"{source.constant(field.item_struct.__name__, field.item_struct)}()"
    return source.constant("ZERO_UUID", ZERO_UUID) if field.type == "uuid" else repr(field.make_default())
