"""The controller's driver on real files: responses, their order, and the records that must be committed before them."""

from __future__ import annotations

import errno
import random
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
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
from kraft.control.metadata import Metadata, SnapshotPolicy
from kraft.controller.context import Context, ControllerConfig, Decision
from kraft.controller.core import HANDLERS_IN_STEPS, ControllerCore, ControllerRequest
from kraft.controller.create_topics import create_topics
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.broker_registration_request import BrokerRegistrationRequest, Feature
from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.messages.metadata_request import MetadataRequest
from kraft.metadata.delta import MetadataError
from kraft.metadata.levels import WRITABLE_LEVELS
from kraft.metadata.loader import Loader
from kraft.metadata.steps import Steps, finished
from kraft.quorum.driver import Quorum
from kraft.storage.flush import Flush
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.world import World
from tests.support.quorums import committed_image, open_quorum
from tests.support.steps import steps_of_this_task


@asynccontextmanager
async def running(
    path: Path,
    *,
    level: int = 21,
    idle_ms: int = 0,
    sync: Callable[[Flush], None] = Flush.run,
    world: World | None = None,
    **settings: Any,
) -> AsyncIterator[tuple[Quorum, Metadata, Controller]]:
    """A controller that is active, on a quorum of one."""
    quorum = open_quorum(path, sync=sync)
    metadata = Metadata(quorum, World(), SnapshotPolicy())
    controller = Controller(
        quorum,
        metadata,
        ControllerConfig("c", **settings),
        world or World(),
        bootstrap=[FeatureLevelRecord(name="metadata.version", feature_level=level)],
        max_idle_interval_ms=idle_ms,
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run, controller.lead)
        await nursery.start(metadata.run)
        with trio.fail_after(30):
            while not controller.is_active:
                await trio.lowlevel.checkpoint()
            await quorum.committed(quorum.end_offset - 1)
        yield quorum, metadata, controller
        nursery.cancel_scope.cancel()


async def start_broker(quorum: Quorum, controller: Controller, incarnation: int = 1) -> int:
    registration = BrokerRegistrationRequest(
        broker_id=1,
        cluster_id="c",
        incarnation_id=UUID(int=incarnation),
        log_dirs=[UUID(int=1000)],
        features=[Feature(name="metadata.version", min_supported_version=7, max_supported_version=21)],
    )
    response = await controller.request(registration)
    assert response.error_code == ErrorCode.NONE
    epoch: int = response.broker_epoch
    heartbeat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=quorum.high_watermark)
    assert not (await controller.request(heartbeat)).is_fenced
    return epoch


def create(name: str, partitions: int = 1) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)])


async def test_an_answered_request_survives_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path) as (quorum, metadata, controller):
        await start_broker(quorum, controller)
        response = await controller.request(create("t", 3))
        assert response.topics[0].error_code == ErrorCode.NONE
        before = await committed_image(quorum, metadata)
    async with running(tmp_path, local_incarnation_id=UUID(int=2)) as (quorum, metadata, controller):
        again = await committed_image(quorum, metadata)
        assert again.topics == before.topics
        assert again.brokers == before.brokers
        assert again.metadata_version == 21
        exists = await controller.request(create("t"))
        assert exists.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        await start_broker(quorum, controller, incarnation=2)


async def test_no_response_before_the_flush_even_without_records(tmp_path: Path) -> None:
    """KIP-631, Persistence and Visibility: the future state must not be visible until it is persistent."""
    gate = threading.Semaphore(0)
    closed = threading.Event()

    def flush(flush: Flush) -> None:
        if closed.is_set():
            assert gate.acquire(timeout=30)
        flush.run()

    answers: list[int] = []
    async with running(tmp_path, sync=flush) as (quorum, _metadata, controller):
        await start_broker(quorum, controller)
        closed.set()

        async def ask(name: str) -> None:
            response = await controller.request(create(name))
            answers.append(response.topics[0].error_code)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "t")
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(ask, "t")  # exists only in a record that is not durable yet
            await trio.testing.wait_all_tasks_blocked()
            assert answers == []
            closed.clear()
            gate.release()
        assert sorted(answers) == [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS]


