"""Translates the configuration into the settings of each room."""

from __future__ import annotations

from typing import Final
from uuid import UUID

import attrs

from kraft.config.broker import NodeConfig
from kraft.config.listeners import Endpoint
from kraft.config.topic import LogConfig
from kraft.control.metadata import SnapshotPolicy
from kraft.controller.context import ControllerConfig
from kraft.node.open_files import FileBudget
from kraft.raft.timing import Timing
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import UNLIMITED, ConnectionLimits
from kraft.world.listen import SocketSettings

REQUEST_ELEMENTS: Final = 1_000_000
"""Not a Kafka setting. The elements of all large requests in flight: some 500 MB once they are decoded. A broker
fetches some 10,000 partitions, and a client fewer.
"""


def controller_plane_of(config: NodeConfig) -> Plane:
    """Return the plane of the controller's listeners, with the sizes of the data plane, as in Kafka's ControllerServer.

    On a node with both roles the two planes need different metric names. In Kafka both servers use the plain ones, so
    one hides the gauges of the other. KIP-1207 gives the controller's handlers the prefix that all its metrics have
    here.
    """
    plane = _plane("controller", config, config.listeners.controller, "Controller" if config.is_broker else "")
    return attrs.evolve(plane, pauses_long_work=True)


def data_plane_of(config: NodeConfig) -> Plane:
    """Return the plane of the clients."""
    plane = _plane("data", config, config.listeners.of_data_plane)
    return attrs.evolve(
        plane,
        request_bytes=config.network.queued_max_request_bytes,
        request_elements=REQUEST_ELEMENTS,
    )


def _plane(name: str, config: NodeConfig, listeners: tuple[Endpoint, ...], metric_prefix: str = "") -> Plane:
    network = config.network
    return Plane(
        name,
        listeners,
        queue_capacity=network.queued_max_requests,
        processors=config.listener_limits("").num_network_threads,
        handlers=network.num_io_threads,
        metric_prefix=metric_prefix,
        listener_processors={
            each.listener: config.listener_limits(each.listener).num_network_threads for each in listeners
        },
    )


def socket_settings(config: NodeConfig) -> SocketSettings:
    network = config.network
    return SocketSettings(
        request_max_bytes=network.socket_request_max_bytes,
        send_buffer_bytes=network.socket_send_buffer_bytes,
        receive_buffer_bytes=network.socket_receive_buffer_bytes,
        listen_backlog=network.socket_listen_backlog_size,
        max_idle_ms=network.connections_max_idle_ms,
    )


def connection_limits(config: NodeConfig, files: FileBudget | None = None) -> ConnectionLimits:
    """Return the limits of the whole broker, and those of listeners with their own (``listener.name.<name>.``)."""
    broker = config.listener_limits("")
    names = [endpoint.listener for endpoint in (*config.listeners.broker, *config.listeners.controller)]
    own = {name: config.listener_limits(name) for name in names}
    protected = {*config.listeners.controller_names, *(each.listener for each in config.listeners.of_control_plane)}
    if len(config.listeners.broker) > 1 and config.listeners.inter_broker is not None:
        protected.add(config.listeners.inter_broker)
    return ConnectionLimits(
        max_connections=broker.max_connections,
        max_connections_per_ip=config.network.max_connections_per_ip,
        per_ip_overrides=config.connections_per_ip_overrides,
        listener_max_connections={name: limits.max_connections for name, limits in own.items()},
        max_creation_rate=broker.max_connection_creation_rate,
        listener_creation_rate={name: limits.max_connection_creation_rate for name, limits in own.items()},
        protected_listeners=frozenset(protected),
        max_open=UNLIMITED if files is None else files.connections,
    )


def controller_config(
    config: NodeConfig, cluster_id: str, local_incarnation_id: UUID | None = None
) -> ControllerConfig:
    return ControllerConfig(
        cluster_id=cluster_id,
        node_id=config.node_id,
        voter_ids=tuple(voter.node_id for voter in config.voters),
        num_partitions=config.topics.num_partitions,
        default_replication_factor=config.topics.default_replication_factor,
        broker_session_timeout_s=config.lease.broker_session_timeout_ms / 1000,
        delete_topic_enable=config.topics.delete_topic_enable,
        auto_leader_rebalance_enable=config.replication.auto_leader_rebalance_enable,
        leader_imbalance_check_interval_s=config.replication.leader_imbalance_check_interval_seconds,
        static_values=config.values,
        local_incarnation_id=local_incarnation_id,
    )


def zookeeper_connection_timeout_s(config: NodeConfig) -> float:
    settings = config.zookeeper
    return (settings.zookeeper_connection_timeout_ms or settings.zookeeper_session_timeout_ms) / 1000


def metadata_log_config(config: NodeConfig) -> LogConfig:
    """Return the settings of ``__cluster_metadata-0``. Its segments are deleted with the snapshots that cover them."""
    settings = config.metadata_log
    return LogConfig(
        segment_bytes=settings.metadata_log_segment_bytes,
        segment_ms=settings.metadata_log_segment_ms,
        retention_ms=settings.metadata_max_retention_ms,
        retention_bytes=settings.metadata_max_retention_bytes,
    )


def quorum_timing(config: NodeConfig) -> Timing:
    quorum = config.quorum
    return Timing(
        election_timeout_s=quorum.controller_quorum_election_timeout_ms / 1000,
        fetch_timeout_s=quorum.controller_quorum_fetch_timeout_ms / 1000,
        backoff_max_s=quorum.controller_quorum_election_backoff_max_ms / 1000,
        request_timeout_s=quorum.controller_quorum_request_timeout_ms / 1000,
        retry_backoff_s=quorum.controller_quorum_retry_backoff_ms / 1000,
    )


def snapshot_policy(config: NodeConfig) -> SnapshotPolicy:
    log = config.metadata_log
    return SnapshotPolicy(
        log.metadata_log_max_record_bytes_between_snapshots, log.metadata_log_max_snapshot_interval_ms
    )
