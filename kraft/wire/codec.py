"""Encode messages to bytes, and decode them.

The encoder and the decoder of a (class, version) are generated and compiled at their first use, and cached. The codec
handles whole messages only. Its callers handle frames, headers and version prefixes.
"""

from __future__ import annotations

import struct
from typing import TypeVar

from kraft.wire.decode_error import DecodeError, UnsupportedVersionError
from kraft.wire.decoder import Decoder, write_decoder
from kraft.wire.encoder import Encoder, write_encoder
from kraft.wire.schema import Message
from kraft.wire.splice import FileSlice
from kraft.wire.varint import Buffer

__all__ = ["decode", "encode", "encode_spliced"]

M = TypeVar("M", bound=Message)

_decoders: dict[tuple[type[Message], int], Decoder] = {}
_encoders: dict[tuple[type[Message], int], Encoder] = {}


def encode(message: Message, version: int) -> bytes:
    """Return the bytes of a message.

    Raises:
        UnsupportedVersionError: the version does not exist, or lacks a field that is set and not ignorable.
        TypeError: a records field is a slice of a file; use ``encode_spliced``.
    """
    out = bytearray()
    splices: list[tuple[int, FileSlice]] = []
    (_encoders.get((message.__class__, version)) or _new_encoder(message.__class__, version))(message, out, splices)
    if splices:
        raise TypeError("the records of this message are in a file; encode it with encode_spliced")
    return bytes(out)


def encode_spliced(
    message: Message, version: int, prefix: bytes = b""
) -> tuple[bytearray, list[tuple[int, FileSlice]]]:
    """Return ``prefix`` and the bytes of a message, without the records that lie in files.

    The list gives each file slice with the offset at which it is inserted, in order. Lengths inside the message include
    the slices. Raises UnsupportedVersionError as ``encode`` does.
    """
    out = bytearray(prefix)
    splices: list[tuple[int, FileSlice]] = []
    (_encoders.get((message.__class__, version)) or _new_encoder(message.__class__, version))(message, out, splices)
    return out, splices


def decode(cls: type[M], version: int, buffer: Buffer, position: int = 0) -> tuple[M, int]:
    """Read a message at a position of the buffer. Return it and the position after it.

    Bytes after the message are ignored. ``records`` fields are views of the buffer; all other fields are copies.

    Raises:
        DecodeError: the bytes are not such a message.
        UnsupportedVersionError: the version does not exist.
    """
    try:
        return (_decoders.get((cls, version)) or _new_decoder(cls, version))(buffer, position)
    except (IndexError, struct.error):
        raise DecodeError(f"{cls.__name__} v{version}: the bytes end before the message does") from None
    except (UnicodeDecodeError, DecodeError) as error:
        raise DecodeError(f"{cls.__name__} v{version}: {error}") from None


def _new_encoder(cls: type[Message], version: int) -> Encoder:
    _check_version(cls, version)
    encoder = _encoders[cls, version] = write_encoder(cls, version)
    return encoder


def _new_decoder(cls: type[Message], version: int) -> Decoder:
    _check_version(cls, version)
    decoder = _decoders[cls, version] = write_decoder(cls, version)
    return decoder


def _check_version(cls: type[Message], version: int) -> None:
    first, last = cls.VALID_VERSIONS
    if not first <= version <= last:
        raise UnsupportedVersionError(f"{cls.__name__} has versions {first} to {last}, not {version}")
