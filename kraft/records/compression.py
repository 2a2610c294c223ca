"""The four codecs of record batches, in the framings of Kafka's clients.

gzip: one member. snappy: blocks of 32 KiB after the header of xerial's SnappyOutputStream; the reader also accepts one
raw block (librdkafka). lz4: one frame of independent 64 KiB blocks with the correct header checksum (KIP-57). zstd: one
frame.

Decompression stops at ``max_bytes``. A declared size is compared with this limit before anything is allocated. Each
library is imported at the first use of its codec.

The libraries compress without the interpreter's lock, but most take it again to copy their result: 30 ms for 60 MiB. So
they get and return pieces. ``bytes.join`` copies such pieces without the lock.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any, Final

from kraft.wire.decode_error import DecodeError
from kraft.wire.varint import Buffer

_PIECE_BYTES: Final = 1 << 18

_GZIP_WINDOW_BITS = 31  # 15, plus 16 for the gzip header and trailer

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)  # version, oldest compatible version
_XERIAL_BLOCK_SIZE = 32 * 1024
_INT32 = struct.Struct(">i")

_LZ4_FAST_LEVEL = 0
_LZ4_KAFKA_DEFAULT_LEVEL = 9
_LZ4_FIRST_PIECE = 64 * 1024

_ZSTD_DEFAULT_LEVEL = 3
_ZSTD_MAX_WINDOW_SIZE = 1 << 27  # of level 22, the highest that compression.zstd.level allows
_ZSTD_MAX_BLOCK_SIZE = 128 * 1024
_ZSTD_BLOCK_HEADER_SIZE = 3
_ZSTD_RLE, _ZSTD_COMPRESSED, _ZSTD_RESERVED = 1, 2, 3


class Compression(IntEnum):
    """Codecs by their number in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Compression, data: Buffer, level: int | None = None) -> bytes:
    """Compress ``data``. ``level`` is ``compression.{gzip,lz4,zstd}.level`` (KIP-390); None is Kafka's default."""
    return _COMPRESSORS[codec](data, level)


def decompress(codec: Compression, data: Buffer, max_bytes: int) -> bytes:
    """Decompress ``data``, which must be exactly one frame.

    Raises DecodeError for malformed input, and for output above ``max_bytes``, before it exceeds this size.
    """
    return _DECOMPRESSORS[codec](data, max_bytes)


def _too_large(max_bytes: int) -> DecodeError:
    return DecodeError(f"decompressed records are larger than the limit of {max_bytes} bytes")


def _pieces(data: Buffer) -> Iterator[memoryview]:
    with memoryview(data) as view:
        for start in range(0, len(view), _PIECE_BYTES):
            with view[start : start + _PIECE_BYTES] as piece:
                yield piece


def _store(data: Buffer, level: int | None) -> bytes:
    return data if isinstance(data, bytes) else b"".join(map(bytes, _pieces(data)))


def _unstore(data: Buffer, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return _store(data, None)


def _gzip(data: Buffer, level: int | None) -> bytes:
    compressor = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION if level is None else level, wbits=_GZIP_WINDOW_BITS)
    parts = [compressor.compress(piece) for piece in _pieces(data)]
    return b"".join((*parts, compressor.flush()))


def _gunzip(data: Buffer, max_bytes: int) -> bytes:
    return _decompressed("gzip", zlib.decompressobj(_GZIP_WINDOW_BITS), data, max_bytes, _PIECE_BYTES)


def _decompressed(codec: str, decompressor: Any, data: Buffer, max_bytes: int, piece_bytes: int) -> bytes:
    """Decompress ``data`` with an object of ``zlib`` or ``lz4.frame``, at most ``piece_bytes`` at a time."""
    parts: list[bytes] = []
    room, read = max_bytes, 0
    try:
        for given in _pieces(data):
            read += len(given)
            source: Buffer = given
            is_full = True
            while is_full and not decompressor.eof:
                limit = min(room + 1, piece_bytes)
                piece = decompressor.decompress(source, limit)
                room, is_full = room - len(piece), len(piece) == limit
                if room < 0:
                    raise _too_large(max_bytes)
                parts.append(piece)
                source = getattr(decompressor, "unconsumed_tail", b"")  # lz4 keeps its own
            if decompressor.eof:
                break
    except (zlib.error, RuntimeError) as error:
        raise DecodeError(f"{codec}: {error}") from None
    if not decompressor.eof or decompressor.unused_data or read < len(data):
        raise DecodeError(f"{codec}: truncated, or followed by other bytes")
    return b"".join(parts)


