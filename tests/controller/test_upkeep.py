"""The decisions of the active controller without a request, and their times."""

from __future__ import annotations

import math

import pytest

from kraft.controller.context import ControllerConfig
from kraft.controller.core import DeadlineReached
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.metadata.partitions import NO_LEADER
from tests.controller.toy import CLUSTER_ID, ToyCluster

INTERVAL_S = 60.0
#: No session ends in these tests.
SESSION_S = 10_000.0


def cluster(partitions: int = 1, *, enabled: bool = True, partitions_at_once: int = 500) -> ToyCluster:
    """Led by 2 although 1 is preferred, and in sync."""
    config = ControllerConfig(
        CLUSTER_ID,
        node_id=1,
        broker_session_timeout_s=SESSION_S,
        auto_leader_rebalance_enable=enabled,
        leader_imbalance_check_interval_s=INTERVAL_S,
        partitions_at_once=partitions_at_once,
    )
    toy = ToyCluster(config)
    toy.start(1, 2)
    toy.create(assignment={index: [1, 2] for index in range(partitions)})
    toy.heartbeat(1, fence=True)
    toy.heartbeat(1)
    for index in range(partitions):
        toy.in_sync(1, 2, index=index)
    return toy


def test_leadership_goes_back_to_preferred_replicas() -> None:
    """auto.leader.rebalance.enable, leader.imbalance.check.interval.seconds."""
    toy = cluster()
    toy.pass_time(INTERVAL_S - 0.5)
    assert toy.partition().leader == 2
    toy.pass_time(0.5)
    assert toy.partition().leader == 1


def test_it_can_be_turned_off() -> None:
    toy = cluster(enabled=False)
    toy.pass_time(SESSION_S - 0.5)
    assert toy.partition().leader == 2


def test_where_all_is_well_nothing_is_due() -> None:
    toy = cluster()
    toy.pass_time(INTERVAL_S)
    assert toy.core.deadline == SESSION_S
    toy.pass_time(INTERVAL_S)
    toy.heartbeat(1, fence=True)
    assert toy.core.deadline == 3 * INTERVAL_S, "what comes up waits for an interval"


def test_a_preferred_replica_out_of_sync_is_waited_for() -> None:
    toy = cluster()
    toy.heartbeat(1, fence=True)
    length = len(toy.log)
    toy.pass_time(INTERVAL_S)
    assert (len(toy.log), toy.core.deadline) == (length, 2 * INTERVAL_S)


def test_many_elections_are_made_in_portions() -> None:
    """So that requests are served in between."""
    toy = cluster(partitions=5, partitions_at_once=2)
    toy.now += INTERVAL_S
    for led_by_the_preferred in (2, 4, 5):
        assert toy.core.deadline <= toy.now
        toy.send(DeadlineReached())
        assert [toy.partition(index=index).leader for index in range(5)].count(1) == led_by_the_preferred
    assert math.isclose(toy.core.deadline, SESSION_S)


def test_a_partition_without_a_candidate_is_skipped_once() -> None:
    """However many partitions wait for a broker that is away, those behind them are served."""
    toy = cluster(partitions=5, partitions_at_once=2)
    toy.heartbeat(1, fence=True)
    toy.now += INTERVAL_S
    for _ in range(3):
        assert toy.core.deadline <= toy.now
        assert toy.send(DeadlineReached()) is None
    assert toy.core.deadline == 2 * INTERVAL_S


def leaderless(partitions: int) -> ToyCluster:
    """A broker alone that was fenced."""
    toy = ToyCluster(ControllerConfig(CLUSTER_ID, partitions_at_once=2))
    toy.start(1)
    toy.create(assignment={index: [1] for index in range(partitions)})
    toy.heartbeat(1, fence=True)
    return toy


def led(toy: ToyCluster) -> int:
    return sum(partition.leader != NO_LEADER for partition in toy.topic().partitions.values())


def test_a_broker_that_comes_back_leads_again_in_portions() -> None:
    toy = leaderless(5)
    toy.settles = False
    assert not toy.heartbeat(1).is_fenced
    assert led(toy) == 2, "a few at once: a broker of few partitions leads them when it is unfenced"
    for count in (4, 5):
        toy.send(DeadlineReached())
        assert led(toy) == count
    assert toy.core.deadline > toy.now


def test_a_broker_that_returns_during_a_walk_restarts_it() -> None:
    toy = ToyCluster(ControllerConfig(CLUSTER_ID, partitions_at_once=2))
    toy.start(1, 2)
    toy.create(assignment={0: [1], 1: [1], 2: [1], 3: [2], 4: [2]})
    toy.heartbeat(1, fence=True)
    toy.heartbeat(2, fence=True)
    toy.settles = False
    toy.heartbeat(2)
    toy.send(DeadlineReached())
    toy.heartbeat(1)
    toy.settle()
    assert led(toy) == 5


def test_a_new_controller_finishes_the_transitions_of_the_former_one() -> None:
    toy = leaderless(5)
    toy.settles = False
    toy.heartbeat(1)
    toy.send(DeadlineReached())
    successor = ToyCluster(toy.config, log=toy.log)
    assert led(successor) == 5


def allow_unclean(toy: ToyCluster, kind: int, name: str) -> None:
    config = AlterableConfig(name="unclean.leader.election.enable", config_operation=0, value="true")
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
    response = toy.ask(IncrementalAlterConfigsRequest(resources=[resource]))
    assert response.responses[0].error_code == 0


@pytest.mark.parametrize(("kind", "name"), [(2, "t"), (4, ""), (4, "1")], ids=["topic", "cluster", "node"])
def test_a_topic_that_comes_to_allow_it_gets_an_unclean_leader_at_once(kind: int, name: str) -> None:
    """unclean.leader.election.enable takes effect on partitions that have no leader now."""
    toy = cluster()
    toy.heartbeat(1, fence=True)
    toy.heartbeat(2, fence=True)
    toy.heartbeat(1)
    assert (toy.partition().leader, toy.partition().isr) == (NO_LEADER, (2,))
    allow_unclean(toy, kind, name)
    toy.pass_time(0)
    partition = toy.partition()
    assert (partition.leader, partition.isr, partition.leader_recovery_state) == (1, (1,), 1)


def test_partitions_without_a_leader_are_looked_at_now_and_then() -> None:
    """A controller that takes over has not seen the configuration change."""
    toy = cluster()
    toy.heartbeat(1, fence=True)
    toy.heartbeat(2, fence=True)
    toy.heartbeat(1)
    allow_unclean(toy, 2, "t")
    successor = ToyCluster(toy.config, log=toy.log)
    successor.pass_time(300.0)
    assert successor.partition().leader == 1
