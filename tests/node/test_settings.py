"""The settings of each room, made from the configuration."""

from __future__ import annotations

from kraft.config.broker import node_config
from kraft.node.settings import controller_config, controller_plane_of, data_plane_of

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