async def test_many_requests_share_few_flushes(tmp_path: Path) -> None:
    flushes = 0

    def count(flush: Flush) -> None:
        nonlocal flushes
        flushes += 1
        flush.run()

    async with running(tmp_path, sync=count) as (quorum, metadata, controller):
        await start_broker(quorum, controller)
        before = flushes
        async with trio.open_nursery() as nursery:
            for number in range(60):
                nursery.start_soon(controller.request, create(f"t{number}"))
        assert flushes - before < 60
        assert len((await committed_image(quorum, metadata)).topics) == 60


async def test_a_failed_fsync_answers_nothing_and_ends_the_node(tmp_path: Path) -> None:
    broken = threading.Event()
    answered: list[Any] = []

    def flush(flush: Flush) -> None:
        if broken.is_set():
            raise OSError(errno.EIO, "the disk is gone")
        flush.run()

    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="the disk is gone"), flatten_subgroups=True):
        async with running(tmp_path, sync=flush) as (quorum, _metadata, controller):
            await start_broker(quorum, controller)
            broken.set()
            answered.append(await controller.request(create("t")))
    assert not answered


async def test_a_silent_broker_is_fenced(tmp_path: Path) -> None:
    """broker.session.timeout.ms"""
    async with running(tmp_path, broker_session_timeout_s=0.02) as (quorum, metadata, controller):
        await start_broker(quorum, controller)
        with trio.fail_after(30):
            while 1 not in metadata.image.brokers or not metadata.image.brokers[1].fenced:
                await metadata.replayed(metadata.next_offset + 1)


async def test_an_idle_controller_writes_no_op_records(tmp_path: Path) -> None:
    """metadata.max.idle.interval.ms, KIP-835; they move the offset and nothing else."""
    async with running(tmp_path, idle_ms=5) as (quorum, metadata, _):
        before = await committed_image(quorum, metadata)
        with trio.fail_after(30):
            await quorum.committed(before.offset + 3)
        after = await committed_image(quorum, metadata)
        assert after.offset >= before.offset + 3
        assert (after.features, after.brokers, after.topics) == (before.features, before.brokers, before.topics)


async def test_a_request_that_the_core_fails_on_affects_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("a bug")

    async with running(tmp_path) as (quorum, _metadata, controller):
        await start_broker(quorum, controller)
        monkeypatch.setitem(HANDLERS_IN_STEPS, DeleteTopicsRequest, broken)
        with pytest.raises(KafkaError) as error:
            await controller.request(DeleteTopicsRequest(topic_names=["t"]))
        assert error.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
        assert (await controller.request(create("t"))).topics[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize("where", ["write", "replay"])
async def test_a_controller_whose_image_differs_from_its_log_stops_deciding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The controller replays a decision, then appends it. If the append fails, the image has records that the log has
    not. Later records that rest on them would damage every node that replays them (KIP-631: the log is the truth).
    """

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "the disk is full") if where == "write" else KeyError("a bug")

    async def ask_twice(controller: Controller) -> None:
        with pytest.raises(KafkaError) as first:
            await controller.request(create("t"))
        assert first.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
        monkeypatch.undo()
        with pytest.raises(KafkaError) as second:
            await controller.request(CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=4)]))
        assert second.value.code is ErrorCode.NOT_CONTROLLER

    with pytest.RaisesGroup(pytest.RaisesExc(OSError if where == "write" else KeyError), flatten_subgroups=True):
        async with running(tmp_path) as (quorum, _metadata, controller):
            await start_broker(quorum, controller)
            owner, name = (quorum.log, "append") if where == "write" else (ControllerCore, "replay_in_steps")
            monkeypatch.setattr(owner, name, fail)
            await ask_twice(controller)
            await trio.sleep_forever()
    async with running(tmp_path) as (_, metadata, _):
        assert not metadata.image.topics


async def test_a_controller_whose_append_failed_appends_nothing_at_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request may fail in the scheduler's turn in which the idle interval ends: nothing is decided after it."""
    appended: list[int] = []

    class Failure:
        """The event of an earlier deadline, while whose wait an append fails."""

        async def wait(self) -> None:
            active.failure = OSError(errno.ENOSPC, "the disk is full")
            appended.clear()
            await trio.sleep_forever()

    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="the disk is full"), flatten_subgroups=True):
        async with running(tmp_path, idle_ms=5) as (quorum, _metadata, controller):
            append = quorum.append
            monkeypatch.setattr(quorum, "append", lambda unit: appended.append(append(unit)))
            active = controller._active
            assert active is not None
            active.deadline_moved = Failure()  # type: ignore[assignment]
            await trio.sleep_forever()
    assert appended == []


