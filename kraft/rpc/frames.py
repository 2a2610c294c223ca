"""Frames: a 4-byte length, then that many bytes.

A small frame costs one ``recv`` into a buffer that all connections of a processor share, and one copy out of it. A
large frame is received into its own bytearray, which grows with the bytes that arrive: a peer that only announces 100
MiB costs 64 KiB. A frame above 4 MiB gets a mapping of its own when 1 MiB has arrived: its pages cost nothing before
they are written, and no allocator copies them. The memory pool counts the whole length from the beginning, as in
KIP-72: a frame that has begun to arrive never waits for memory that another one holds.
"""

from __future__ import annotations

import mmap
import struct

from kraft.rpc.foreign import foreign_protocol
from kraft.rpc.memory_pool import UNCOUNTED_BYTES, MemoryPool
from kraft.wire.varint import Buffer
from kraft.world.slices import next_slice
from kraft.world.transport import Transport

SCRATCH_BYTES = 65_536

_LENGTH = struct.Struct(">i")
_NOTHING = memoryview(b"")
_FIRST_GRANT_BYTES = 65_536
_GRANT_FACTOR = 16
"""The buffer of a frame is at most this many times larger than the part of the frame that has arrived."""
_MAX_GRANT_BYTES = 1 << 20
"""A frame receives at most this at once: the kernel clears the memory while the loop waits."""
_MAPPED_BYTES = 4 << 20
"""A growing bytearray moves from the allocator's heap at some time, with a copy of all that has arrived."""


class InvalidFrame(ValueError):
    """The announced length is negative or above the limit. The stream cannot be read any further: close it."""


class ConnectionEnded(EOFError):
    """The peer closed in the middle of a frame."""


class FrameReader:
    """Reads the frames of one connection.

    Other readers in the same thread may share ``scratch``: it holds nothing across a checkpoint. A cancelled ``read``
    may have taken part of a frame, so the caller must close the connection.

    A large frame takes its bytes from ``memory``, and gives them back at the next ``read`` or ``release``.
    """

    __slots__ = ("_arrived", "_max_bytes", "_memory", "_scratch", "_taken", "_transport")

    def __init__(self, transport: Transport, scratch: memoryview, max_bytes: int, memory: MemoryPool) -> None:
        self._transport = transport
        self._scratch = scratch
        self._max_bytes = max_bytes
        self._memory = memory
        self._taken = 0
        self._arrived = _NOTHING

    @property
    def has_frame(self) -> bool:
        """Whether ``read`` returns or raises at once, because a whole frame has arrived behind the last one."""
        arrived = self._arrived
        return len(arrived) >= 4 and 4 + int(_LENGTH.unpack_from(arrived)[0]) <= len(arrived)

    def release(self) -> None:
        """Give back the memory of the last frame."""
        if self._taken:
            taken, self._taken = self._taken, 0
            self._memory.give_back(taken)

    async def read(self) -> Buffer | None:
        """Return the next frame without its length; None if the stream ends between two frames.

        Raises:
            InvalidFrame: the length is out of bounds.
            ConnectionEnded: the stream ends inside a frame.
            OSError: the connection was lost.
        """
        if self._taken:
            self.release()
        arrived = self._arrived
        scratch = self._scratch
        while len(arrived) < 4:
            count = await self._transport.receive_into(scratch)
            if count == 0:
                if arrived:
                    raise ConnectionEnded("connection ended inside a frame's length")
                return None
            # Too short for a length: copy it, because another connection uses the shared buffer while this task waits.
            whole = count >= 4 and not arrived
            arrived = scratch[:count] if whole else memoryview(bytes(arrived) + bytes(scratch[:count]))
        size: int = _LENGTH.unpack_from(arrived)[0]
        if not 0 <= size <= self._max_bytes:
            foreign = foreign_protocol(bytes(arrived))
            raise InvalidFrame(foreign or f"frame of {size} bytes, allowed are 0 to {self._max_bytes}")
        end = 4 + size
        if end == len(arrived):
            self._arrived = _NOTHING
            return bytes(arrived[4:])
        if end < len(arrived):
            frame = bytes(arrived[4:end])
            rest = arrived[end:]
            # The rest may lie in the shared buffer: copy it before another task runs.
            self._arrived = memoryview(bytes(rest)) if rest.obj is scratch.obj else rest
            return frame
        self._arrived = _NOTHING
        head = arrived[4:]
        if size > UNCOUNTED_BYTES:
            if not self._memory.has_room:
                head = memoryview(bytes(head))  # another connection uses the shared buffer while this task waits
                await self._memory.room()
            self._memory.take(size)
            self._taken = size
        return await self._read_large(size, head)

    async def _read_large(self, size: int, head: memoryview) -> bytearray | memoryview:
        filled = len(head)
        granted = min(size, max(_FIRST_GRANT_BYTES, filled * _GRANT_FACTOR))
        frame: bytearray | memoryview = bytearray(granted)
        frame[:filled] = head
        del head
        while filled < size:
            if filled == granted:
                if filled >= _MAX_GRANT_BYTES:
                    await next_slice()  # on a fast network the next bytes are always there
                granted += min(size - filled, filled * (_GRANT_FACTOR - 1), _MAX_GRANT_BYTES)
                frame = _enlarged(frame, granted, size)
            # Released here: a frame that a traceback still has would keep the view, and then no buffer can grow.
            with memoryview(frame) as view, view[filled:granted] as rest:
                count = await self._transport.receive_into(rest)
            if count == 0:
                raise ConnectionEnded(f"connection ended after {filled} of {size} bytes of a frame")
            filled += count
        return frame


def _enlarged(frame: bytearray | memoryview, granted: int, size: int) -> bytearray | memoryview:
    """Return a buffer for ``granted`` bytes of a frame of ``size``, with the bytes of ``frame``."""
    if isinstance(frame, memoryview):
        return frame
    filled = len(frame)
    if size <= _MAPPED_BYTES or filled < _MAX_GRANT_BYTES:
        frame.extend(bytes(granted - filled))
        return frame
    mapped = memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    mapped[:filled] = frame
    return mapped
