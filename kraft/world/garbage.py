"""Automatic collections of garbage that hold the event loop for some milliseconds only, however much a node keeps.

A full collection looks at every object that may be part of a cycle, and no task runs meanwhile. The metadata and the
partitions of 5,000 topics are 240,000 such objects, and they live as long as their topics. So the objects that survive
a long full collection are frozen: later collections skip them.

A frozen object is still freed with its last reference. Only a cycle that becomes garbage after it was frozen remains.
So when the frozen objects have doubled, one collection looks at all of them. Such garbage is therefore never more than
the objects in use, or than ``FEW``.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs
import trio

logger = logging.getLogger("kraft.node")

LONG_S = 0.01
"""The CPU time of a full collection from which its survivors are frozen."""
FEW = 1_000_000
"""Up to this number of frozen objects no collection looks at them again: some 100 MB."""
CHECK_INTERVAL_S = 60.0
_OLDEST = 2
_THRESHOLDS = 700, 10, 5
"""Python's own are 700, 10, 10. A full collection would then look at 70,000 new objects, and not at 35,000."""


@contextmanager
def short_collections(cpu_s: Callable[[], float] = time.thread_time, few: int = FEW) -> Iterator[FrozenObjects]:
    """Keep the automatic collections of this process short until the block ends. ``cpu_s`` measures them."""
    frozen, thresholds = FrozenObjects(cpu_s, few), gc.get_threshold()
    gc.callbacks.append(frozen.note)
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield frozen
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(frozen.note)


@attrs.define(eq=False)
class FrozenObjects:
    """The objects that automatic collections skip.

    ``in_use`` of them were no garbage when all were looked at last, and at most ``since`` were frozen after that.
    """

    cpu_s: Callable[[], float]
    few: int
    in_use: int = 0
    since: int = 0
    _began_s: float = 0.0

    def note(self, phase: str, info: Mapping[str, Any]) -> None:
        """Freeze the survivors of a long full collection. Python calls this at the start and end of each collection."""
        if info["generation"] != _OLDEST:
            return
        if phase == "start":
            self._began_s = self.cpu_s()
        elif self.cpu_s() - self._began_s >= LONG_S:
            self.since += len(gc.get_objects(_OLDEST))
            gc.freeze()

    async def watch(self) -> None:
        """Collect the garbage among the frozen objects whenever they have doubled, until cancelled."""
        self.in_use, self.since = self.since, 0  # the node has loaded its metadata
        while True:
            await trio.sleep(CHECK_INTERVAL_S)
            self.collect_if_doubled()

    def collect_if_doubled(self) -> None:
        """Collect the garbage among the frozen objects, if they have doubled."""
        most = max(self.in_use, self.few)
        if self.since > most:
            # Many are freed by now. To count a million takes 0.1 s.
            self.since = gc.get_freeze_count() - self.in_use
        if self.since > most:
            self._collect()

    def _collect(self) -> None:
        began_s = self.cpu_s()
        gc.unfreeze()
        freed = gc.collect()
        gc.freeze()
        gc.collect()  # of few objects now, whose number decides when Python begins the next full collection
        self.in_use, self.since = gc.get_freeze_count(), 0
        held_ms = (self.cpu_s() - began_s) * 1000
        text = "looked at all objects: %d are in use, %d were garbage; the event loop was held for %.0f ms of CPU time"
        logger.info(text, self.in_use, freed, held_ms)
