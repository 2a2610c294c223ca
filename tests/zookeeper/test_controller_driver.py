"""kraft.zookeeper.controller_driver, in sessions with a ZooKeeper in memory."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence

import attrs
import trio
import trio.testing

from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.metrics import Gauge, Histogram, Registry
from kraft.wire.errors import ErrorCode
from kraft.world.trace import Trace, TraceEvent
from kraft.world.world import World
from kraft.zookeeper.controller.active import LegacyControllerConfig
from kraft.zookeeper.controller.core import LegacyController
from kraft.zookeeper.controller_driver import INBOX_EVENTS, LegacyControllerDriver
from kraft.zookeeper.operations import Delete, Operation, Result, ZnodeChanged
from kraft.zookeeper.session import SessionLost, SessionState
from kraft.zookeeper.trace import ControllerElected, ControllerResigned
from kraft.zookeeper.znodes.cluster import PERSISTENT_PATHS
from kraft.zookeeper.znodes.controllers import CONTROLLER
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
    driver: LegacyControllerDriver = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.tree.create_all(PERSISTENT_PATHS)
        trace = Trace()
        trace.subscribe(TraceEvent, self.heard.append)
        core = LegacyController(CONFIG, uuid.uuid4, random.Random(1))
        self.driver = LegacyControllerDriver(World(), core, trace, self.registry)

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
