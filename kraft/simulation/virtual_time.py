"""Trio in virtual time, the same way every time: the clock jumps, the scheduler's dice, ``random`` and random UUIDs are
seeded.

What a run does may not depend on sockets, worker threads, real time, or the order of a set of objects.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeVar
from unittest.mock import patch

import trio
import trio._core._run as scheduler
from trio.testing import MockClock

T = TypeVar("T")


class Process:
    """Tasks that can stand still together, as a process does between SIGSTOP and SIGCONT: what wakes them waits."""

    def __init__(self) -> None:
        self._woken: list[tuple[Any, ...]] | None = None

    def enter(self) -> None:
        """From now on the calling task is of this process, and so are the tasks that it starts."""
        _process.set(self)

    def pause(self) -> None:
        if self._woken is None:
            self._woken = []

    def resume(self) -> None:
        woken, self._woken = self._woken or [], None
        for arguments in woken:
            trio.lowlevel.reschedule(*arguments)

    def holds(self, task: trio.lowlevel.Task, *how: Any) -> bool:
        """Whether the task, which is to go on, has to wait for that."""
        if self._woken is None:
            return False
        task._abort_func = None  # it is woken: nothing else may wake it a second time
        self._woken.append((task, *how))
        return True


_process: ContextVar[Process | None] = ContextVar("process", default=None)
_reschedule = scheduler.Runner.reschedule


def _reschedule_unless_paused(runner: scheduler.Runner, task: trio.lowlevel.Task, *how: Any) -> None:
    process = task.context.get(_process)
    if process is None or not process.holds(task, *how):
        _reschedule(runner, task, *how)


def run(main: Callable[..., Awaitable[T]], *arguments: Any, seed: int = 0) -> T:
    """``trio.run`` in virtual time. The same ``seed`` gives the same schedule."""
    dice, chance = scheduler._r.getstate(), random.getstate()
    try:
        scheduler._r.seed(seed)
        random.seed(seed)
        with (
            patch.object(scheduler, "_ALLOW_DETERMINISTIC_SCHEDULING", True),
            patch.object(scheduler.Runner, "reschedule", _reschedule_unless_paused),
            patch.object(uuid, "uuid4", lambda: uuid.UUID(int=random.getrandbits(128), version=4)),
        ):
            return trio.run(main, *arguments, clock=MockClock(autojump_threshold=0))
    finally:
        scheduler._r.setstate(dice)
        random.setstate(chance)
