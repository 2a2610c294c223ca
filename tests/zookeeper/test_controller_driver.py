"""kraft.zookeeper.controller_driver, in sessions with a ZooKeeper in memory."""

from __future__ import annotations

import logging
import random
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from kraft.config.listeners import Endpoint
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.leader_and_isr_response import LeaderAndIsrResponse
from kraft.messages.registry import ApiKey
from kraft.messages.update_metadata_response import UpdateMetadataResponse
from kraft.metrics import Gauge, Histogram, Registry
from kraft.rpc import client
from kraft.rpc.channel import CLOSE, Parked, Reply, Request
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.simulation.virtual_network import VirtualNetwork, at_once
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.trace import Trace, TraceEvent
from kraft.zookeeper.controller import core
from kraft.zookeeper.controller.active import LegacyControllerConfig
from kraft.zookeeper.controller.core import LegacyController
from kraft.zookeeper.controller_driver import INBOX_EVENTS, REPEAT_PAUSE_S, REQUEST_TIMEOUT_S, LegacyControllerDriver
from kraft.zookeeper.operations import Children, Delete, Get, Operation, Result, ZnodeChanged
from kraft.zookeeper.session import SessionLost, SessionState
from kraft.zookeeper.trace import ControllerElected, ControllerResigned
from kraft.zookeeper.znodes.brokers import BROKER_IDS, BrokerRegistration, broker_path, encode_broker
from kraft.zookeeper.znodes.cluster import PERSISTENT_PATHS
from kraft.zookeeper.znodes.controllers import CONTROLLER
from kraft.zookeeper.znodes.topics import TOPICS, ReplicaAssignment, TopicAssignment, encode_topic, topic_path
from tests.support.legacy_cluster import response
from tests.support.znode_tree import ZnodeTree

CONTROLLER_ID = 100
CONFIG = LegacyControllerConfig(CONTROLLER_ID, "PLAINTEXT", "PLAINTEXT")
REQUEST = AllocateProducerIdsRequest(broker_id=1, broker_epoch=1)
"""From a broker that is not registered."""
LIMIT_S = 10.0


@attrs.define(eq=False)
class TreeSession:
    """A session whose operations wait while ``is_connected`` is not set."""

    tree: ZnodeTree
    is_connected: trio.Event = attrs.Factory(trio.Event)
    is_lost: bool = False

    async def perform(self, operations: Sequence[Operation]) -> tuple[Result, ...]:
        await self.is_connected.wait()
        if self.is_lost:
            raise SessionLost
        return tuple(self.tree.perform(self, each) for each in operations)

    def connect(self) -> None:
        self.is_connected.set()

    def lose(self) -> None:
        """The session expires while its operations wait."""
        self.is_lost = True
        self.is_connected.set()


@attrs.define
class Scene:
    """A driver, and the events of its trace."""

    tree: ZnodeTree = attrs.Factory(ZnodeTree)
    heard: list[TraceEvent] = attrs.Factory(list)
    registry: Registry = attrs.Factory(Registry)
    network: VirtualNetwork = attrs.Factory(VirtualNetwork)
    driver: LegacyControllerDriver = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.tree.create_all(PERSISTENT_PATHS)
        trace = Trace()
        trace.subscribe(TraceEvent, self.heard.append)
        legacy = LegacyController(CONFIG, uuid.uuid4, random.Random(1))
        self.driver = LegacyControllerDriver(self.network.world("controller", at_once), legacy, trace, self.registry)

    async def code(self) -> int:
        """The error code of the controller's response."""
        response = await self.driver.answer(REQUEST, 0)
        return int(response.error_code)

    def roles(self) -> list[tuple[type, int]]:
        return [
            (type(each), each.epoch) for each in self.heard if isinstance(each, ControllerElected | ControllerResigned)
        ]


async def test_a_request_is_answered_by_the_session_that_is_elected() -> None:
    """NOT_CONTROLLER before the first session, and after the last. Each session has an election of its own, as in
    KafkaController.processExpire and processRegisterBrokerAndReelect."""
    scene = Scene()
    assert await scene.code() == ErrorCode.NOT_CONTROLLER
    for epoch in (1, 2):
        with trio.fail_after(LIMIT_S):
            async with trio.open_nursery() as nursery:
                opened = TreeSession(scene.tree)
                opened.connect()
                nursery.start_soon(scene.driver.run, opened)
                await trio.testing.wait_all_tasks_blocked()
                assert await scene.code() == ErrorCode.BROKER_ID_NOT_REGISTERED
                assert scene.driver.core.active is not None
                assert scene.driver.core.active.epoch == epoch
                await scene.driver.changed(SessionState.EXPIRED)
        scene.tree.expire(opened)
        assert await scene.code() == ErrorCode.NOT_CONTROLLER
    elected, resigned = ControllerElected, ControllerResigned
    assert scene.roles() == [(elected, 1), (resigned, 1), (elected, 2), (resigned, 2)]
    assert isinstance(scene.heard[1], ControllerResigned)
    assert scene.heard[1].reason == "its session with ZooKeeper has ended"
    timer = scene.registry.get("kafka.controller:type=ControllerStats,name=ControllerChangeRateAndTimeMs")
    assert isinstance(timer, Histogram)
    assert timer.count == 2


