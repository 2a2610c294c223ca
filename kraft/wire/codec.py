"""Encode messages to bytes, and decode them.

The encoder and the decoder of a (class, version) are generated and compiled at their first use, and cached. The codec
handles whole messages only. Its callers handle frames, headers and version prefixes.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from typing import TypeVar

from kraft.wire.decode_error import DecodeError, UnsupportedVersionError
from kraft.wire.decoder import Decoder, SteppedDecoder, write_decoder, write_stepped_decoder
from kraft.wire.encoder import Encoder, SteppedEncoder, write_encoder, write_stepped_encoder
from kraft.wire.schema import Message
from kraft.wire.splice import FileSlice
from kraft.wire.varint import Buffer

__all__ = [
    "decode",
    "decode_in_steps",
    "encode",
    "encode_in_steps",
    "encode_spliced",
    "prepare_decoder",
    "prepare_encoder",
]

M = TypeVar("M", bound=Message)

_decoders: dict[tuple[type[Message], int], Decoder] = {}
_stepped_decoders: dict[tuple[type[Message], int], SteppedDecoder] = {}
_encoders: dict[tuple[type[Message], int], Encoder] = {}
_stepped_encoders: dict[tuple[type[Message], int], SteppedEncoder] = {}


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


def encode_in_steps(
    message: Message, version: int, out: bytearray, splices: list[tuple[int, FileSlice]]
) -> Generator[None, None, None]:
    """Append to ``out`` and ``splices`` what :func:`encode_spliced` returns, in steps of about a millisecond.

    A small message has one step, and the generator yields nothing. Raises UnsupportedVersionError as ``encode`` does.
    """
    encoder = _stepped_encoders.get((message.__class__, version)) or _new_stepped_encoder(message.__class__, version)
    return encoder(message, out, splices)


def prepare_encoder(cls: type[Message], version: int) -> None:
    """Compile the encoder of :func:`encode_in_steps` before its first use, if the version exists. Any thread may call
    it.
    """
    if (cls, version) not in _stepped_encoders and _is_valid(cls, version):
        _new_stepped_encoder(cls, version)


def decode(cls: type[M], version: int, buffer: Buffer, position: int = 0) -> tuple[M, int]:
    """Read a message at a position of the buffer. Return it and the position after it.

    Bytes after the message are ignored. ``records`` fields are views of the buffer; all other fields are copies.

    Raises:
        DecodeError: the bytes are not such a message.
        UnsupportedVersionError: the version does not exist.
    """
    try:
        return (_decoders.get((cls, version)) or _new_decoder(cls, version))(buffer, position)
    except (IndexError, struct.error, UnicodeDecodeError, DecodeError) as error:
        raise _malformed(cls, version, error) from None


def decode_in_steps(
    cls: type[M], version: int, buffer: Buffer, position: int = 0, *, max_elements: int
) -> Generator[int, None, tuple[M, int, int]]:
    """:func:`decode` for large input, in steps of about a millisecond. Yields the cost of each step but the last, in
    elements of arrays. Returns the number of elements, too. A tagged field counts as an element. A ``bytes`` field of
    more than 1 MiB is a view of the buffer, like ``records``.

    Raises DecodeError, too, if there are more than ``max_elements``: an element may have one byte, and become an object
    of a hundred.
    """
    decoder = _stepped_decoders.get((cls, version)) or _new_stepped_decoder(cls, version)
    try:
        return (yield from decoder(buffer, position, max_elements))
    except (IndexError, struct.error, UnicodeDecodeError, DecodeError) as error:
        raise _malformed(cls, version, error) from None


def prepare_decoder(cls: type[Message], version: int, *, in_steps: bool) -> None:
    """Compile the decoder of :func:`decode`, or of :func:`decode_in_steps`, before its first use, if the version
    exists. Any thread may call it.
    """
    if (cls, version) not in (_stepped_decoders if in_steps else _decoders) and _is_valid(cls, version):
        _new_stepped_decoder(cls, version) if in_steps else _new_decoder(cls, version)


def _malformed(cls: type[Message], version: int, error: Exception) -> DecodeError:
    is_short = isinstance(error, IndexError | struct.error)
    return DecodeError(f"{cls.__name__} v{version}: {'the bytes end before the message does' if is_short else error}")


def _new_encoder(cls: type[Message], version: int) -> Encoder:
    _check_version(cls, version)
    encoder = _encoders[cls, version] = write_encoder(cls, version)
    return encoder


def _new_stepped_encoder(cls: type[Message], version: int) -> SteppedEncoder:
    _check_version(cls, version)
    encoder = _stepped_encoders[cls, version] = write_stepped_encoder(cls, version)
    return encoder


def _new_decoder(cls: type[Message], version: int) -> Decoder:
    _check_version(cls, version)
    decoder = _decoders[cls, version] = write_decoder(cls, version)
    return decoder


def _new_stepped_decoder(cls: type[Message], version: int) -> SteppedDecoder:
    _check_version(cls, version)
    decoder = _stepped_decoders[cls, version] = write_stepped_decoder(cls, version)
    return decoder


def _is_valid(cls: type[Message], version: int) -> bool:
    first, last = cls.VALID_VERSIONS
    return first <= version <= last


def _check_version(cls: type[Message], version: int) -> None:
    first, last = cls.VALID_VERSIONS
    if not _is_valid(cls, version):
        raise UnsupportedVersionError(f"{cls.__name__} has versions {first} to {last}, not {version}")
