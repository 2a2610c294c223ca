"""The broker settings of a node's identity, its listeners, and the limits of its sockets."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kraft.config.setting import (
    INT_MAX,
    Importance,
    Validator,
    at_least,
    boolean,
    integer,
    invalid,
    long,
    one_line,
    one_of,
    string,
    structure,
    table,
    words,
)

_LISTENER_PREFIX = "listener.name."
_NO_AUTHORIZER = Validator(
    "empty", lambda name: "Authorization is not supported yet: the only value is an empty one" if name else None
)


@attrs.frozen(eq=False, repr=False)
class IdentitySettings:
    """Which node of the cluster this process is (KIP-631, "Node IDs")."""

    process_roles: tuple[str, ...] = words(
        (),
        "The roles of this process: broker, controller, or both, separated by a comma.",
        importance=Importance.HIGH,
    )
    node_id: int = integer(
        -1, "The id of this node, the same for both of its roles; 0 or more.", importance=Importance.HIGH
    )
    broker_id: int = integer(-1, "The older name of node.id; if both are set they must agree.")
    broker_rack: str | None = string(None, "The rack of this broker, which replica placement spreads over.")
    authorizer_class_name: str = string("", "No authorizer exists yet, so only empty is allowed.", limit=_NO_AUTHORIZER)
    kraft_metrics_listener: str | None = string(
        None,
        "A setting of this project: the host:port on which metrics are served in Prometheus form; not set, not served.",
        importance=Importance.LOW,
    )

    @property
    def in_zookeeper_mode(self) -> bool:
        """Whether the node has no role of a KRaft cluster: its cluster keeps the metadata in ZooKeeper."""
        return not self.process_roles

    @property
    def is_broker(self) -> bool:
        return "broker" in self.process_roles or self.in_zookeeper_mode


@attrs.frozen(eq=False, repr=False)
class ListenerSettings:
    """The listener settings as text. ``kraft.config.listeners`` checks them and converts them to endpoints."""

    listeners: tuple[str, ...] = words(
        ("PLAINTEXT://:9092",),
        "Where to listen: NAME://host:port, separated by commas. No host is every interface.",
        importance=Importance.HIGH,
    )
    advertised_listeners: tuple[str, ...] | None = words(
        None,
        "The addresses that clients and other nodes use, if they differ from listeners.",
        importance=Importance.HIGH,
    )
    listener_security_protocol_map: str = string(
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "The security protocol of each listener name, NAME:PROTOCOL separated by commas.",
    )
    inter_broker_listener_name: str | None = string(
        None, "The listener that brokers use among themselves; not set, the first of security.inter.broker.protocol."
    )
    security_inter_broker_protocol: str = string(
        "PLAINTEXT",
        "Another way to name the inter-broker listener; not together with inter.broker.listener.name.",
        limit=one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    )
    controller_listener_names: tuple[str, ...] = words(
        (),
        "The names of the controller's listeners; brokers use the first (KIP-631).",
        importance=Importance.HIGH,
    )
    control_plane_listener_name: str | None = string(
        None,
        "The listener for requests from a ZooKeeper-era controller, with a queue and a handler of its own (KIP-291). "
        "Not allowed with process.roles.",
        importance=Importance.HIGH,
    )
    control_plane_force_controller_requests_enable: bool = boolean(
        False,
        "Whether the control plane serves LeaderAndIsr, UpdateMetadata, StopReplica and ControlledShutdown alone, and "
        "refuses all other requests. Proposed as an extension of KIP-291; Apache Kafka does not have it.",
    )


@attrs.frozen(eq=False, repr=False)
class ListenerLimits:
    """The limits of one listener. ``listener.name.<name>.<setting>`` overrides each for one listener."""

    num_network_threads: int = integer(
        3, "The processors of each listener: tasks that read requests and write responses.", limit=at_least(1)
    )
    max_connections: int = integer(INT_MAX, "The maximum number of open connections.", limit=at_least(0))
    max_connection_creation_rate: int = integer(
        INT_MAX, "The maximum connections accepted per second; more are delayed.", limit=at_least(0)
    )


@attrs.frozen(eq=False, repr=False)
class NetworkSettings:
    """Sockets, connections and request queues."""

    num_io_threads: int = integer(
        8,
        "The request handlers of the data plane, and as many for the controller's listeners.",
        limit=at_least(1),
        importance=Importance.HIGH,
    )
    background_threads: int = integer(
        10,
        "How many background jobs may run at once.",
        limit=at_least(1),
        not_honoured="there is no pool of threads: each job has its own task",
    )
    queued_max_requests: int = integer(
        500, "The request queue of a plane; a full queue stops reading from its sockets.", limit=at_least(1)
    )
    queued_max_request_bytes: int = long(
        -1,
        "The most bytes of requests above 64 KiB that the data plane has in memory; 0 or less is no limit. "
        "Further ones wait in their sockets. Not less than socket.request.max.bytes.",
    )
    request_timeout_ms: int = integer(
        30_000,
        "How long a coordinator waits for the ends of transactions, a broker for the coordinators of transactions and "
        "share groups, and a client for a controller that lost ZooKeeper. Other requests have limits of their own.",
        limit=at_least(1),
    )
    socket_send_buffer_bytes: int = integer(
        -1, "SO_SNDBUF of a connection; -1 lets the system enlarge it for a peer that reads fast."
    )
    socket_receive_buffer_bytes: int = integer(102_400, "SO_RCVBUF of a connection; -1 leaves it to the system.")
    socket_listen_backlog_size: int = integer(
        50, "The backlog of a listening socket; the system may cap it.", limit=at_least(1)
    )
    socket_request_max_bytes: int = integer(
        100 * 2**20, "The largest request; a larger one closes the connection.", limit=at_least(1)
    )
    max_connections_per_ip: int = integer(
        INT_MAX, "The maximum number of connections from one address.", limit=at_least(0)
    )
    max_connections_per_ip_overrides: str = string(
        "", "Addresses or host names with a limit of their own: host:count, separated by commas."
    )
    connections_max_idle_ms: int = long(
        600_000, "Close a connection on which no request or response ended for this long."
    )
    connection_failed_authentication_delay_ms: int = integer(
        100,
        "How long the close of a connection that failed to authenticate is delayed.",
        limit=at_least(0),
        not_honoured="there is no authentication yet",
    )
    fetch_max_bytes: int = integer(55 * 2**20, "The maximum bytes in the response to one Fetch.", limit=at_least(1024))
    max_incremental_fetch_session_cache_slots: int = integer(
        1000, "The maximum number of fetch sessions (KIP-227).", limit=at_least(0)
    )
    max_request_partition_size_limit: int = integer(
        2000, "The maximum partitions in one DescribeTopicPartitions response.", limit=at_least(1)
    )


_LISTENER_LIMITS = table(ListenerLimits)


def listener_setting(name: str) -> str | None:
    """Return the setting that ``listener.name.<listener>.<setting>`` overrides, or None for other names."""
    if not name.startswith(_LISTENER_PREFIX):
        return None
    listener, _, setting_name = name.removeprefix(_LISTENER_PREFIX).partition(".")
    return setting_name if listener and setting_name in _LISTENER_LIMITS else None


def listener_limits(listener: str, values: Mapping[str, str]) -> ListenerLimits:
    """Return the limits of one listener. Its own settings override those of all listeners, these the defaults."""
    prefix = f"{_LISTENER_PREFIX}{listener.lower()}."
    own = {name: values[prefix + name] for name in _LISTENER_LIMITS if prefix + name in values}
    return structure({**values, **own}, ListenerLimits)


def connections_per_ip_overrides(network: NetworkSettings) -> dict[str, int]:
    """Return ``max.connections.per.ip.overrides`` as host to count. Raises ConfigError if it is malformed."""
    overrides: dict[str, int] = {}
    for entry in filter(None, (part.strip() for part in network.max_connections_per_ip_overrides.split(","))):
        host, _, count = entry.rpartition(":")
        if not host or not count.isascii() or not count.isdigit() or len(count) > len(str(INT_MAX)):
            invalid("max.connections.per.ip.overrides", one_line(entry), "Value must be host:count")
        overrides[host] = int(count)
    return overrides
