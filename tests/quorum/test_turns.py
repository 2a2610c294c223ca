"""Who steps a core, and when, with nothing behind it: steps and flushes are noted, and done at once."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import cast

import attrs
import pytest
import trio
import trio.testing

from kraft.quorum.flusher import Flusher
from kraft.quorum.turns import Turns
from kraft.raft.events import Event, LogFlushed, Resign, Timeout

TIMES = 20
"""Trio runs the tasks of a round in a random order."""
FLUSHED = LogFlushed(1, 0)


@attrs.define
class Bench:
    """A core and a disk. ``happened`` is what was done, in order; ``then`` what a step with an epoch to resign does."""

    happened: list[str] = attrs.Factory(list)
    then: dict[int, Callable[[], None]] = attrs.Factory(dict)
    is_due: bool = False
    turns: Turns = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.turns = Turns(self.step, cast(Flusher, self), lambda: len(self.happened))
        self.turns.deadline = math.inf

    def step(self, event: Event | None, data: bytes) -> None:
        if isinstance(event, Resign):
            self.happened.append(f"step {event.epoch}")
            self.then.get(event.epoch, lambda: None)()
        elif event is None:
            self.happened.append("grown")
        elif isinstance(event, Timeout):
            self.happened.append("timeout")
            self.turns.deadline = math.inf

    def flush(self) -> LogFlushed:
        self.is_due = False
        self.happened.append("flush")
        return FLUSHED

    def append(self) -> None:
        """What a step does that appends."""
        self.is_due = True

    def answer(self, answered: trio.Event) -> None:
        """What a step does that answers somebody and appends."""
        answered.set()
        self.turns.has_replied = True
        self.is_due = True

    def note(self, what: str, then: trio.Event | None = None) -> Callable[[], Awaitable[None]]:
        async def perform() -> None:
            if then is not None:
                await then.wait()
            self.happened.append(what)

        return perform


@asynccontextmanager
async def playing(bench: Bench) -> AsyncIterator[None]:
    """A role that takes one turn after the other, and rests by now."""

    async def play() -> None:
        await bench.turns.carry_on()
        while True:
            await bench.turns.take()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(play)
        await trio.testing.wait_all_tasks_blocked()
        bench.happened.clear()
        yield
        nursery.cancel_scope.cancel()


async def _sends(bench: Bench, answered: trio.Event) -> None:
    await answered.wait()
    bench.happened.append("sent")


async def test_an_event_is_stepped_by_who_brings_it_while_the_role_rests() -> None:
    bench = Bench()
    async with playing(bench):
        await bench.turns.report(Resign(1))
        assert bench.happened == ["step 1"]


async def test_what_comes_of_a_step_comes_before_what_is_reported_later() -> None:
    bench = Bench()
    bench.then[1] = lambda: bench.turns.follow(Resign(2))
    async with playing(bench):
        await bench.turns.report(Resign(1))
        await bench.turns.report(Resign(3))
        assert bench.happened == ["step 1", "step 2", "step 3"]


@pytest.mark.parametrize("follows", [True, False])
async def test_nothing_is_stepped_while_effects_wait_for_the_disk(follows: bool) -> None:
    """An election state is durable before anything else is done (KIP-595), whether the next event came of the same
    step or of somebody else, who must not wait for the disk either.
    """
    bench, disk = Bench(), trio.Event()

    def postpone() -> None:
        if follows:
            bench.turns.follow(Resign(2))
        bench.turns.postpone(bench.note("written", disk))

    bench.then[1] = postpone
    async with playing(bench):
        await bench.turns.report(Resign(1))
        if not follows:
            await bench.turns.report(Resign(2))
        await trio.testing.wait_all_tasks_blocked()
        assert bench.happened == ["step 1"]
        disk.set()
        await trio.testing.wait_all_tasks_blocked()
        assert bench.happened == ["step 1", "written", "step 2"]


async def test_answers_go_out_before_a_flush() -> None:
    """The followers' disks work while the leader's does."""
    for _ in range(TIMES):
        bench, answered = Bench(), trio.Event()
        bench.then[1] = partial(bench.answer, answered)
        async with playing(bench), trio.open_nursery() as nursery:
            nursery.start_soon(_sends, bench, answered)
            await trio.testing.wait_all_tasks_blocked()
            await bench.turns.report(Resign(1))
            await trio.testing.wait_all_tasks_blocked()
            assert bench.happened == ["step 1", "sent", "flush"]


async def test_answers_of_the_role_itself_go_out_before_a_flush() -> None:
    for _ in range(TIMES):
        bench, answered, disk = Bench(), trio.Event(), trio.Event()
        bench.then[1] = partial(bench.turns.postpone, bench.note("written", disk))
        bench.then[2] = partial(bench.answer, answered)
        async with playing(bench), trio.open_nursery() as nursery:
            nursery.start_soon(_sends, bench, answered)
            await bench.turns.report(Resign(1))
            await bench.turns.report(Resign(2))
            await trio.testing.wait_all_tasks_blocked()
            disk.set()
            await trio.testing.wait_all_tasks_blocked()
            assert bench.happened == ["step 1", "written", "step 2", "sent", "flush"]


async def test_a_flush_that_no_answer_goes_before_is_done_by_who_brings_the_event() -> None:
    bench = Bench()
    bench.then[1] = bench.append
    async with playing(bench):
        await bench.turns.report(Resign(1))
        assert bench.happened == ["step 1", "flush"]


@pytest.mark.parametrize("has_followers", [True, False])
async def test_steps_and_flushes_count_as_busy(has_followers: bool) -> None:
    """poll-idle-ratio-avg is of the time that is left; so is a flush that gave way to answers. Each takes a second."""
    bench = Bench()
    bench.turns.has_followers = has_followers
    bench.then[1] = bench.append
    async with playing(bench):
        before = bench.turns.busy_s
        await bench.turns.report(Resign(1))
        await trio.testing.wait_all_tasks_blocked()
        assert bench.happened == ["step 1", "flush"]
        assert bench.turns.busy_s - before == 2


async def test_who_asks_in_the_moment_of_an_append_is_answered_before_the_flush() -> None:
    """A follower's Fetch may have arrived, and wait for the handler that appends: after the flush it were late."""
    for _ in range(TIMES):
        bench, answered, appended = Bench(), trio.Event(), trio.Event()
        bench.turns.has_followers = True
        bench.then[1] = bench.append
        bench.then[2] = partial(bench.answer, answered)

        async def ask(bench: Bench, appended: trio.Event) -> None:
            await appended.wait()
            await trio.lowlevel.checkpoint()  # its connection reads, a handler takes it
            await bench.turns.report(Resign(2))

        async with playing(bench), trio.open_nursery() as nursery:
            nursery.start_soon(_sends, bench, answered)
            nursery.start_soon(ask, bench, appended)
            await trio.testing.wait_all_tasks_blocked()
            appended.set()
            await bench.turns.report(Resign(1))
            await trio.testing.wait_all_tasks_blocked()
            assert bench.happened == ["step 1", "step 2", "sent", "flush"]


