"""Keys and values of the coordinators' topics: an int16 version, then the message."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from kraft.wire.codec import decode, encode
from kraft.wire.decode_error import DecodeError, UnsupportedVersionError
from kraft.wire.schema import Message

VERSION = struct.Struct(">h")

M = TypeVar("M", bound=Message)


def framed(message: Message, version: int) -> bytes:
    return VERSION.pack(version) + encode(message, version)


def unframed(kind: type[M], data: bytes) -> M:
    """Raises DecodeError if the data is damaged or has an unknown version."""
    with known_version():
        return decode(kind, version_of(data), data, VERSION.size)[0]


def version_of(data: bytes) -> int:
    """Raises DecodeError if the data is shorter than its version."""
    if len(data) < VERSION.size:
        raise DecodeError("a record is shorter than its version")
    version: int = VERSION.unpack_from(data)[0]
    return version


@contextmanager
def known_version() -> Iterator[None]:
    """Report an unknown version as damage."""
    try:
        yield
    except UnsupportedVersionError as error:
        raise DecodeError(str(error)) from None
