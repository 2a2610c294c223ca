"""The settings of ZooKeeper mode: a broker without ``process.roles`` whose cluster keeps its metadata in ZooKeeper."""

from __future__ import annotations

import attrs

from kraft.config.setting import Importance, at_least, integer, string


@attrs.frozen
class ZooKeeperSettings:
    """Where ZooKeeper is, and how long its sessions last."""

    zookeeper_connect: str | None = string(
        None,
        "The ZooKeeper servers, host:port separated by commas, and then the path below which the cluster is, if any. "
        "Only for a node without process.roles.",
        importance=Importance.HIGH,
    )
    zookeeper_session_timeout_ms: int = integer(
        18_000,
        "ZooKeeper removes the registration of a broker that it did not hear from for this long.",
        importance=Importance.HIGH,
        limit=at_least(1),
    )
    zookeeper_connection_timeout_ms: int | None = integer(
        None,
        "How long a starting node waits for ZooKeeper; not set, as long as the session timeout.",
        importance=Importance.HIGH,
        limit=at_least(1),
    )
