"""A broker in ZooKeeper: the id of the cluster, and the broker's registration.

:class:`BrokerSessions` keeps the broker registered, and runs its part as the controller in each session. A registration
ends with its session, so each new session makes a new one, with a higher broker epoch (KIP-380).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Protocol

import attrs
import trio

from kraft.world.world import World
from kraft.zookeeper.operations import (
    ANY_VERSION,
    Create,
    Failure,
    Get,
    Operation,
    Result,
    Set,
    Znode,
    ZnodeChanged,
)
from kraft.zookeeper.session import OperationFailed, SessionLost, SessionState, ZooKeeperSession, session
from kraft.zookeeper.znodes.brokers import BrokerRegistration, broker_path, encode_broker
from kraft.zookeeper.znodes.cluster import (
    BROKER_ID_SEQUENCE,
    CLUSTER_ID,
    FEATURE,
    PERSISTENT_PATHS,
    decode_cluster_id,
    encode_cluster_id,
)
from kraft.zookeeper.znodes.notifications import CONFIG_CHANGES

logger = logging.getLogger("kraft.zookeeper")

_RETRY_S = 0.5


class CannotJoin(Exception):
    """The broker cannot be part of the cluster. The message is one line."""


class RegisteredBroker(Protocol):
    """The broker that is registered; ``kraft.replication.commands.ControllerCommands`` is one."""

    def registered(self, broker_epoch: int) -> None: ...


class SessionConfigs(Protocol):
    """The follower of the configurations; ``kraft.zookeeper.config_follower.ConfigFollower`` is one."""

    def session_began(self) -> None: ...
    def changed(self) -> None: ...


class SessionFollower(Protocol):
    """The broker's part as the controller; ``kraft.zookeeper.controller_driver.LegacyControllerDriver`` is one."""

    async def run(self, opened: ZooKeeperSession) -> None: ...
    async def changed(self, event: ZnodeChanged | SessionState) -> None: ...


async def register(opened: ZooKeeperSession, broker: BrokerRegistration, limit_s: float) -> int:
    """Register the broker, and return its epoch, which is the transaction that created the znode (KIP-380).

    A former session of this broker may have a registration until it times out: wait ``limit_s`` for that. The time
    without a connection does not count, because ZooKeeper ends no session while it is down.

    Raises:
        CannotJoin: another process is registered under this id.
        SessionLost, OperationFailed: as the session does.
    """
    path, data = broker_path(broker.broker_id), encode_broker(broker)
    waited_s = 0.0
    while True:
        created, found = await opened.perform((Create(path, data, ephemeral=True), Get(path)))
        if isinstance(found, Znode) and found.data == data:  # also if a first answer was lost with a connection
            return found.created_zxid
        if isinstance(created, Failure) and created is not Failure.NODE_EXISTS:
            raise OperationFailed(Create(path), created)
        if isinstance(found, Failure) and found is not Failure.NO_NODE:
            raise OperationFailed(Get(path), found)
        if isinstance(found, Znode):
            if waited_s >= limit_s:
                what = f"a broker with id {broker.broker_id} is registered, and did not go away within {limit_s:g} s"
                raise CannotJoin(f"{path} exists: {what}; give each broker an id of its own")
            if waited_s == 0.0:
                logger.info("%s exists: waiting until the session of its owner has ended", path)
            waited_s += _RETRY_S
        await trio.sleep(_RETRY_S)


