"""Who steps the core, and when: whoever brings an event while the role rests, and else the role."""

from __future__ import annotations

import errno
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import pytest
import trio
import trio.testing

from kraft.config.listeners import Voter
from kraft.config.topic import LogConfig
from kraft.messages.topic_record import TopicRecord
from kraft.quorum.driver import Quorum
from kraft.quorum.election import ElectionFile
from kraft.quorum.log import MetadataLog
from kraft.quorum.trace import CoreStepped
from kraft.raft.messages import FetchRequest, FetchResponse, VoteRequest
from kraft.raft.state import ElectionState, Prospective
from kraft.raft.timing import Timing
from kraft.storage.flush import Flush
from kraft.world.transport import Transport
from kraft.world.world import World
from tests.support.quorums import append, identity, idle, open_quorum, running

OBSERVER = 9
QUICK_IN_A_ROW = 16
"""So many flushes that nothing held up leave the average far below what is quick."""


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=UUID(int=1000 + number))


@attrs.define
class Disk:
    """Counts what it does, and does it at once; ``happened`` is what is told of it and of others, in order."""

    happened: list[str] = attrs.Factory(list)
    fails: bool = False

    def sync(self, flush: Flush) -> None:
        self.happened.append("flush")
        if self.fails:
            raise OSError(errno.EIO, "the disk is gone")

    @property
    def flushes(self) -> int:
        return self.happened.count("flush")


@asynccontextmanager
async def at_rest(path: Path, **options: Any) -> AsyncIterator[tuple[Quorum, Disk]]:
    """A quorum of one whose disk has proved quick, with nothing left to do."""
    disk = Disk()
    async with running(path, sync=disk.sync, **options) as (quorum, _):
        await _prove_quick(quorum)
        disk.happened.clear()
        yield quorum, disk


async def _prove_quick(quorum: Quorum) -> None:
    quick = 0
    with trio.fail_after(30):
        for number in itertools.count():
            await trio.testing.wait_all_tasks_blocked()
            if quick == QUICK_IN_A_ROW:
                return
            offset = append(quorum, [topic(number)], quorum.epoch)
            quick = quick + 1 if quorum.high_watermark == offset + 1 else 0
            await quorum.committed(offset)


async def test_an_append_at_rest_is_committed_when_it_returns(tmp_path: Path) -> None:
    """A commit of one voter waits for the disk and for nobody's turn."""
    async with at_rest(tmp_path) as (quorum, disk):
        offset = append(quorum, [topic(100)], quorum.epoch)
        assert (quorum.high_watermark, disk.flushes) == (offset + 1, 1)


async def test_what_is_appended_before_the_role_had_its_turn_makes_one_flush(tmp_path: Path) -> None:
    """Commits are made in groups: many callers in one turn of the event loop cost two flushes, not one each."""
    async with at_rest(tmp_path) as (quorum, disk):
        first, *_, last = [append(quorum, [topic(100 + number)], quorum.epoch) for number in range(50)]
        assert (quorum.high_watermark, disk.flushes) == (first + 1, 1)
        await quorum.committed(last)
        assert disk.flushes == 2


async def test_a_follower_is_answered_before_the_leader_flushes(tmp_path: Path) -> None:
    """Its disk works while that of the leader does."""
    async with at_rest(tmp_path) as (quorum, disk), trio.open_nursery() as nursery:
        fetch = FetchRequest(quorum.epoch, OBSERVER, quorum.end_offset, quorum.epoch, 30.0)
        question = await quorum.ask(fetch)

        async def follow() -> None:
            await question.answer()
            disk.happened.append("answered")

        nursery.start_soon(follow)
        await trio.testing.wait_all_tasks_blocked()
        await quorum.committed(append(quorum, [topic(100)], quorum.epoch))
        assert disk.happened == ["answered", "flush"]


async def test_a_deadline_that_came_while_the_role_rests_is_kept(tmp_path: Path) -> None:
    """A Fetch that waits is answered when its ``max_wait_ms`` is over, whoever brought it."""
    async with at_rest(tmp_path) as (quorum, _):
        fetch = FetchRequest(quorum.epoch, OBSERVER, quorum.end_offset, quorum.epoch, 0.01)
        with trio.fail_after(30):
            answer = await (await quorum.ask(fetch)).answer()
        assert isinstance(answer.response, FetchResponse)
        assert answer.response.records is None


async def test_what_fails_in_the_task_of_another_ends_the_quorum_and_not_the_task(tmp_path: Path) -> None:
    """After a failed fsync nobody knows what is on disk: the node stops, and whoever appended hears nothing."""
    returned = False
    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="the disk is gone"), flatten_subgroups=True):
        async with at_rest(tmp_path) as (quorum, disk):
            disk.fails = True
            offset = append(quorum, [topic(100)], quorum.epoch)
            returned = True
            await quorum.committed(offset)
    assert returned
    assert disk.flushes == 1


async def test_a_failed_fsync_is_not_lost_in_a_cancellation(tmp_path: Path) -> None:
    """What is cancelled before the role came to raise it must not pass for a clean stop."""
    disk = Disk()
    quorum = open_quorum(tmp_path, sync=disk.sync)
    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="the disk is gone"), flatten_subgroups=True):
        async with trio.open_nursery() as nursery:
            await nursery.start(quorum.run, idle)
            await _prove_quick(quorum)
            disk.fails = True
            nursery.cancel_scope.cancel()
            append(quorum, [topic(100)], quorum.epoch)


async def test_while_a_vote_is_written_events_wait_their_turn(tmp_path: Path) -> None:
    """KIP-595: nobody may hear of what rests on an election state before that is durable."""
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
            await (await quorum.ask(VoteRequest(number, 2, 0, 0))).answer()
            answers.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(ask, number)
            await trio.testing.wait_all_tasks_blocked()
            assert answers == []
            written.set()
        assert sorted(answers) == [0, 1, 2]


async def test_a_peer_that_is_away_and_asked_again_at_once_holds_up_nobody(tmp_path: Path) -> None:
    """``controller.quorum.retry.backoff.ms`` may be 0; a follower still gives its leader up in time."""

    async def nobody(host: str, port: int) -> Transport:
        await trio.lowlevel.checkpoint()
        raise ConnectionRefusedError("nobody listens")

    voters = [Voter(number, "127.0.0.1", number) for number in (1, 2, 3)]
    world = World(dial=nobody)
    log = MetadataLog.open(str(tmp_path), LogConfig(), now_ms=world.clock.now_ms())
    this = identity(1, *voters)
    ElectionFile(log, 1, this.voters).write(ElectionState(1, leader_id=2))
    timing = Timing(retry_backoff_s=0.0, fetch_timeout_s=0.05)
    quorum = Quorum(this, log, world, timing=timing)
    given_up = trio.Event()
    quorum.trace.subscribe(CoreStepped, lambda _: given_up.set() if isinstance(quorum.state, Prospective) else None)
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run, idle)
        with trio.fail_after(30):
            await given_up.wait()
        nursery.cancel_scope.cancel()