async def test_a_request_that_is_not_for_controllers_is_unsupported(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, controller):
        with pytest.raises(KafkaError) as error:
            await controller.request(MetadataRequest())
        assert error.value.code is ErrorCode.UNSUPPORTED_VERSION


async def test_a_request_times_out(tmp_path: Path) -> None:
    gate = threading.Semaphore(0)
    closed = threading.Event()

    def flush(flush: Flush) -> None:
        if closed.is_set():
            assert gate.acquire(timeout=30)
        flush.run()

    async with running(tmp_path, sync=flush) as (quorum, _metadata, controller):
        await start_broker(quorum, controller)
        closed.set()
        with pytest.raises(KafkaError) as error:
            await controller.request(create("t"), timeout_ms=1)
        assert error.value.code is ErrorCode.REQUEST_TIMED_OUT
        closed.clear()
        gate.release()


async def test_a_decision_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """A record of more than 8 MiB fits in no batch; a request for one must not stop the controller."""
    async with running(tmp_path) as (quorum, _, controller):
        epoch = await start_broker(quorum, controller)
        end_offset = quorum.end_offset
        huge = BrokerRegistrationRequest(
            broker_id=2,
            cluster_id="c",
            incarnation_id=UUID(int=2),
            log_dirs=[UUID(int=2000 + number) for number in range(600_000)],
            features=[Feature(name="metadata.version", min_supported_version=7, max_supported_version=21)],
        )
        with pytest.raises(KafkaError) as error:
            await controller.request(huge)
        assert error.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
        assert quorum.end_offset == end_offset
        heartbeat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=end_offset)
        assert (await controller.request(heartbeat)).error_code == ErrorCode.NONE


async def test_a_former_leader_is_not_the_controller(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, controller):
        pass
    with pytest.raises(KafkaError) as error:
        await controller.request(create("t"))
    assert error.value.code is ErrorCode.NOT_CONTROLLER


async def test_a_controller_that_lost_its_epoch_answers_not_controller(tmp_path: Path) -> None:
    """A request that is not committed when the leadership ends gets NOT_CONTROLLER: its outcome is unknown."""
    gate = threading.Semaphore(0)
    closed = threading.Event()

    def flush(flush: Flush) -> None:
        if closed.is_set():
            assert gate.acquire(timeout=30)
        flush.run()

    codes: list[ErrorCode] = []
    async with running(tmp_path, sync=flush) as (quorum, _, controller):
        await start_broker(quorum, controller)
        closed.set()

        async def ask(name: str) -> None:
            with pytest.raises(KafkaError) as error:
                await controller.request(create(name))
            codes.append(error.value.code)

        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(ask, f"t{number}")
            await trio.testing.wait_all_tasks_blocked()
            await quorum.resign(quorum.epoch)
            with trio.fail_after(30):
                while len(codes) < 3:
                    await trio.lowlevel.checkpoint()
            closed.clear()
            gate.release()
    assert codes == [ErrorCode.NOT_CONTROLLER] * 3


@pytest.mark.parametrize("level", [WRITABLE_LEVELS[0] - 1, WRITABLE_LEVELS[1] + 1])
async def test_a_level_that_cannot_be_written(tmp_path: Path, level: int) -> None:
    with pytest.RaisesGroup(
        pytest.RaisesExc(MetadataError, match=f"metadata.version (is )?{level}"), flatten_subgroups=True
    ):
        async with running(tmp_path, level=level):
            pass


# Decisions in slices.


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
    cores: list[ControllerCore] = []

    def in_steps(core: ControllerCore, now: float, event: Any) -> Steps[Decision]:
        cores.append(core)
        decided.append((event, now))
        return decide_in_steps(core, now, event)

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

    decide_in_steps = ControllerCore.decide_in_steps
    with (
        tempfile.TemporaryDirectory() as directory,
        patch.object(driver, "_SLICE_RECORDS", every),
        patch.object(ControllerCore, "decide_in_steps", in_steps),
    ):
        records = trio.run(main, Path(directory))
    assert len(set(cores)) == 1
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
