"""Brokers with ZooKeeper in virtual time: real nodes on a network in memory, and a ZooKeeper in memory."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import attrs
import pytest
import trio

from kraft.config.properties import from_mapping
from kraft.node.zookeeper_node import ZooKeeperNode
from kraft.simulation.virtual_cluster import FREE, Costs, TimedQueue, VirtualNode
from kraft.simulation.virtual_network import VirtualNetwork
from kraft.world.slices import queue_of_node
from kraft.world.world import World
from kraft.zookeeper import broker_node
from kraft.zookeeper.operations import Create, Operation, Result, ZnodeChanged
from kraft.zookeeper.session import SessionLost, SessionState, ZooKeeperSession
from kraft.zookeeper.znodes.cluster import config_path, encode_config
from kraft.zookeeper.znodes.controllers import CONTROLLER, decode_controller
from kraft.zookeeper.znodes.topics import ReplicaAssignment, TopicAssignment, encode_topic, topic_path
from tests.support.znode_tree import ZnodeTree

DATA_PORT, CONTROL_PORT = 9092, 9091
ROUND_TRIP_S = 0.002
START_S = 60.0
CONTROL_PLANE_METRICS = {
    "kafka.network:type=RequestChannel,name=ControlPlaneRequestQueueSize",
    "kafka.network:type=RequestChannel,name=ControlPlaneResponseQueueSize",
    "kafka.network:type=RequestChannel,name=ControlPlaneResponseQueueSize,processor=0",
    "kafka.network:type=SocketServer,name=ControlPlaneNetworkProcessorAvgIdlePercent",
    "kafka.network:type=SocketServer,name=ControlPlaneExpiredConnectionsKilledCount",
    "kafka.server:type=KafkaRequestHandlerPool,name=ControlPlaneRequestHandlerAvgIdlePercent",
}
"""Those of the accepted proposal, under the names that Apache Kafka gave them (SocketServer, RequestChannel)."""


class VirtualSession(ZooKeeperSession):
    """A session with the tree in memory. As kazoo's threads keep a real session, a busy broker keeps this one."""

    def __init__(self, zookeeper: VirtualZooKeeper, number: int) -> None:
        self.state = SessionState.CONNECTED
        self.number = number
        self._zookeeper = zookeeper
        self._events: dict[SessionState | ZnodeChanged, None] = {}
        self._arrived = trio.Event()

    @property
    def identity(self) -> tuple[int, bytes]:
        return self.number, b""

    async def next_event(self) -> SessionState | ZnodeChanged:
        while not self._events:
            await self._arrived.wait()
        event = next(iter(self._events))
        del self._events[event]
        return event

    async def perform(self, operations: Sequence[Operation]) -> tuple[Result, ...]:
        await trio.sleep(ROUND_TRIP_S)
        if self.state is SessionState.EXPIRED:
            raise SessionLost
        results = tuple(self._zookeeper.tree.perform(self.number, each) for each in operations)
        self._zookeeper.deliver()
        return results

    def note(self, event: SessionState | ZnodeChanged) -> None:
        self._events[event] = None
        self._arrived.set()
        self._arrived = trio.Event()


class VirtualZooKeeper:
    """A ZooKeeper in memory, whose ``session`` replaces that of kraft.zookeeper.session."""

    def __init__(self) -> None:
        self.tree = ZnodeTree()
        self._sessions: dict[int, VirtualSession] = {}
        self._next = 1

    @asynccontextmanager
    async def session(
        self, world: World, connect: str, session_timeout_s: float, connection_timeout_s: float = math.inf
    ) -> AsyncIterator[VirtualSession]:
        opened = self._sessions[self._next] = VirtualSession(self, self._next)
        self._next += 1
        try:
            yield opened
        finally:
            self.expire(opened)

    def expire(self, opened: VirtualSession) -> None:
        """End a session and remove its ephemeral znodes."""
        if opened.state is not SessionState.EXPIRED:
            opened.state = SessionState.EXPIRED
            opened.note(SessionState.EXPIRED)
            del self._sessions[opened.number]
            self.tree.expire(opened.number)
            self.deliver()

    def expire_controller(self) -> None:
        """End the session of the broker that is the controller."""
        owner = self.tree.znodes[CONTROLLER].owner
        assert isinstance(owner, int)
        self.expire(self._sessions[owner])

    def deliver(self) -> None:
        """Give the sessions the watches that fired."""
        fired, self.tree.changed = self.tree.changed, []
        for number, path in fired:
            assert isinstance(number, int)
            self._sessions[number].note(ZnodeChanged(path))

    def create_topic(self, name: str, *replicas: tuple[int, ...]) -> None:
        """Create a topic as a tool of that era does, by its znodes."""
        assigned = {index: ReplicaAssignment(each) for index, each in enumerate(replicas)}
        topic_id = UUID(int=len(self.tree.znodes))
        for path, data in (
            (config_path("topics", name), encode_config({})),
            (topic_path(name), encode_topic(TopicAssignment(topic_id, assigned))),
        ):
            self.tree.perform(None, Create(path, data))
        self.deliver()

    def controller(self) -> int:
        """The broker that is the controller."""
        return decode_controller(self.tree.data(CONTROLLER)).broker_id


