"""The settings of topics and brokers in ZooKeeper, as every broker may read and change them (Kafka's AdminZkClient).

A change is one transaction: the settings, their announcement, and a check that no other controller was elected, because
a KRaft controller that has taken over keeps the settings itself (KIP-866). The check is of /controller_epoch, which
every election raises. Apache Kafka checks the version of /controller, which is 0 for every controller. A change is
conditional on the settings that it was decided on. In Apache Kafka the later of two changes at a time replaces the
other.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Protocol

import attrs
import trio

from kraft.wire.errors import ErrorCode, KafkaError
from kraft.zookeeper.operations import (
    Check,
    ChildNames,
    Children,
    Create,
    Failure,
    Get,
    Multi,
    MultiFailed,
    Operation,
    Result,
    Set,
    Znode,
)
from kraft.zookeeper.session import SessionLost
from kraft.zookeeper.znodes.cluster import (
    CONFIG,
    TOPIC_ENTITIES,
    Entity,
    config_path,
    decode_config,
    encode_config,
    usable_settings,
)
from kraft.zookeeper.znodes.controllers import CONTROLLER, CONTROLLER_EPOCH, decode_controller
from kraft.zookeeper.znodes.fields import MAX_ZNODE_BYTES, MalformedZnode
from kraft.zookeeper.znodes.notifications import CONFIG_CHANGE_PREFIX, CONFIG_CHANGES, encode_config_change

logger = logging.getLogger("kraft.zookeeper")

RETRY_PAUSE_S = 0.1
_ENTITIES_AT_ONCE = 200
"""Not a Kafka setting. So many settings are read before other tasks run: a few milliseconds of work."""
_CHANGED_MEANWHILE = (Failure.BAD_VERSION, Failure.NODE_EXISTS, Failure.NO_NODE)

Settings = Mapping[str, str]


class ZooKeeper(Protocol):
    """Performs operations in the session that the broker has; ``BrokerSessions`` is one."""

    async def perform(self, operations: Sequence[Operation]) -> tuple[Result, ...]:
        """Wait for a session, and perform operations in it. Raises SessionLost."""


async def perform_reads(zookeeper: ZooKeeper, operations: Sequence[Operation]) -> tuple[Result, ...]:
    """Perform operations, and perform all again while ZooKeeper refuses one of the reads: the znode may exist.

    Kafka's KafkaZkClient throws for every error of a read but NONODE. The caller limits how long this waits.

    Raises SessionLost.
    """
    is_first = True
    while True:
        results = await zookeeper.perform(operations)
        refused = [
            operation.path
            for operation, result in zip(operations, results, strict=True)
            if isinstance(operation, Get | Children) and isinstance(result, Failure) and result is not Failure.NO_NODE
        ]
        if not refused:
            return results
        if is_first:
            logger.warning("ZooKeeper refuses to read %s; the broker reads it again until it can", refused[0])
        is_first = False
        await trio.sleep(RETRY_PAUSE_S)


@attrs.frozen
class ConfigStore:
    """Reads and changes settings. Both wait while ZooKeeper is missing or refuses reads; the caller limits how long."""

    zookeeper: ZooKeeper

    async def read(self, entities: Iterable[Entity]) -> dict[Entity, dict[str, str]]:
        """Return the settings of each entity. One without a znode has none.

        A malformed znode and a setting that this broker cannot use have no effect, but a line in the log.
        """
        found, remaining = {}, iter(entities)
        while part := list(islice(remaining, _ENTITIES_AT_ONCE)):
            nodes = await self._perform([Get(config_path(*each)) for each in part])
            found.update({each: _usable(each, _settings(each, node)) for each, node in zip(part, nodes, strict=True)})
        return found

    async def names(self, parents: Iterable[str]) -> list[tuple[str, ...]]:
        """Return the names of the entities below each of ``parents``: ``users``, or ``users/ann/clients``."""
        listed = await self._perform([Children(f"{CONFIG}/{parent}") for parent in parents])
        return [each.names if isinstance(each, ChildNames) else () for each in listed]

    async def _perform(self, operations: Sequence[Operation]) -> tuple[Result, ...]:
        while True:
            with contextlib.suppress(SessionLost):
                return await perform_reads(self.zookeeper, operations)

    async def topics(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the settings of topics."""
        found = await self.read((TOPIC_ENTITIES, name) for name in names)
        return {name: values for (_, name), values in found.items()}

    async def change(
        self, entity: Entity, change: Callable[[Settings], Settings], *, validate_only: bool = False
    ) -> None:
        """Replace the settings of an entity by those that ``change`` makes of them, and announce that to all brokers.

        ``change`` is called again if the settings have changed meanwhile. An error that it raises is raised here.

        Raises KafkaError NOT_CONTROLLER if a KRaft controller has the settings; POLICY_VIOLATION if they are too large
        for ZooKeeper; UNKNOWN_SERVER_ERROR if ZooKeeper refuses the change.
        """
        while True:
            with contextlib.suppress(SessionLost):  # perhaps the change was made; to make it again does no harm
                if await self._attempt(entity, change, validate_only):
                    return
            await trio.sleep(RETRY_PAUSE_S)

    async def _attempt(self, entity: Entity, change: Callable[[Settings], Settings], validate_only: bool) -> bool:
        """Return False if there is no controller, or if something changed meanwhile."""
        path = config_path(*entity)
        # The epoch first: a controller that is elected after this read fails the check, and an earlier one is seen.
        reads = Get(CONTROLLER_EPOCH), Get(CONTROLLER), Get(path)
        epoch, controller, node = await perform_reads(self.zookeeper, reads)
        data = encode_config(change(_settings(entity, node)))
        if len(data) > MAX_ZNODE_BYTES:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "The settings are larger than ZooKeeper accepts.")
        if validate_only:
            return True
        if not isinstance(epoch, Znode) or not isinstance(controller, Znode) or _kraft_epoch(controller) is None:
            return False
        write = Set(path, data, node.version) if isinstance(node, Znode) else Create(path, data)
        announced = encode_config_change("/".join(entity))
        announcement = Create(f"{CONFIG_CHANGES}/{CONFIG_CHANGE_PREFIX}", announced, sequence=True)
        guard = Check(CONTROLLER_EPOCH, epoch.version)
        (result,) = await self.zookeeper.perform((Multi((guard, write, announcement)),))
        if not isinstance(result, MultiFailed):
            return True
        if result.index < 2 and result.failure in _CHANGED_MEANWHILE:
            return False
        logger.error("the settings in %s cannot be written: %s", path, result.failure.value)
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"ZooKeeper: {result.failure.value}")


def _kraft_epoch(controller: Znode) -> int | None:
    """Return None if the znode of the controller is malformed. Raises KafkaError if a KRaft controller has it."""
    try:
        epoch = decode_controller(controller.data).kraft_epoch
    except MalformedZnode as error:
        logger.error("a change of settings waits: %s", error)
        return None
    if epoch > 0:
        raise KafkaError(ErrorCode.NOT_CONTROLLER, "A KRaft controller has taken over the settings.")
    return epoch


def _settings(entity: Entity, node: Result) -> dict[str, str]:
    if not isinstance(node, Znode) or not node.data:
        return {}
    try:
        return decode_config(config_path(*entity), node.data)
    except MalformedZnode as error:
        logger.error("a configuration is ignored: %s", error)
        return {}


def _usable(entity: Entity, values: Settings) -> dict[str, str]:
    used, ignored = usable_settings(entity, values)
    for line in ignored:
        logger.error("%s", line)
    return used
