"""The codecs: both framings of snappy, levels, truncation, and bombs."""

from __future__ import annotations

import gzip
import random
import struct
import subprocess
import sys
import zlib
from typing import Any

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kraft.records.compression import Compression, compress, decompress
from kraft.wire.decode_error import DecodeError
from tests.records.strategies import CAP

CODECS = [codec for codec in Compression if codec is not Compression.NONE]
TEXT = b"the quick brown fox jumps over the lazy dog. " * 3000


@given(st.sampled_from(Compression), st.binary(max_size=1000), st.integers(1, 500))
def test_round_trip(codec: Compression, unit: bytes, times: int) -> None:
    data = unit * times
    compressed = compress(codec, data)
    assert decompress(codec, compressed, len(data)) == data
    assert decompress(codec, memoryview(compressed), CAP) == data


@given(st.sampled_from(Compression), st.binary(min_size=1, max_size=300), st.integers(1, 2000), st.data())
def test_one_byte_above_the_cap_is_refused(codec: Compression, unit: bytes, times: int, data: st.DataObject) -> None:
    content = unit * times
    cap = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(DecodeError):
        decompress(codec, compress(codec, content), cap)


@pytest.mark.parametrize("codec", CODECS)
def test_a_truncated_or_continued_frame_is_refused(codec: Compression) -> None:
    compressed = compress(codec, TEXT)
    for size in {*range(1, 40), *range(len(compressed) - 40, len(compressed))}:
        if codec is Compression.SNAPPY and size == 16:
            continue  # the header alone is a stream of no blocks
        with pytest.raises(DecodeError):
            decompress(codec, compressed[:size], CAP)
    with pytest.raises(DecodeError):
        decompress(codec, compressed + b"\x00", CAP)
    with pytest.raises(DecodeError):
        decompress(codec, b"", CAP)


@pytest.mark.parametrize(
    ("codec", "levels"),
    [(Compression.GZIP, range(1, 10)), (Compression.LZ4, range(1, 18)), (Compression.ZSTD, [-131072, -1, 1, 19, 22])],
)
def test_every_level_of_kafka_is_taken(codec: Compression, levels: range | list[int]) -> None:
    """KIP-390: gzip 1 to 9 or -1, lz4 1 to 17, zstd -131072 to 22."""
    for level in (-1, *levels) if codec is Compression.GZIP else levels:
        assert decompress(codec, compress(codec, TEXT, level), CAP) == TEXT


def test_lz4_frames_are_of_the_kind_that_java_reads() -> None:
    """KIP-57: a correct header checksum. Java's reader takes independent blocks only; 4 is a block size of 64 KiB."""
    frame = compress(Compression.LZ4, TEXT)
    information = lz4.frame.get_frame_info(frame)
    assert (information["block_linked"], information["block_size_id"]) == (False, 4)
    assert frame[:4] == bytes.fromhex("04224d18")
    linked = lz4.frame.compress(TEXT, block_linked=True, content_checksum=True, store_size=True)
    assert decompress(Compression.LZ4, linked, CAP) == TEXT
    with pytest.raises(DecodeError):
        decompress(Compression.LZ4, frame[:6] + bytes((frame[6] ^ 1,)) + frame[7:], CAP)


def test_snappy_is_written_in_the_blocks_of_xerial_and_read_both_ways() -> None:
    """Java writes blocks of 32 KiB behind a header; librdkafka writes one raw block."""
    framed = compress(Compression.SNAPPY, TEXT)
    assert framed[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    (first,) = struct.unpack_from(">i", framed, 16)
    assert cramjam.snappy.decompress_raw_len(framed[20 : 20 + first]) == 32 * 1024
    assert decompress(Compression.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT)), CAP) == TEXT


@pytest.mark.parametrize(
    "block",
    [b"", struct.pack(">i", 0), struct.pack(">i", -1), struct.pack(">i", 2**31 - 1), struct.pack(">i", 1) + b"\x05"],
    ids=["header cut", "empty block", "negative length", "huge length", "bad block"],
)
def test_malformed_snappy_blocks_are_refused(block: bytes) -> None:
    stream = compress(Compression.SNAPPY, b"")
    with pytest.raises(DecodeError):
        decompress(Compression.SNAPPY, stream + block if block else stream[:12], CAP)


def test_zstd_streams_of_undeclared_size_are_read() -> None:
    """Java writes a stream: the frame does not have its decompressed size. Skippable checksums and flushes are
    allowed.
    """
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True).compressobj()
    stream = b"".join(
        compressor.compress(TEXT[:1000]) + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for _ in range(5)
    )
    stream += compressor.flush()
    assert zstandard.frame_content_size(stream) == -1
    assert decompress(Compression.ZSTD, stream, 5000) == TEXT[:1000] * 5
    with pytest.raises(DecodeError):
        decompress(Compression.ZSTD, stream, 4999)


