"""The memory for large requests (``queued.max.request.bytes``, KIP-72).

A request is counted from when its length is known until its response is sent. While the pool is empty, connections with
a large request stop reading, and the peer is held back by its own socket. A second pool counts the elements of large
requests, which need many times their bytes once they are decoded.

A request that fits into one read is not counted: it has arrived when its length is known. So a heartbeat, an offset
commit or a follower's Fetch never waits for memory that a parked Produce holds until just that Fetch arrives.
"""

from __future__ import annotations

import attrs
import trio

UNCOUNTED_BYTES = 65_536
"""Not a Kafka setting. A request of at most this size is not counted; a connection has one at a time."""


@attrs.define(eq=False)
class MemoryPool:
    """Bytes, or elements, that requests may take. ``capacity`` below 1 means no limit, as in Kafka.

    As in KIP-72 the pool is not strict: a request gets all of its memory as soon as any is available. So requests
    exceed ``capacity`` by at most the size of one.
    """

    capacity: int = -1
    used: int = attrs.field(default=0, init=False)
    _released: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot, init=False)

    @property
    def has_room(self) -> bool:
        return self.capacity < 1 or self.used < self.capacity

    @property
    def available(self) -> int:
        """The rest of the capacity. Kafka reports the largest long for a pool without a limit."""
        return 2**63 - 1 if self.capacity < 1 else self.capacity - self.used

    def take(self, size: int) -> None:
        """Count the size of a request. The caller has seen that there is room, without a checkpoint since."""
        self.used += size

    async def room(self) -> None:
        """Wait until :meth:`take` is allowed."""
        while not self.has_room:
            await self._released.park()

    def give_back(self, size: int) -> None:
        self.used -= size
        # All of them, because the first that continues may not use up the memory. Each looks again when it runs.
        self._released.unpark_all()