async def test_all_that_wait_are_answered_when_the_session_is_lost() -> None:
    """More requests than the inbox holds, while ZooKeeper does not respond: none waits for the next session."""
    scene = Scene()
    codes: list[int] = []

    async def ask() -> None:
        codes.append(await scene.code())

    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            opened = TreeSession(scene.tree)
            nursery.start_soon(scene.driver.run, opened)
            await trio.testing.wait_all_tasks_blocked()
            for _ in range(2 * INBOX_EVENTS):
                nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            assert codes == []
            size = scene.registry.get("kafka.controller:type=ControllerEventManager,name=EventQueueSize")
            assert isinstance(size, Gauge)
            assert size.value == INBOX_EVENTS
            opened.lose()
    assert codes == [ErrorCode.NOT_CONTROLLER] * (2 * INBOX_EVENTS)


async def test_a_request_does_not_wait_for_ever_for_zookeeper(autojump_clock: object) -> None:
    """``request.timeout.ms``: the client has given the request up by then, and the connection has others to serve."""
    scene = Scene()
    began_s = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scene.driver.run, TreeSession(scene.tree))
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(KafkaError, match="waits for ZooKeeper") as refused:
            await scene.code()
        nursery.cancel_scope.cancel()
    assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
    assert trio.current_time() - began_s == pytest.approx(30.0)


@pytest.mark.parametrize("expires", [False, True])
async def test_only_an_ended_session_is_a_warning(caplog: pytest.LogCaptureFixture, expires: bool) -> None:
    """A controller that is stopped resigns as well, and an operator has nothing to look for."""
    scene = Scene()
    caplog.set_level(logging.INFO)
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            opened = TreeSession(scene.tree)
            opened.connect()
            nursery.start_soon(scene.driver.run, opened)
            await trio.testing.wait_all_tasks_blocked()
            if expires:
                await scene.driver.changed(SessionState.EXPIRED)
            nursery.cancel_scope.cancel()
    (resigned,) = (each for each in caplog.records if "no longer the controller" in each.message)
    assert resigned.levelno == (logging.WARNING if expires else logging.INFO)


async def test_a_late_event_of_a_session_does_not_end_the_next_one() -> None:
    """The session's end is seen twice: by an operation that fails, and as an event."""
    scene = Scene()
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            opened = TreeSession(scene.tree)
            nursery.start_soon(scene.driver.run, opened)
            await trio.testing.wait_all_tasks_blocked()
            opened.lose()
        await scene.driver.changed(SessionState.EXPIRED)
        await scene.driver.changed(ZnodeChanged(CONTROLLER))
        async with trio.open_nursery() as nursery:
            opened = TreeSession(scene.tree)
            opened.connect()
            nursery.start_soon(scene.driver.run, opened)
            await trio.testing.wait_all_tasks_blocked()
            assert await scene.code() == ErrorCode.BROKER_ID_NOT_REGISTERED
            nursery.cancel_scope.cancel()


async def test_a_deleted_controller_znode_is_an_election() -> None:
    """zookeeper-shell's ``delete /controller`` moves the controller: here to the same broker, in the next epoch."""
    scene = Scene()
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            opened = TreeSession(scene.tree)
            opened.connect()
            nursery.start_soon(scene.driver.run, opened)
            await trio.testing.wait_all_tasks_blocked()
            scene.tree.perform(None, Delete(CONTROLLER))
            await scene.driver.changed(ZnodeChanged(CONTROLLER))
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
    assert [(kind, epoch) for kind, epoch in scene.roles() if kind is ControllerElected] == [
        (ControllerElected, 1),
        (ControllerElected, 2),
    ]


@attrs.define(eq=False)
class ScriptedBroker:
    """Notes each request. The replies of ``script`` come first, then valid ones."""

    script: list[Reply] = attrs.Factory(list)
    received: list[Any] = attrs.Factory(list)

    async def handle(self, request: Request) -> Reply:
        message: Any = request.message()
        self.received.append(message)
        reply: Reply = self.script.pop(0) if self.script else response(message)
        return reply

    def kinds(self) -> list[tuple[str, int]]:
        """The API and the controller epoch of each request."""
        return [(type(each).__name__, each.controller_epoch) for each in self.received]


