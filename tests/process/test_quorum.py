"""Quorums of 3 and 5 dedicated controllers with 3 brokers, all of them real processes, survive faults without a loss.

A client creates, grows, alters and deletes topics. Meanwhile one fault after the other strikes the leader or a
follower: ``kill -9``, a pause, a network partition in both directions or in one, a full disk, a failing fsync. Each
time a leader exists again within a bounded time and creates topics while the fault lasts, and the struck node returns.
At the end the test kills all nodes at once and starts them again. Every broker has every acknowledged creation, change
and deletion (KIP-595: committed records are never lost), and the logs of all nodes have the same bytes.

A seed determines the order of the faults. The test prints it; ``KRAFT_QUORUM_SEED=N`` selects another.
"""

from __future__ import annotations

import contextlib
import os
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, members, running_cluster
from tests.support.eventually import eventually
from tests.support.faults import Fault, cut_off, deaf, killed, mute, paused
from tests.support.faulty_node import SWITCH
from tests.support.node_process import OURS, Ours
from tests.support.quorum_view import assert_equal_logs, newest_leader, wait_for_leader, wait_for_return
from tests.support.topic_creator import TopicCreator, assert_topics_are_there

SEED = int(os.environ.get("KRAFT_QUORUM_SEED", "595"))
BROKERS = 3
LEADER_SHARE = 0.75
FAULT_S = 3.0
"""A fault lasts up to this, or longer if a new leader takes longer: from a hiccup to more than the fetch timeout."""
LEADER_LIMIT_S = 60.0
RETURN_LIMIT_S = 60.0
MEDIAN_LIMIT_S = 10.0
"""An election takes 2 to 4 s with Kafka's timeouts, which are used here. The bounds leave room for a machine on which
eleven processes share two cores with other tests, so that elections are lost for want of a CPU: a lot of room for any
one of them, less for the median of those that a struck leader brings about.
"""
CREATED_UNDER_FAULT = 3
ROOM_ON_A_FULL_DISK_BYTES = 300


@contextlib.contextmanager
def without_space(cluster: Cluster, victim: int) -> Iterator[None]:
    """Its log can grow by part of a batch."""
    node = cluster.nodes[victim]
    size = max(path.stat().st_size for path in (node.log_directory / "__cluster_metadata-0").glob("*.log"))
    node.limit_file_size(size + ROOM_ON_A_FULL_DISK_BYTES)
    yield
    restart_after_its_disk_failed(cluster, victim)


@contextlib.contextmanager
def without_fsync(cluster: Cluster, victim: int) -> Iterator[None]:
    switch = cluster.nodes[victim].directory / SWITCH
    switch.touch()
    yield
    switch.unlink()
    restart_after_its_disk_failed(cluster, victim)


def restart_after_its_disk_failed(cluster: Cluster, victim: int) -> None:
    """A voter that cannot be sure of its log must not go on voting: it has ended by itself."""
    assert cluster.nodes[victim].wait_ended() == 1
    cluster.start(victim)


FAULTS: tuple[Fault, ...] = (killed, paused, cut_off, deaf, mute, without_space, without_fsync)


def sequence(chance: random.Random, count: int) -> list[Fault]:
    """Faults in an order of chance, none left out before the others have come again."""
    drawn: list[Fault] = []
    while len(drawn) < count:
        drawn += chance.sample(FAULTS, len(FAULTS))
    return drawn[:count]


def strike(cluster: Cluster, creator: TopicCreator, chance: random.Random, fault: Fault) -> float | None:
    """One cycle: the fault, a leader and commits while it lasts, and the return of the struck node.

    Returns how long the quorum was without a leader, in seconds, if it was its leader that was struck.
    """
    before = wait_for_leader(cluster, timeout_s=LEADER_LIMIT_S)
    strikes_leader = chance.random() < LEADER_SHARE
    followers = [voter for voter in cluster.voters if voter != before.leader_id]
    victim = before.leader_id if strikes_leader else chance.choice(followers)
    struck = time.monotonic()
    lasts_until = struck + chance.uniform(0, FAULT_S)
    with fault(cluster, victim):
        after = wait_for_leader(
            cluster,
            above_epoch=before.epoch if strikes_leader else -1,
            among=[voter for voter in cluster.voters if voter != victim],
            timeout_s=LEADER_LIMIT_S,
        )
        led = time.monotonic()
        creator.wait_for_more(CREATED_UNDER_FAULT, RETURN_LIMIT_S)
        created = time.monotonic()
        eventually(lambda: time.monotonic() >= lasts_until, FAULT_S)
    wait_for_return(cluster, victim, RETURN_LIMIT_S)
    print(
        f"{fault.__name__} {victim} of epoch {before.epoch}, led by {before.leader_id}: epoch {after.epoch}, led by "
        f"{after.leader_id}, after {led - struck:.2f} s; topics after {created - struck:.2f} s; whole after "
        f"{time.monotonic() - struck:.2f} s"
    )
    return led - struck if strikes_leader else None


def nothing_without_a_majority(cluster: Cluster, creator: TopicCreator) -> None:
    """All followers are killed at once: their leader resigns, and until they are back nothing is acknowledged."""
    leader = wait_for_leader(cluster, timeout_s=LEADER_LIMIT_S).leader_id
    followers = [voter for voter in cluster.voters if voter != leader]
    for follower in followers:
        cluster.nodes[follower].kill()
    eventually(lambda: newest_leader(cluster) is None, LEADER_LIMIT_S)
    acknowledged, resigned = len(creator.acknowledged), time.monotonic()
    eventually(lambda: time.monotonic() >= resigned + FAULT_S, 2 * FAULT_S)
    assert len(creator.acknowledged) == acknowledged
    cluster.start(*followers)
    wait_for_return(cluster, leader, RETURN_LIMIT_S)
    creator.wait_for_more(CREATED_UNDER_FAULT, RETURN_LIMIT_S)


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("voters", "cycles"), [(3, 12), (5, 8)])
def test_nothing_acknowledged_is_lost_and_a_leader_is_soon_there(tmp_path: Path, voters: int, cycles: int) -> None:
    print(f"KRAFT_QUORUM_SEED={SEED}")
    chance = random.Random(SEED + voters)
    nodes = members(controllers=[Ours("tests.support.faulty_node")] * voters, brokers=[OURS] * BROKERS)
    with running_cluster(tmp_path, nodes, with_links=True) as cluster:
        brokers = [cluster.nodes[broker].bootstrap_servers for broker in cluster.brokers]
        with TopicCreator(brokers) as creator:
            creator.wait_for_more(1, RETURN_LIMIT_S)
            strikes = [strike(cluster, creator, chance, fault) for fault in sequence(chance, cycles)]
            nothing_without_a_majority(cluster, creator)
        cluster.kill()
        cluster.start()
        assert statistics.median([span_s for span_s in strikes if span_s is not None]) < MEDIAN_LIMIT_S
        assert_topics_are_there(creator, brokers)
        start, end = assert_equal_logs(cluster)
        print(f"{len(creator.acknowledged)} topics, logs equal from {start} to {end}")
        outputs = {each: "".join(node.output) for each, node in cluster.nodes.items()}
        assert not [text for text in outputs.values() if "Traceback" in text]
