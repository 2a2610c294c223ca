"""kraft.node.zookeeper_node: a node that is elected runs the controller of the ZooKeeper era."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft.zookeeper.znodes.controllers import CONTROLLER_EPOCH
from tests.interop.traffic import TIMEOUT_S, Traffic
from tests.support.eventually import eventually
from tests.support.node_process import OURS
from tests.support.writer import Writer
from tests.support.zookeeper_era import LegacyCluster, legacy_cluster

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]
NODES = (1, 2, 3)
NO_CONTROLLER = -1
TOPIC = "orders"
SETTINGS = {
    "replica_fetch_backoff_ms": "200",
    "replica_fetch_wait_max_ms": "200",
    "replica_lag_time_max_ms": "3000",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LegacyCluster]:
    with legacy_cluster(tmp_path, **SETTINGS) as running:
        yield running


def test_a_broker_alone_is_the_controller(cluster: LegacyCluster) -> None:
    """Topics by znodes, as the tools of that era create them; records, groups and idempotent producers."""
    only = cluster.add(1, OURS)
    found = cluster.controller()
    assert found is not None
    assert found.broker_id == 1
    cluster.create_topic("__consumer_offsets", (1,), (1,), (1,), cleanup_policy="compact")
    cluster.create_topic(TOPIC, (1,), (1,))
    traffic = Traffic(only.bootstrap_servers)
    eventually(lambda: {TOPIC, "__consumer_offsets"} <= traffic.topics(), TIMEOUT_S)
    eventually(lambda: {each.leader for each in traffic.describe(TOPIC).values()} == {1}, TIMEOUT_S)
    assert traffic.admin.list_topics(timeout=TIMEOUT_S).controller_id == 1
    traffic.write(TOPIC, 100)
    traffic.assert_all_is_there(TOPIC)
    assert len(traffic.read_in_group(TOPIC, "readers", 60)) == 60
    assert only.stop() == 0
    assert cluster.controller() is None
    only.start()
    with cluster.client() as client:
        assert client.get(CONTROLLER_EPOCH)[0] == b"2"
    assert len(traffic.read_in_group(TOPIC, "readers", 40)) == 40
    traffic.write(TOPIC, 100)
    traffic.assert_all_is_there(TOPIC)


def test_the_controller_fails_over_under_load(cluster: LegacyCluster) -> None:
    """By kill -9, whose session times out first, and by SIGTERM: nothing acknowledged is lost or there twice, and the
    replicas end alike.
    """
    for node_id in NODES:
        cluster.add(node_id, OURS)
    cluster.create_topic("__consumer_offsets", (1, 2, 3), cleanup_policy="compact")
    cluster.create_topic(TOPIC, (1, 2, 3), (2, 3, 1), (3, 1, 2), min_insync_replicas="2")
    traffic = Traffic(cluster.bootstrap_servers)
    in_sync(traffic)
    with Writer(cluster.bootstrap_servers, TOPIC, len(NODES)) as writer:
        for is_kill in (True, False, True):
            writer.wait_for_more(200)
            former = controller_of(cluster)
            if is_kill:
                cluster.brokers[former].kill()
            else:
                assert cluster.brokers[former].stop() == 0
            eventually(lambda former=former: controller_of(cluster) not in (former, NO_CONTROLLER), TIMEOUT_S)
            writer.wait_for_more(200)
            cluster.brokers[former].start()
            in_sync(traffic)
    assert writer.failures == []
    traffic.written[TOPIC] = [str(number) for number in range(writer.written)]
    traffic.assert_all_is_there(TOPIC)
    eventually(lambda: len({tuple(logs(cluster, node_id)) for node_id in NODES}) == 1, TIMEOUT_S)


def controller_of(cluster: LegacyCluster) -> int:
    found = cluster.controller()
    return NO_CONTROLLER if found is None else found.broker_id


def in_sync(traffic: Traffic) -> None:
    """Wait until every node is in each ISR, and each partition has a leader."""

    def all_are() -> bool:
        partitions = traffic.describe(TOPIC).values() if TOPIC in traffic.topics() else ()
        return len(partitions) == len(NODES) and all(each.isr == set(NODES) for each in partitions)

    eventually(all_are, TIMEOUT_S)


def logs(cluster: LegacyCluster, node_id: int) -> list[bytes]:
    directory = cluster.brokers[node_id].log_directory
    return [
        b"".join(path.read_bytes() for path in sorted((directory / f"{TOPIC}-{index}").glob("*.log")))
        for index in range(len(NODES))
    ]
