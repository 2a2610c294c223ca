"""The settings of ZooKeeper mode: a broker without ``process.roles`` whose cluster keeps its metadata in ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kraft.config.setting import Importance, at_least, boolean, integer, invalid, string


@attrs.frozen(eq=False, repr=False)
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
        "ZooKeeper removes the registration of a broker that sends it nothing for this long.",
        importance=Importance.HIGH,
        limit=at_least(1),
    )
    zookeeper_connection_timeout_ms: int | None = integer(
        None,
        "How long a starting node waits for ZooKeeper; not set, as long as the session timeout.",
        importance=Importance.HIGH,
        limit=at_least(1),
    )
    zookeeper_max_in_flight_requests: int = integer(
        10,
        "The most requests that ZooKeeper has not answered yet.",
        importance=Importance.HIGH,
        limit=at_least(1),
        not_honoured="1,000 operations of a decision are in flight",
    )
    zookeeper_set_acl: bool = boolean(
        False,
        "Whether the znodes that this node creates belong to it alone. Only false is allowed.",
        importance=Importance.HIGH,
    )
    zookeeper_ssl_client_enable: bool = boolean(
        False, "Whether the connections to ZooKeeper use TLS. Only false is allowed."
    )
    broker_id_generation_enable: bool = boolean(
        True,
        "Whether a broker without broker.id gets one above reserved.broker.max.id from ZooKeeper. A configured "
        "broker.id is at most reserved.broker.max.id then.",
    )
    reserved_broker_max_id: int = integer(
        1000, "The highest configured broker.id while broker.id.generation.enable is true.", limit=at_least(0)
    )


def check_supported(settings: ZooKeeperSettings, broker_id: int) -> None:
    """Raise ConfigError for settings of ZooKeeper mode that this node cannot follow, and for a wrong broker.id."""
    if settings.zookeeper_set_acl:
        why = "Value must be false: this node has no SASL and no TLS with which ZooKeeper could know it"
        invalid("zookeeper.set.acl", "true", why)
    if settings.zookeeper_ssl_client_enable:
        why = "Value must be false: this node has no TLS for its connections to ZooKeeper"
        invalid("zookeeper.ssl.client.enable", "true", why)
    if broker_id < 0 and not settings.broker_id_generation_enable:
        invalid("broker.id", broker_id, "Value must be at least 0 while broker.id.generation.enable is false")
    if settings.broker_id_generation_enable and broker_id > settings.reserved_broker_max_id:
        why = f"Value must be no more than reserved.broker.max.id ({settings.reserved_broker_max_id})"
        invalid("broker.id", broker_id, f"{why} while broker.id.generation.enable is true")


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
