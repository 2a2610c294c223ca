"""Finds the steps of tasks that hold the event loop, from a thread of its own.

A task runs until its next checkpoint: that is a step, and all other tasks wait meanwhile. Trio's instruments see every
step, but a small request feels them: they cost it a tenth of its CPU time. So a thread looks every ``SAMPLE_S`` at the
task that runs. The event loop does nothing for it.

The thread reads the variable ``task`` of Trio's run loop, and the count of steps that Trio keeps for each task. Where
they do not exist, no step is found.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any

import attrs
import trio

SAMPLE_S = 0.025
"""The time between two looks. The duration of a step is measured to about half of it."""
_CLOSE_LOOK_S = 0.005
"""The time until the next look at a step that was seen twice."""
_BUSY = 0.8
"""The share of CPU time from which a thread counts as busy."""
_RUN_LOOP = "unrolled_run"


@attrs.frozen
class LongStep:
    """A step that was seen at least twice. ``what`` describes its task.

    ``cpu_s`` is the CPU time of the event loop's thread meanwhile. The rest of ``held_s`` went to a disk, to other
    threads or to other processes. ``collections`` is the number of full collections of garbage.
    """

    what: Any
    held_s: float
    cpu_s: float
    collections: int


Describe = Callable[[trio.lowlevel.Task], Any]
"""Describes a running task. It is called in another thread. None ignores the step."""

Report = Callable[[LongStep], object]

WatchSteps = Callable[[Describe, Report], AbstractContextManager[None]]
"""Calls ``Report`` in the event loop with each long step, after its end, until the block ends."""


@contextmanager
def sample_steps(describe: Describe, report: Report) -> Iterator[None]:
    """Watch the steps of the running event loop with a thread."""
    run_loop = run_loop_frame()
    if run_loop is None:
        yield
        return
    token = trio.lowlevel.current_trio_token()
    loop_cpu = time.pthread_getcpuclockid(threading.get_ident())
    sampler = StepSampler(run_loop, describe, lambda step: token.run_sync_soon(report, step))
    stopped = threading.Event()

    def look_again_and_again() -> None:
        due_at = time.perf_counter()
        while not stopped.wait(max(0.0, due_at - time.perf_counter())):
            now = time.perf_counter()
            due_at = now + sampler.look(due_at, now, time.clock_gettime(loop_cpu), full_collections())

    thread = threading.Thread(target=look_again_and_again, name="loop watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def full_collections() -> int:
    """Return how often Python has collected the garbage of all generations."""
    return int(gc.get_stats()[-1]["collections"])


def run_loop_frame() -> FrameType | None:
    """Return the frame of Trio's run loop below the calling task; None if this Trio has another one."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != _RUN_LOOP:
        frame = frame.f_back
    return frame


@attrs.define
class _Seen:
    """A step, and when it was seen first. ``number`` is the count of the task's earlier steps."""

    task: trio.lowlevel.Task
    number: int
    began_at: float
    began_cpu_s: float
    began_collections: int
    what: Any = None


@attrs.define(eq=False)
class StepSampler:
    """Recognises a step when it sees it again, and reports it after its end."""

    run_loop: FrameType
    describe: Describe
    report: Report
    _seen: _Seen | None = None
    _cpu_s: float = 0.0
    _collections: int = 0

    def look(self, due_at: float, now: float, cpu_s: float, collections: int) -> float:
        """Look at the running step. Return the seconds until the next look.

        The look was due at ``due_at``. ``cpu_s`` is the CPU time of the event loop's thread until now,
        ``collections`` the number of full collections of garbage.
        """
        task: trio.lowlevel.Task | None = self.run_loop.f_locals.get("task")
        seen = self._seen
        if seen is not None and task is seen.task and task._schedule_points == seen.number:
            if seen.what is None:
                seen.what = self.describe(task)
            return _CLOSE_LOOK_S
        if seen is not None and seen.what is not None:
            # It began up to SAMPLE_S before its first look.
            held_s = now - seen.began_at + SAMPLE_S / 2
            self.report(LongStep(seen.what, held_s, cpu_s - seen.began_cpu_s, collections - seen.began_collections))
        former_cpu_s, self._cpu_s = self._cpu_s, cpu_s
        former_collections, self._collections = self._collections, collections
        self._seen = None
        if task is not None:
            self._seen = _Seen(task, task._schedule_points, now, cpu_s, collections)
            late_s = now - due_at
            if late_s > SAMPLE_S and cpu_s - former_cpu_s > _BUSY * late_s:
                # A call into C kept the interpreter's lock, and its step still runs: it has run since ``due_at``.
                self._seen.began_at, self._seen.began_cpu_s = due_at, former_cpu_s
                self._seen.began_collections = former_collections
                self._seen.what = self.describe(task)
        return SAMPLE_S
