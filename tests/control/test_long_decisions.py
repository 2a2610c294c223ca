"""Decisions in slices: requests that come meanwhile, their order, and decisions that are dropped on the way."""

from __future__ import annotations

import errno
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import attrs
import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from kraft.control import controller as driver
from kraft.control.controller import Controller
from kraft.controller.context import Context, ControllerConfig, Decision
from kraft.controller.core import HANDLERS_IN_STEPS, ControllerCore, ControllerRequest
from kraft.controller.create_topics import create_topics
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest
from kraft.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kraft.metadata.loader import Loader
from kraft.metadata.steps import Steps, finished
from kraft.quorum.driver import Quorum
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.world import World
from tests.support.controllers import create, running, start_broker
from tests.support.quorums import committed_image
from tests.support.steps import steps_of_this_task


@attrs.define(eq=False)
class LongDecision:
    """A CreateTopics whose steps do not end before ``may_end``: those of the decision, or those of its replay."""

    in_replay: bool = False
    begun: trio.Event = attrs.Factory(trio.Event)
    may_end: bool = False

    def decide(self, context: Context, request: CreateTopicsRequest) -> Steps[Decision]:
        if request.topics[0].name == "long" and not self.in_replay:
            yield from self.wait()
        return (yield from create_topics(context, request))

    def replay(self, core: ControllerCore, records: Sequence[Any], *where: Any) -> Steps[None]:
        if getattr(records[0], "name", "") == "long" and self.in_replay:
            yield from self.wait()
        yield from replay_in_steps(core, records, *where)

    def wait(self) -> Steps[None]:
        self.begun.set()
        while not self.may_end:
            yield 1_000_000


replay_in_steps = ControllerCore.replay_in_steps


@pytest.fixture
def long_decision(monkeypatch: pytest.MonkeyPatch) -> LongDecision:
    long = LongDecision()
    monkeypatch.setitem(HANDLERS_IN_STEPS, CreateTopicsRequest, long.decide)
    monkeypatch.setattr(ControllerCore, "replay_in_steps", lambda *arguments: long.replay(*arguments))
    return long


def records_of(quorum: Quorum) -> list[Any]:
    """Every record in the log."""
    return [record for batch in finished(quorum.log.batches(0, quorum.end_offset)) for record in batch.records]


async def refused(controller: Controller, name: str, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as error:
        await controller.request(create(name))
    assert error.value.code is code


async def test_what_does_not_exist_is_looked_for_in_steps(tmp_path: Path) -> None:
    """ "Yield what the request names, also what does not exist: a request may name 100,000 topics or partitions.\""""
    cases: list[tuple[int, list[int]]] = [(5_000, []), (1, [7] * 5_000)]
    async with running(tmp_path) as (_, _, controller):
        for count, indexes in cases:
            topics = [ListPartitionReassignmentsTopics(f"t{number}", indexes) for number in range(count)]
            async with steps_of_this_task() as steps:
                answer = await controller.request(ListPartitionReassignmentsRequest(topics=topics))
            assert answer.topics == []
            assert steps.count >= 10


@given(
    seed=st.integers(0, 2**32),
    every=st.integers(1, 40),
    requests=st.lists(st.sampled_from(("create", "grow", "delete", "list")), min_size=2, max_size=6),
)
@settings(deadline=None, max_examples=25)
def test_requests_at_one_time_are_decided_one_after_the_other(seed: int, every: int, requests: list[str]) -> None:
    """KIP-631: the controller is single-threaded. Decisions whose steps alternate with each other's come to the records
    and responses of a controller that decides the same requests without a pause, in the same order.
    """
    names = [f"t{number}" for number in range(3)]
    asked: dict[str, Callable[[], Any]] = {
        "create": lambda: CreateTopicsRequest(topics=[CreatableTopic(name, 12, 1) for name in names]),
        "grow": lambda: CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=name, count=20) for name in names]),
        "delete": lambda: DeleteTopicsRequest(topic_names=list(names)),
        "list": ListPartitionReassignmentsRequest,
    }
    decided: list[tuple[Any, float]] = []
    answers: list[tuple[Any, Any]] = []
    cores: set[ControllerCore] = set()

    class Noting(ControllerCore):
        """Not a patched method: a cluster that a fixture of the session keeps in this process decides, too."""

        def decide_in_steps(self, now: float, event: Any) -> Steps[Decision]:
            cores.add(self)
            decided.append((event, now))
            return super().decide_in_steps(now, event)

    async def main(path: Path) -> list[Any]:
        world = World(random=random.Random(seed), new_uuid=ids(seed))
        async with running(path, world=world) as (quorum, _, controller):
            await start_broker(quorum, controller)

            async def ask(message: Any) -> None:
                answers.append((message, await controller.request(message, message.VALID_VERSIONS[0])))

            with trio.fail_after(30):
                async with trio.open_nursery() as nursery:
                    for each in requests:
                        nursery.start_soon(ask, asked[each]())
            return records_of(quorum)

    with (
        tempfile.TemporaryDirectory() as directory,
        patch.object(driver, "_SLICE_RECORDS", every),
        patch.object(driver, "ControllerCore", Noting),
    ):
        records = trio.run(main, Path(directory))
    assert len(cores) == 1
    again, responses = decided_again(decided, seed)
    assert records == again
    for message, response in answers:
        assert response == responses[id(message)]