@attrs.define(eq=False)
class BrokerSessions:
    """The sessions of one broker, one after the other. ``connection_timeout_s`` limits the start alone."""

    world: World
    connect: str
    session_timeout_s: float
    connection_timeout_s: float
    _opened: ZooKeeperSession | None = None
    _changed: trio.Event = attrs.Factory(trio.Event)

    async def cluster_id(self, new_id: str) -> str:
        """Return the id of the cluster; the first broker of a cluster gives it ``new_id``. In a session of its own.

        Raises:
            ZooKeeperUnavailable: ZooKeeper is missing.
            SessionLost, OperationFailed: as the session does.
            MalformedZnode: the znode is not Kafka's.
        """
        async with session(self.world, self.connect, self.session_timeout_s, self.connection_timeout_s) as opened:
            await opened.create_all((*PERSISTENT_PATHS, CLUSTER_ID.rpartition("/")[0]))
            await opened.perform((Create(CLUSTER_ID, encode_cluster_id(new_id)),))
            found = await opened.require(Get(CLUSTER_ID))
        assert isinstance(found, Znode)
        return decode_cluster_id(found.data)

    async def new_broker_id(self, reserved_max_id: int) -> int:
        """Return a broker id that no broker has had, above ``reserved_max_id``. In a session of its own.

        Like KafkaZkClient.generateBrokerId: each write of a znode gives it a higher version.

        Raises:
            ZooKeeperUnavailable: ZooKeeper is missing.
            SessionLost, OperationFailed: as the session does.
        """
        async with session(self.world, self.connect, self.session_timeout_s, self.connection_timeout_s) as opened:
            await opened.create_all((BROKER_ID_SEQUENCE,))
            version = await opened.require(Set(BROKER_ID_SEQUENCE, b"", ANY_VERSION))
        assert isinstance(version, int)
        return reserved_max_id + version

    async def run(
        self,
        broker: BrokerRegistration,
        registered: RegisteredBroker,
        configs: SessionConfigs,
        controller: SessionFollower,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Keep the broker registered, wake ``configs``, and keep ``controller`` running in each session.

        ``task_status`` is started once the broker is registered. Runs until cancelled, and then ends the session.

        Raises:
            CannotJoin: another process is registered under this id.
            ZooKeeperUnavailable: ZooKeeper is missing at the start.
            OperationFailed: ZooKeeper refuses an operation that Kafka needs.
        """
        limit_s = self.connection_timeout_s
        while True:
            try:
                async with session(self.world, self.connect, self.session_timeout_s, limit_s) as opened:
                    # ZooKeeper's clock ticks in steps, so a former session may outlive its timeout a little.
                    broker = attrs.evolve(broker, timestamp_ms=self.world.clock.now_ms())
                    epoch = await register(opened, broker, 1.5 * self.session_timeout_s)
                    logger.info("registered in ZooKeeper with broker epoch %d", epoch)
                    registered.registered(epoch)
                    self._use(opened)
                    configs.session_began()
                    if limit_s != math.inf:
                        task_status.started()
                        limit_s = math.inf
                    async with trio.open_nursery() as nursery:
                        # Like KafkaController, which stands for election only in a session with a registration.
                        nursery.start_soon(controller.run, opened, name="controller")
                        await _follow(opened, configs, controller)
                        nursery.cancel_scope.cancel(reason="the session has ended")
            except SessionLost:
                pass
            self._use(None)
            logger.warning("the session with ZooKeeper has ended; the broker registers again in a new one")

    def _use(self, opened: ZooKeeperSession | None) -> None:
        self._opened = opened
        self._changed.set()
        self._changed = trio.Event()

    async def perform(self, operations: Sequence[Operation]) -> tuple[Result, ...]:
        """Perform operations in the broker's session; wait while there is none. Raises SessionLost."""
        while self._opened is None or self._opened.state is SessionState.EXPIRED:
            await self._changed.wait()
        return await self._opened.perform(operations)


async def _follow(opened: ZooKeeperSession, configs: SessionConfigs, controller: SessionFollower) -> None:
    """Pass on the changes of znodes until the session ends."""
    while opened.state is not SessionState.EXPIRED:
        event = await opened.next_event()
        if event in (ZnodeChanged(CONFIG_CHANGES), ZnodeChanged(FEATURE)):
            configs.changed()
        else:
            await controller.changed(event)
