"""Whole nodes in one ``trio.run``: real nodes with their nursery trees, on a network in memory.

A ``trio.testing.MockClock`` jumps, so timeouts of seconds pass at once. Files are real, in a directory of the caller.
Work for a worker thread takes ``disk_s`` seconds of virtual time instead. The wall clock is virtual too, so the same
run writes the same timestamps.

With ``Costs``, requests take virtual time on the event loop of their node, and compute jobs on its one worker thread.
While a step of a node works, no other task of that node runs, and its clocks advance (``virtual_time.Process``). The
other nodes go on. A step sends its bytes after the work that it has done before.

This shows how the steps of a node delay each other, in the order in which Trio would run them. It does not show how
long the real code works: a step without a declared cost takes no time. Deadlines that a step sets count from the start
of the step. A job on a worker thread ends no earlier than the running step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import trio

from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.config.properties import from_mapping
from kraft.control.controller_channel import ControllerChannel
from kraft.control.metadata import Metadata
from kraft.node.node import Node
from kraft.node.settings import metadata_log_config, quorum_timing, snapshot_policy
from kraft.node.tree import render
from kraft.quorum.driver import Quorum
from kraft.quorum.log import MetadataLog
from kraft.quorum.rpcs import Identity
from kraft.rpc.client import connect
from kraft.simulation.virtual_network import VirtualNetwork, at_once
from kraft.simulation.virtual_time import Process
from kraft.storage.creation import create_private_directory
from kraft.storage.format import format_directories
from kraft.storage.node_directories import open_directories
from kraft.wire.uuids import ZERO_UUID
from kraft.world.slices import queue_of_node
from kraft.world.world import Handle

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"
PORT = 9093
CLIENT_PORT = 9092


def _nothing(*_: object) -> float:
    return 0.0


@attrs.frozen
class Costs:
    """The seconds of work on a node: of a request when its handler begins, of a slice at its end, of a compute job."""

    request_s: Callable[[Any], float] = _nothing
    slice_s: Callable[[], float] = _nothing
    job_s: Callable[[], float] = _nothing


FREE = Costs()
"""No work takes time."""


@attrs.frozen
class TimedQueue:
    """Where the tasks of a node wait for their next slice (``kraft.world.slices``). The slice before it takes time."""

    process: Process
    costs: Costs
    lock: trio.Lock = attrs.Factory(trio.Lock)

    async def __aenter__(self) -> None:
        self.process.work(self.costs.slice_s())
        await self.lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.lock.release()

    def another(self) -> TimedQueue:
        return TimedQueue(self.process, self.costs)


@attrs.define(eq=False)
class VirtualNode:
    """One node. ``node`` is None while it is not running."""

    node_id: int
    settings: Mapping[str, str]
    network: VirtualNetwork
    disk_s: float
    costs: Costs = FREE
    node: Node | None = None
    task: trio.lowlevel.Task | None = None
    _scope: trio.CancelScope | None = None
    _gone: trio.Event = attrs.Factory(trio.Event)
    _process: Process = attrs.Factory(Process)
    _worker: trio.Lock = attrs.Factory(trio.Lock)

    @property
    def host(self) -> str:
        return f"node-{self.node_id}"

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run until killed or stopped. It has started once it listens."""
        self._gone = trio.Event()
        self._process.enter()
        queue_of_node.set(TimedQueue(self._process, self.costs))
        config = from_mapping(self.settings).config
        world = attrs.evolve(
            self.network.world(self.host, self.in_thread, self._process.now),
            compute=self.compute,
            handling=self.handling,
        )
        if not (Path(config.log_dirs[0]) / "meta.properties").exists():
            format_directories(
                config, CLUSTER_ID, DEFAULT_METADATA_LEVEL, ignore_formatted=False, new_uuid=world.new_uuid
            )
        try:
            with open_directories(config) as directories, trio.CancelScope() as self._scope:
                self.task = trio.lowlevel.current_task()
                self.node = Node(
                    config,
                    directories,
                    world,
                )
                await self.node.run(task_status=task_status)  # type: ignore[arg-type]
        finally:
            self.node = self.task = None
            self._gone.set()

    async def in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Half of the time passes before ``work`` and half after it: a kill may follow the work before its result is
        known.
        """
        await trio.sleep(self.disk_s / 2)
        result = work(*arguments)
        await trio.sleep(self.disk_s / 2)
        return result

    async def compute(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do a compute job on the one worker thread of this node."""
        async with self._worker:
            await trio.sleep(self.costs.job_s())
            return await self.in_thread(work, *arguments)

    def handling(self, handle: Handle) -> Handle:
        """Let each request work for its time before ``handle``."""

        async def work(request: Any) -> Any:
            self._process.work(self.costs.request_s(request))
            return await handle(request)

        return work

    async def kill(self) -> None:
        """Cancel all tasks at once, like kill -9."""
        assert self._scope is not None
        self._process.interrupt()
        self._scope.cancel(reason="killed")
        await self._gone.wait()

    async def stop(self) -> None:
        """Make a controlled stop."""
        assert self.node is not None
        self.node.stopping.set()
        await self._gone.wait()

    async def resign(self) -> None:
        """Give up the leadership of the quorum, if this node has it, and stay a voter (``RaftClient.resign``)."""
        if self.node is not None:
            quorum = self.node.parts.quorum
            await quorum.resign(quorum.epoch)

    def pause(self) -> None:
        """Stop all tasks as SIGSTOP does: messages of peers wait, and time passes. Needs ``virtual_time.run``."""
        self._process.pause()

    def resume(self) -> None:
        self._process.resume()

    def tree(self) -> str:
        """Return the live nursery tree as text."""
        return render(self.task)


