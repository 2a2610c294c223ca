"""Leaders of partitions, moved under control: by a reassignment that changes the preferred one, and its election."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence

import kafka

from tests.interop.traffic import Traffic
from tests.support.cluster import Cluster
from tests.support.eventually import eventually

LIMIT_S = 60.0
PREFERRED = 0

Partition = tuple[str, int]


def lead(cluster: Cluster, traffic: Traffic, wanted: Mapping[int, Sequence[Partition]]) -> None:
    """Make each broker lead its partitions, which have a replica on every broker."""
    orders = {}
    for broker, partitions in wanted.items():
        order = sorted(cluster.brokers, key=lambda each: each != broker)
        orders |= {kafka.TopicPartition(*each): order for each in partitions}
    with contextlib.closing(kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        assert not any(admin.alter_partition_reassignments(orders).values())
        admin.elect_leaders(PREFERRED, {topic: [each[1] for each in orders if each[0] == topic] for topic, _ in orders})
    for broker, partitions in wanted.items():
        eventually(lambda broker=broker, partitions=partitions: leaders(traffic, partitions) == {broker}, LIMIT_S)


def leaders(traffic: Traffic, partitions: Iterable[Partition]) -> set[int]:
    return {traffic.describe(topic)[index].leader for topic, index in partitions}


def replace_killed(cluster: Cluster, traffic: Traffic, victim: int, partitions: Iterable[Partition]) -> None:
    """Kill a broker, wait until others lead ``partitions``, and start it again."""
    cluster.nodes[victim].kill()
    eventually(lambda: leaders(traffic, partitions).isdisjoint({victim, -1}), LIMIT_S)
    cluster.start(victim)


def wait_for_all_in_sync(cluster: Cluster, traffic: Traffic, partitions: Iterable[Partition]) -> None:
    everyone = set(cluster.brokers)
    eventually(lambda: all(traffic.describe(topic)[index].isr == everyone for topic, index in partitions), LIMIT_S)