def test_gzip_with_a_file_name_is_read() -> None:
    member = bytearray(gzip.compress(TEXT))
    member[3] |= 0x08  # FNAME
    assert decompress(Compression.GZIP, bytes(member[:10]) + b"name\x00" + bytes(member[10:]), CAP) == TEXT


@pytest.mark.parametrize(
    ("codec", "lie"),
    [
        (Compression.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"\x00" * 10),  # a raw block that declares 2^32 - 1 bytes
        (Compression.ZSTD, bytes.fromhex("28b52ffd e0 ffffffffffffff0f 010000")),  # declares 2^60 bytes, holds none
        (Compression.ZSTD, bytes.fromhex("28b52ffd a0 00001000 010000")),  # declares 1 MiB, holds none
        (Compression.ZSTD, bytes.fromhex("28b52ffd 00 a8 430000 00")),  # window of 2^31
        (Compression.ZSTD, bytes.fromhex("28b52ffd 00 58 07000000")),  # a block of the reserved type
    ],
    ids=["snappy size", "zstd size", "zstd size below the cap", "zstd window", "zstd reserved block"],
)
def test_a_declared_size_does_not_limit_the_check(codec: Compression, lie: bytes) -> None:
    with pytest.raises(DecodeError):
        decompress(codec, lie, CAP)


class Recorded:
    """A compressor or decompressor that notes how many bytes each of its calls gets and returns."""

    def __init__(self, recorded: Any, sizes: list[int]) -> None:
        self._recorded = recorded
        self._sizes = sizes

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._recorded, name)
        if not callable(value):
            return value

        def call(*arguments: Any, **more: Any) -> Any:
            result = value(*arguments, **more)
            self._sizes.extend(len(each) for each in (*arguments[:1], result))
            return result

        return call


@pytest.mark.parametrize("content", [bytes(3 << 20), random.Random(1).randbytes(3 << 20)], ids=["zeros", "random"])
@pytest.mark.parametrize(
    ("codec", "module", "names"),
    [
        (Compression.GZIP, zlib, ("compressobj", "decompressobj")),
        (Compression.LZ4, lz4.frame, ("LZ4FrameCompressor", "LZ4FrameDecompressor")),
    ],
    ids=["gzip", "lz4"],
)
def test_a_library_copies_no_large_result_under_the_interpreters_lock(
    codec: Compression, module: Any, names: tuple[str, ...], content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event loop would wait for the lock: 30 ms for 60 MiB."""
    sizes: list[int] = []
    for name in names:
        made = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *rest, _made=made, **more: Recorded(_made(*rest, **more), sizes))
    assert decompress(codec, compress(codec, content), len(content)) == content
    assert max(sizes) <= 300_000
    assert sum(sizes) > len(content)


BOMB = r"""
import re, sys, zlib
import cramjam, lz4.frame, zstandard
from kraft.records.compression import Compression, compress, decompress
from kraft.wire.decode_error import DecodeError

MIB, TIMES = 1024 * 1024, 500
block = bytes(MIB)
def stream(compressor):
    return b"".join(compressor.compress(block) for _ in range(TIMES)) + compressor.flush()
def lz4_stream():
    frame = lz4.frame.LZ4FrameCompressor(block_linked=False)
    return frame.begin() + stream(frame)
def xerial_stream():
    one = compress(Compression.SNAPPY, block)
    return one[:16] + one[16:] * TIMES
def memory(field):
    with open("/proc/self/status") as status:
        return int(re.search(field + r":\s+(\d+) kB", status.read())[1]) // 1024
codec = Compression[sys.argv[1]]
bomb = {
    Compression.GZIP: lambda: stream(zlib.compressobj(1, wbits=31)),
    Compression.SNAPPY: xerial_stream,
    Compression.LZ4: lz4_stream,
    Compression.ZSTD: lambda: stream(zstandard.ZstdCompressor().compressobj()),
}[codec]()
with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")  # proc(5): the peak begins anew
before = memory("VmRSS")
try:
    decompress(codec, bomb, 16 * MIB)
except DecodeError:
    print(memory("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_refused_in_little_memory(codec: Compression) -> None:
    """500 MiB against a cap of 16 MiB, in a process of its own: its peak memory grows by less than 64 MiB."""
    result = subprocess.run([sys.executable, "-c", BOMB, codec.name], capture_output=True, text=True, timeout=100)
    assert result.stderr == ""
    assert int(result.stdout) < 64
