"""Runs Trio deterministically in virtual time: the clock jumps to the next deadline, and the scheduler has a seed.

It patches only Trio's scheduler. Nodes get clock, randomness and ids from their world
(``kraft.simulation.virtual_network.VirtualNetwork.world``).

A run must not depend on sockets, worker threads, real time, or the order of a set of objects. Other threads of the
process are not affected.
"""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Awaitable, Callable, MutableSequence
from contextvars import ContextVar
from random import Random
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest.mock import patch

import trio
import trio._core._run as scheduler
from trio._core._mock_clock import MockClock  # as in trio.testing, which imports pytest
from trio._core._run import GLOBAL_RUN_CONTEXT

T = TypeVar("T")


class Process:
    """Tasks that stop and continue together, like a process. Wake-ups wait meanwhile.

    It stops between SIGSTOP and SIGCONT (:meth:`pause`), and for the duration of a step that works (:meth:`work`).
    Other processes go on meanwhile. A step that does not say how long it works takes no time.
    """

    def __init__(self) -> None:
        self._is_paused = False
        self._kept: list[trio.lowlevel.Task] = []
        """Tasks that run after the pause."""
        self._worker: object = None
        """Identifies the system task that ends the running step and those that follow it."""
        self._busy_until = -math.inf
        self._rest: list[trio.lowlevel.Task] = []
        """Tasks of the running batch that run after this step, before any task runs again."""
        self._next: list[trio.lowlevel.Task] = []
        """Tasks that run after that."""

    def enter(self) -> None:
        """Add the calling task to this process, and all tasks that it starts from now on."""
        _process.set(self)

    def now(self) -> float:
        """Return the time on the clocks of this process: a running step has worked until then."""
        return max(trio.current_time(), self._busy_until)

    def work(self, seconds: float) -> None:
        """Let the running step of this process take ``seconds`` more. No other task of it runs until the step ends.

        Trio runs its tasks in batches, each of them once. So the rest of the batch runs before the tasks that were
        woken meanwhile.
        """
        if seconds <= 0:
            return
        if self._busy_until <= trio.current_time():
            self._rest += _taken_out(_batch.get(), self)
            self._next += _taken_out(GLOBAL_RUN_CONTEXT.runner.runq, self)
        self._busy_until = self.now() + seconds
        if self._worker is None:
            self._worker = trio.lowlevel.spawn_system_task(self._end_steps)

    async def _end_steps(self) -> None:
        worker = self._worker
        while trio.current_time() < self._busy_until:
            await trio.sleep_until(self._busy_until)
            if trio.current_time() >= self._busy_until and worker is self._worker:
                rest, self._rest = self._rest, []
                self._release(rest)
                for _ in range(2 if rest else 0):  # the rest of the batch runs, until one of them works
                    await trio.lowlevel.checkpoint()
        if worker is self._worker:
            self._worker = None
            woken, self._next = self._next, []
            self._release(woken)

    def _release(self, tasks: list[trio.lowlevel.Task]) -> None:
        if self._is_paused:
            self._kept += tasks
        else:
            GLOBAL_RUN_CONTEXT.runner.runq.extend(tasks)

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        kept, self._kept = self._kept, []
        self._release(kept)

    def interrupt(self) -> None:
        """End a pause and the running step at once, for a kill."""
        self._busy_until, self._worker = -math.inf, None
        self._kept += self._rest + self._next
        self._rest, self._next = [], []
        self.resume()

    def keep(self, task: trio.lowlevel.Task) -> bool:
        """Return whether the scheduled ``task`` waits, instead of running in the next batch."""
        if self._worker is not None:
            self._next.append(task)
        elif self._is_paused:
            self._kept.append(task)
        else:
            return False
        return True


_process: ContextVar[Process | None] = ContextVar("process", default=None)
_batch: trio.lowlevel.RunVar[list[trio.lowlevel.Task]] = trio.lowlevel.RunVar("batch")
"""The tasks that still run in this round of the scheduler."""
_reschedule = scheduler.Runner.reschedule


def _taken_out(tasks: MutableSequence[trio.lowlevel.Task], process: Process) -> list[trio.lowlevel.Task]:
    """Remove the tasks of a process from ``tasks``, and return them."""
    taken: list[trio.lowlevel.Task] = []
    others: list[trio.lowlevel.Task] = []
    for task in tasks:
        (taken if task.context.get(_process) is process else others).append(task)
    tasks.clear()
    tasks.extend(others)
    return taken


def _reschedule_unless_kept(runner: scheduler.Runner, task: trio.lowlevel.Task, *how: Any) -> None:
    _reschedule(runner, task, *how)
    process = task.context.get(_process)
    if process is not None and process.keep(task):
        runner.runq.pop()


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

    def shuffle(batch: list[trio.lowlevel.Task]) -> None:
        dice.shuffle(batch)
        _batch.set(batch)

    own: dict[str, Callable[..., Any]] = {"random": dice.random, "shuffle": shuffle, "uniform": dice.uniform}
    thrown = {name: in_this_thread(function, getattr(dice_of_others, name)) for name, function in own.items()}
    with (
        patch.object(scheduler, "_ALLOW_DETERMINISTIC_SCHEDULING", True),
        patch.object(scheduler, "_r", SimpleNamespace(**thrown)),
        patch.object(scheduler.Runner, "reschedule", _reschedule_unless_kept),
    ):
        return trio.run(main, *arguments, clock=MockClock(autojump_threshold=0))
