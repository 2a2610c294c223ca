"""Virtual time of a simulated world: a clock that jumps from event to event, and the trace of the events."""

from __future__ import annotations

import hashlib
import heapq
import struct
from collections.abc import Callable
from typing import Any

from kraft.raft.core import RaftCore
from kraft.simulation.invariants import Violation
from kraft.simulation.random_stream import RandomStream

#: The most events of one seed. A world with more has a message storm.
MAX_EVENTS = 60_000


class Timeline:
    """A queue of future events, in seconds from 0, and a hash of the past ones. ``trace`` receives each past one as a
    line.

    ``rng`` is the random stream of the world as a whole. ``faults_over`` is true once no fault strikes any more.
    ``coverage`` counts how often the world reached each state of interest.
    """

    def __init__(self, seed: int, trace: Callable[[str], None] | None = None) -> None:
        self.now = 0.0
        self.events = 0
        self.coverage: dict[str, int] = {}
        self.faults_over = False
        self.rng = RandomStream(seed, "world")
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._scheduled = 0
        self._trace = trace
        self._hash = hashlib.blake2b(digest_size=16)

    def call_at(self, at: float, function: Callable[..., None], *arguments: Any) -> None:
        self._scheduled += 1
        heapq.heappush(self._queue, (at, self._scheduled, function, arguments))

    def call_in(self, delay: float, function: Callable[..., None], *arguments: Any) -> None:
        self.call_at(self.now + delay, function, *arguments)

    def run_until(self, end: float, done: Callable[[], object] | None = None) -> bool:
        """Run the events until ``end``. Return True as soon as ``done`` returns true, otherwise False."""
        queue = self._queue
        while queue and queue[0][0] <= end:
            self.now, _, function, arguments = heapq.heappop(queue)
            self.events += 1
            if self.events > MAX_EVENTS:
                raise Violation("NoMessageStorm", f"more than {MAX_EVENTS} events")
            function(*arguments)
            if done is not None and done():
                return True
        self.now = end
        return False

    @property
    def trace_hash(self) -> str:
        return self._hash.hexdigest()

    def note(self, kind: str, node_id: int, core: RaftCore, detail: object = "") -> None:
        """Add a step of a node to the trace."""
        state = core.state
        name = type(state).__name__
        numbers = struct.pack("<dqqqq", self.now, node_id, state.epoch, core.log.end_offset, core.high_watermark)
        self._hash.update(numbers + kind.encode() + name.encode())
        if self._trace is not None:
            self._trace(f"{self.now:10.4f}  {node_id}  {name:11} epoch {state.epoch:3}  {kind}  {detail}")

    def log(self, text: str) -> None:
        if self._trace is not None:
            self._trace(f"{self.now:10.4f}  -- {text}")

    def cover(self, name: str) -> None:
        """Count that the world reached a state of interest."""
        self.coverage[name] = self.coverage.get(name, 0) + 1