@attrs.define(eq=False)
class VirtualLegacyNode(VirtualNode):
    """A broker with ZooKeeper. ``legacy`` is None while it is not running."""

    legacy: ZooKeeperNode | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._gone = trio.Event()
        self._process.enter()
        queue_of_node.set(TimedQueue(self._process, self.costs))
        world = attrs.evolve(
            self.network.world(self.host, self.in_thread, self._process.now),
            compute=self.compute,
            handling=self.handling,
        )
        try:
            with trio.CancelScope() as self._scope:
                self.task = trio.lowlevel.current_task()
                self.legacy = ZooKeeperNode(from_mapping(self.settings).config, world)
                await self.legacy.run(task_status=task_status)  # type: ignore[arg-type]
        finally:
            self.legacy = self.task = None
            self._gone.set()

    @property
    def running(self) -> ZooKeeperNode:
        assert self.legacy is not None
        return self.legacy

    async def stop(self) -> None:
        self.running.stopping.set()
        await self._gone.wait()


@attrs.frozen
class LegacyBrokers:
    """Brokers that run, by id."""

    nodes: dict[int, VirtualLegacyNode]
    network: VirtualNetwork
    zookeeper: VirtualZooKeeper
    nursery: trio.Nursery

    async def restart(self, node_id: int) -> None:
        """Stop a broker, and start it again."""
        node = self.nodes[node_id]
        await node.stop()
        await self.nursery.start(node.run, name=node.host)


def settings_of(node_id: int, directory: Path, has_control_plane: bool) -> dict[str, str]:
    host = f"node-{node_id}"
    listeners = f"PLAINTEXT://{host}:{DATA_PORT},CONTROLLER://{host}:{CONTROL_PORT}"
    return {
        "broker.id": str(node_id),
        "zookeeper.connect": "zookeeper:2181",
        "listeners": listeners if has_control_plane else listeners.partition(",")[0],
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        **({"control.plane.listener.name": "CONTROLLER"} if has_control_plane else {}),
        "log.dirs": str(directory / str(node_id)),
        "connections.max.idle.ms": "-1",  # An expiry task would only wake the clock.
        "controlled.shutdown.retry.backoff.ms": "500",
    }


@asynccontextmanager
async def legacy_brokers(
    directory: Path,
    seed: int = 0,
    count: int = 3,
    costs: Costs = FREE,
    *,
    has_control_plane: bool = True,
    first: Mapping[str, str] | None = None,
    **more: str,
) -> AsyncIterator[LegacyBrokers]:
    """Run brokers, which are registered when the block begins. The first one is the controller, and has the settings
    ``first`` for itself.
    """
    network, zookeeper = VirtualNetwork(seed), VirtualZooKeeper()
    extra = {key.replace("_", "."): value for key, value in more.items()}
    nodes = {
        node_id: VirtualLegacyNode(
            node_id, {**settings_of(node_id, directory, has_control_plane), **extra}, network, 0.001, costs
        )
        for node_id in range(1, count + 1)
    }
    nodes[1].settings = {**nodes[1].settings, **(first or {})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(broker_node, "session", zookeeper.session)
        async with trio.open_nursery() as nursery:
            with trio.fail_after(START_S):
                for node in nodes.values():
                    await nursery.start(node.run, name=node.host)
            yield LegacyBrokers(nodes, network, zookeeper, nursery)
            nursery.cancel_scope.cancel(reason="the test is over")
