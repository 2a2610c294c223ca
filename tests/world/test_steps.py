"""The steps of tasks that hold the event loop."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import attrs
import pytest
import trio

from kraft.world.steps import SAMPLE_S, LongStep, StepSampler, run_loop_frame, sample_steps


@attrs.define
class Looks:
    """A sampler that looks when a test asks it to, at the time that the test gives."""

    found: list[LongStep] = attrs.Factory(list)
    describe: Callable[[trio.lowlevel.Task], Any] = lambda task: task.name
    sampler: StepSampler = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        run_loop = run_loop_frame()
        assert run_loop is not None
        self.sampler = StepSampler(run_loop, self.describe, self.found.append)

    def at(self, now: float, *, due_at: float | None = None, cpu_s: float = 0.0, collections: int = 0) -> None:
        self.sampler.look(now if due_at is None else due_at, now, cpu_s, collections)


async def test_a_step_that_is_seen_twice_is_reported_after_its_end() -> None:
    looks = Looks()
    looks.at(1.0, cpu_s=7.0, collections=3)
    looks.at(1.2, cpu_s=7.1)
    looks.at(1.4, cpu_s=7.2)
    assert looks.found == []
    await trio.lowlevel.checkpoint()
    looks.at(1.5, cpu_s=7.25, collections=5)
    [step] = looks.found
    assert step.what == trio.lowlevel.current_task().name
    assert (step.held_s, step.cpu_s, step.collections) == pytest.approx((0.5 + SAMPLE_S / 2, 0.25, 2))


async def test_two_steps_of_one_task_are_not_one() -> None:
    """A task that lets others run in time never holds the loop, however often it is seen."""
    looks = Looks()
    for second in range(10):
        looks.at(second)
        await trio.lowlevel.checkpoint()

    async def another_task() -> None:
        looks.at(10.0)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(another_task)
    assert looks.found == []


async def test_a_call_into_c_that_keeps_the_lock_is_measured_from_when_the_look_was_due() -> None:
    """The thread cannot look meanwhile. It looks when the call has ended and its step still runs."""
    looks = Looks()
    looks.at(1.0)
    await trio.lowlevel.checkpoint()
    looks.at(1.4, due_at=1.1, cpu_s=0.29, collections=1)
    await trio.lowlevel.checkpoint()
    looks.at(1.5, cpu_s=0.3, collections=1)
    [step] = looks.found
    assert (step.held_s, step.cpu_s, step.collections) == pytest.approx((0.4 + SAMPLE_S / 2, 0.3, 1))


async def test_a_late_look_alone_is_no_long_step() -> None:
    """The process was stopped, or the thread had no CPU: the task that runs now has not run since."""
    looks = Looks()
    looks.at(1.0)
    await trio.lowlevel.checkpoint()
    looks.at(1.4, due_at=1.1, cpu_s=0.01)
    await trio.lowlevel.checkpoint()
    looks.at(1.5)
    assert looks.found == []


async def test_a_step_without_a_description_is_ignored() -> None:
    looks = Looks(describe=lambda task: None)
    looks.at(1.0)
    looks.at(2.0)
    await trio.lowlevel.checkpoint()
    looks.at(3.0)
    assert looks.found == []


async def test_trio_has_the_names_that_the_thread_reads() -> None:
    """Trio has no public way to see the running task from another thread. An instrument sees every step, and costs a
    small request a tenth of its CPU time.
    """
    advice = (
        "This Trio has another run loop. Find its variable of the running task, and the count of a task's steps, and "
        "use them in kraft/world/steps.py. Until then no node reports a long step."
    )
    run_loop = run_loop_frame()
    assert run_loop is not None, advice
    task = trio.lowlevel.current_task()
    assert run_loop.f_locals.get("task") is task, advice
    count = getattr(task, "_schedule_points", None)
    assert count is not None, advice
    await trio.lowlevel.checkpoint()
    assert task._schedule_points == count + 1, advice


def watching_threads() -> set[threading.Thread]:
    """Return the threads that watch a loop. A cluster that a session's fixture keeps in this process has its own."""
    return {each for each in threading.enumerate() if each.name == "loop watch"}


async def test_the_thread_finds_a_long_step_and_no_wait() -> None:
    """A planted step lasts until the thread has seen it twice; a task that waits as long for an event has none."""
    seen, reported = threading.Event(), trio.Event()
    found: list[LongStep] = []

    def describe(task: trio.lowlevel.Task) -> str:
        if task.name == "a planted step":
            seen.set()
        return task.name

    def report(step: LongStep) -> None:
        found.append(step)
        reported.set()

    async def hold() -> None:
        await trio.lowlevel.checkpoint()
        assert seen.wait(30)
        gc.collect()

    others = watching_threads()
    with trio.fail_after(30), sample_steps(describe, report):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hold, name="a planted step")
            await reported.wait()
    [planted] = [step for step in found if step.what == "a planted step"]
    assert planted.collections >= 1
    assert all(step.held_s >= SAMPLE_S for step in found)
    assert watching_threads() <= others
