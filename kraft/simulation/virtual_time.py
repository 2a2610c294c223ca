"""Trio in virtual time, the same way every time: the clock jumps, the scheduler's dice and ``random`` are seeded.

What a run does may not depend on sockets, worker threads, real time, or the order of a set of objects.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from unittest.mock import patch

import trio
import trio._core._run as scheduler
from trio.testing import MockClock

T = TypeVar("T")


def run(main: Callable[..., Awaitable[T]], *arguments: Any, seed: int = 0) -> T:
    """``trio.run`` in virtual time. The same ``seed`` gives the same schedule."""
    dice, chance = scheduler._r.getstate(), random.getstate()
    try:
        scheduler._r.seed(seed)
        random.seed(seed)
        with patch.object(scheduler, "_ALLOW_DETERMINISTIC_SCHEDULING", True):
            return trio.run(main, *arguments, clock=MockClock(autojump_threshold=0))
    finally:
        scheduler._r.setstate(dice)
        random.setstate(chance)
