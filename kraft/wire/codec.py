"""Messages to bytes and back.

Encoder and decoder of a (class, version) are written and compiled at their first use and kept. Only whole messages are
coded here; frames, headers and version prefixes are the business of whoever speaks them.
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
        UnsupportedVersionError: There is no such version, or a field that it lacks and must not lose is set.
        TypeError: A records field is a slice of a file; use ``encode_spliced``.
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

    The list says which slice belongs before which offset of the bytes, in order; lengths inside the message count them.
    Raises ``UnsupportedVersionError`` as ``encode`` does.
    """
    out = bytearray(prefix)
    splices: list[tuple[int, FileSlice]] = []
    (_encoders.get((message.__class__, version)) or _new_encoder(message.__class__, version))(message, out, splices)
    return out, splices


def decode(cls: type[M], version: int, buffer: Buffer, position: int = 0) -> tuple[M, int]:
    """Read a message at a position of the buffer; return it and the position after it.

    What follows the message is the caller's business. ``records`` fields are views of the buffer, all else is copied.

    Raises:
        DecodeError: The bytes are no such message.
        UnsupportedVersionError: There is no such version.
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
