"""The nursery tree of a broker whose cluster keeps its metadata in ZooKeeper.

The lifetimes, outermost first::

    directories                     locks held, from here to the end
      broker                        groups, fetchers, in-sync replicas, maintenance
        registration                the session with ZooKeeper: while it lives, the broker is registered
          controller                stands for election; while it is elected, one channel to each broker
        control plane               the controller's listener (KIP-291), if it is set: queue of 20, 1 handler
        data plane                  the other listeners; without a control plane the controller's requests come here

The planes listen before the broker registers, because a registration has the bound ports. The controller sends its
requests to its own broker by the same listener as to the others, and a broker its requests to itself, if it is the
controller.
"""

from __future__ import annotations

import contextlib
import logging
from functools import partial

import attrs
import trio

from kraft.api.context import ZkBrokerContext
from kraft.api.dispatcher import Dispatcher
from kraft.api.handlers import Handlers
from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.broker.fetch_session import FetchSessionCache
from kraft.config.broker import NodeConfig
from kraft.config.listeners import Endpoint, Voter
from kraft.config.topic import log_config
from kraft.control.controller_channel import ControllerChannel
from kraft.coordination.auto_topic_creation import AutoTopicCreation
from kraft.coordination.groups import Groups
from kraft.coordination.producer_ids import ProducerIds
from kraft.metrics import Registry
from kraft.node.broker_role import reachable, start_replication, unless
from kraft.node.controlled_shutdown import ControlledShutdown
from kraft.node.node import Bound
from kraft.node.open_files import FileBudget
from kraft.node.settings import (
    connection_limits,
    data_plane_of,
    group_settings,
    socket_settings,
    zookeeper_connection_timeout_s,
)
from kraft.quorum.peers import Connect
from kraft.replication.commands import ControllerCommands
from kraft.replication.metrics import declare_replica_metrics
from kraft.replication.replicas import Replicas
from kraft.request_log.log import RequestLog, request_log
from kraft.rpc.client import connect
from kraft.rpc.loop_watch import LoopWatch
from kraft.rpc.plane import control_plane
from kraft.rpc.quotas import ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.rpc.trace import Sampler
from kraft.storage.directory import LogDirectory
from kraft.storage.zookeeper_directories import open_zookeeper_directories
from kraft.wire.uuids import uuid_to_text
from kraft.world.trace import Trace
from kraft.world.world import World
from kraft.zookeeper.broker_node import BrokerSessions, CannotJoin
from kraft.zookeeper.controller.active import LegacyControllerConfig
from kraft.zookeeper.controller.core import LegacyController
from kraft.zookeeper.controller_driver import LegacyControllerDriver
from kraft.zookeeper.session import OperationFailed, SessionLost, ZooKeeperUnavailable
from kraft.zookeeper.znodes.brokers import BrokerRegistration
from kraft.zookeeper.znodes.fields import MalformedZnode

logger = logging.getLogger("kraft.node")

EXPLAINED = (CannotJoin, MalformedZnode, OperationFailed, SessionLost, ZooKeeperUnavailable)
"""Errors of a start that are one line for an operator."""


