"""The driver's loop: an event, its effects, the next event; and a flush when there is none."""

from __future__ import annotations

import errno
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import attrs
import pytest
import trio
import trio.testing

from kraft.config.listeners import Voter
from kraft.config.topic import LogConfig
from kraft.messages.topic_record import TopicRecord
from kraft.quorum import flusher
from kraft.quorum.driver import Quorum
from kraft.quorum.election import ElectionFile
from kraft.quorum.log import MetadataLog
from kraft.quorum.trace import CoreStepped
from kraft.raft.core import RaftCore
from kraft.raft.events import Effects, Event, LogAppended, LogFlushed, RequestReceived, ResponseReceived
from kraft.raft.messages import FetchRequest, FetchResponse, VoteRequest
from kraft.raft.state import ElectionState, Follower, Prospective
from kraft.raft.timing import Timing
from kraft.simulation.virtual_network import at_once
from kraft.storage.flush import Flush
from kraft.wire.errors import ErrorCode
from kraft.world.transport import Transport
from kraft.world.world import World
from tests.support.eventually import eventually_async
from tests.support.held import WITHOUT_THREADS
from tests.support.quorums import append, identity, idle, running

OBSERVER = 9
TIMES = 20
"""Trio runs the tasks of a round in a random order."""


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=UUID(int=1000 + number))


@attrs.define
class Disk:
    """Counts its calls, and performs them at once; ``happened`` has its events and those of others, in order."""

    happened: list[str] = attrs.Factory(list)
    fails: bool = False
    takes_s: float = 0.0
    threads: int = 0

    def sync(self, flush: Flush) -> None:
        self.happened.append("flush")
        time.sleep(self.takes_s)
        if self.fails:
            raise OSError(errno.EIO, "the disk is gone")

    async def in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        self.threads += work == self.sync
        return await at_once(work, *arguments)

    @property
    def flushes(self) -> int:
        return self.happened.count("flush")


@asynccontextmanager
async def at_rest(path: Path, **options: Any) -> AsyncIterator[tuple[Quorum, Disk]]:
    """A quorum of one whose disk is known to be quick, with nothing left to do. No work is done on other threads.

    A pause of this process does not make the disk a slow one, whose flushes a thread would take.
    """
    disk = Disk()
    of_world = {"sync": disk.sync, "in_thread": disk.in_thread, **options}
    with patch.object(flusher, "_QUICK_S", 1000.0):
        async with running(path, **of_world) as (quorum, _):
            before = -1
            while before != disk.threads:
                before = disk.threads
                await quorum.committed(append(quorum, [topic(quorum.end_offset)], quorum.epoch))
            await trio.testing.wait_all_tasks_blocked()
            disk.happened.clear()
            yield quorum, disk


async def test_all_that_is_appended_before_the_role_had_its_turn_makes_one_flush(tmp_path: Path) -> None:
    """Commits are made in groups: many callers in one pass of the event loop need one flush, not one each."""
    async with at_rest(tmp_path) as (quorum, disk):
        first, *_, last = [append(quorum, [topic(1000 + number)], quorum.epoch) for number in range(50)]
        assert (quorum.high_watermark, disk.flushes) == (first, 0)
        await quorum.committed(last)
        assert disk.flushes == 1


