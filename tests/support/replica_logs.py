"""The logs of a partition on the disks of its replicas."""

from __future__ import annotations

from collections.abc import Iterable

from tests.support.cluster import Cluster
from tests.support.eventually import eventually


def logs(cluster: Cluster, topic: str, partition: int) -> set[bytes]:
    """The different logs that the replicas of a partition have."""
    directories = [cluster.nodes[broker].log_directory / f"{topic}-{partition}" for broker in cluster.brokers]
    return {b"".join(path.read_bytes() for path in sorted(each.glob("*.log"))) for each in directories}


def assert_equal_replicas(cluster: Cluster, partitions: Iterable[tuple[str, int]], limit_s: float) -> None:
    """Wait until all replicas of each partition have the same bytes. Every broker must have one."""
    for topic, partition in partitions:
        eventually(lambda topic=topic, partition=partition: len(logs(cluster, topic, partition)) == 1, limit_s)
