"""Runs Trio deterministically in virtual time: the clock jumps to the next deadline, and the scheduler has a seed.

It patches only Trio's scheduler. Nodes get clock, randomness and ids from their world
(``kraft.simulation.virtual_network.VirtualNetwork.world``).

A run must not depend on sockets, worker threads, real time, or the order of a set of objects. Other threads of the
process are not affected.
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

#: The random functions that Trio's scheduler calls.
_THROWN = ("random", "shuffle", "uniform")


class Process:
    """Tasks that pause and resume together, like a process with SIGSTOP and SIGCONT. Wake-ups wait meanwhile."""

    def __init__(self) -> None:
        self._woken: list[tuple[Any, ...]] | None = None

    def enter(self) -> None:
        """Add the calling task to this process, and all tasks that it starts from now on."""
        _process.set(self)

    def pause(self) -> None:
        if self._woken is None:
            self._woken = []

    def resume(self) -> None:
        woken, self._woken = self._woken or [], None
        for arguments in woken:
            trio.lowlevel.reschedule(*arguments)

    def holds(self, task: trio.lowlevel.Task, *how: Any) -> bool:
        """Whether this process is paused. If so, the task is rescheduled at ``resume``."""
        if self._woken is None:
            return False
        task._abort_func = None  # Its wake-up has happened: nothing else may wake it again.
        self._woken.append((task, *how))
        return True


_process: ContextVar[Process | None] = ContextVar("process", default=None)
_reschedule = scheduler.Runner.reschedule


def _reschedule_unless_paused(runner: scheduler.Runner, task: trio.lowlevel.Task, *how: Any) -> None:
    process = task.context.get(_process)
    if process is None or not process.holds(task, *how):
        _reschedule(runner, task, *how)


def in_this_thread(replacement: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls ``replacement`` in the current thread and ``original`` in every other thread."""
    mine = threading.get_ident()

    @functools.wraps(original)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return (replacement if threading.get_ident() == mine else original)(*arguments, **keywords)

    return call


def run(main: Callable[..., Awaitable[T]], *arguments: Any, seed: int = 0) -> T:
    """Call ``trio.run`` in virtual time. The same ``seed`` gives the same schedule."""
    dice, dice_of_others = Random(seed), scheduler._r
    thrown = {name: in_this_thread(getattr(dice, name), getattr(dice_of_others, name)) for name in _THROWN}
    with (
        patch.object(scheduler, "_ALLOW_DETERMINISTIC_SCHEDULING", True),
        patch.object(scheduler, "_r", SimpleNamespace(**thrown)),
        patch.object(scheduler.Runner, "reschedule", _reschedule_unless_paused),
    ):
        return trio.run(main, *arguments, clock=MockClock(autojump_threshold=0))
