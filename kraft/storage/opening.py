"""Open record batches without holding the event loop.

A small batch is decompressed at once. A large one, or one that becomes large, is decompressed on a worker thread. At
most ``OPEN_BATCHES`` large ones are in memory at a time, because each may need many times its size.
"""

from __future__ import annotations

from typing import Final

import trio

from kraft.records.batch import CODEC_BITS, BatchHeader, CorruptBatch
from kraft.records.record import batch_payload
from kraft.wire.varint import Buffer
from kraft.world.world import InThread

OPEN_BATCHES: Final = 2
"""Not a Kafka setting."""
RECORDS_PER_SLICE: Final = 500
"""Not a Kafka setting. How many records a task decodes before other tasks run: about a millisecond of work."""
SMALL_BYTES: Final = 32 * 1024
"""Not a Kafka setting. Up to this size, a thread costs more than the work. A producer's ``batch.size`` is 16 KiB."""
_SMALL_DECOMPRESSED_BYTES: Final = 8 * SMALL_BYTES

_room: Final = trio.lowlevel.RunVar[trio.CapacityLimiter]("kraft.storage.opening")


class opened:
    """Give the block the encoded records of a batch, decompressed to at most ``max_bytes``. Raises CorruptBatch."""

    def __init__(
        self, buffer: Buffer, position: int, header: BatchHeader, *, max_bytes: int, compute: InThread
    ) -> None:
        self._batch = buffer, position, header, max_bytes
        self._compute = compute
        self._room: trio.CapacityLimiter | None = None

    async def __aenter__(self) -> Buffer:
        small = _at_once(*self._batch)
        if small is not None:
            return small
        room = _limiter()
        await room.acquire()
        try:
            payload: Buffer = await self._compute(batch_payload, *self._batch)
        except BaseException:
            room.release()
            raise
        self._room = room
        return payload

    async def __aexit__(self, *_: object) -> None:
        if self._room is not None:
            self._room.release()


def _at_once(buffer: Buffer, position: int, header: BatchHeader, max_bytes: int) -> Buffer | None:
    """Return the records if that is little work, else None."""
    if not header.attributes & CODEC_BITS:
        return batch_payload(buffer, position, header, max_bytes)
    if header.size > SMALL_BYTES:
        return None
    try:
        return batch_payload(buffer, position, header, min(max_bytes, _SMALL_DECOMPRESSED_BYTES))
    except CorruptBatch:
        return None  # it is too large, or the thread finds the same damage


def _limiter() -> trio.CapacityLimiter:
    try:
        return _room.get()
    except LookupError:
        limiter = trio.CapacityLimiter(OPEN_BATCHES)
        _room.set(limiter)
        return limiter