async def test_other_tasks_run_between_fetches_that_came_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/robustness.md: "No request holds the event loop". The records of each Fetch cost the leader milliseconds."""
    rounds, reads, read = 0, list[int](), MetadataLog.read

    def note(log: MetadataLog, offset: int, max_bytes: int) -> Any:
        reads.append(rounds)
        return read(log, offset, max_bytes)

    async def count_rounds() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await trio.lowlevel.checkpoint()

    async def fetch(number: int) -> None:
        pending = await quorum.submit(FetchRequest(quorum.epoch, OBSERVER + number, 1, quorum.epoch, 0.0))
        await pending.response()

    monkeypatch.setattr(MetadataLog, "read", note)
    async with at_rest(tmp_path) as (quorum, _), trio.open_nursery() as counting:
        counting.start_soon(count_rounds)
        async with trio.open_nursery() as nursery:
            for number in range(TIMES):
                nursery.start_soon(fetch, number)
        counting.cancel_scope.cancel()
    assert len(reads) == TIMES
    assert len(set(reads)) > TIMES / 4


async def test_the_trace_has_each_event_of_the_core_with_its_effects(tmp_path: Path) -> None:
    """Architecture, "The world and its trace": the end of an effect that takes time is the event of a later step."""
    steps: list[CoreStepped] = []
    async with at_rest(tmp_path) as (quorum, _):
        quorum.trace.subscribe(CoreStepped, steps.append)
        await (await quorum.submit(VoteRequest(0, 2, 0, 0))).response()
        offset = append(quorum, [topic(1000)], quorum.epoch)
        await quorum.committed(offset)
    assert [type(step.event) for step in steps] == [RequestReceived, LogAppended, LogFlushed]
    answered, appended, flushed = (step.effects for step in steps)
    assert [len(answered.replies), appended.flush, flushed.high_watermark] == [1, True, offset + 1]


async def test_reported_events_are_handled_before_a_flush(tmp_path: Path) -> None:
    """Requests that came in the moment of an append are answered before the disk holds up the event loop."""
    async with at_rest(tmp_path) as (quorum, disk), trio.open_nursery() as nursery:
        quorum.trace.subscribe(CoreStepped, lambda told: disk.happened.extend("answer" for _ in told.effects.replies))
        end_offset = quorum.end_offset

        async def append_one() -> None:
            append(quorum, [topic(1000)], quorum.epoch)

        for _ in range(3):
            nursery.start_soon(quorum.submit, VoteRequest(0, 2, 0, 0))
        nursery.start_soon(append_one)
        await quorum.committed(end_offset)
        assert disk.happened == ["answer"] * 3 + ["flush"]


async def test_an_append_is_reported_before_the_end_of_the_leadership(tmp_path: Path) -> None:
    """A leader alone appends: a core that has resigned by then would not know the record, and its log no more."""
    timing = Timing(election_timeout_s=0.001, fetch_timeout_s=0.001)
    async with at_rest(tmp_path, timing=timing) as (quorum, _):
        for number in range(TIMES):
            epoch = quorum.epoch

            async def append_one(number: int = number, epoch: int = epoch) -> None:
                append(quorum, [topic(1000 + number)], epoch)

            async with trio.open_nursery() as nursery:  # both have run before the role does
                nursery.start_soon(quorum.resign, epoch)
                nursery.start_soon(append_one)
            with trio.fail_after(30):
                while quorum.epoch == epoch or not quorum.is_leader:
                    await quorum.change(quorum.leader_id, quorum.epoch)
                await quorum.committed(quorum.end_offset - 1)


async def test_an_append_is_committed_though_the_inbox_is_full(tmp_path: Path) -> None:
    async with at_rest(tmp_path) as (quorum, _), trio.open_nursery() as nursery:
        for _ in range(300):
            nursery.start_soon(quorum.submit, VoteRequest(0, 2, 0, 0))
        await trio.lowlevel.checkpoint()
        with trio.fail_after(30):
            await quorum.committed(append(quorum, [topic(1000)], quorum.epoch))


async def test_flushes_count_as_busy_and_rest_does_not(tmp_path: Path) -> None:
    """poll-idle-ratio-avg is the share of the time in which the role waits for an event."""
    async with at_rest(tmp_path) as (quorum, disk):
        before, disk.takes_s = quorum.busy_s, 0.05
        await quorum.committed(append(quorum, [topic(1000)], quorum.epoch))
        await trio.testing.wait_all_tasks_blocked()
        busy_s = quorum.busy_s
        assert busy_s - before >= disk.takes_s
        await trio.sleep(0.01)
        assert quorum.busy_s == busy_s


async def test_a_deadline_that_came_while_the_role_rests_is_kept(tmp_path: Path) -> None:
    """A parked Fetch gets its response when its ``max_wait_ms`` is over, whichever peer sent it."""
    async with at_rest(tmp_path) as (quorum, _):
        fetch = FetchRequest(quorum.epoch, OBSERVER, quorum.end_offset, quorum.epoch, 0.01)
        with trio.fail_after(30):
            response, _ = await (await quorum.submit(fetch)).response()
        assert isinstance(response, FetchResponse)
        assert response.records is None


async def test_a_deadline_that_stays_in_the_past_ends_the_quorum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receive with a past deadline fails at once, so the driver would step such a core forever."""
    step = RaftCore.step

    def step_without_progress(core: RaftCore, now: float, event: Event) -> Effects:
        effects = step(core, now, event)
        effects.deadline = now
        return effects

    with (
        trio.fail_after(30),
        pytest.RaisesGroup(pytest.RaisesExc(AssertionError, match="must move"), flatten_subgroups=True),
    ):
        async with at_rest(tmp_path) as (quorum, _):
            monkeypatch.setattr(RaftCore, "step", step_without_progress)
            await quorum.submit(VoteRequest(0, 2, 0, 0))
            await trio.sleep_forever()


