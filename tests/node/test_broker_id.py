"""Brokers without broker.id in a cluster with a real ZooKeeper."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.traffic import TIMEOUT_S, Traffic
from tests.support.eventually import eventually
from tests.support.node_process import OURS
from tests.support.zookeeper_era import APACHE, legacy_cluster

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]


def test_brokers_without_an_id_get_one_and_keep_it(tmp_path: Path) -> None:
    """KafkaConfig, broker.id: "To avoid conflicts between ZooKeeper generated broker id's and user configured broker
    id's, generated broker ids start from reserved.broker.max.id + 1." Apache's broker takes the next one.
    """
    with legacy_cluster(tmp_path, broker_id="-1", reserved_broker_max_id="50") as cluster:
        first = cluster.add(1, OURS)
        cluster.add(2, APACHE)
        traffic = Traffic(first.bootstrap_servers)
        eventually(lambda: set(traffic.admin.list_topics(timeout=TIMEOUT_S).brokers) == {51, 52}, TIMEOUT_S)
        assert first.stop() == 0
        first.start()
        eventually(lambda: set(traffic.admin.list_topics(timeout=TIMEOUT_S).brokers) == {51, 52}, TIMEOUT_S)
    assert sum("generated in ZooKeeper" in line for line in first.output) == 1
