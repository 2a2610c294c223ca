"""Trio in virtual time, the same way every time: the clock jumps, the scheduler's dice, ``random`` and random UUIDs are
seeded.

What a run does may not depend on sockets, worker threads, real time, or the order of a set of objects. Other threads of
the process go on as ever, and draw from chance of their own.
"""

from __future__ import annotations

import random
import threading
import uuid
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

import trio
import trio._core._run as scheduler
from trio._core._mock_clock import MockClock  # as in trio.testing, which imports pytest

T = TypeVar("T")

#: What nodes draw from the module ``random``, and what Trio throws its dice for.
_DRAWN = ("random", "randrange", "getrandbits")
_THROWN = ("random", "shuffle", "uniform")


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


def _only_here(mine: Callable[..., Any], others: Callable[..., Any]) -> Callable[..., Any]:
    """``mine`` in the thread that calls this, and ``others`` in every other."""
    here = threading.get_ident()
    return lambda *arguments: (mine if threading.get_ident() == here else others)(*arguments)


def run(main: Callable[..., Awaitable[T]], *arguments: Any, seed: int = 0) -> T:
    """``trio.run`` in virtual time. The same ``seed`` gives the same schedule."""
    chance, dice, dice_of_others = random.Random(seed), random.Random(seed), scheduler._r
    drawn = {name: _only_here(getattr(chance, name), getattr(random, name)) for name in _DRAWN}
    thrown = {name: _only_here(getattr(dice, name), getattr(dice_of_others, name)) for name in _THROWN}
    new_uuid = _only_here(lambda: uuid.UUID(int=chance.getrandbits(128), version=4), uuid.uuid4)
    with (
        patch.object(scheduler, "_ALLOW_DETERMINISTIC_SCHEDULING", True),
        patch.object(scheduler, "_r", SimpleNamespace(**thrown)),
        patch.object(scheduler.Runner, "reschedule", _reschedule_unless_paused),
        patch.dict(vars(random), drawn),
        patch.object(uuid, "uuid4", new_uuid),
    ):
        return trio.run(main, *arguments, clock=MockClock(autojump_threshold=0))
