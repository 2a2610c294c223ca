"""The id of a broker without ``broker.id``: that of its log directories, or a new one from ZooKeeper."""

from __future__ import annotations

import logging

import attrs

from kraft.config.broker import NodeConfig
from kraft.node.settings import zookeeper_connection_timeout_s
from kraft.storage.meta_properties import LEGACY, read_meta_properties
from kraft.world.world import World
from kraft.zookeeper.broker_node import BrokerSessions

logger = logging.getLogger("kraft.node")


def sessions_of(config: NodeConfig, world: World) -> BrokerSessions:
    """Return the sessions of the broker that ``config`` describes. None is open yet."""
    settings = config.zookeeper
    return BrokerSessions(
        world,
        settings.zookeeper_connect or "",
        settings.zookeeper_session_timeout_ms / 1000,
        zookeeper_connection_timeout_s(config),
    )


async def with_broker_id(config: NodeConfig, world: World) -> NodeConfig:
    """Return ``config`` with the broker's id, which is generated unless it is configured or stored.

    Raises:
        ZooKeeperUnavailable: ZooKeeper is missing.
        SessionLost, OperationFailed: as a session does.
        LogDirectoryError: a directory has a malformed ``meta.properties``, or that of a node with ``process.roles``.
        OSError: a directory cannot be read.
    """
    if config.node_id >= 0:
        return config
    stored = [meta.node_id for path in config.directories if (meta := read_meta_properties(path, LEGACY)) is not None]
    if stored:
        broker_id = stored[0]
    else:
        broker_id = await sessions_of(config, world).new_broker_id(config.zookeeper.reserved_broker_max_id)
        logger.info("broker id %d, generated in ZooKeeper", broker_id)
    return attrs.evolve(config, identity=attrs.evolve(config.identity, node_id=broker_id))
