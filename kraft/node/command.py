"""``python -m kraft.node [FILE] [--override key=value …] [--tree]``: run a node until SIGTERM, SIGINT or SIGHUP.

The first signal begins a controlled stop with exit status 0; a second SIGTERM or SIGINT ends the node at once. Without
FILE the node is a broker and a controller on 127.0.0.1:9092 and :9093. It formats its own storage under ./kraft-data.
An error of the configuration or the disk is one line, and exit status 1.
"""

from __future__ import annotations

import argparse
import errno
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from kraft.config.broker import NodeConfig
from kraft.config.defaults import DEFAULT_PROPERTIES
from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.config.properties import from_mapping, parse_overrides, read_properties
from kraft.config.setting import ConfigError
from kraft.metadata.delta import MetadataError
from kraft.node.broker_role import unless
from kraft.node.node import Bound, Node
from kraft.node.open_files import FileBudget, raise_file_limit
from kraft.node.repeated_lines import RepeatedLines
from kraft.node.tree import render
from kraft.storage.errors import StorageError
from kraft.storage.format import format_directories
from kraft.storage.node_directories import open_directories
from kraft.storage.open_files import OPEN_FILES
from kraft.wire.errors import KafkaError
from kraft.wire.uuids import uuid_to_text
from kraft.world.allocator import map_large_buffers
from kraft.world.garbage import short_collections
from kraft.world.uuids import random_uuid
from kraft.world.world import World

if TYPE_CHECKING:
    from kraft.node.zookeeper_node import ZooKeeperNode
    from kraft.storage.directory import LogDirectory

logger = logging.getLogger("kraft.node")

FAILED = 1
ENDED_AT_ONCE = 130


def run(arguments: Sequence[str] | None, prog: str, *, instruments: Sequence[trio.abc.Instrument] = ()) -> int:
    """Run a node and return the exit status. ``instruments`` watch its event loop."""
    options = _parse(arguments, prog)
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RepeatedLines(World().seconds))
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, handlers=[handler])
    explained: tuple[type[Exception], ...] = (StorageError, MetadataError, OSError, ConfigError, KafkaError)
    try:
        config = _configure(options)
        if options.file is None:
            _format_default(config)
        map_large_buffers()
        files = raise_file_limit()
        logger.info("%s", files)
        OPEN_FILES.capacity = files.logs
        if config.in_zookeeper_mode:
            # Imported here, because a node of a quorum needs no client of ZooKeeper.
            try:
                from kraft.node.zookeeper_node import EXPLAINED
            except ModuleNotFoundError as missing:
                raise ConfigError(f"zookeeper.connect needs {missing.name}: pip install '.[zookeeper]'") from None
            explained += EXPLAINED
            with short_collections():
                with_zookeeper = partial(_with_zookeeper, config, files)
                return trio.run(_run, with_zookeeper, options.tree, instruments=instruments)
        with open_directories(config) as directories, short_collections():
            of_quorum = partial(_of_quorum, config, directories, files)
            return trio.run(_run, of_quorum, options.tree, instruments=instruments)
    except (ConfigError, StorageError) as error:
        print(error, file=sys.stderr)
    except BaseExceptionGroup as group:
        _explain(group, explained)
    except OSError as error:
        print(_line(error), file=sys.stderr)
    return FAILED


def _parse(arguments: Sequence[str] | None, prog: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=prog, description="Run a Kafka broker and controller.")
    parser.add_argument("file", nargs="?", metavar="FILE", help="a server.properties; without it a node to try out")
    parser.add_argument("--override", action="append", default=[], metavar="KEY=VALUE", help="beats the file's setting")
    parser.add_argument("--tree", action="store_true", help="print the live nursery tree once the node is ready")
    return parser.parse_args(arguments)


def _configure(options: argparse.Namespace) -> NodeConfig:
    values = DEFAULT_PROPERTIES if options.file is None else read_properties(options.file)
    loaded = from_mapping({**values, **parse_overrides(options.override)})
    for warning in loaded.warnings:
        logger.warning("%s", warning)
    return loaded.config