def decided_again(decided: list[tuple[Any, float]], seed: int) -> tuple[list[Any], dict[int, Any]]:
    """The records and responses of a core that gets the same events without a pause."""
    dice = random.Random(random.Random(seed).getrandbits(64))
    log: list[Any] = []
    responses: dict[int, Any] = {}
    core = ControllerCore(ControllerConfig("c"), Loader(), 1, ids(seed), dice, decided[0][1])
    for event, now in decided:
        decision = core.step(now, event)
        log += decision.records
        if decision.records:
            core.replay(decision.records, 1 + len(log), 1, 0)
        if isinstance(event, ControllerRequest):
            responses[id(event.message)] = decision.response
    return log, responses


def ids(seed: int) -> Callable[[], UUID]:
    dice = random.Random(seed)
    return lambda: UUID(int=dice.getrandbits(128))


async def test_other_tasks_run_during_a_large_decision(tmp_path: Path) -> None:
    """No request holds the event loop for more than a few milliseconds: 400 records are one slice at most, and each of
    the 9,000 is placed, decided, encoded, put into a batch and replayed.
    """
    async with running(tmp_path) as (quorum, _, controller), steps_of_this_task() as steps:
        await start_broker(quorum, controller)
        before = steps.count
        await controller.request(create("large", 9_000))
        assert steps.count - before > 4 * 9_000 / 400


async def test_a_small_decision_has_no_checkpoint(tmp_path: Path) -> None:
    """A task in a cancelled scope ends at its first checkpoint: here that is the wait for the commit."""
    async with running(tmp_path) as (quorum, _, controller):
        await start_broker(quorum, controller)
        end_offset = quorum.end_offset
        with trio.CancelScope() as scope:
            scope.cancel()
            await controller.request(create("small"))
        assert scope.cancelled_caught
        assert quorum.end_offset == end_offset + 2


@pytest.mark.parametrize("in_replay", [False, True])
@pytest.mark.parametrize("still_active", [False, True])
async def test_a_leadership_that_ends_drops_the_decision_under_way(
    tmp_path: Path, long_decision: LongDecision, in_replay: bool, still_active: bool
) -> None:
    """A controller that does not lead may append nothing: the response is NOT_CONTROLLER, also of requests in wait.

    ``still_active``: the decision ends after the leadership, and before the controller knows.
    """
    long_decision.in_replay = in_replay
    async with running(tmp_path) as (quorum, _, controller):
        await start_broker(quorum, controller)
        end_offset = quorum.end_offset
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(refused, controller, "long", ErrorCode.NOT_CONTROLLER)
                await long_decision.begun.wait()
                nursery.start_soon(refused, controller, "in wait", ErrorCode.NOT_CONTROLLER)
                await quorum.resign(quorum.epoch)
                while quorum.is_leader if still_active else controller.is_active:
                    await trio.lowlevel.checkpoint()
                long_decision.may_end = True
        assert quorum.end_offset == end_offset


