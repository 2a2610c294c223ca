"""Open record batches without holding the event loop.

A small batch is decompressed at once. A large one, or one that becomes large, is decompressed on a worker thread. At
most ``OPEN_BATCHES`` large ones are in memory at a time, because each may need many times its size.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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


@asynccontextmanager
async def opened(
    buffer: Buffer, position: int, header: BatchHeader, *, max_bytes: int, compute: InThread
) -> AsyncIterator[Buffer]:
    """Give the block the encoded records of a batch, decompressed to at most ``max_bytes``.

    Raises CorruptBatch.
    """
    small = _at_once(buffer, position, header, max_bytes)
    if small is not None:
        yield small
        return
    async with _limiter():
        yield await compute(batch_payload, buffer, position, header, max_bytes)


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