async def test_an_error_in_a_step_ends_the_quorum_and_not_the_appender(tmp_path: Path) -> None:
    """After a failed fsync the content of the disk is unknown: the node stops, and no appender gets an
    acknowledgement.
    """
    acknowledged = False
    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="the disk is gone"), flatten_subgroups=True):
        async with at_rest(tmp_path) as (quorum, disk):
            disk.fails = True
            offset = append(quorum, [topic(1000)], quorum.epoch)
            await quorum.committed(offset)
            acknowledged = True
    assert not acknowledged
    assert disk.flushes == 1


async def test_while_a_vote_is_written_events_wait_their_turn(tmp_path: Path) -> None:
    """KIP-595: no message that depends on an election state leaves before that state is durable."""
    written = trio.Event()
    writes = 0

    async def in_thread(work: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal writes
        if work.__name__ == "write":
            writes += 1
            if quorum_resigned:
                await written.wait()
        return work(*arguments)

    quorum_resigned = False
    timing = Timing(election_timeout_s=0.001, fetch_timeout_s=0.001)
    async with at_rest(tmp_path, in_thread=in_thread, timing=timing) as (quorum, _):
        before, quorum_resigned = writes, True
        await quorum.resign(quorum.epoch)
        with trio.fail_after(30):
            while writes == before:
                await trio.testing.wait_all_tasks_blocked(0.005)
        answers: list[int] = []

        async def ask(number: int) -> None:
            await (await quorum.submit(VoteRequest(number, 2, 0, 0))).response()
            answers.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(ask, number)
            await trio.testing.wait_all_tasks_blocked()
            assert answers == []
            written.set()
        assert sorted(answers) == [0, 1, 2]


def restarted(path: Path, timing: Timing) -> Quorum:
    """Voter 1, which followed voter 2 before its restart. It reaches nobody now."""

    async def nobody(host: str, port: int) -> Transport:
        await trio.lowlevel.checkpoint()
        raise ConnectionRefusedError("nobody listens")

    voters = [Voter(number, "127.0.0.1", number) for number in (1, 2, 3)]
    world = attrs.evolve(WITHOUT_THREADS, dial=nobody)
    log = MetadataLog.open(str(path), LogConfig(), now_ms=world.clock.now_ms())
    this = identity(1, *voters)
    ElectionFile(log, 1, this.voters).write(ElectionState(1, leader_id=2))
    return Quorum(this, log, world, timing=timing)


async def test_the_load_of_a_snapshot_takes_no_time_of_the_leader(tmp_path: Path, autojump_clock: object) -> None:
    """``controller.quorum.fetch.timeout.ms`` counts from when the follower can fetch. The load before it is longer."""
    quorum = restarted(tmp_path, Timing(fetch_timeout_s=2.0))
    await trio.sleep(60)
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run, idle)
        await trio.sleep(1.9)
        assert isinstance(quorum.state, Follower)
        await trio.sleep(0.2)
        assert isinstance(quorum.state, Prospective)
        nursery.cancel_scope.cancel()


