"""The settings of ZooKeeper mode: a broker without ``process.roles`` whose cluster keeps its metadata in ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kraft.config.setting import Importance, at_least, integer, invalid, string


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


_REMOVED = "Kafka has no such setting any more: set {} instead"
REPLACED: Mapping[str, str] = {
    "controller.listener.name": "An earlier revision of KIP-291 has this name: set control.plane.listener.name instead",
    "host": _REMOVED.format("listeners"),
    "host.name": _REMOVED.format("listeners"),
    "port": _REMOVED.format("listeners"),
    "advertised.host": _REMOVED.format("advertised.listeners"),
    "advertised.host.name": _REMOVED.format("advertised.listeners"),
    "advertised.port": _REMOVED.format("advertised.listeners"),
}
"""Settings of an earlier revision of KIP-291, and those that it removes. Apache Kafka ignores them, and so a broker
would listen elsewhere than its file says.
"""


def check_replaced(values: Mapping[str, str]) -> None:
    """Raise ConfigError if ``values`` has one of REPLACED."""
    for name, why in REPLACED.items():
        if name in values:
            invalid(name, values[name], why)
