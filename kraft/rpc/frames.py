"""Frames: a 4-byte length, then that many bytes.

A small frame costs one ``recv`` into a buffer that all connections of a processor share, and one copy out of it. A
large one is received straight into its own bytearray, which grows with what has arrived: a peer that only announces
100 MiB costs 64 KiB.
"""

from __future__ import annotations

import struct

from kraft.rpc.foreign import foreign_protocol
from kraft.world.transport import Transport

SCRATCH_BYTES = 65_536

_LENGTH = struct.Struct(">i")
_FIRST_GRANT_BYTES = 65_536
_GRANT_FACTOR = 16
"""A frame's buffer is never more than this many times larger than the part of the frame that has arrived."""


class InvalidFrame(ValueError):
    """The announced length is negative or over the limit. What follows cannot be understood: close."""


class ConnectionEnded(EOFError):
    """The peer closed in the middle of a frame."""


class FrameReader:
    """The frames of one connection.

    ``scratch`` may be shared with other readers of the same thread: it holds nothing across a task switch. A ``read``
    that is cancelled has lost its place: close the connection.
    """

    __slots__ = ("_arrived", "_max_bytes", "_scratch", "_transport")

    def __init__(self, transport: Transport, scratch: memoryview, max_bytes: int) -> None:
        self._transport = transport
        self._scratch = scratch
        self._max_bytes = max_bytes
        self._arrived = memoryview(b"")

    async def read(self) -> bytes | bytearray | None:
        """The next frame without its length; None where the stream ends between frames. InvalidFrame,
        ConnectionEnded, OSError.
        """
        arrived = self._arrived
        scratch = self._scratch
        while len(arrived) < 4:
            count = await self._transport.receive_into(scratch)
            if count == 0:
                if arrived:
                    raise ConnectionEnded("connection ended inside a frame's length")
                return None
            # Too short to be a length: keep it, the shared buffer is another connection's as soon as this task waits.
            whole = count >= 4 and not arrived
            arrived = scratch[:count] if whole else memoryview(bytes(arrived) + bytes(scratch[:count]))
        size: int = _LENGTH.unpack_from(arrived)[0]
        if not 0 <= size <= self._max_bytes:
            foreign = foreign_protocol(bytes(arrived))
            raise InvalidFrame(foreign or f"frame of {size} bytes, allowed are 0 to {self._max_bytes}")
        end = 4 + size
        if end <= len(arrived):
            frame = bytes(arrived[4:end])
            # What is left may still lie in the shared buffer: it needs a home of its own before anyone else runs.
            rest = arrived[end:]
            self._arrived = memoryview(bytes(rest)) if rest.obj is scratch.obj else rest
            return frame
        self._arrived = memoryview(b"")
        return await self._read_large(size, arrived[4:])

    async def _read_large(self, size: int, head: memoryview) -> bytearray:
        filled = len(head)
        frame = bytearray(min(size, max(_FIRST_GRANT_BYTES, filled * _GRANT_FACTOR)))
        frame[:filled] = head
        del head
        while filled < size:
            if filled == len(frame):
                frame.extend(bytes(min(size - filled, filled * (_GRANT_FACTOR - 1))))
            with memoryview(frame) as view:
                count = await self._transport.receive_into(view[filled:])
            if count == 0:
                raise ConnectionEnded(f"connection ended after {filled} of {size} bytes of a frame")
            filled += count
        return frame