@asynccontextmanager
async def leading(scene: Scene, broker: ScriptedBroker) -> AsyncIterator[TreeSession]:
    """The driver in a session, with a topic on broker 7."""
    service = Service(
        handle=broker.handle,
        apis={ApiKey.LEADER_AND_ISR: (7, 7), ApiKey.UPDATE_METADATA: (8, 8), ApiKey.STOP_REPLICA: (4, 4)},
        error_response=lambda request, error: UpdateMetadataResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR),
        quotas=ConnectionQuotas(ConnectionLimits(), trio.current_time),
        registry=Registry(),
        listen=scene.network.listen("node-7"),
    )
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "node-7", 9092)
    scene.tree.put(broker_path(7), encode_broker(BrokerRegistration(7, (endpoint,))))
    assigned = TopicAssignment(uuid.UUID(int=1), {0: ReplicaAssignment((7,))})
    scene.tree.put(topic_path("t"), encode_topic(assigned))
    with trio.fail_after(10 * REQUEST_TIMEOUT_S):
        async with trio.open_nursery() as nursery:
            plane = Plane("data", (endpoint,), 20, 1, 1, "")
            await nursery.start(serve, plane, service, trio.Event())
            opened = TreeSession(scene.tree)
            opened.connect()
            nursery.start_soon(scene.driver.run, opened)
            yield opened
            nursery.cancel_scope.cancel()


FIRST = [("UpdateMetadataRequest", 1), ("LeaderAndIsrRequest", 1), ("UpdateMetadataRequest", 1)]


async def test_a_broker_gets_the_live_brokers_then_roles_then_metadata(autojump_clock: object) -> None:
    """KafkaController.onControllerFailover, and ControllerBrokerRequestBatch.sendRequestsToBrokers."""
    scene, broker = Scene(), ScriptedBroker()
    async with leading(scene, broker):
        await trio.sleep(1)
    assert broker.kinds() == FIRST
    assert broker.received[1].topic_states[0].partition_states[0].leader == 7


@pytest.mark.parametrize("reply", [CLOSE, LeaderAndIsrResponse()], ids=["closed", "malformed"])
async def test_a_request_without_a_response_is_sent_again(autojump_clock: object, reply: Reply) -> None:
    """RequestSendThread.doWork: "if the send was not successful, reconnect to broker and resend the message". A
    LeaderAndIsr in the place of an UpdateMetadata cannot be decoded."""
    scene, broker = Scene(), ScriptedBroker([reply])
    async with leading(scene, broker):
        await trio.sleep(1)
    assert broker.kinds() == [FIRST[0], *FIRST]


async def test_a_broker_that_does_not_respond_has_one_request_in_flight(autojump_clock: object) -> None:
    """KIP-291, footnote 2; after controller.socket.timeout.ms the same request is sent again."""
    scene, broker = Scene(), ScriptedBroker([Parked(trio.sleep_forever)] * 2)
    async with leading(scene, broker):
        await trio.sleep(REQUEST_TIMEOUT_S - 1)
        assert broker.kinds() == FIRST[:1]
        await trio.sleep(REQUEST_TIMEOUT_S)
        assert broker.kinds() == FIRST[:1] * 2
        await trio.sleep(REQUEST_TIMEOUT_S)
        assert broker.kinds() == [*FIRST[:1] * 2, *FIRST]


async def test_a_request_of_an_ended_epoch_holds_no_request_of_the_next_one(autojump_clock: object) -> None:
    """ControllerChannelManager.shutdown at a resignation: the next epoch has a connection of its own."""
    scene, broker = Scene(), ScriptedBroker([Parked(trio.sleep_forever)])
    async with leading(scene, broker):
        await trio.sleep(1)
        assert broker.kinds() == FIRST[:1]
        scene.tree.perform(None, Delete(CONTROLLER))
        await scene.driver.changed(ZnodeChanged(CONTROLLER))
        await trio.sleep(1)
    assert broker.kinds() == [FIRST[0], *((api, 2) for api, _ in FIRST)]


async def test_a_broker_that_registered_again_gets_all_anew(autojump_clock: object) -> None:
    """KIP-380: a higher broker epoch is another incarnation. The request to the former one is void."""
    scene, broker = Scene(), ScriptedBroker([Parked(trio.sleep_forever)])
    async with leading(scene, broker):
        await trio.sleep(1)
        path = broker_path(7)
        data = scene.tree.data(path)
        scene.tree.perform(None, Delete(path))
        scene.tree.put(path, data)
        epoch = scene.tree.znodes[path].created_zxid
        await scene.driver.changed(ZnodeChanged(BROKER_IDS))
        await trio.sleep(1)
    first, *others = broker.received
    assert first.broker_epoch < epoch
    assert {each.broker_epoch for each in others} == {epoch}
    assert "LeaderAndIsrRequest" in {type(each).__name__ for each in others}


