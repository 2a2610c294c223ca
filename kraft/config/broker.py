"""The configuration of a node: all broker and controller settings, typed and checked against each other.

``BROKER_CONFIGS`` is the table of all settings. ``node_config`` converts a properties mapping to a NodeConfig, or
raises ConfigError for the first fault. Nothing has been opened by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs

from kraft.config.accepted_settings import AcceptedSettings
from kraft.config.listeners import BROKER, CONTROLLER, Listeners, Voter, build_listeners, parse_host_port, parse_voters
from kraft.config.log_settings import (
    GroupSettings,
    LogSettings,
    ReplicationSettings,
    TopicSettings,
    TransactionSettings,
)
from kraft.config.network_settings import (
    IdentitySettings,
    ListenerLimits,
    ListenerSettings,
    NetworkSettings,
    connections_per_ip_overrides,
    listener_limits,
    listener_setting,
)
from kraft.config.quorum_settings import LeaseSettings, MetadataLogSettings, QuorumSettings
from kraft.config.request_log_settings import RequestLogSettings
from kraft.config.setting import ConfigError, ConfigKey, invalid, structure, table
from kraft.config.share_settings import ShareSettings
from kraft.config.topic import TOPIC_DEFAULT_CONFIGS, LogConfig, log_config
from kraft.config.zookeeper_settings import ZooKeeperSettings, check_replaced, check_supported

__all__ = ["BROKER_CONFIGS", "ConfigError", "NodeConfig", "broker_key", "node_config"]

BROKER_CONFIGS: dict[str, ConfigKey] = {
    **TOPIC_DEFAULT_CONFIGS,
    **table(
        IdentitySettings,
        ListenerSettings,
        ListenerLimits,
        NetworkSettings,
        LogSettings,
        TopicSettings,
        ReplicationSettings,
        GroupSettings,
        TransactionSettings,
        ShareSettings,
        QuorumSettings,
        MetadataLogSettings,
        LeaseSettings,
        ZooKeeperSettings,
        RequestLogSettings,
        AcceptedSettings,
    ),
}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class NodeConfig:
    """The typed configuration of a node. Its groups name settings as Kafka does, with underscores for dots."""

    identity: IdentitySettings
    listeners: Listeners
    network: NetworkSettings
    logs: LogSettings
    topics: TopicSettings
    replication: ReplicationSettings
    groups: GroupSettings
    transactions: TransactionSettings
    share: ShareSettings
    quorum: QuorumSettings
    metadata_log: MetadataLogSettings
    lease: LeaseSettings
    zookeeper: ZooKeeperSettings
    request_log: RequestLogSettings
    #: The voters of the quorum, from ``controller.quorum.voters``.
    voters: tuple[Voter, ...]
    #: The effective settings of a topic without overrides.
    log_defaults: LogConfig
    #: Host and port of ``kraft.metrics.listener``, or None.
    metrics_listener: tuple[str, int] | None
    #: ``max.connections.per.ip.overrides`` by host.
    connections_per_ip_overrides: Mapping[str, int]
    #: The texts of all settings that the file or an override set, by Kafka's name: DescribeConfigs' static settings.
    values: Mapping[str, str]

    @property
    def node_id(self) -> int:
        return self.identity.node_id

    @property
    def in_zookeeper_mode(self) -> bool:
        """Whether the cluster keeps its metadata in ZooKeeper. Such a node is a broker."""
        return self.identity.in_zookeeper_mode

    @property
    def is_broker(self) -> bool:
        return self.identity.is_broker

    @property
    def is_controller(self) -> bool:
        return CONTROLLER in self.identity.process_roles

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The log directories, as written."""
        return self.logs.log_dir if self.logs.log_dirs is None else self.logs.log_dirs

    @property
    def metadata_log_dir(self) -> str:
        """The directory of ``__cluster_metadata-0``."""
        return self.logs.metadata_log_dir or self.log_dirs[0]

    @property
    def directories(self) -> tuple[str, ...]:
        """All directories with a ``meta.properties``: the log directories and the metadata log directory, if there is
        a metadata log.
        """
        if self.in_zookeeper_mode:
            return self.log_dirs
        return tuple(dict.fromkeys((*self.log_dirs, self.metadata_log_dir)))

    def listener_limits(self, listener: str) -> ListenerLimits:
        """Return the limits of one listener, including its ``listener.name.<name>.`` settings."""
        return listener_limits(listener, self.values)


