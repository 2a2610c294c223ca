"""The settings of each room, made from the configuration."""

from __future__ import annotations

from kraft.config.broker import node_config
from kraft.controller.context import ControllerConfig
from kraft.coordination.coordinators import group_settings
from kraft.coordinator.groups.rebalance import CoordinatorSettings
from kraft.node.settings import (
    controller_config,
    controller_plane_of,
    data_plane_of,
    quorum_timing,
    socket_settings,
)

CONTROLLER = {
    "node.id": "1",
    "process.roles": "controller",
    "controller.listener.names": "CONTROLLER",
    "listeners": "CONTROLLER://127.0.0.1:9093",
    "controller.quorum.voters": "1@127.0.0.1:9093",
}


def test_a_controller_has_the_sizes_and_the_metrics_of_a_data_plane() -> None:
    """Kafka's ControllerServer makes a SocketServer with acceptors of the data plane: its metrics have no prefix."""
    plane = controller_plane_of(node_config(CONTROLLER))
    assert (plane.queue_capacity, plane.processors_of("CONTROLLER"), plane.handlers) == (500, 3, 8)
    assert plane.metric_prefix == ""
    own = {"queued.max.requests": "7", "num.io.threads": "2", "listener.name.controller.num.network.threads": "5"}
    plane = controller_plane_of(node_config({**CONTROLLER, **own}))
    assert (plane.queue_capacity, plane.processors_of("CONTROLLER"), plane.handlers) == (7, 5, 2)


def test_the_two_planes_of_a_node_have_metrics_of_their_own() -> None:
    both = {
        "process.roles": "broker,controller",
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    }
    config = node_config({**CONTROLLER, **both})
    assert (data_plane_of(config).metric_prefix, controller_plane_of(config).metric_prefix) == ("", "Controller")


def test_the_memory_for_requests_is_that_of_the_data_plane() -> None:
    """``queued.max.request.bytes`` must not let a client's requests hold up the quorum (KIP-291, KIP-72)."""
    both = {
        "process.roles": "broker,controller",
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        "queued.max.request.bytes": "200000000",
    }
    config = node_config({**CONTROLLER, **both})
    assert (data_plane_of(config).request_bytes, controller_plane_of(config).request_bytes) == (200_000_000, -1)


def test_the_controller_has_the_settings_of_voters_and_balancing() -> None:
    config = node_config(
        {
            "node.id": "1",
            "process.roles": "controller",
            "controller.listener.names": "CONTROLLER",
            "listeners": "CONTROLLER://127.0.0.1:9093",
            "controller.quorum.voters": "1@127.0.0.1:9093,2@127.0.0.1:9094",
            "auto.leader.rebalance.enable": "false",
            "leader.imbalance.check.interval.seconds": "7",
        }
    )
    told = controller_config(config, "a cluster")
    assert (told.cluster_id, told.voter_ids) == ("a cluster", (1, 2))
    assert (told.auto_leader_rebalance_enable, told.leader_imbalance_check_interval_s) == (False, 7)


def test_the_cores_get_kafkas_settings_in_seconds() -> None:
    """Kafka has milliseconds, seconds and minutes; the cores count seconds, and retentions in ms like timestamps."""
    config = node_config(
        {
            **CONTROLLER,
            "broker.session.timeout.ms": "1001",
            "broker.heartbeat.interval.ms": "500",
            "leader.imbalance.check.interval.seconds": "7",
            "group.min.session.timeout.ms": "1002",
            "group.max.session.timeout.ms": "1003",
            "group.initial.rebalance.delay.ms": "1004",
            "offsets.commit.timeout.ms": "1005",
            "offsets.retention.minutes": "2",
            "controller.quorum.election.timeout.ms": "1006",
        }
    )
    controller = controller_config(config, "a cluster")
    assert (controller.broker_session_timeout_s, controller.leader_imbalance_check_interval_s) == (1.001, 7)
    assert group_settings(config) == CoordinatorSettings(
        group_min_session_timeout_s=1.002,
        group_max_session_timeout_s=1.003,
        group_initial_rebalance_delay_s=1.004,
        offsets_commit_timeout_s=1.005,
        offsets_retention_ms=120_000,
    )
    assert quorum_timing(config).election_timeout_s == 1.006


def test_the_cores_default_to_kafkas_defaults() -> None:
    config = node_config(CONTROLLER)
    assert group_settings(config) == CoordinatorSettings()
    controller, default = controller_config(config, "a cluster"), ControllerConfig("a cluster")
    assert controller.broker_session_timeout_s == default.broker_session_timeout_s
    assert controller.leader_imbalance_check_interval_s == default.leader_imbalance_check_interval_s


def test_the_system_chooses_the_size_of_send_buffers() -> None:
    """docs/experiments.md, "Why followers were behind": with Kafka's 100 KB a large response takes a round for each."""
    assert socket_settings(node_config(CONTROLLER)).send_buffer_bytes == -1
    assert socket_settings(node_config({**CONTROLLER, "socket.send.buffer.bytes": "4096"})).send_buffer_bytes == 4096
