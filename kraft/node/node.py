"""The nursery tree of a node.

The lifetimes, outermost first. A task may use its siblings and the tasks that enclose it. A stop ends them in reverse
order::

    directories                     locks held, from here to the end
      quorum                        the raft driver: peers, flusher, role; while it leads the active controller
      metadata, snapshots           committed records, replayed into images
        controller plane            controller listeners, their processors, queue of 500, handlers
          controller channel        sends requests to the active controller, on whichever node it is
          controller registration
          broker                    follows the metadata and other brokers; heartbeats; coordinators; maintenance
            data plane              client listeners, their processors, queue of 500, handlers

A node without the controller role has no controller plane and follows the quorum as an observer. A node without the
broker role ends with ``controller registration``.

A controlled stop is an Event and ordinary control flow. Cancelling the tree stops the node as a power failure would: no
task may depend on a clean-up.
"""

from __future__ import annotations

import contextlib
import logging
import os
from functools import partial
from typing import Any
from uuid import UUID

import attrs
import trio

from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.dispatcher import Dispatcher
from kraft.api.handlers import Handlers
from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.broker.fetch_session import FetchSessionCache
from kraft.config.broker import NodeConfig
from kraft.config.listeners import Endpoint
from kraft.config.throttle_settings import LEADER_RATE, MOVE_RATE
from kraft.control.bootstrap import load_bootstrap, require_bootstrap
from kraft.control.controller import Controller
from kraft.control.controller_channel import ControllerChannel
from kraft.control.controller_metrics import declare_controller_metrics, declare_metadata_metrics
from kraft.control.controller_registration import ControllerRegistration, registration_request
from kraft.control.metadata import Metadata
from kraft.coordination.auto_topic_creation import AutoTopicCreation
from kraft.coordination.lazy_coordinators import LazyCoordinators
from kraft.coordination.producer_ids import ProducerIds
from kraft.metrics import Registry
from kraft.node.broker_role import reachable, replication_throttle, start_broker, start_replication, unless
from kraft.node.lifecycle import Lifecycle
from kraft.node.open_files import FileBudget
from kraft.node.publisher import Publisher
from kraft.node.settings import (
    connection_limits,
    controller_config,
    controller_plane_of,
    data_plane_of,
    metadata_log_config,
    quorum_timing,
    snapshot_policy,
    socket_settings,
)
from kraft.quorum.driver import Quorum
from kraft.quorum.journal import QuorumJournal
from kraft.quorum.log import MetadataLog
from kraft.quorum.metrics import QuorumMetrics
from kraft.quorum.rpcs import Identity
from kraft.quorum.trace import CoreStepped, RequestRefused
from kraft.replication.metrics import declare_replica_metrics
from kraft.replication.moves import DirectoryMoves
from kraft.replication.replicas import Replicas
from kraft.request_log.log import RequestLog, request_log
from kraft.rpc.client import Connect, connect
from kraft.rpc.loop_watch import LoopWatch
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.storage.directory import LogDirectory
from kraft.storage.errors import StorageError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.trace import Trace
from kraft.world.world import World

logger = logging.getLogger("kraft.node")

#: How long a stopping node waits for the other voters to receive its EndQuorumEpoch.
_RESIGNATION_LIMIT_S = 2.0


@attrs.frozen
class Bound:
    """The bound endpoints of a running node, by listener name."""

    broker: dict[str, Endpoint]
    controller: dict[str, Endpoint]