def broker_key(name: str) -> ConfigKey | None:
    """Return the setting called ``name``, also with a ``listener.name.<name>.`` prefix, or None if it is unknown."""
    key = BROKER_CONFIGS.get(name)
    per_listener = None if key is not None else listener_setting(name)
    return key if per_listener is None else attrs.evolve(BROKER_CONFIGS[per_listener], name=name)


def node_config(values: Mapping[str, str]) -> NodeConfig:
    """Return the configuration for ``values``, which maps Kafka's names to texts. Unknown names are ignored.

    Raises ConfigError if a value is not allowed, or settings contradict each other. The message is one line.
    """
    for name, text in values.items():
        key = broker_key(name)
        if key is not None:
            key.parse(text)
    zookeeper = structure(values, ZooKeeperSettings)
    identity = _identity(structure(values, IdentitySettings), zookeeper)
    if identity.in_zookeeper_mode:
        check_replaced(values)
    network = structure(values, NetworkSettings)
    quorum = structure(values, QuorumSettings)
    config = NodeConfig(
        identity=identity,
        listeners=build_listeners(identity, structure(values, ListenerSettings), frozenset(values)),
        network=network,
        logs=structure(values, LogSettings),
        topics=structure(values, TopicSettings),
        replication=structure(values, ReplicationSettings),
        groups=structure(values, GroupSettings),
        transactions=structure(values, TransactionSettings),
        share=structure(values, ShareSettings),
        quorum=quorum,
        metadata_log=structure(values, MetadataLogSettings),
        lease=structure(values, LeaseSettings),
        zookeeper=zookeeper,
        request_log=structure(values, RequestLogSettings),
        voters=parse_voters(quorum.controller_quorum_voters),
        log_defaults=log_config({}, values),
        metrics_listener=_metrics_listener(identity),
        connections_per_ip_overrides=MappingProxyType(connections_per_ip_overrides(network)),
        values=MappingProxyType(dict(values)),
    )
    if not config.in_zookeeper_mode:
        _check_voters(config)
    _check_directories(config)
    _check_numbers(config)
    return config


def _identity(identity: IdentitySettings, zookeeper: ZooKeeperSettings) -> IdentitySettings:
    """Require a known and unique ``process.roles``, and a ``node.id`` (KIP-631).

    Without roles the node is in ZooKeeper mode, and a ``broker.id`` below 0 is generated at the start.
    """
    roles, shown = identity.process_roles, ",".join(identity.process_roles)
    if not roles:
        return _identity_in_zookeeper_mode(identity, zookeeper)
    if not set(roles) <= {BROKER, CONTROLLER}:
        invalid("process.roles", shown, "Each role must be broker or controller")
    if len(set(roles)) < len(roles):
        invalid("process.roles", shown, "Each role may be there only once")
    node_id = identity.broker_id if identity.node_id < 0 else identity.node_id
    if node_id < 0:
        invalid("node.id", identity.node_id, "Value must be set, and at least 0, when process.roles is set")
    if identity.broker_id >= 0 and identity.broker_id != node_id:
        invalid("broker.id", identity.broker_id, f"Value must be the same as node.id, which is {node_id}")
    return attrs.evolve(identity, node_id=node_id)


def _identity_in_zookeeper_mode(identity: IdentitySettings, zookeeper: ZooKeeperSettings) -> IdentitySettings:
    if zookeeper.zookeeper_connect is None:
        why = "broker, controller, or both; without it, zookeeper.connect must be set"
        raise ConfigError(f"Missing required configuration process.roles: {why}")
    if not zookeeper.zookeeper_connect.strip():
        invalid("zookeeper.connect", zookeeper.zookeeper_connect, "Value must be host:port, separated by commas")
    if identity.broker_id >= 0 and identity.node_id not in (-1, identity.broker_id):
        invalid("node.id", identity.node_id, f"Value must be the same as broker.id, which is {identity.broker_id}")
    node_id = identity.node_id if identity.broker_id < 0 else identity.broker_id
    check_supported(zookeeper, node_id)
    return attrs.evolve(identity, node_id=node_id)