class VirtualObserver:
    """The quorum's side of a broker: it follows the log and has a channel to the controller. It has no listener."""

    def __init__(self, node_id: int, settings: Mapping[str, str], network: VirtualNetwork) -> None:
        config = from_mapping({"process.roles": "broker", "node.id": str(node_id), **settings}).config
        self.host = f"node-{node_id}"
        create_private_directory(config.metadata_log_dir)
        world = network.world(self.host, at_once)
        identity = Identity(
            node_id, CLUSTER_ID, ZERO_UUID, {each.node_id: each for each in config.voters}, "CONTROLLER"
        )
        log = MetadataLog.open(config.metadata_log_dir, metadata_log_config(config), now_ms=world.clock.now_ms())
        self.quorum = Quorum(identity, log, world, timing=quorum_timing(config))
        self.metadata = Metadata(self.quorum, world, snapshot_policy(config))
        dial = functools.partial(connect, dial=world.dial)
        self.channel = ControllerChannel(self.quorum, identity.voters.get, None, connect=dial)

    async def run(self) -> None:
        """Follow the quorum until cancelled."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.metadata.run, name="metadata")
            await nursery.start(self.quorum.run, _never_leads, name="quorum")
            nursery.start_soon(self.metadata.write_snapshots, name="snapshots")
            nursery.start_soon(self.channel.run, name="controller channel")


async def _never_leads(epoch: int) -> None:
    raise AssertionError(f"an observer leads epoch {epoch}")


def quorum_voters(count: int) -> str:
    """Return ``controller.quorum.voters`` for :func:`virtual_nodes`."""
    return ",".join(f"{node_id}@node-{node_id}:{PORT}" for node_id in range(1, count + 1))


def virtual_nodes(
    directory: Path,
    count: int,
    network: VirtualNetwork,
    settings: Mapping[str, str] | None = None,
    disk_s: float = 0.001,
    *,
    combined: bool = False,
    costs: Costs = FREE,
) -> dict[int, VirtualNode]:
    """Return controllers 1 to ``count`` of one cluster by node id. The caller runs them. Files go to ``directory``.

    ``combined`` nodes are brokers, too.
    """
    roles, of_clients = ("broker,controller", "PLAINTEXT://node-{}:{},") if combined else ("controller", "")
    return {
        node_id: VirtualNode(
            node_id,
            {
                "process.roles": roles,
                "node.id": str(node_id),
                "listeners": f"{of_clients.format(node_id, CLIENT_PORT)}CONTROLLER://node-{node_id}:{PORT}",
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": quorum_voters(count),
                "log.dirs": str(directory / str(node_id)),
                "connections.max.idle.ms": "-1",  # An expiry task would only wake the clock.
                **(settings or {}),
            },
            network,
            disk_s,
            costs,
        )
        for node_id in range(1, count + 1)
    }
