"""Frames do not depend on how the bytes arrive, and no buffer grows far beyond the bytes that have arrived."""

from __future__ import annotations

import mmap
import random
import struct
from itertools import pairwise
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from kraft.rpc.frames import SCRATCH_BYTES, ConnectionEnded, FrameReader, InvalidFrame
from kraft.rpc.memory_pool import MemoryPool
from kraft.wire.splice import FileSlice
from tests.support.steps import steps_of_this_task

MAX_BYTES = 104_857_600


@attrs.define
class Chunks:
    """A transport whose bytes arrive in the given chunks. Before each chunk another connection overwrites the shared
    buffer.
    """

    chunks: list[bytes]
    largest_buffer: int = 0

    async def receive_into(self, buffer: memoryview) -> int:
        await trio.lowlevel.checkpoint()
        self.largest_buffer = max(self.largest_buffer, len(buffer))
        if len(buffer) == SCRATCH_BYTES:
            buffer[:256] = bytes([0xEE]) * 256
        if not self.chunks:
            return 0
        taken = self.chunks[0][: len(buffer)]
        buffer[: len(taken)] = taken
        self.chunks[0] = self.chunks[0][len(taken) :]
        if not self.chunks[0]:
            del self.chunks[0]
        return len(taken)

    async def send(self, data: bytes | bytearray | memoryview, *, more: bool = False) -> None:
        raise NotImplementedError

    async def send_file(self, piece: FileSlice) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


def read_all(transport: Chunks, max_bytes: int = MAX_BYTES) -> list[bytes]:
    return [bytes(frame) for frame in read_buffers(transport, max_bytes)]


def read_buffers(transport: Chunks, max_bytes: int = MAX_BYTES) -> list[Any]:
    async def main() -> list[Any]:
        reader = FrameReader(transport, memoryview(bytearray(SCRATCH_BYTES)), max_bytes, MemoryPool())
        frames = []
        while (frame := await reader.read()) is not None:
            frames.append(frame)
        return frames

    return trio.run(main)


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in pairwise(places)]


sizes = st.one_of(st.integers(0, 300), st.integers(65_000, 66_000), st.just(1_200_000))


@pytest.mark.parametrize(
    ("behind", "expected"),
    [
        (b"", False),
        (b"\0\0\0", False),
        (b"\0\0\0\2a", False),
        (b"\0\0\0\2ab", True),
        (b"\0\0\0\0", True),
        (b"\xff\xff\xff\xff", True),
    ],
)
def test_a_frame_behind_the_last_one_is_known(behind: bytes, expected: bool) -> None:
    """A length out of range counts: the next ``read`` raises at once."""

    async def main() -> None:
        chunks = [struct.pack(">i", 3) + b"one" + behind]
        reader = FrameReader(Chunks(chunks), memoryview(bytearray(SCRATCH_BYTES)), MAX_BYTES, MemoryPool())
        assert not reader.has_frame
        assert await reader.read() == b"one"
        assert reader.has_frame is expected

    trio.run(main)


@given(st.lists(sizes, max_size=6), st.lists(st.integers(0, 2_000_000), max_size=8), st.integers(0, 255))
def test_frames_do_not_depend_on_how_the_bytes_arrive(lengths: list[int], cuts: list[int], seed: int) -> None:
    frames = [bytes([(seed + number) % 256]) * length for number, length in enumerate(lengths)]
    data = b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)
    assert read_all(Chunks(split(data, cuts))) == frames


@given(st.integers(1, 300_000))
def test_a_buffer_is_at_most_sixteen_times_what_has_arrived(arrived: int) -> None:
    """``socket.request.max.bytes`` is 100 MiB; a peer that only announces them must not cost them."""
    transport = Chunks([struct.pack(">i", MAX_BYTES) + bytes(arrived)])
    with pytest.raises(ConnectionEnded):
        read_all(transport)
    assert transport.largest_buffer <= max(SCRATCH_BYTES, 16 * arrived)


@pytest.mark.parametrize("length", [-1, -(2**31), 1001, 2**31 - 1])
def test_a_length_out_of_range_is_invalid(length: int) -> None:
    with pytest.raises(InvalidFrame, match=f"frame of {length} bytes, allowed are 0 to 1000"):
        read_all(Chunks([struct.pack(">i", length)]), max_bytes=1000)


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0\5", b"\0\0\0\5abcd"])
def test_an_end_inside_a_frame_is_no_clean_end(data: bytes) -> None:
    with pytest.raises(ConnectionEnded):
        read_all(Chunks([data]))


def test_the_buffer_of_a_huge_frame_grows_by_a_megabyte_at_most() -> None:
    """The kernel clears new memory, and each megabyte takes most of a millisecond."""
    transport = Chunks([struct.pack(">i", 20 << 20) + bytes(20 << 20)])
    assert [len(frame) for frame in read_all(transport)] == [20 << 20]
    assert transport.largest_buffer == 1 << 20


@pytest.mark.parametrize(("size", "is_mapped"), [(4 << 20, False), ((4 << 20) + 1, True), (9 << 20, True)])
def test_a_frame_above_4_mib_has_a_mapping_of_its_own(size: int, is_mapped: bool) -> None:
    """FrameReader: "no allocator copies them". A bytearray that left the heap copied 31 MiB in one step of 20 ms."""
    data = random.Random(size).randbytes(size)
    behind = struct.pack(">i", 3) + b"end"
    frames = read_buffers(Chunks(split(struct.pack(">i", size) + data + behind, [5, 70_000, 3 << 20])))
    assert [bytes(frame) for frame in frames] == [data, b"end"]
    assert isinstance(frames[0], memoryview) is is_mapped
    assert not is_mapped or isinstance(frames[0].obj, mmap.mmap)


@attrs.define
class Keeping(Chunks):
    """A transport whose frames stay alive with their arguments, as Python 3.12 does for the frames of a traceback."""

    kept: list[memoryview] = attrs.Factory(list)

    async def receive_into(self, buffer: memoryview) -> int:
        self.kept.append(buffer)
        return await super().receive_into(buffer)


def test_a_frame_grows_although_its_transport_keeps_the_buffers() -> None:
    """A bytearray with a live view cannot grow: BufferError."""
    data = random.Random(1).randbytes(3 << 20)
    assert read_all(Keeping(split(struct.pack(">i", len(data)) + data, [5, 70_000, 1 << 20]))) == [data]


@attrs.define
class Endless(Chunks):
    """A transport whose next bytes are always there."""

    async def receive_into(self, buffer: memoryview) -> int:
        taken = self.chunks.pop(0)[: len(buffer)] if self.chunks else bytes(min(len(buffer), 1 << 20))
        buffer[: len(taken)] = taken
        return len(taken)


async def test_a_large_frame_on_a_fast_network_lets_other_tasks_run() -> None:
    """64 MB over the loopback device took one step of 50 ms."""
    size = 40 << 20
    transport = Endless([struct.pack(">i", size)])
    reader = FrameReader(transport, memoryview(bytearray(SCRATCH_BYTES)), MAX_BYTES, MemoryPool())
    async with steps_of_this_task() as steps:
        frame = await reader.read()
    assert frame is not None
    assert len(frame) == size
    assert steps.count >= 8