def _metrics_listener(identity: IdentitySettings) -> tuple[str, int] | None:
    if not identity.kraft_metrics_listener:
        return None
    return parse_host_port("kraft.metrics.listener", identity.kraft_metrics_listener, "Value must be host:port")


def _check_voters(config: NodeConfig) -> None:
    """Require that ``node.id`` is a voter if and only if this node is a controller."""
    key, shown = "controller.quorum.voters", ",".join(config.quorum.controller_quorum_voters)
    if not config.voters:
        invalid(key, shown, "Value must name the controllers, id@host:port, when process.roles is set")
    is_voter = any(voter.node_id == config.node_id for voter in config.voters)
    if config.is_controller and not is_voter:
        invalid(key, shown, f"Node id {config.node_id} must be a voter, as process.roles contains controller")
    if is_voter and not config.is_controller:
        invalid(key, shown, f"Node id {config.node_id} must not be a voter, as process.roles is only broker")


def _check_directories(config: NodeConfig) -> None:
    dirs = config.log_dirs
    if not dirs or not all(dirs) or len(set(dirs)) < len(dirs):
        invalid("log.dirs", ",".join(dirs), "Value must name at least one directory, and none of them twice")
    if any("\0" in directory for directory in config.directories):
        invalid("log.dirs", ",".join(config.directories), "A directory name must not contain a NUL character")


def _check_numbers(config: NodeConfig) -> None:
    """Check the rules between two numbers, as Kafka does."""
    network, replication, lease, groups = config.network, config.replication, config.lease, config.groups
    most = network.queued_max_request_bytes
    if 0 < most < network.socket_request_max_bytes:
        why = f"Value must be 0 or less, or at least socket.request.max.bytes ({network.socket_request_max_bytes})"
        invalid("queued.max.request.bytes", most, why)
    if network.max_connections_per_ip == 0 and not config.connections_per_ip_overrides:
        invalid("max.connections.per.ip", 0, "Value may be 0 only if max.connections.per.ip.overrides is set")
    wait = replication.replica_fetch_wait_max_ms
    if wait > min(replication.replica_socket_timeout_ms, replication.replica_lag_time_max_ms):
        why = "Value must be no more than replica.socket.timeout.ms and replica.lag.time.max.ms"
        invalid("replica.fetch.wait.max.ms", wait, why)
    if lease.broker_heartbeat_interval_ms * 2 > lease.broker_session_timeout_ms:
        why = f"Value must be no more than half of broker.session.timeout.ms ({lease.broker_session_timeout_ms})"
        invalid("broker.heartbeat.interval.ms", lease.broker_heartbeat_interval_ms, why)
    if groups.group_min_session_timeout_ms > groups.group_max_session_timeout_ms:
        why = f"Value must be no more than group.max.session.timeout.ms ({groups.group_max_session_timeout_ms})"
        invalid("group.min.session.timeout.ms", groups.group_min_session_timeout_ms, why)
    for protocol in ("consumer", "share"):
        _check_groups(groups, protocol)


def _check_groups(groups: GroupSettings, protocol: str) -> None:
    """Check that each time of a group protocol is between its limits, and the interval shorter than the timeout."""

    def value_of(name: str) -> int:
        value: int = getattr(groups, f"group_{protocol}_{name}")
        return value

    for name in ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms"):
        value, low, high = (value_of(limit + name) for limit in ("", "min_", "max_"))
        if not low <= value <= high:
            shown = name.replace("_", ".")
            limits = f"group.{protocol}.min.{shown} ({low}) and group.{protocol}.max.{shown} ({high})"
            invalid(f"group.{protocol}.{shown}", value, f"Value must be between {limits}")
    session_ms, interval_ms = value_of("session_timeout_ms"), value_of("heartbeat_interval_ms")
    if interval_ms >= session_ms:
        why = f"Value must be less than group.{protocol}.session.timeout.ms ({session_ms})"
        invalid(f"group.{protocol}.heartbeat.interval.ms", interval_ms, why)
