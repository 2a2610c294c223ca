"""Partitions whose replicas are brokers of both implementations: each follows the other, and takes over from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.traffic import TIMEOUT_S, Partition, Traffic
from tests.support.apache_process import APACHE_3, APACHE_4, Apache
from tests.support.cluster import Cluster, members, running_cluster
from tests.support.eventually import eventually
from tests.support.node_process import OURS

pytestmark = pytest.mark.interop

TOPIC = "orders"
PARTITIONS = 6
RECORDS = 300
SETTINGS = {
    "broker_session_timeout_ms": "3000",
    "broker_heartbeat_interval_ms": "500",
    "offsets_topic_replication_factor": "3",
    "offsets_topic_num_partitions": "3",
    "replica_fetch_backoff_ms": "200",
    "replica_fetch_wait_max_ms": "200",
    "replica_lag_time_max_ms": "3000",
}


@pytest.fixture(params=[APACHE_3, APACHE_4], ids=lambda kind: kind.version)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Two brokers of ours and one of Apache's, under its controller."""
    apache: Apache = request.param
    with running_cluster(tmp_path, members(controllers=[apache], brokers=[OURS, OURS, apache]), **SETTINGS) as running:
        yield running


def logs(cluster: Cluster) -> list[set[bytes]]:
    """For each partition the different logs that its replicas have."""

    def log(broker: int, partition: int) -> bytes:
        directory = cluster.nodes[broker].log_directory / f"{TOPIC}-{partition}"
        return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))

    return [{log(broker, partition) for broker in cluster.brokers} for partition in range(PARTITIONS)]


def test_replicas_of_both_lose_nothing_and_end_alike(cluster: Cluster) -> None:
    """The test kills each broker once by ``kill -9``. All acknowledged records exist, and the logs have the same
    bytes.
    """
    traffic = Traffic(cluster.bootstrap_servers)
    everyone = set(cluster.brokers)

    def described() -> list[Partition]:
        partitions = list(traffic.describe(TOPIC).values())
        return partitions if len(partitions) == PARTITIONS else []

    def wait_until_in_sync(expected: set[int]) -> list[Partition]:
        def in_sync() -> list[Partition]:
            partitions = described()
            return partitions if all(each.isr == expected for each in partitions) else []

        return eventually(in_sync, TIMEOUT_S)

    traffic.create(TOPIC, PARTITIONS, replication_factor=3, min_insync_replicas="2")
    wait_until_in_sync(everyone)
    traffic.elect_preferred(TOPIC, PARTITIONS)
    eventually(lambda: {each.leader for each in described()} == everyone, TIMEOUT_S)
    traffic.write(TOPIC, RECORDS)
    assert len(traffic.read_in_group(TOPIC, "group", 20)) == 20
    for lost in cluster.brokers:
        cluster.nodes[lost].kill()
        wait_until_in_sync(everyone - {lost})
        traffic.write(TOPIC, RECORDS)
        assert len(traffic.read_in_group(TOPIC, "group", 20)) == 20
        cluster.start(lost)
        wait_until_in_sync(everyone)
        traffic.elect_preferred(TOPIC, PARTITIONS)
        eventually(lambda: {each.leader for each in described()} == everyone, TIMEOUT_S)
        traffic.write(TOPIC, RECORDS)
    traffic.assert_all_is_there(TOPIC)
    eventually(lambda: all(len(copies) == 1 for copies in logs(cluster)), TIMEOUT_S)
    for broker in cluster.brokers:
        assert cluster.nodes[broker].stop() in (0, 143)