def _snappy(data: Buffer, level: int | None) -> bytes:
    from cramjam import snappy

    parts: list[Buffer] = [_XERIAL_HEADER]
    with memoryview(data) as view:
        for start in range(0, len(view), _XERIAL_BLOCK_SIZE):
            block = bytes(snappy.compress_raw(view[start : start + _XERIAL_BLOCK_SIZE]))
            parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def _unsnappy(data: Buffer, max_bytes: int) -> bytes:
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _unsnappy_block(data, max_bytes)
    if len(data) < len(_XERIAL_HEADER):
        raise DecodeError("snappy: truncated header")
    parts: list[bytes] = []
    room, position = max_bytes, len(_XERIAL_HEADER)
    while position < len(data):
        if len(data) - position < _INT32.size:
            raise DecodeError("snappy: truncated block length")
        (length,) = _INT32.unpack_from(data, position)
        position += _INT32.size
        if not 0 < length <= len(data) - position:
            raise DecodeError(f"snappy: block of {length} bytes, {len(data) - position} are left")
        parts.append(_unsnappy_block(data[position : position + length], room))
        room -= len(parts[-1])
        position += length
    return b"".join(parts)


def _unsnappy_block(block: Buffer, max_bytes: int) -> bytes:
    from cramjam import DecompressionError, snappy

    try:
        if snappy.decompress_raw_len(block) > max_bytes:
            raise _too_large(max_bytes)
        with memoryview(snappy.decompress_raw(block)) as decompressed:
            return _store(decompressed, None)
    except DecompressionError as error:
        raise DecodeError(str(error)) from None


def _lz4(data: Buffer, level: int | None) -> bytes:
    import lz4.frame

    # Kafka's default level 9 selects lz4's fast compressor, all other levels the high-compression one (KIP-390).
    fast = level is None or level == _LZ4_KAFKA_DEFAULT_LEVEL
    compressor = lz4.frame.LZ4FrameCompressor(
        compression_level=_LZ4_FAST_LEVEL if fast else max(level or 0, lz4.frame.COMPRESSIONLEVEL_MINHC),
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,  # Java reads independent blocks only
        auto_flush=True,
    )
    parts = [compressor.begin(), *map(compressor.compress, _pieces(data)), compressor.flush()]
    return b"".join(parts)


def _unlz4(data: Buffer, max_bytes: int) -> bytes:
    import lz4.frame

    # The library allocates as much as it may return.
    piece_bytes = min(_PIECE_BYTES, max(_LZ4_FIRST_PIECE, 4 * len(data)))
    return _decompressed("lz4", lz4.frame.LZ4FrameDecompressor(), data, max_bytes, piece_bytes)


def _zstd(data: Buffer, level: int | None) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=_ZSTD_DEFAULT_LEVEL if level is None else level).compress(data)


def _unzstd(data: Buffer, max_bytes: int) -> bytes:
    import zstandard

    try:
        bound = _zstd_bound(data)
        declared = zstandard.frame_content_size(data)  # -1 means that no size is declared
        if declared > max_bytes:
            raise _too_large(max_bytes)
        if declared > bound:
            raise DecodeError(f"zstd: frame declares {declared} bytes, its blocks hold at most {bound}")
        if bound == 0:
            return b""
        decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW_SIZE)
        return decompressor.decompress(data, max_output_size=min(bound, max_bytes))
    except zstandard.ZstdError as error:
        raise DecodeError(f"zstd: {error}; the limit is {max_bytes} bytes") from None


def _zstd_bound(data: Buffer) -> int:
    """Walk the block headers of the frame (RFC 8878, 3.1.1), and return an upper bound of the decompressed size.

    The library accepts a truncated frame silently, and allocates the given size at once. This bound is close:
    every block but the last of a stream is full.
    """
    import zstandard

    position = zstandard.frame_header_size(data)
    bound, last = 0, False
    while not last:
        if len(data) - position < _ZSTD_BLOCK_HEADER_SIZE:
            raise DecodeError("zstd: truncated frame")
        header = int.from_bytes(data[position : position + _ZSTD_BLOCK_HEADER_SIZE], "little")
        last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        if kind == _ZSTD_RESERVED or size > _ZSTD_MAX_BLOCK_SIZE:
            raise DecodeError("zstd: malformed block header")
        position += _ZSTD_BLOCK_HEADER_SIZE + (1 if kind == _ZSTD_RLE else size)
        bound += _ZSTD_MAX_BLOCK_SIZE if kind == _ZSTD_COMPRESSED else size
    if zstandard.get_frame_parameters(data).has_checksum:
        position += 4
    if position != len(data):
        raise DecodeError("zstd: truncated frame, or followed by other bytes")
    return bound


_COMPRESSORS: tuple[Callable[[Buffer, int | None], bytes], ...] = (_store, _gzip, _snappy, _lz4, _zstd)
_DECOMPRESSORS: tuple[Callable[[Buffer, int], bytes], ...] = (_unstore, _gunzip, _unsnappy, _unlz4, _unzstd)