async def test_records_that_nobody_awaits_any_more_are_not_called_invalid(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Voter 2 paused for longer than the fetch timeout. Its records continue a log as it was then."""
    quorum = restarted(tmp_path, Timing(election_timeout_s=600.0, fetch_timeout_s=600.0))
    request = FetchRequest(1, 1, 0, 0, 0.5)
    late = ResponseReceived(10**6, 2, request, FetchResponse(ErrorCode.NONE, 1, 2), b"of another log")
    stepped = trio.Event()
    quorum.trace.subscribe(CoreStepped, lambda step: stepped.set() if step.event is late else None)
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run, idle)
        await quorum._inbox.send(late)
        with trio.fail_after(30):
            await stepped.wait()
        nursery.cancel_scope.cancel()
    assert "invalid records" not in caplog.text


async def test_an_unreachable_peer_delays_no_other_task(tmp_path: Path) -> None:
    """``controller.quorum.retry.backoff.ms`` may be 0; a follower still gives its leader up in time."""
    quorum = restarted(tmp_path, Timing(retry_backoff_s=0.0, fetch_timeout_s=0.05))
    given_up = trio.Event()
    quorum.trace.subscribe(CoreStepped, lambda _: given_up.set() if isinstance(quorum.state, Prospective) else None)
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run, idle)
        with trio.fail_after(30):
            await given_up.wait()
        nursery.cancel_scope.cancel()


class TestReplicasThatFetchAgainAtOnce:
    """Apache: each ``KafkaRaftClient.poll`` looks at timers and at the records to flush, then takes one message."""

    async def fetch_again_and_again(self, quorum: Quorum, number: int) -> None:
        while True:
            request = FetchRequest(quorum.epoch, OBSERVER + number, quorum.end_offset, quorum.epoch, 0.0, 0)
            await (await quorum.submit(request)).response()
            for _ in range(6):  # as the tasks of a connection and of a handler
                await trio.lowlevel.checkpoint()

    async def test_keep_no_record_from_its_commit(self, tmp_path: Path) -> None:
        async with running(tmp_path) as (quorum, _), trio.open_nursery() as nursery:
            for number in range(16):
                nursery.start_soon(self.fetch_again_and_again, quorum, number)
            with trio.fail_after(60):
                await quorum.committed(append(quorum, [topic(1)], quorum.epoch))
            nursery.cancel_scope.cancel()

    async def test_keep_no_follower_from_its_fetch_timeout(self, tmp_path: Path) -> None:
        async def nobody(host: str, port: int) -> Transport:
            await trio.lowlevel.checkpoint()
            raise ConnectionRefusedError

        world = attrs.evolve(World(), dial=nobody)
        log = MetadataLog.open(str(tmp_path), LogConfig(), now_ms=world.clock.now_ms())
        me = identity(1, *(Voter(number, "127.0.0.1", number) for number in (1, 2, 3)))
        ElectionFile(log, 1, me.voters).write(ElectionState(1, leader_id=2))
        quorum = Quorum(me, log, world, timing=Timing(fetch_timeout_s=0.2))

        async def is_prospective() -> bool:
            return isinstance(quorum.state, Prospective)

        async with trio.open_nursery() as nursery:
            await nursery.start(quorum.run, idle)
            for number in range(16):
                nursery.start_soon(self.fetch_again_and_again, quorum, number)
            await eventually_async(is_prospective)
            nursery.cancel_scope.cancel()