def _format_default(config: NodeConfig) -> None:
    """Format the storage of a node without a configuration file, if there is nothing in it.

    A directory that has anything is not formatted: it may have lost its ``meta.properties``, or be someone else's.
    """
    if not any(directory.exists() and any(directory.iterdir()) for directory in map(Path, config.directories)):
        format_directories(config, uuid_to_text(random_uuid()), DEFAULT_METADATA_LEVEL, ignore_formatted=False)


async def _of_quorum(
    config: NodeConfig, directories: list[LogDirectory], files: FileBudget, stopping: trio.Event
) -> Node:
    roles = ", ".join(config.identity.process_roles)
    logger.info("node %d of cluster %s: %s", config.node_id, directories[0].meta.cluster_id, roles)
    return Node(config, directories, files=files, stopping=stopping)


async def _with_zookeeper(config: NodeConfig, files: FileBudget, stopping: trio.Event) -> ZooKeeperNode | None:
    from kraft.node.broker_id import with_broker_id
    from kraft.node.zookeeper_node import ZooKeeperNode

    world, identified = World(), config

    async def identify() -> None:
        nonlocal identified
        identified = await with_broker_id(config, world)

    is_identified = await unless(stopping, identify)
    if is_identified:
        logger.info("node %d: broker with ZooKeeper at %s", identified.node_id, config.zookeeper.zookeeper_connect)
    return ZooKeeperNode(identified, world, files, stopping=stopping) if is_identified else None


async def _run(make: Callable[[trio.Event], Awaitable[Node | ZooKeeperNode | None]], show_tree: bool) -> int:
    """Make a node and run it. ``make`` gets the event that a signal sets, and returns None if that was set first."""
    status, stopping = ENDED_AT_ONCE, trio.Event()
    async with trio.open_nursery() as outer:
        await outer.start(_watch_signals, stopping, outer.cancel_scope, name="signals")
        node = await make(stopping)
        if node is not None:
            async with trio.open_nursery() as nursery:
                bound: Bound | None = await nursery.start(node.run, name="node")
                if bound is not None:
                    print("ready", *bound.broker.values(), *bound.controller.values(), flush=True)
                    if show_tree:
                        print(render())
                        print("longest step of a task:", node.watch.longest or "none was noticed", flush=True)
            logger.info("node %d has stopped", node.config.node_id)
        status = 0
        outer.cancel_scope.cancel(reason="the node has stopped")
    return status


async def _watch_signals(
    stopping: trio.Event, scope: trio.CancelScope, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    watched = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # under nohup it is ignored; the JVM leaves it so too
        watched.append(signal.SIGHUP)
    with trio.open_signal_receiver(*watched) as signals:
        task_status.started()
        async for number in signals:
            name = signal.Signals(number).name
            if not stopping.is_set():
                logger.info("%s: controlled stop; SIGTERM or SIGINT now ends the node at once", name)
                stopping.set()
            elif number == signal.SIGHUP:  # closing a terminal sends two: one from the terminal, one from its shell
                logger.info("%s: the controlled stop continues", name)
            else:
                logger.warning("%s: ending at once", name)
                scope.cancel(reason="second signal")
                return


def _explain(group: BaseExceptionGroup[BaseException], explained: tuple[type[Exception], ...]) -> None:
    """Print one line for an error that an operator can correct; raise any other, with its traceback."""
    known, rest = group.split(explained)
    if rest is not None:
        raise rest
    assert known is not None
    leaf: BaseException = known
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    print(_line(leaf), file=sys.stderr)


def _line(error: BaseException) -> str:
    if isinstance(error, OSError):
        remedy = "; stop the process that listens there, or set another port" if error.errno == errno.EADDRINUSE else ""
        return f"{error.filename or 'cannot go on'}: {error.strerror or error}{remedy}"
    return str(error)
