"""The nursery tree of a node, in one function.

The lifetimes, outermost first; a task may rely only on what encloses it, and a stop is the same list backwards::

    directories                     locks held, from here to the end
      quorum                        the metadata log and its flushes
        control plane               KIP-291: controller listener, one processor, queue of 20, one handler; the
        controller
          broker                    follows the metadata; heartbeats; groups; maintenance
            data plane              client listeners, their processors, queue of 500, handlers

A controlled stop is an Event and ordinary control flow. Cancelling the tree is the power cord, and nothing depends on
being told.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import socket
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import trio

from kraft.broker.fetch_session import FetchSessionCache
from kraft.config.broker import NodeConfig
from kraft.config.features import SUPPORTED_FEATURES
from kraft.config.listeners import Endpoint, advertise
from kraft.config.setting import ConfigError
from kraft.messages.controller_registration_request import ControllerRegistrationRequest, Feature, Listener
from kraft.metadata.bootstrap import read_bootstrap
from kraft.metadata.delta import MetadataError
from kraft.metrics import Registry
from kraft.node.apis import BROKER_APIS, CONTROLLER_APIS, Dispatcher, versions
from kraft.node.broker import Broker
from kraft.node.clock import Clock
from kraft.node.compaction import Compaction
from kraft.node.controller import Controller
from kraft.node.groups import Groups
from kraft.node.lifecycle import PLAINTEXT, Lifecycle
from kraft.node.maintenance import Maintenance
from kraft.node.producer_ids import ProducerIds
from kraft.node.publisher import Publisher
from kraft.node.quorum import METADATA_PARTITION, Quorum
from kraft.node.replicas import Replicas
from kraft.node.settings import (
    connection_limits,
    control_plane_of,
    controller_config,
    data_plane_of,
    group_settings,
    metadata_log_config,
    socket_settings,
)
from kraft.rpc.quotas import ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.storage.directory import BOOTSTRAP_CHECKPOINT, LastStop, LogDirectory
from kraft.storage.errors import StorageError
from kraft.storage.log import Log

logger = logging.getLogger("kraft.node")


@contextlib.contextmanager
def open_directories(config: NodeConfig) -> Iterator[list[LogDirectory]]:
    """Take every log directory for this node; all are given back at the end.

    Raises:
        LogDirectoryError: one is in use, unformatted or foreign. OSError: one cannot be read.
    """
    with contextlib.ExitStack() as stack:
        directories: list[LogDirectory] = []
        for path in config.directories:
            cluster_id = directories[0].meta.cluster_id if directories else None
            directory = LogDirectory.open(path, node_id=config.node_id, cluster_id=cluster_id)
            stack.callback(directory.close)
            directories.append(directory)
        yield directories


def check_supported(config: NodeConfig) -> None:
    """Raises: ConfigError for a role or a quorum that cannot be run yet."""
    if not (config.is_broker and config.is_controller):
        raise ConfigError("process.roles: only broker,controller together can be run today")
    if len(config.voters) != 1:
        raise ConfigError("controller.quorum.voters: only a quorum of one can be run today")


@attrs.frozen
class Bound:
    """Where a running node listens: endpoints by listener name."""

    broker: dict[str, Endpoint]
    controller: dict[str, Endpoint]


@attrs.define(eq=False)
class Node:
    """One node, put together. ``run`` is its whole life."""

    config: NodeConfig
    directories: list[LogDirectory]
    registry: Registry = attrs.Factory(Registry)
    clock: Clock = attrs.Factory(Clock)
    stopping: trio.Event = attrs.Factory(trio.Event)
    _quotas: ConnectionQuotas = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._quotas = ConnectionQuotas(connection_limits(self.config))

    async def run(self, *, task_status: trio.TaskStatus[Bound] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until ``stopping`` is set and everything has been shut down in order; started once clients may connect.

        Error handling: StorageError or OSError if the disk cannot be trusted, OSError if a listener cannot be bound,
        each inside exception groups. A cancelled node closes nothing properly, as after kill -9.
        """
        config = self.config
        quorum = Quorum(config.node_id, tuple(v.node_id for v in config.voters), self._metadata_log(), self.clock)
        async with trio.open_nursery() as outer:
            await outer.start(quorum.run, name="quorum")
            async with trio.open_nursery() as control_plane:
                stop_control = trio.Event()
                broker, publisher, lifecycle = self._assemble(quorum)
                service = self._service(Dispatcher(broker, CONTROLLER_APIS))
                plane = control_plane_of(config)
                controllers = await control_plane.start(serve, plane, service, stop_control, name="control plane")
                await control_plane.start(broker.controller.run, _registration(config, controllers), name="controller")
                async with trio.open_nursery() as tasks:
                    if config.metrics_listener is not None:
                        # Imported by those who want it: most nodes, and every test, start without.
                        from kraft.rpc.metrics_server import serve_metrics

                        await tasks.start(serve_metrics, self.registry, *config.metrics_listener, name="metrics")
                    await self._start_broker(tasks, broker, publisher)
                    async with trio.open_nursery() as data_plane:
                        stop_data = trio.Event()
                        service = self._service(Dispatcher(broker, BROKER_APIS))
                        plane = data_plane_of(config)
                        clients = await data_plane.start(serve, plane, service, stop_data, name="data plane")
                        await lifecycle.join(_advertised(config.listeners.advertised_broker, clients))
                        tasks.start_soon(lifecycle.heartbeats, name="heartbeats")
                        task_status.started(Bound(clients, controllers))
                        await self.stopping.wait()
                        await lifecycle.controlled_shutdown()
                        stop_data.set()
                    tasks.cancel_scope.cancel(reason="the node stops")
                stop_control.set()
                broker.controller.stop()
            await broker.replicas.close()
            outer.cancel_scope.cancel(reason="the node stops")
        for directory in self.directories:  # the metadata log is closed too
            directory.mark_clean_shutdown(lifecycle.broker_epoch)

    def _metadata_log(self) -> Log:
        path = self.config.metadata_log_dir
        directory = next(each for each in self.directories if each.path == os.path.abspath(path))
        # A start appends to this log before the mark of the last clean stop is taken away, so that says little of it.
        last_stop = LastStop.KILLED if directory.last_stop is LastStop.CLEAN else directory.last_stop
        log = Log.open(
            directory.path,
            METADATA_PARTITION,
            metadata_log_config(self.config),
            now_ms=self.clock.now_ms(),
            last_stop=last_stop,
            cut_unsynced=False,
        )
        if log.recovery:
            logger.warning("%s: %s", log.directory, log.recovery)
        return log

    def _assemble(self, quorum: Quorum) -> tuple[Broker, Publisher, Lifecycle]:
        """The parts of the broker and the controller, none of them running yet."""
        config = self.config
        cluster_id = self.directories[0].meta.cluster_id
        controller = Controller(
            quorum,
            controller_config(config, cluster_id),
            self.clock,
            bootstrap=self._bootstrap(),
            max_idle_interval_ms=config.metadata_log.metadata_max_idle_interval_ms,
        )
        log_directories = [each for each in self.directories if each.path in map(os.path.abspath, config.log_dirs)]
        replicas = Replicas(config.node_id, self.clock, log_directories, config.values)
        interval_ms = config.groups.offsets_retention_check_interval_ms
        groups = Groups(replicas, self.clock, group_settings(config), interval_ms)
        slots = config.network.max_incremental_fetch_session_cache_slots
        sessions = FetchSessionCache(slots, lambda: random.randrange(1, 2**31))
        producer_ids = ProducerIds(controller, config.node_id)
        publisher = Publisher(quorum, replicas, groups)
        broker = Broker(config, cluster_id, self.clock, replicas, groups, controller, publisher, producer_ids, sessions)
        directory_ids = [each.meta.directory_id for each in log_directories if each.meta.directory_id is not None]
        lifecycle = Lifecycle(config, cluster_id, controller, producer_ids, publisher, directory_ids)
        return broker, publisher, lifecycle

    def _bootstrap(self) -> tuple[Any, ...]:
        path = os.path.join(self.directories[0].path, BOOTSTRAP_CHECKPOINT)
        with open(path, "rb") as file:
            try:
                return read_bootstrap(file.read())
            except MetadataError as error:
                raise StorageError(f"{path}: {error}; restore it from a copy") from error

    def _service(self, dispatcher: Dispatcher) -> Service:
        return Service(
            handle=dispatcher.handle,
            apis=versions(dispatcher.apis),
            error_response=dispatcher.error_response,
            quotas=self._quotas,
            registry=self.registry,
            settings=socket_settings(self.config),
        )

    async def _start_broker(self, tasks: trio.Nursery, broker: Broker, publisher: Publisher) -> None:
        """Open all logs by the metadata as it is, then follow it."""
        await publisher.load()
        for directory in self.directories:
            directory.mark_opened()
        tasks.start_soon(publisher.run, name="metadata")
        tasks.start_soon(broker.groups.run, name="groups")
        tasks.start_soon(Maintenance(self.config, self.clock, broker.replicas).run, name="maintenance")
        if self.config.logs.log_cleaner_enable:
            cleaner = Compaction(self.config, self.clock, broker.replicas, self.stopping)
            tasks.start_soon(cleaner.run, name="compaction")


def _advertised(endpoints: Iterable[Endpoint], bound: dict[str, Endpoint]) -> tuple[Endpoint, ...]:
    """The endpoints as others can use them, with the ports that were bound."""
    return advertise(endpoints, socket.gethostname(), {name: endpoint.port for name, endpoint in bound.items()})


def _registration(config: NodeConfig, bound: dict[str, Endpoint]) -> ControllerRegistrationRequest:
    """How this controller makes itself known to the cluster (KIP-919)."""
    advertised = _advertised(config.listeners.advertised_controller, bound)
    return ControllerRegistrationRequest(
        controller_id=config.node_id,
        incarnation_id=uuid.uuid4(),
        listeners=[Listener(each.listener, each.host, each.port, PLAINTEXT) for each in advertised],
        features=[Feature(name, low, high) for name, (low, high) in SUPPORTED_FEATURES.items()],
    )
