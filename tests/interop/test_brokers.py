"""Brokers of one implementation under controllers of the other: topics made, records written and read, brokers lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.traffic import TIMEOUT_S, Traffic
from tests.support.apache_process import APACHE_3, APACHE_4, Apache
from tests.support.cluster import Cluster, members, running_cluster
from tests.support.eventually import eventually
from tests.support.node_process import OURS
from tests.support.quorum_view import assert_equal_logs, wait_for_leader

pytestmark = pytest.mark.interop

TOPIC = "orders"
PARTITIONS = 3
RECORDS = 200
QUICK_LEASES = {"broker_session_timeout_ms": "3000", "broker_heartbeat_interval_ms": "500"}
HANDED_BACK_S = 2.5
"""Less than the session of a broker."""
REPLICATED = {
    "offsets_topic_replication_factor": "3",
    "offsets_topic_num_partitions": "3",
    "replica_lag_time_max_ms": "2000",
    "replica_fetch_wait_max_ms": "200",
}
BOTH_LINES = pytest.mark.parametrize("apache", [APACHE_3, APACHE_4], ids=lambda kind: kind.version)


@pytest.fixture
def under_ours(apache: Apache, tmp_path: Path) -> Iterator[Cluster]:
    nodes = members(controllers=[OURS] * 3, brokers=[apache] * 3)
    with running_cluster(tmp_path, nodes, **QUICK_LEASES, **REPLICATED) as cluster:
        yield cluster


@BOTH_LINES
def test_apache_brokers_under_our_controllers(under_ours: Cluster) -> None:
    cluster, traffic = under_ours, Traffic(under_ours.bootstrap_servers)
    everyone = set(cluster.brokers)
    traffic.create(TOPIC, PARTITIONS, replication_factor=3, min_insync_replicas="2")
    eventually(lambda: all(each.isr == everyone for each in traffic.describe(TOPIC).values()), TIMEOUT_S)
    traffic.write(TOPIC, RECORDS)
    assert len(traffic.read_in_group(TOPIC, "group", 20)) == 20

    lost = traffic.describe(TOPIC)[0].leader
    cluster.nodes[lost].kill()
    rest = everyone - {lost}
    eventually(
        lambda: all(each.isr == rest and each.leader in rest for each in traffic.describe(TOPIC).values()), TIMEOUT_S
    )
    traffic.write(TOPIC, RECORDS)

    before = wait_for_leader(cluster)
    cluster.nodes[before.leader_id].kill()
    wait_for_leader(cluster, above_epoch=before.epoch)
    cluster.start(lost)
    eventually(lambda: all(each.isr == everyone for each in traffic.describe(TOPIC).values()), TIMEOUT_S)
    traffic.elect_preferred(TOPIC, PARTITIONS)
    eventually(lambda: all(each.leader == each.replicas[0] for each in traffic.describe(TOPIC).values()), TIMEOUT_S)
    cluster.start(before.leader_id)

    assert cluster.nodes[lost].stop() in (0, 143)
    # A controlled stop hands its leases back: they go before the session of the broker would end.
    eventually(lambda: all(each.isr == rest for each in traffic.describe(TOPIC).values()), HANDED_BACK_S)
    traffic.write(TOPIC, RECORDS)
    cluster.start(lost)
    eventually(lambda: all(each.isr == everyone for each in traffic.describe(TOPIC).values()), TIMEOUT_S)
    assert len(traffic.read_in_group(TOPIC, "group", 20)) == 20
    traffic.assert_all_is_there(TOPIC)
    change_and_delete(cluster, traffic)
    assert_equal_logs(cluster)


def change_and_delete(cluster: Cluster, traffic: Traffic) -> None:
    """Further changes of a topic by an administrator."""
    traffic.set_config(TOPIC, "retention.ms", "123456789")
    eventually(lambda: traffic.config(TOPIC, "retention.ms") == "123456789", TIMEOUT_S)
    traffic.add_partitions(TOPIC, PARTITIONS + 2)
    eventually(lambda: len(traffic.describe(TOPIC)) == PARTITIONS + 2, TIMEOUT_S)
    traffic.delete(TOPIC)
    eventually(lambda: TOPIC not in traffic.topics(), TIMEOUT_S)
    directories = [cluster.nodes[broker].log_directory for broker in cluster.brokers]
    eventually(lambda: not [path for each in directories for path in each.glob(f"{TOPIC}-?")], TIMEOUT_S)


@pytest.fixture
def under_apache(apache: Apache, tmp_path: Path) -> Iterator[Cluster]:
    nodes = members(controllers=[apache] * 3, brokers=[OURS] * 2)
    with running_cluster(tmp_path, nodes, **QUICK_LEASES) as cluster:
        yield cluster


@BOTH_LINES
def test_our_brokers_under_apache_controllers(under_apache: Cluster) -> None:
    """One replica for each partition."""
    cluster, traffic = under_apache, Traffic(under_apache.bootstrap_servers)
    traffic.create(TOPIC, PARTITIONS)
    eventually(lambda: len(traffic.describe(TOPIC)) == PARTITIONS, TIMEOUT_S)
    traffic.write(TOPIC, RECORDS)
    assert len(traffic.read_in_group(TOPIC, "group", 20)) == 20

    lost = traffic.describe(TOPIC)[0].leader
    cluster.nodes[lost].kill()
    eventually(lambda: traffic.describe(TOPIC)[0].leader == -1, TIMEOUT_S)
    cluster.start(lost)
    eventually(lambda: traffic.describe(TOPIC)[0].leader == lost, TIMEOUT_S)
    traffic.write(TOPIC, RECORDS)

    before = wait_for_leader(cluster)
    cluster.nodes[before.leader_id].kill()
    traffic.write(TOPIC, RECORDS)
    traffic.create("later", PARTITIONS)
    eventually(lambda: len(traffic.describe("later")) == PARTITIONS, TIMEOUT_S)
    assert wait_for_leader(cluster).epoch > before.epoch
    cluster.start(before.leader_id)

    assert cluster.nodes[lost].stop() == 0
    eventually(lambda: traffic.describe(TOPIC)[0].leader == -1, TIMEOUT_S)
    cluster.start(lost)
    eventually(lambda: traffic.describe(TOPIC)[0].leader == lost, TIMEOUT_S)
    assert len(traffic.read_in_group(TOPIC, "group", 20)) == 20
    traffic.assert_all_is_there(TOPIC)
    change_and_delete(cluster, traffic)
    assert_equal_logs(cluster)