async def test_a_decision_of_an_ended_epoch_does_not_end_the_next(tmp_path: Path, long_decision: LongDecision) -> None:
    """An event of an older epoch fails alone, as in Kafka's queue of controller events."""
    long_decision.in_replay = True
    async with running(tmp_path) as (quorum, _, controller):
        await start_broker(quorum, controller)
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(refused, controller, "long", ErrorCode.NOT_CONTROLLER)
                await long_decision.begun.wait()
                ended = quorum.epoch
                await quorum.resign(ended)
                while not (controller.is_active and quorum.epoch > ended):
                    await trio.lowlevel.checkpoint()
                long_decision.may_end = True
        assert controller.is_active


async def test_a_failed_append_ends_the_requests_in_wait(
    tmp_path: Path, long_decision: LongDecision, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is decided on top of records that the log does not have."""

    def fail(*_: Any) -> None:
        monkeypatch.undo()
        raise OSError(errno.ENOSPC, "the disk is full")

    async def ask(quorum: Quorum, controller: Controller) -> None:
        end_offset = quorum.end_offset
        async with trio.open_nursery() as nursery:
            nursery.start_soon(refused, controller, "long", ErrorCode.UNKNOWN_SERVER_ERROR)
            await long_decision.begun.wait()
            nursery.start_soon(refused, controller, "in wait", ErrorCode.NOT_CONTROLLER)
            await trio.lowlevel.checkpoint()
            monkeypatch.setattr(quorum.log, "append", fail)
            long_decision.may_end = True
        assert quorum.end_offset == end_offset

    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="the disk is full"), flatten_subgroups=True):
        async with running(tmp_path) as (quorum, _, controller):
            await start_broker(quorum, controller)
            with trio.CancelScope(shield=True) as scope, trio.fail_after(30):
                await ask(quorum, controller)
            scope.shield = False
            await trio.sleep_forever()


@pytest.mark.parametrize("in_replay", [False, True])
async def test_a_cancelled_request_leaves_nothing_behind(
    tmp_path: Path, long_decision: LongDecision, in_replay: bool
) -> None:
    """A client that closes its connection, or a node that stops."""
    long_decision.in_replay = in_replay
    async with running(tmp_path) as (quorum, metadata, controller):
        await start_broker(quorum, controller)
        end_offset = quorum.end_offset
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(controller.request, create("long", 100))
                await long_decision.begun.wait()
                nursery.cancel_scope.cancel()
            assert quorum.end_offset == end_offset
            assert (await controller.request(create("next"))).topics[0].error_code == ErrorCode.NONE
        assert set((await committed_image(quorum, metadata)).topic_ids) == {"next"}


async def test_a_request_times_out_in_wait_for_a_decision(tmp_path: Path, long_decision: LongDecision) -> None:
    async with running(tmp_path) as (quorum, metadata, controller):
        await start_broker(quorum, controller)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(controller.request, create("long"))
            await long_decision.begun.wait()
            with pytest.raises(KafkaError) as error:
                await controller.request(create("late"), timeout_ms=1)
            assert error.value.code is ErrorCode.REQUEST_TIMED_OUT
            long_decision.may_end = True
        assert set((await committed_image(quorum, metadata)).topic_ids) == {"long"}


@pytest.mark.parametrize("alive", [True, False])
async def test_a_heartbeat_counts_while_it_waits_for_a_decision(
    tmp_path: Path, mock_clock: trio.testing.MockClock, long_decision: LongDecision, alive: bool
) -> None:
    """ControllerApis of Apache Kafka notes the contact before it queues a heartbeat (BrokerHeartbeatTracker). Here the
    work that is due at the idle interval, at 5 s, comes before the heartbeat of 8 s, and the session ended at 9 s.
    """
    async with running(tmp_path, idle_ms=5_000) as (quorum, _, controller):
        epoch = await start_broker(quorum, controller)
        beat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=quorum.high_watermark)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(controller.request, create("long"))
            await long_decision.begun.wait()
            for wait_s in (6, 2):
                mock_clock.jump(wait_s)
                for _ in range(5):
                    await trio.lowlevel.checkpoint()
            if alive:
                nursery.start_soon(controller.request, beat)
                await trio.lowlevel.checkpoint()
            mock_clock.jump(2)
            long_decision.may_end = True
        await controller.request(create("next"))
        changes = [record for record in records_of(quorum) if isinstance(record, BrokerRegistrationChangeRecord)]
        assert [change.fenced for change in changes] == ([-1] if alive else [-1, 1])
