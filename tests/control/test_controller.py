"""The controller's driver on real files: responses, their order, and the records that must be committed before them."""

from __future__ import annotations

import contextlib
import errno
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio
import trio.testing

from kraft.control.controller import Controller
from kraft.controller.core import HANDLERS_IN_STEPS, ControllerCore
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_registration_request import BrokerRegistrationRequest, Feature
from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest
from kraft.messages.metadata_request import MetadataRequest
from kraft.metadata.delta import MetadataError
from kraft.metadata.levels import WRITABLE_LEVELS
from kraft.quorum.driver import Quorum
from kraft.storage.flush import Flush
from kraft.wire.errors import ErrorCode, KafkaError
from tests.support.controllers import create, running, start_broker
from tests.support.eventually import until
from tests.support.freed import errors_freed
from tests.support.quorums import committed_image

LONG_MS = 600_000
"""For decisions of megabytes on a busy machine."""


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


@pytest.mark.parametrize("alive", [True, False])
async def test_a_heartbeat_that_arrived_while_the_event_loop_was_held_counts(
    tmp_path: Path, mock_clock: trio.testing.MockClock, alive: bool
) -> None:
    """ControllerApis of Apache Kafka notes the contact of a heartbeat on its arrival (BrokerHeartbeatTracker). Here the
    loop is held for longer than the session of 9 s, and then takes some rounds to read the heartbeat.
    """
    async with running(tmp_path) as (quorum, metadata, controller):
        epoch = await start_broker(quorum, controller)
        beat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=quorum.high_watermark)
        end_offset = quorum.end_offset
        mock_clock.jump(20)
        for _ in range(5):
            await trio.lowlevel.checkpoint()
        if alive:
            await controller.request(beat)
        mock_clock.jump(2)
        await trio.testing.wait_all_tasks_blocked()
        assert (quorum.end_offset > end_offset) is not alive
        await quorum.committed(quorum.end_offset - 1)  # its flush may be on a thread, which no round waits for
        assert (await committed_image(quorum, metadata)).brokers[1].fenced is not alive


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
        assert (await controller.request(huge, timeout_ms=LONG_MS)).error_code == ErrorCode.RECORD_LIST_TOO_LARGE
        assert quorum.end_offset == end_offset
        heartbeat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=end_offset)
        assert (await controller.request(heartbeat)).error_code == ErrorCode.NONE


async def test_an_operation_of_a_user_is_one_batch_or_refused(tmp_path: Path) -> None:
    """A fetch or a crash may leave the first of several batches: a topic without partitions, for one."""
    throttled = ",".join(["0:1"] * 8_000)
    configs = [
        CreatableTopicConfig(name=f"{side}.replication.throttled.replicas", value=throttled)
        for side in ("leader", "follower")
    ]
    # The broker sends no heartbeats while the large requests are decided.
    async with running(tmp_path, broker_session_timeout_s=3600.0) as (quorum, metadata, controller):
        await start_broker(quorum, controller)
        end_offset = quorum.end_offset
        topics = [
            CreatableTopic(name=f"t{number}", num_partitions=1, replication_factor=1, configs=configs)
            for number in range(140)
        ]
        with pytest.raises(KafkaError) as error:
            await controller.request(CreateTopicsRequest(topics=topics), timeout_ms=LONG_MS)
        assert error.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
        assert quorum.end_offset == end_offset
        response = await controller.request(CreateTopicsRequest(topics=topics[:100]), timeout_ms=LONG_MS)
        assert {topic.error_code for topic in response.topics} == {ErrorCode.NONE}
        assert len((await committed_image(quorum, metadata)).topics) == 100


async def until_active_after(controller: Controller, quorum: Quorum, epoch: int) -> None:
    await until(lambda: quorum.epoch > epoch and controller.is_active)


async def test_a_controller_that_failed_on_a_broker_resigns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A decision about a broker changes its session and its transition together with its records. If it fails between
    these, the next controller begins with those of the log (as Kafka's ``QuorumController`` renounces).
    """

    def broken(*_: Any) -> Any:
        raise RuntimeError("a bug")

    async with running(tmp_path) as (quorum, _metadata, controller):
        broker_epoch, epoch = await start_broker(quorum, controller), quorum.epoch
        heartbeat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=broker_epoch, want_shut_down=True)
        with monkeypatch.context() as patch:
            patch.setattr("kraft.controller.heartbeats.final_records", broken)
            with pytest.raises(KafkaError) as first:
                await controller.request(heartbeat)
            assert first.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
            with pytest.raises(KafkaError) as second:
                await controller.request(create("t"))
            assert second.value.code is ErrorCode.NOT_CONTROLLER
        await until_active_after(controller, quorum, epoch)
        assert f"resigning as the controller of epoch {epoch}" in caplog.text
        assert (await controller.request(heartbeat)).should_shut_down


class Bug(Exception):
    """An error of the code."""


async def test_a_controller_that_resigns_is_freed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It has the image of the whole cluster, which the traceback of its error would keep."""

    def broken(*_: Any) -> Any:
        raise Bug

    async with running(tmp_path) as (quorum, _metadata, controller):
        broker_epoch, epoch = await start_broker(quorum, controller), quorum.epoch
        heartbeat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=broker_epoch, want_shut_down=True)
        caplog.set_level("CRITICAL", "kraft")
        with errors_freed(Bug):
            with monkeypatch.context() as patch:
                patch.setattr("kraft.controller.heartbeats.final_records", broken)
                with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
                    await controller.request(heartbeat)
            await until_active_after(controller, quorum, epoch)


async def test_a_controller_that_fails_on_what_is_due_resigns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        monkeypatch.undo()
        raise RuntimeError("a bug")

    async with running(tmp_path, broker_session_timeout_s=0.02) as (quorum, metadata, controller):
        epoch = quorum.epoch
        monkeypatch.setattr("kraft.controller.core.next_records", broken)
        with contextlib.suppress(KafkaError):  # if the session ends before the response to the heartbeat is sent
            await start_broker(quorum, controller)
        await until_active_after(controller, quorum, epoch)
        with trio.fail_after(30):
            while not metadata.image.brokers[1].fenced:
                await metadata.replayed(metadata.next_offset + 1)


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
