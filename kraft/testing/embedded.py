"""Run a node in this process: in its own thread for synchronous programs, or in the caller's Trio loop.

The node is the one that ``python -m kraft.node`` runs. It has real files in a temporary directory and real sockets on
free loopback ports.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from types import TracebackType

import attrs
import trio

from kraft.config.defaults import DEFAULT_PROPERTIES
from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.config.properties import from_mapping
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.create_topics_response import CreateTopicsResponse
from kraft.node.node import Bound, Node
from kraft.rpc.client import connect
from kraft.storage.format import format_directories
from kraft.storage.node_directories import open_directories
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import uuid_to_text
from kraft.world.uuids import random_uuid

logger = logging.getLogger("kraft.testing")

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0

SETTINGS: Mapping[str, str] = {
    **{name: value for name, value in DEFAULT_PROPERTIES.items() if name != "log.dirs"},
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "controller.quorum.voters": "1@127.0.0.1:1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "metadata.max.idle.interval.ms": "0",
}
"""The settings in which an embedded node differs from Kafka's defaults."""


@attrs.frozen
class EmbeddedNode:
    """A running node. ``controller`` is the ``host:port`` of its controller listener."""

    bootstrap_servers: str
    cluster_id: str
    controller: str


@contextlib.asynccontextmanager
async def embedded_node(
    topics: Mapping[str, int] | None = None, settings: Mapping[str, str] | None = None
) -> AsyncIterator[EmbeddedNode]:
    """Run a node in the caller's event loop. ``topics`` (partitions by name) are created before the block begins.

    Resource handling: when the block ends, the node stops under control, and its directory is removed. If the block
    fails, the node is cancelled, and the block's own exception is raised.

    A setting that is unknown, or that changes nothing here, is a warning in the log, as at the start of a node.

    Error handling: raises ConfigError for an invalid setting, KafkaError if a topic cannot be created.
    """
    with _own_directory() as directory:
        loaded = from_mapping({**SETTINGS, "log.dirs": directory, **(settings or {})})
        for warning in loaded.warnings:
            logger.warning("%s", warning)
        config = loaded.config
        cluster_id = uuid_to_text(random_uuid())
        format_directories(config, cluster_id, DEFAULT_METADATA_LEVEL, ignore_formatted=False)
        with open_directories(config) as directories:
            node = Node(config, directories)
            failure: BaseException | None = None
            raised: BaseException | None = None
            try:
                async with trio.open_nursery() as nursery:
                    bound: Bound = await nursery.start(node.run, name="embedded node")
                    client = next(iter(bound.broker.values()))
                    controller = next(iter(bound.controller.values()))
                    servers = f"{client.host}:{client.port}"
                    if topics:
                        await _create(client.host, client.port, topics)
                    try:
                        yield EmbeddedNode(servers, cluster_id, f"{controller.host}:{controller.port}")
                    except BaseException as error:
                        raised = error
                        raise
                    node.stopping.set()
            except BaseExceptionGroup as group:
                failure = _bare(group, raised)
            if failure is not None:  # not in the handler, which would change the cause and the context of the error
                raise failure


@contextlib.contextmanager
def _own_directory() -> Iterator[str]:
    """A directory that is removed at the end of the block or of this process, but not by a process that a test forks:
    ``TemporaryDirectory`` removes its own at the exit of each.
    """
    directory, owner = tempfile.mkdtemp(prefix="kraft-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(remove)
    try:
        yield directory
    finally:
        remove()
        atexit.unregister(remove)


def _bare(failure: BaseExceptionGroup, raised: BaseException | None) -> BaseException:
    """Return the error inside exception groups of one, which nurseries wrap around it. A block that ``raised`` a group
    itself, from a nursery of its own, gets that group.
    """
    bare: BaseException = failure
    while isinstance(bare, BaseExceptionGroup) and len(bare.exceptions) == 1:
        bare = bare.exceptions[0]
        if isinstance(raised, BaseExceptionGroup):
            break
    return bare


async def _create(host: str, port: int, topics: Mapping[str, int]) -> None:
    wanted = [CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in topics.items()]
    async with connect(host, port, client_id="kraft.testing") as connection:
        response = await connection.request(CreateTopicsRequest(topics=wanted, timeout_ms=int(START_TIMEOUT_S * 1000)))
    assert isinstance(response, CreateTopicsResponse)
    for created in response.topics:
        if created.error_code:
            raise KafkaError(ErrorCode(created.error_code), f"topic {created.name}: {created.error_message}")


class EmbeddedCluster:
    """A cluster of one node in its own thread, for synchronous programs.

    Use it as a context manager. ``topics`` and ``settings`` are those of :func:`embedded_node`. ``__enter__`` raises
    the error of a failed start, and TimeoutError after START_TIMEOUT_S. Neither leaves a thread, a port or a directory
    behind.
    """

    def __init__(self, topics: Mapping[str, int] | None = None, settings: Mapping[str, str] | None = None) -> None:
        self._topics = topics
        self._settings = settings
        self._node: EmbeddedNode | None = None
        self._failure: BaseException | None = None
        self._ready = threading.Event()
        self._stop: trio.Event | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._scope = trio.CancelScope()
        self._is_given_up = False
        self._thread = threading.Thread(target=self._run, name="kraft cluster", daemon=True)

    @property
    def bootstrap_servers(self) -> str:
        """The broker as ``host:port``, for clients."""
        return self._running().bootstrap_servers

    @property
    def cluster_id(self) -> str:
        return self._running().cluster_id

    @property
    def controller(self) -> str:
        """The controller listener as ``host:port``."""
        return self._running().controller

    def _running(self) -> EmbeddedNode:
        if self._node is None:
            raise RuntimeError("the cluster runs only inside its with block")
        return self._node

    def __enter__(self) -> EmbeddedCluster:
        self._thread.start()
        try:
            if not self._ready.wait(START_TIMEOUT_S):
                raise TimeoutError(f"the embedded cluster was not ready within {START_TIMEOUT_S} s")
        except BaseException:  # also Ctrl-C
            self._give_up()
            raise
        if self._failure is not None:
            raise self._failure
        return self

    def _give_up(self) -> None:
        """Cancel the start, for no ``__exit__`` will. Wait at most STOP_TIMEOUT_S for the end of the thread, which
        frees the ports and removes the directory.
        """
        self._is_given_up = True  # read by the thread after it has set the token
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._scope.cancel)
        self._thread.join(STOP_TIMEOUT_S)
        self._node = None

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._token is not None
        assert self._stop is not None
        # The node may have failed meanwhile. Then its Trio run is over and cannot be stopped.
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._stop.set)
        self._thread.join(STOP_TIMEOUT_S)
        self._node = None
        if self._thread.is_alive():
            raise TimeoutError(f"the embedded cluster did not stop within {STOP_TIMEOUT_S} s")
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as failure:  # noqa: ASYNC103 - handed over to the thread that waits
            self._failure = failure
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._stop = trio.Event()
        with self._scope:
            if self._is_given_up:
                self._scope.cancel()
            async with embedded_node(self._topics, self._settings) as node:
                self._node = node
                self._ready.set()
                await self._stop.wait()
