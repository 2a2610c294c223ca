"""A minute of a real cluster: three nodes with traffic, of which one broker and the active controller are killed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import attrs
from confluent_kafka import admin as cka

from tests.support.cluster import BOTH, QUICK_FAILOVER, Cluster, Member, running_cluster
from tests.support.eventually import eventually
from tests.support.node_process import OURS
from tests.support.quorum_view import wait_for_leader
from tests.support.writer import CLIENT, LIMIT_S, Writer

TOPIC, PARTITIONS = "orders", 6
LONELY_TOPIC = "audit"
"""A topic with one partition and one replica, on the broker that is killed: nobody can lead it meanwhile."""
RECORDS = 300
"""Acknowledged before, between and after the kills."""


@attrs.frozen
class Minute:
    """The faults of the cluster, and its files. Times are ms since 1970 by the one clock of the machine."""

    log_directories: Sequence[Path]
    broker: int
    broker_killed_ms: int
    controller: int
    controller_killed_ms: int
    successor: int
    successor_epoch: int


def eventful_minute(directory: Path, **settings: str) -> Minute:
    """Run the cluster, and return when all its nodes have stopped. ``settings``: dots written as underscores."""
    members = {number: Member(OURS, BOTH) for number in (1, 2, 3)}
    with running_cluster(directory, members, **QUICK_FAILOVER, **settings) as cluster:
        first = wait_for_leader(cluster)
        broker = next(node for node in cluster.brokers if node != first.leader_id)
        admin = cka.AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **CLIENT})
        shared = cka.NewTopic(TOPIC, PARTITIONS, 3, config={"min.insync.replicas": "2"})
        lonely = cka.NewTopic(LONELY_TOPIC, 1, replica_assignment=[[broker]])
        for created in admin.create_topics([shared, lonely]).values():
            created.result(LIMIT_S)
        with Writer(cluster.bootstrap_servers, TOPIC, PARTITIONS) as writer:
            writer.wait_for_more(RECORDS)
            broker_killed_ms = _kill(cluster, broker)
            eventually(lambda: _leader(admin, LONELY_TOPIC) == -1, LIMIT_S)  # it was fenced
            writer.wait_for_more(RECORDS)
            cluster.start(broker)
            eventually(lambda: _leader(admin, LONELY_TOPIC) == broker, LIMIT_S)
            leader = wait_for_leader(cluster)
            controller_killed_ms = _kill(cluster, leader.leader_id)
            after = wait_for_leader(cluster, above_epoch=leader.epoch)
            writer.wait_for_more(RECORDS)
            cluster.start(leader.leader_id)
            writer.wait_for_more(RECORDS)
        assert not writer.failures
        for node in cluster.nodes.values():
            assert node.stop() == 0
        return Minute(
            [node.log_directory for node in cluster.nodes.values()],
            broker,
            broker_killed_ms,
            leader.leader_id,
            controller_killed_ms,
            after.leader_id,
            after.epoch,
        )


def _kill(cluster: Cluster, node: int) -> int:
    cluster.nodes[node].kill()
    return time.time_ns() // 1_000_000


def _leader(admin: cka.AdminClient, topic: str) -> int:
    leader: int = admin.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions[0].leader
    return leader