async def test_those_who_go_on_asking_do_not_keep_a_flush_waiting() -> None:
    bench = Bench()
    bench.turns.has_followers = True
    bench.then[1] = bench.append

    def answer() -> None:
        bench.turns.has_replied = True

    bench.then[2] = answer

    async def ask() -> None:
        while "flush" not in bench.happened:
            await bench.turns.report(Resign(2))
            await trio.lowlevel.checkpoint()

    async with playing(bench):
        await bench.turns.report(Resign(1))
        with trio.fail_after(10):
            await ask()
        assert bench.happened.count("step 2") < TIMES


async def test_growth_while_the_role_is_busy_is_told_once() -> None:
    bench = Bench()
    async with playing(bench):
        for _ in range(3):
            bench.turns.report_growth()
        assert bench.happened == ["grown"]  # the role was woken by that
        await trio.testing.wait_all_tasks_blocked()
        assert bench.happened == ["grown", "grown"]


async def test_a_deadline_that_a_step_brings_forward_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    bench = Bench()

    def bring_forward() -> None:
        bench.turns.deadline = trio.current_time() + 5

    bench.then[1] = bring_forward
    async with playing(bench):
        await bench.turns.report(Resign(1))
        await trio.sleep(4.9)
        assert bench.happened == ["step 1"]
        await trio.sleep(0.2)
        assert bench.happened == ["step 1", "timeout"]


async def test_a_step_that_fails_ends_the_role_and_not_who_brought_the_event() -> None:
    bench = Bench()

    def fail() -> None:
        raise OSError("the disk is gone")

    bench.then[1] = fail
    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="the disk is gone"), flatten_subgroups=True):
        async with playing(bench):
            await bench.turns.report(Resign(1))
            assert bench.turns.failed
            await trio.sleep_forever()


async def test_a_transition_is_told_to_the_role() -> None:
    """It has to look at what the core is now, though a step in its place made it so."""
    bench = Bench()
    told: list[bool] = []

    def turn() -> None:
        bench.turns.has_turned = True

    bench.then[1] = turn
    await bench.turns.carry_on()
    async with trio.open_nursery() as nursery:

        async def take() -> None:
            told.append(await bench.turns.take())

        for epoch in (1, 2):
            nursery.start_soon(take)
            await trio.testing.wait_all_tasks_blocked()
            await bench.turns.report(Resign(epoch))
            await trio.testing.wait_all_tasks_blocked()
        assert told == [True]
        nursery.cancel_scope.cancel()
