"""The nursery tree of a broker whose cluster keeps its metadata in ZooKeeper.

The lifetimes, outermost first::

    directories                     locks held, from here to the end
      registration                  the session with ZooKeeper: while it lives, the broker is registered
        controller                  stands for election; while it is elected, one channel to each broker
        broker                      coordinators, fetchers, in-sync replicas, maintenance
          controller's requests     the one that is being applied goes on although its connection closes
          control plane             the controller's listener (KIP-291), if it is set: queue of 20, 1 handler
            data plane              the other listeners; without a control plane the controller's requests come here

The logs are closed before the session ends, which may wait for ZooKeeper. The planes listen before the broker
registers, because a registration has the bound ports. The controller sends its requests to its own broker by the same
listener as to the others. A broker that is the controller sends its requests to itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

import attrs
import trio

from kraft.api.context import ZkBrokerContext
from kraft.api.dispatcher import Dispatcher
from kraft.api.forced_plane import ForcedControlPlane
from kraft.api.handlers import Handlers
from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.broker.fetch_session import FetchSessionCache
from kraft.config.broker import NodeConfig
from kraft.config.listeners import Endpoint
from kraft.config.throttle_settings import LEADER_RATE, MOVE_RATE
from kraft.config.topic import log_config
from kraft.control.controller_channel import ControllerChannel
from kraft.coordination.auto_topic_creation import AutoTopicCreation
from kraft.coordination.lazy_coordinators import LazyCoordinators
from kraft.coordination.producer_ids import ProducerIds
from kraft.metrics import Registry
from kraft.node.broker_id import sessions_of
from kraft.node.broker_role import reachable, replication_throttle, start_broker, start_replication, unless
from kraft.node.controlled_shutdown import ControlledShutdown
from kraft.node.controller_address import ControllerAddress
from kraft.node.node import Bound
from kraft.node.open_files import FileBudget
from kraft.node.settings import (
    connection_limits,
    data_plane_of,
    socket_settings,
)
from kraft.replication.commands import ControllerCommands
from kraft.replication.metrics import declare_replica_metrics
from kraft.replication.moves import DirectoryMoves
from kraft.replication.replicas import Replicas
from kraft.request_log.log import RequestLog, request_log
from kraft.rpc.loop_watch import LoopWatch
from kraft.rpc.plane import Plane, control_plane
from kraft.rpc.quotas import ConnectionQuotas
from kraft.rpc.rejections import RejectionLog
from kraft.rpc.server import Service, serve
from kraft.storage.directory import LogDirectory
from kraft.storage.zookeeper_directories import open_zookeeper_directories
from kraft.wire.uuids import uuid_to_text
from kraft.world.slices import in_another_queue
from kraft.world.trace import Trace
from kraft.world.world import World
from kraft.zookeeper.broker_node import BrokerSessions, CannotJoin
from kraft.zookeeper.config_follower import ConfigFollower
from kraft.zookeeper.config_store import ConfigStore
from kraft.zookeeper.controller.active import LegacyControllerConfig
from kraft.zookeeper.controller.core import LegacyController
from kraft.zookeeper.controller_driver import LegacyControllerDriver
from kraft.zookeeper.session import OperationFailed, SessionLost, ZooKeeperUnavailable
from kraft.zookeeper.znodes.brokers import BrokerRegistration
from kraft.zookeeper.znodes.fields import MalformedZnode

EXPLAINED = (CannotJoin, MalformedZnode, OperationFailed, SessionLost, ZooKeeperUnavailable)
"""Errors of a start that are one line for an operator."""


@attrs.define(eq=False)
class ZooKeeperNode:
    """One broker, whose id ``config`` has. ``run`` is its whole life."""

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
        core = LegacyController(legacy_controller_config(self.config), self.world.new_uuid, self.world.random)
        timeout_s = self.config.network.request_timeout_ms / 1000
        self.controller = LegacyControllerDriver(self.world, core, self.trace, self.registry, timeout_s)

    async def run(self, *, task_status: trio.TaskStatus[Bound | None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until ``stopping`` is set and the node has shut down in order.

        ``task_status`` is started once clients may connect, with the bound endpoints, or with None if the node was
        stopped before.

        Error handling: one of EXPLAINED if ZooKeeper is missing at the start, StorageError or OSError if a disk has
        an error, each inside exception groups.
        """
        sessions = sessions_of(self.config, self.world)
        cluster = ""

        async def identify() -> None:
            nonlocal cluster
            cluster = await sessions.cluster_id(uuid_to_text(self.world.new_uuid()))

        if not await unless(self.stopping, identify):
            task_status.started(None)
            return
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
        declare_replica_metrics(self.registry, replicas, self.config.transactions.transaction_max_timeout_ms)
        self.broker = broker
        async with trio.open_nursery() as outer:
            if config.metrics_listener is not None:
                from kraft.rpc.metrics_server import serve_metrics

                await outer.start(serve_metrics, self.registry, *config.metrics_listener, name="metrics")
            if log.is_on:
                outer.start_soon(log.run, name="request log")
            async with trio.open_nursery() as tasks:
                tasks.start_soon(broker.commands.run, name="controller's requests")
                tasks.start_soon(broker.channel.run, name="controller channel")
                tasks.start_soon(broker.auto_topics.channel.run, name="channel of created topics")
                start_broker(tasks, broker)
                start_replication(tasks, config, self.world, replicas, broker.channel, self.registry, self.stopping)
                await self._serve_requests(outer, sessions, broker, log, task_status)
                tasks.cancel_scope.cancel(reason="the node stops")
            await replicas.close()
            outer.cancel_scope.cancel(reason="the node stops")

    async def _serve_requests(
        self,
        outer: trio.Nursery,
        sessions: BrokerSessions,
        broker: ZkBrokerContext,
        log: RequestLog,
        task_status: trio.TaskStatus[Bound | None],
    ) -> None:
        """Serve clients and the controller until the node stops.

        The control plane ends last, as in Kafka's shutdown: the controller is served while clients get their responses.
        """
        config = self.config
        quotas = ConnectionQuotas(connection_limits(config, self.files), self.world.seconds)
        of_controller, stop_control = config.listeners.of_control_plane, trio.Event()
        of_clients, stop_data = data_plane_of(config), trio.Event()
        bound: dict[str, Endpoint] = {}
        async with trio.open_nursery() as control:
            if of_controller:
                plane = control_plane(of_controller)
                service = self._service(broker, quotas, log, config.listeners.is_control_plane_forced, plane)
                with in_another_queue():
                    bound |= await control.start(serve, plane, service, stop_control, name="control plane")
            async with trio.open_nursery() as data:
                service = self._service(broker, quotas, log, False, of_clients)
                bound |= await data.start(serve, of_clients, service, stop_data, name="data plane")
                await self._until_stopped(outer, sessions, broker, bound, task_status)
                stop_data.set()
            stop_control.set()

    async def _until_stopped(
        self,
        outer: trio.Nursery,
        sessions: BrokerSessions,
        broker: ZkBrokerContext,
        bound: Mapping[str, Endpoint],
        task_status: trio.TaskStatus[Bound | None],
    ) -> None:
        """Register the broker, which listens now, and return once it is to stop and others lead its partitions."""
        config = self.config
        registration = BrokerRegistration(
            config.node_id,
            reachable(config.listeners.advertised_broker, bound),
            rack=config.identity.broker_rack,
        )

        async def join() -> None:
            clock, changed = self.world.clock, self.controller.changed
            configs = ConfigFollower(ConfigStore(sessions), clock, broker.commands, changed)
            await outer.start(
                sessions.run, registration, broker.commands, configs, self.controller, name="registration"
            )
            await outer.start(configs.run, name="configurations")
            await broker.commands.until(lambda image: config.node_id in image.brokers)

        if not await unless(self.stopping, join):
            task_status.started(None)
            return
        broker.lazy_coordinators.begin()
        task_status.started(Bound(dict(bound), {}))
        await self.stopping.wait()
        address = self._address(broker.replicas)
        channel = ControllerChannel(broker.commands, address.for_shutdown, None, connect=address.connect_for_shutdown)
        outer.start_soon(channel.run, name="shutdown channel")
        await ControlledShutdown(config, channel, broker.replicas).run()

    def _address(self, replicas: Replicas) -> ControllerAddress:
        return ControllerAddress(self.config.listeners, replicas, self.world.dial)

    def _service(
        self, broker: ZkBrokerContext, quotas: ConnectionQuotas, log: RequestLog, is_forced: bool, plane: Plane
    ) -> Service:
        handlers: Handlers[ZkBrokerContext] = Handlers(ListenerType.ZK_BROKER, self.world.in_thread)
        dispatcher, rejections = Dispatcher(handlers, broker), RejectionLog(self.registry.clock)
        handle = ForcedControlPlane(dispatcher, rejections).handle if is_forced else dispatcher.handle
        return Service(
            handle=self.world.handling(handle),
            apis=OFFERED[handlers.listener],
            error_response=dispatcher.error_response,
            quotas=quotas,
            registry=self.registry,
            settings=socket_settings(self.config),
            listen=self.world.listen,
            rejections=rejections,
            trace=self.trace,
            sampler=log.sampler(plane.name),
        )

    def _assemble(self, sessions: BrokerSessions, cluster: str, directories: list[LogDirectory]) -> ZkBrokerContext:
        """Make the objects of the broker. None of them runs yet."""
        config, world = self.config, self.world
        lag_max_s = config.replication.replica_lag_time_max_ms / 1000
        replicas = Replicas(config.node_id, world, directories, config.values, lag_max_s)
        configs = ConfigStore(sessions)
        # Share groups need a metadata quorum, so nobody asks for their topic.
        coordinators = LazyCoordinators(
            config, replicas, world, self.registry, lambda: producer_ids.take(), lambda names: None
        )
        commands = ControllerCommands(replicas, coordinators, configs.topics)
        address = self._address(replicas)
        channel = ControllerChannel(commands, address.for_requests, None, connect=address.connect)
        # The controller responds to CreateTopics once each partition has a leader, and to later requests after that.
        channel_of_creations = channel.separate()
        producer_ids = ProducerIds(channel, replicas)
        slots = config.network.max_incremental_fetch_session_cache_slots
        move_throttle = replication_throttle(config, replicas, MOVE_RATE)
        return ZkBrokerContext(
            config=config,
            cluster_id=cluster,
            clock=world.clock,
            replicas=replicas,
            lazy_coordinators=coordinators,
            channel=channel,
            catch_up=_never_behind,
            producer_ids=producer_ids,
            fetch_sessions=FetchSessionCache(slots, lambda: world.random.randrange(1, 2**31)),
            auto_topics=AutoTopicCreation(config, channel_of_creations, trio.lowlevel.checkpoint),
            moves=DirectoryMoves(replicas, channel.request, move_throttle),
            leader_throttle=replication_throttle(config, replicas, LEADER_RATE),
            commands=commands,
            controller=self.controller,
            configs=configs,
        )


async def _never_behind(end_offset: int) -> None:
    """Return at once: this broker forwards no request, and the controller sends it the changes."""
    await trio.lowlevel.checkpoint()


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
        num_partitions=config.topics.num_partitions,
        default_replication_factor=config.topics.default_replication_factor,
        static_values=config.values,
    )
