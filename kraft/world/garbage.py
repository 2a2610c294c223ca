"""Automatic collections of garbage that hold the event loop for some milliseconds only, however much a node keeps.

A full collection looks at every object that may be part of a cycle, and no task runs meanwhile. The metadata and the
partitions of 5,000 topics are 240,000 such objects, and they live as long as their topics. So the objects that survive
a long full collection are frozen: later collections skip them.

After each freeze an empty full collection follows. Python begins a full collection once the new objects are a quarter
of those that the last one left. Without the empty one it would compare them with objects that are frozen since.

A frozen object is still freed with its last reference. Only a cycle that becomes garbage after it was frozen would
remain. A node must therefore make no cycles of objects that live long; a test of its traffic finds them.
"""

from __future__ import annotations

import gc
import importlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import trio

LONG_S = 0.001
"""The CPU time of a full collection from which its survivors are frozen."""
_OLDEST = 2
_THRESHOLDS = 700, 4, 1
"""Python's own are 700, 10, 10, and from Python 3.13 on 2,000, 10, 10. A full collection would then look at 84,000 new
objects or more, and not at 7,000.
"""


def import_uncollected(name: str) -> None:
    """Import a module without automatic collections: they would look at all that it imports, and hold the event loop.

    Runs on a worker thread. Raises ImportError.
    """
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        importlib.import_module(name)
    finally:
        if is_enabled:
            gc.enable()


@contextmanager
def short_collections(cpu_s: Callable[[], float] = time.thread_time) -> Iterator[None]:
    """Keep the automatic collections of this process short until the block ends. ``cpu_s`` measures them."""
    began_s = 0.0

    def freeze_survivors(phase: str, info: Mapping[str, Any]) -> None:
        nonlocal began_s
        if info["generation"] != _OLDEST:
            return
        if phase == "start":
            began_s = cpu_s()
        elif cpu_s() - began_s >= LONG_S:
            gc.freeze()
            with suppress(RuntimeError):  # a worker thread collects, or no loop runs yet
                trio.lowlevel.current_trio_token().run_sync_soon(gc.collect, idempotent=True)

    thresholds = gc.get_threshold()
    gc.callbacks.append(freeze_survivors)
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(freeze_survivors)
