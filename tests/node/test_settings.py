"""What the rooms are told of the configuration."""

from __future__ import annotations

from kraft.config.broker import node_config
from kraft.node.settings import controller_config


def test_the_controller_is_told_of_voters_and_balancing() -> None:
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
    assert (told.auto_leader_rebalance_enable, told.leader_imbalance_check_interval_ms) == (False, 7000)