@attrs.define(eq=False)
class Node:
    """One node. ``run`` is its whole life. A simulation passes its own ``world``."""

    config: NodeConfig
    directories: list[LogDirectory]
    world: World = attrs.Factory(World)
    files: FileBudget | None = None
    """The open files of the process, if this node has a process of its own."""
    registry: Registry = attrs.field(init=False)
    trace: Trace = attrs.field(init=False)
    watch: LoopWatch = attrs.field(init=False)
    stopping: trio.Event = attrs.Factory(trio.Event)
    parts: NodeParts = attrs.field(init=False)
    """The quorum and the objects above it; set when ``run`` begins."""
    request_log: RequestLog = attrs.field(init=False)
    broker: BrokerContext | None = attrs.field(default=None, init=False)
    """The broker role, set once it runs; for tests and tools that inspect a live node."""
    _quotas: ConnectionQuotas = attrs.field(init=False)
    _incarnation_id: UUID | None = attrs.field(init=False)
    """The broker's: its registration names it, and the controller in this process recognises it."""
    _is_opened: bool = False

    def __attrs_post_init__(self) -> None:
        self.registry = Registry(self.world.seconds)
        self.trace = Trace(self.world.clock, self.config.node_id)
        self.watch = LoopWatch(self.registry, self.trace, self.world.watch_steps)
        self._quotas = ConnectionQuotas(connection_limits(self.config, self.files), self.world.seconds)
        self._incarnation_id = self.world.new_uuid() if self.config.is_broker else None

    async def run(self, *, task_status: trio.TaskStatus[Bound | None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until ``stopping`` is set and the node has shut down in order.

        ``task_status`` is started once clients may connect, with the bound endpoints, or with None if the node was
        stopped before.

        Error handling: StorageError or OSError if the disk has an error, OSError if a listener cannot be bound, each
        inside exception groups. A cancelled node closes nothing properly, as after kill -9.
        """
        self.parts = self._assemble()  # first, because it may refuse the directory before anything is written there
        self.request_log = request_log(self.config, self.world, self.trace, lambda: self.parts.metadata.image)
        journal = QuorumJournal(
            self._metadata_dir, self.config.node_id, self.world.clock.now_ms, self.request_log.quorum_events
        )
        with contextlib.closing(self.request_log), contextlib.closing(journal), self.watch.watching():
            appends_when_idle = self.config.metadata_log.metadata_max_idle_interval_ms > 0
            journal.start(self.parts.quorum.log.last_timestamp_ms if appends_when_idle else None)
            self.trace.subscribe(CoreStepped, lambda event: journal.note(event.effects))
            self.trace.subscribe(RequestRefused, lambda event: journal.note_refusal(event.refusal))
            await self._run(self.parts, task_status)
            journal.stop()
            await self.request_log.finish()
        if self._is_opened and self.parts.quorum.is_shutting_down:
            broker_epoch = -1 if self.broker is None else self.broker.replicas.broker_epoch
            for directory in self.directories:  # every log is closed
                directory.mark_clean_shutdown(broker_epoch)

    async def _run(self, parts: NodeParts, task_status: trio.TaskStatus[Bound | None]) -> None:
        async with trio.open_nursery() as outer:
            if self.config.metrics_listener is not None:
                # First, because its port may be taken: other nodes do not rely on this one yet.
                # Imported here, because most nodes and tests have no such listener.
                from kraft.rpc.metrics_server import serve_metrics

                await outer.start(serve_metrics, self.registry, *self.config.metrics_listener, name="metrics")
            if self.request_log.is_on:
                outer.start_soon(self.request_log.run, name="request log")
            # Load the snapshot before the listeners open: a voter that no peer can reach would win elections but could
            # not lead.
            await outer.start(parts.metadata.run, name="metadata")
            async with trio.open_nursery() as controller_plane:
                stop_control = trio.Event()
                # Before the quorum, because a port may be taken: then no epoch is spent. Requests wait in the quorum's
                # inbox until it runs.
                controllers = await self._start_controller_plane(controller_plane, parts, stop_control)
                await outer.start(parts.quorum.run, parts.lead, name="quorum")
                outer.start_soon(parts.metadata.write_snapshots, name="snapshots")
                async with trio.open_nursery() as tasks:
                    await self._start_channel_and_registration(tasks, parts, controllers)
                    if self.config.is_broker:
                        await self._run_broker(tasks, parts, controllers, task_status)
                    else:
                        self._mark_opened()
                        task_status.started(Bound({}, controllers))
                        await self.stopping.wait()
                    tasks.cancel_scope.cancel(reason="the node stops")
                if self.broker is not None:
                    await self.broker.replicas.close()
                with trio.move_on_after(_RESIGNATION_LIMIT_S):
                    await parts.quorum.shut_down()
                stop_control.set()
            outer.cancel_scope.cancel(reason="the node stops")

    async def _start_controller_plane(
        self, nursery: trio.Nursery, parts: NodeParts, stopping: trio.Event
    ) -> dict[str, Endpoint]:
        """Open the listeners for the other voters and for brokers; return their bound endpoints by listener name."""
        if parts.controller is None:
            return {}
        handlers: Handlers[ControllerContext] = Handlers(ListenerType.CONTROLLER, self.world.in_thread)
        context = ControllerContext(
            self.config, parts.cluster_id, self.world.clock, parts.quorum, parts.controller, parts.metadata, handlers
        )
        plane = controller_plane_of(self.config)
        service = self._service(Dispatcher(handlers, context), plane)
        bound: dict[str, Endpoint] = await nursery.start(serve, plane, service, stopping, name="controller plane")
        return bound

    async def _start_channel_and_registration(
        self, tasks: trio.Nursery, parts: NodeParts, controllers: dict[str, Endpoint]
    ) -> None:
        config = self.config
        tasks.start_soon(parts.channel.run, name="controller channel")
        if parts.controller is not None:
            advertised = reachable(config.listeners.advertised_controller, controllers)
            request = registration_request(config.node_id, self.world.new_uuid(), advertised)
            registration = ControllerRegistration(parts.channel, parts.metadata, request)
            tasks.start_soon(registration.run, name="controller registration")

    async def _run_broker(
        self,
        tasks: trio.Nursery,
        parts: NodeParts,
        controllers: dict[str, Endpoint],
        task_status: trio.TaskStatus[Bound | None],
    ) -> None:
        """Open all logs that the image assigns to this broker, and serve clients until the node stops."""
        replication_channel = parts.channel.separate()
        broker, lifecycle = self._assemble_broker(parts, replication_channel)
        if not await unless(self.stopping, partial(self._catch_up, parts)):
            task_status.started(None)
            return
        await lifecycle.publisher.load()
        self._mark_opened()
        self.broker, replicas = broker, broker.replicas
        declare_replica_metrics(self.registry, replicas, self.config.transactions.transaction_max_timeout_ms)
        self._warn_of_few_files(replicas)
        tasks.start_soon(lifecycle.publisher.run, name="publisher")
        start_broker(tasks, broker)
        tasks.start_soon(lifecycle.channel.run, name="lease channel")
        tasks.start_soon(replication_channel.run, name="replication channel")
        start_replication(tasks, self.config, self.world, replicas, replication_channel, self.registry, self.stopping)
        async with trio.open_nursery() as data_plane:
            stop_data = trio.Event()
            plane = data_plane_of(self.config)
            handlers: Handlers[BrokerContext] = Handlers(ListenerType.BROKER, self.world.in_thread)
            service = self._service(Dispatcher(handlers, broker), plane)
            clients = await data_plane.start(serve, plane, service, stop_data, name="data plane")
            advertised = reachable(self.config.listeners.advertised_broker, clients)
            if await unless(self.stopping, partial(lifecycle.join, advertised)):
                tasks.start_soon(lifecycle.heartbeats, name="heartbeats")
                broker.lazy_coordinators.begin()
                task_status.started(Bound(clients, controllers))
                await self.stopping.wait()
                await lifecycle.controlled_shutdown()
            else:
                task_status.started(None)
            stop_data.set()

    async def _catch_up(self, parts: NodeParts) -> None:
        """Return once this node has replayed what is committed.

        Raises KafkaError if there is no leader, with which the broker could register, within
        ``initial.broker.registration.timeout.ms``. The replay may take longer.
        """
        quorum, limit_ms = parts.quorum, self.config.lease.initial_broker_registration_timeout_ms
        with trio.move_on_after(limit_ms / 1000) as wait:
            while quorum.leader_id is None:
                await quorum.change(None, quorum.epoch)
        if wait.cancelled_caught:
            what = f"no controller was found within initial.broker.registration.timeout.ms ({limit_ms} ms)"
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, what)
        await parts.metadata.caught_up()

    def _warn_of_few_files(self, replicas: Replicas) -> None:
        """Log that logs will open and close their files all the time, if there are more of them than open files."""
        count = sum(1 for _ in replicas.all())
        if self.files is not None and count > self.files.logs:
            what = f"{count} partitions share {self.files.logs} open files"
            logger.warning("%s: a log that was not used lately is opened again; raise the limit (ulimit -n)", what)

    def _mark_opened(self) -> None:
        self._is_opened = True
        for directory in self.directories:
            directory.mark_opened()

    @property
    def _connect(self) -> Connect:
        return partial(connect, dial=self.world.dial)

    @property
    def _metadata_dir(self) -> str:
        return os.path.abspath(self.config.metadata_log_dir)

    def _assemble(self) -> NodeParts:
        """Make the objects that every node has. None of them runs yet."""
        config = self.config
        directory = next(each for each in self.directories if each.path == self._metadata_dir)
        cluster_id = directory.meta.cluster_id
        bootstrap = load_bootstrap(directory.path) if config.is_controller else ()
        identity = Identity(
            config.node_id,
            cluster_id,
            directory.directory_id,
            {voter.node_id: voter for voter in config.voters},
            config.listeners.controller_names[0],
        )
        quorum = Quorum(
            identity,
            self._metadata_log(directory, bootstrap),
            self.world,
            timing=quorum_timing(config),
            trace=self.trace,
        )
        metadata = Metadata(quorum, self.world, snapshot_policy(config))
        controller = None
        if config.is_controller:
            controller = Controller(
                quorum,
                metadata,
                controller_config(config, cluster_id, self._incarnation_id),
                self.world,
                bootstrap=bootstrap or (),
                max_idle_interval_ms=config.metadata_log.metadata_max_idle_interval_ms,
            )
        self._declare_metrics(quorum, metadata, controller)
        channel = ControllerChannel(quorum, identity.voters.get, controller, connect=self._connect)
        return NodeParts(cluster_id, quorum, metadata, controller, channel)

    def _declare_metrics(self, quorum: Quorum, metadata: Metadata, controller: Controller | None) -> None:
        raft = QuorumMetrics(self.registry, quorum, is_voter=controller is not None)
        self.trace.subscribe(CoreStepped, lambda event: raft.note(event.effects, event.appended_at))
        self.trace.subscribe(RequestRefused, lambda event: raft.note_refusal(event.refusal))
        declare_metadata_metrics(self.registry, self.world.clock, quorum, metadata)
        if controller is not None:
            declare_controller_metrics(self.registry, self.world.clock, quorum, metadata, controller, raft)

    def _metadata_log(self, directory: LogDirectory, bootstrap: tuple[Any, ...] | None) -> MetadataLog:
        log = MetadataLog.open(
            directory.path,
            metadata_log_config(self.config),
            now_ms=self.world.clock.now_ms(),
            last_stop=directory.last_stop,
        )
        directory.unmark_clean_shutdown()  # the quorum appends before the logs of partitions are open
        if log.recovery:
            logger.warning("%s: %s", log.directory, log.recovery)
        if not log.has_records:
            try:
                require_bootstrap(directory.path, bootstrap)
            except StorageError:
                log.abandon()
                raise
        return log

    def _assemble_broker(
        self, parts: NodeParts, replication_channel: ControllerChannel
    ) -> tuple[BrokerContext, Lifecycle]:
        """Make the objects of the broker. None of them runs yet."""
        config = self.config
        log_directories = [each for each in self.directories if each.path in map(os.path.abspath, config.log_dirs)]
        lag_max_s = config.replication.replica_lag_time_max_ms / 1000
        replicas = Replicas(config.node_id, self.world, log_directories, config.values, lag_max_s)
        slots = config.network.max_incremental_fetch_session_cache_slots
        sessions = FetchSessionCache(slots, lambda: self.world.random.randrange(1, 2**31))
        producer_ids = ProducerIds(parts.channel, replicas)
        coordinators = LazyCoordinators(
            config, replicas, self.world, self.registry, producer_ids.take, lambda names: auto_topics.create(names)
        )
        publisher = Publisher(parts.metadata, replicas, coordinators)
        auto_topics = AutoTopicCreation(config, parts.channel, publisher.catch_up)
        move_throttle = replication_throttle(config, replicas, MOVE_RATE)
        broker = BrokerContext(
            config=config,
            cluster_id=parts.cluster_id,
            clock=self.world.clock,
            replicas=replicas,
            lazy_coordinators=coordinators,
            channel=parts.channel,
            catch_up=publisher.catch_up,
            producer_ids=producer_ids,
            fetch_sessions=sessions,
            auto_topics=auto_topics,
            moves=DirectoryMoves(replicas, replication_channel.request, move_throttle),
            leader_throttle=replication_throttle(config, replicas, LEADER_RATE),
        )
        directory_ids = [each.directory_id for each in log_directories]
        lease = parts.channel.separate(attempt_timeout_ms=config.lease.broker_session_timeout_ms / 2)
        assert self._incarnation_id is not None, "this node has the broker role"
        lifecycle = Lifecycle(config, parts.cluster_id, lease, publisher, directory_ids, self._incarnation_id)
        return broker, lifecycle

    def _service(self, dispatcher: Dispatcher[BrokerContext] | Dispatcher[ControllerContext], plane: Plane) -> Service:
        return Service(
            handle=self.world.handling(dispatcher.handle),
            apis=OFFERED[dispatcher.handlers.listener],
            error_response=dispatcher.error_response,
            quotas=self._quotas,
            registry=self.registry,
            settings=socket_settings(self.config),
            listen=self.world.listen,
            trace=self.trace,
            sampler=self.request_log.sampler(plane.name),
        )


@attrs.frozen(eq=False)
class NodeParts:
    """The objects that every node has. ``controller`` is None on a node without the controller role."""

    cluster_id: str
    quorum: Quorum
    metadata: Metadata
    controller: Controller | None
    channel: ControllerChannel

    async def lead(self, epoch: int) -> None:
        """Be the active controller while this node leads the quorum."""
        assert self.controller is not None, "only a voter can lead, and every voter is a controller"
        await self.controller.lead(epoch)