async def test_a_decision_that_zookeeper_hinders_is_repeated_after_a_pause(autojump_clock: object) -> None:
    """``REPEAT_PAUSE_S``. The watch was lost with the refused read, so no other event would bring the change. One event
    is repeated once at a time, also if it was hindered twice."""
    scene, broker, refused_at = Scene(), ScriptedBroker(), list[float]()

    def refuses(read: Get | Children) -> bool:
        if read.path == BROKER_IDS and len(refused_at) < 4:
            refused_at.append(trio.current_time())
            return True
        return False

    async with leading(scene, broker):
        await trio.sleep(1)
        scene.tree.refuses = refuses
        scene.tree.perform(None, Delete(broker_path(7)))
        began_s = trio.current_time()
        for _ in range(2):
            await scene.driver.changed(ZnodeChanged(BROKER_IDS))
        await trio.testing.wait_all_tasks_blocked()
        assert scene.driver.core.active is not None
        assert 7 in scene.driver.core.active.cluster.brokers
        await trio.sleep(3.5 * REPEAT_PAUSE_S)
        assert scene.driver.core.active.cluster.brokers == {}
    assert [each - began_s for each in refused_at] == pytest.approx([0, 0, REPEAT_PAUSE_S, 2 * REPEAT_PAUSE_S])


async def test_a_decision_that_fails_is_logged_and_the_driver_runs_on(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """KafkaController.process: "case e: Throwable => error("Error processing event")". The broker lives on."""
    scene, broker = Scene(), ScriptedBroker()

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    async with leading(scene, broker):
        await trio.sleep(1)
        with monkeypatch.context() as patch:
            patch.setattr(core, "brokers_changed", fail)
            await scene.driver.changed(ZnodeChanged(BROKER_IDS))
            await trio.testing.wait_all_tasks_blocked()
        assert await scene.code() == ErrorCode.NOT_CONTROLLER
        await trio.sleep(2 * REPEAT_PAUSE_S)
        assert await scene.code() == ErrorCode.BROKER_ID_NOT_REGISTERED
    (failed,) = (each for each in caplog.records if each.exc_info)
    assert failed.message == "controller: the decision on ZnodeChanged(path='/brokers/ids') failed"
    assert broker.kinds() == [*FIRST, *((api, 2) for api, _ in FIRST)]


async def test_an_error_that_lasts_is_logged_with_one_text(
    autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    """``LegacyControllerDriver``: "only the error is worth a line". ``RepeatedLines`` then drops its repetitions: lines
    with the epoch of each election would differ."""
    caplog.set_level(logging.INFO, "kraft.zookeeper")
    scene = Scene()
    opened = TreeSession(scene.tree)
    opened.connect()
    async with trio.open_nursery() as nursery:
        scene.tree.refuses = lambda read: read.path == TOPICS
        nursery.start_soon(scene.driver.run, opened)
        await trio.sleep(9.5 * REPEAT_PAUSE_S)
        scene.tree.refuses = lambda _: False
        await trio.sleep(REPEAT_PAUSE_S)
        assert scene.roles()[-1] == (ControllerElected, 11)
        nursery.cancel_scope.cancel()
    refused = f"controller: ZooKeeper refused to read {TOPICS}; the decision is repeated"
    elected = "elected as the controller in epoch 11: its last decision failed, and there was no controller"
    assert [each.message for each in caplog.records[:-1]] == [*[refused] * 10, elected]
    assert caplog.records[-1].message == "no longer the controller of epoch 11: its session with ZooKeeper has ended"


async def test_a_request_that_cannot_be_encoded_is_dropped_and_the_next_one_sent(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """RequestSendThread.doWork catches every Throwable. Kafka sends the request again for ever, and nothing else."""
    scene, broker = Scene(), ScriptedBroker()
    encode = client.encode_in_steps

    def encode_others(message: Any, *arguments: Any) -> Any:
        if isinstance(message, LeaderAndIsrRequest):
            raise ValueError("a string of 40000 bytes; at most 32767 can be sent")
        return encode(message, *arguments)

    monkeypatch.setattr(client, "encode_in_steps", encode_others)
    async with leading(scene, broker):
        await trio.sleep(1)
        assert scene.driver.core.active is not None
    assert broker.kinds() == [FIRST[0], FIRST[2]]
    lines = [each.message for each in caplog.records if "dropped" in each.message or "refused" in each.message]
    assert lines == [
        "controller: LeaderAndIsrRequest to broker 7 is dropped",
        "controller: broker 7 refused a LeaderAndIsr: UNKNOWN_SERVER_ERROR",
    ]
