"""Trio in virtual time, the same way every time: the clock jumps, and the scheduler's dice have a seed.

Trio's scheduler is all that is patched. Nodes get clock, randomness and ids from their world
(``kraft.simulation.virtual_network.VirtualNetwork.world``).

What a run does may not depend on sockets, worker threads, real time, or the order of a set of objects. Other threads of
the process go on as ever.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

import trio
import trio._core._run as scheduler
from trio._core._mock_clock import MockClock  # as in trio.testing, which imports pytest

T = TypeVar("T")

#: What Trio's scheduler throws its dice for.
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


def in_this_thread(replacement: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """``replacement`` for the thread that calls this, ``original`` for every other thread of the process."""
    mine = threading.get_ident()

    @functools.wraps(original)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return (replacement if threading.get_ident() == mine else original)(*arguments, **keywords)

    return call


def run(main: Callable[..., Awaitable[T]], *arguments: Any, seed: int = 0) -> T:
    """``trio.run`` in virtual time. The same ``seed`` gives the same schedule."""
    dice, dice_of_others = Random(seed), scheduler._r
    thrown = {name: in_this_thread(getattr(dice, name), getattr(dice_of_others, name)) for name in _THROWN}
    with (
        patch.object(scheduler, "_ALLOW_DETERMINISTIC_SCHEDULING", True),
        patch.object(scheduler, "_r", SimpleNamespace(**thrown)),
        patch.object(scheduler.Runner, "reschedule", _reschedule_unless_paused),
    ):
        return trio.run(main, *arguments, clock=MockClock(autojump_threshold=0))
