"""kraft.node.zookeeper_node: a node that is elected runs the controller of the ZooKeeper era."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft.zookeeper.znodes.controllers import CONTROLLER_EPOCH
from tests.interop.traffic import TIMEOUT_S, Traffic
from tests.support.eventually import eventually
from tests.support.node_process import OURS
from tests.support.zookeeper_era import LegacyCluster, legacy_cluster

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper, pytest.mark.timeout(300)]
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
    cluster.create_topic("orders", (1,), (1,))
    traffic = Traffic(only.bootstrap_servers)
    eventually(lambda: {"orders", "__consumer_offsets"} <= traffic.topics(), TIMEOUT_S)
    eventually(lambda: {each.leader for each in traffic.describe("orders").values()} == {1}, TIMEOUT_S)
    assert traffic.admin.list_topics(timeout=TIMEOUT_S).controller_id == 1
    traffic.write("orders", 100)
    traffic.assert_all_is_there("orders")
    assert len(traffic.read_in_group("orders", "readers", 60)) == 60
    assert only.stop() == 0
    assert cluster.controller() is None
    only.start()
    with cluster.client() as client:
        assert client.get(CONTROLLER_EPOCH)[0] == b"2"
    assert len(traffic.read_in_group("orders", "readers", 40)) == 40
    traffic.write("orders", 100)
    traffic.assert_all_is_there("orders")