@attrs.define(eq=False)
class ZooKeeperNode:
    """One broker. ``run`` is its whole life."""

    config: NodeConfig
    world: World = attrs.Factory(World)
    files: FileBudget | None = None
    registry: Registry = attrs.field(init=False)
    trace: Trace = attrs.field(init=False)
    watch: LoopWatch = attrs.field(init=False)
    controller: LegacyControllerDriver = attrs.field(init=False)
    stopping: trio.Event = attrs.Factory(trio.Event)
    broker: ZkBrokerContext | None = attrs.field(default=None, init=False)
    """The running broker; for tests that inspect a live node."""

    def __attrs_post_init__(self) -> None:
        self.registry = Registry(self.world.seconds)
        self.trace = Trace(self.world.clock, self.config.node_id)
        self.watch = LoopWatch(self.registry, self.trace, self.world.watch_steps)
        core = LegacyController(legacy_controller_config(self.config), self.world.new_uuid)
        self.controller = LegacyControllerDriver(self.world, core)

    async def run(self, *, task_status: trio.TaskStatus[Bound | None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until ``stopping`` is set and the node has shut down in order.

        ``task_status`` is started once clients may connect, with the bound endpoints, or with None if the node was
        stopped before.

        Error handling: one of EXPLAINED if ZooKeeper is missing at the start, StorageError or OSError if a disk has
        an error, each inside exception groups.
        """
        sessions = BrokerSessions(
            self.world,
            self.config.zookeeper.zookeeper_connect or "",
            self.config.zookeeper.zookeeper_session_timeout_ms / 1000,
            zookeeper_connection_timeout_s(self.config),
        )
        cluster = await sessions.cluster_id(uuid_to_text(self.world.new_uuid()))
        with open_zookeeper_directories(self.config, cluster, self.world.new_uuid) as directories:
            broker = self._assemble(sessions, cluster, directories)
            log = request_log(self.config, self.world, self.trace, lambda: broker.image)
            with contextlib.closing(log), self.watch.watching():
                await self._run(sessions, broker, log, task_status)
                await log.finish()
            for directory in directories:  # every log is closed
                directory.mark_clean_shutdown(broker.replicas.broker_epoch)

    async def _run(
        self,
        sessions: BrokerSessions,
        broker: ZkBrokerContext,
        log: RequestLog,
        task_status: trio.TaskStatus[Bound | None],
    ) -> None:
        config, replicas = self.config, broker.replicas
        await replicas.load(None)
        for directory in replicas.directories:
            directory.mark_opened()
        declare_replica_metrics(self.registry, replicas)
        self.broker = broker
        async with trio.open_nursery() as tasks:
            if config.metrics_listener is not None:
                from kraft.rpc.metrics_server import serve_metrics

                await tasks.start(serve_metrics, self.registry, *config.metrics_listener, name="metrics")
            if log.is_on:
                tasks.start_soon(log.run, name="request log")
            tasks.start_soon(broker.channel.run, name="controller channel")
            tasks.start_soon(broker.groups.run, name="groups")
            tasks.start_soon(broker.auto_topics.run, name="auto topic creation")
            start_replication(tasks, config, self.world, replicas, broker.channel, self.registry, self.stopping)
            async with trio.open_nursery() as planes:
                await self._serve_requests(tasks, planes, sessions, broker, log, task_status)
            await replicas.close()
            tasks.cancel_scope.cancel(reason="the node stops")

    async def _serve_requests(
        self,
        tasks: trio.Nursery,
        planes: trio.Nursery,
        sessions: BrokerSessions,
        broker: ZkBrokerContext,
        log: RequestLog,
        task_status: trio.TaskStatus[Bound | None],
    ) -> None:
        """Serve clients and the controller until the node stops, registered from the time when it listens."""
        config, stop = self.config, trio.Event()
        bound: dict[str, Endpoint] = {}
        quotas = ConnectionQuotas(connection_limits(config, self.files), self.world.seconds)
        of_controller = [control_plane(config.listeners.of_control_plane)] if config.listeners.control_plane else []
        for plane in (*of_controller, data_plane_of(config)):
            service = self._service(broker, quotas, log.sampler(plane.name))
            bound |= await planes.start(serve, plane, service, stop, name=f"{plane.name} plane")
        registration = BrokerRegistration(
            config.node_id,
            reachable(config.listeners.advertised_broker, bound),
            rack=config.identity.broker_rack,
        )

        async def join() -> None:
            await tasks.start(sessions.run, registration, broker.commands, self.controller, name="registration")
            await broker.commands.until(lambda image: config.node_id in image.brokers)

        if await unless(self.stopping, join):
            task_status.started(Bound(bound, {}))
            await self.stopping.wait()
            address_of = partial(_address, config.listeners.inter_broker, broker.replicas)
            shutdown_channel = ControllerChannel(broker.commands, address_of, None, connect=self._connect)
            tasks.start_soon(shutdown_channel.run, name="shutdown channel")
            await ControlledShutdown(config, shutdown_channel, broker.replicas).run()
        else:
            task_status.started(None)
        stop.set()

    @property
    def _connect(self) -> Connect:
        return partial(connect, dial=self.world.dial)

    def _service(self, broker: ZkBrokerContext, quotas: ConnectionQuotas, sampler: Sampler) -> Service:
        handlers: Handlers[ZkBrokerContext] = Handlers(ListenerType.ZK_BROKER, self.world.in_thread)
        dispatcher = Dispatcher(handlers, broker)
        return Service(
            handle=self.world.handling(dispatcher.handle),
            apis=OFFERED[handlers.listener],
            error_response=dispatcher.error_response,
            quotas=quotas,
            registry=self.registry,
            settings=socket_settings(self.config),
            listen=self.world.listen,
            trace=self.trace,
            sampler=sampler,
        )

    def _assemble(self, sessions: BrokerSessions, cluster: str, directories: list[LogDirectory]) -> ZkBrokerContext:
        """Make the objects of the broker. None of them runs yet."""
        config, world = self.config, self.world
        lag_max_s = config.replication.replica_lag_time_max_ms / 1000
        replicas = Replicas(config.node_id, world, directories, config.values, lag_max_s)
        groups = Groups(replicas, world, group_settings(config), config.groups.offsets_retention_check_interval_ms)
        commands = ControllerCommands(replicas, groups, sessions.topic_config)
        address_of = partial(_controller_address, config, replicas)
        channel = ControllerChannel(commands, address_of, None, connect=self._connect)
        slots = config.network.max_incremental_fetch_session_cache_slots
        return ZkBrokerContext(
            config,
            cluster,
            world.clock,
            replicas,
            groups,
            channel,
            trio.lowlevel.checkpoint,
            ProducerIds(channel, replicas),
            FetchSessionCache(slots, lambda: world.random.randrange(1, 2**31)),
            AutoTopicCreation(config, channel, trio.lowlevel.checkpoint),
            commands=commands,
            controller=self.controller,
        )


def legacy_controller_config(config: NodeConfig) -> LegacyControllerConfig:
    """Return the settings for the time when this broker is the controller."""
    listeners, replication = config.listeners, config.replication
    inter_broker = listeners.inter_broker or ""
    return LegacyControllerConfig(
        config.node_id,
        inter_broker,
        listeners.control_plane or inter_broker,
        allows_unclean_elections=log_config({}, config.values).unclean_leader_election_enable,
        deletes_topics=config.topics.delete_topic_enable,
        rebalances_leaders=replication.auto_leader_rebalance_enable,
        leader_imbalance_percentage=replication.leader_imbalance_per_broker_percentage,
        leader_imbalance_check_interval_s=replication.leader_imbalance_check_interval_seconds,
    )


def _controller_address(config: NodeConfig, replicas: Replicas, broker_id: int) -> Voter | None:
    """Return where a controller listens: on its control plane, if this broker has one, too, else as a broker."""
    inter_broker, own = config.listeners.inter_broker, config.listeners.control_plane
    return _address(own or inter_broker, replicas, broker_id) or _address(inter_broker, replicas, broker_id)


def _address(listener: str | None, replicas: Replicas, broker_id: int) -> Voter | None:
    broker = replicas.image.brokers.get(broker_id)
    endpoint = None if broker is None else broker.endpoint(listener or "")
    return None if endpoint is None else Voter(broker_id, endpoint.host, endpoint.port)
