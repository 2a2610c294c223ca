"""Faults of ZooKeeper and of its sessions, beside nodes of this project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from kraft.zookeeper.znodes.cluster import encode_config
from kraft.zookeeper.znodes.controllers import CONTROLLER_EPOCH
from kraft.zookeeper.znodes.notifications import encode_config_change
from tests.interop.traffic import TIMEOUT_S, Traffic
from tests.support.eventually import eventually
from tests.support.node_process import OURS
from tests.support.writer import Writer
from tests.support.zookeeper_era import LegacyBroker, LegacyCluster, legacy_cluster
from tests.support.zookeeper_process import ZooKeeperEnsemble

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

TOPIC = "orders"
SESSION_S = 3
SETTINGS = {
    "replica_fetch_backoff_ms": "200",
    "replica_fetch_wait_max_ms": "200",
    "replica_lag_time_max_ms": "2000",
    "zookeeper_session_timeout_ms": str(SESSION_S * 1000),
    "min_insync_replicas": "1",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LegacyCluster]:
    with legacy_cluster(tmp_path, **SETTINGS) as running:
        yield running


def with_topic(cluster: LegacyCluster, *node_ids: int) -> Traffic:
    """Start brokers, and wait until all are in sync in both partitions of a topic."""
    for node_id in node_ids:
        cluster.add(node_id, OURS)
    cluster.create_topic(TOPIC, node_ids, node_ids[::-1])
    traffic = Traffic(cluster.bootstrap_servers)
    wait_until_in_sync(traffic, set(node_ids))
    return traffic


def wait_until_in_sync(traffic: Traffic, expected: set[int]) -> None:
    def are() -> bool:
        partitions = traffic.describe(TOPIC).values()
        return len(partitions) == 2 and all(each.isr == expected and each.leader in expected for each in partitions)

    eventually(are, TIMEOUT_S)


def assert_all_is_there(traffic: Traffic, writer: Writer) -> None:
    assert writer.failures == []
    traffic.written[TOPIC] = [str(number) for number in range(writer.written)]
    traffic.assert_all_is_there(TOPIC)


def test_an_absent_zookeeper_is_one_line_after_the_connection_timeout(tmp_path: Path) -> None:
    """zookeeper.connection.timeout.ms: "The max time that the client waits to establish a connection"."""
    with legacy_cluster(tmp_path, zookeeper_connection_timeout_ms="1500") as cluster:
        cluster.zookeeper.kill()
        node = cluster.prepare(1, OURS)
        node.launch()
        assert node.wait_ended() == 1
        assert node.output[-1] == f"no session with ZooKeeper at {cluster.zookeeper.address} after 1.5 s\n"
        assert "Traceback" not in "".join(node.output)


def test_an_id_that_is_registered_ends_the_second_broker_with_one_line(cluster: LegacyCluster) -> None:
    """KafkaZkClient's CheckedEphemeral: the owner of the znode is another session, so the new broker ends."""
    first = cluster.add(1, OURS)
    second = cluster.prepare(1, OURS)
    second.directory = second.directory.with_name("second")
    try:
        second.launch()
        assert second.wait_ended() == 1
    finally:
        second.kill()
        cluster.brokers[1] = first
    assert second.output[-1].startswith("/brokers/ids/1 exists: a broker with id 1 is registered")
    assert "Traceback" not in "".join(second.output)
    assert first.is_running
    assert Traffic(first.bootstrap_servers).topics() == set()


def test_two_clusters_live_under_two_paths_of_one_zookeeper(cluster: LegacyCluster) -> None:
    """A chroot path, which the first broker creates: the same ids and topics, and nothing of the other's."""
    others = [attrs.evolve(cluster, directory=cluster.directory / name, chroot=f"/kafka/{name}") for name in ("a", "b")]
    try:
        for other in others:
            other.brokers = {}
            traffic = with_topic(other, 1)
            traffic.write(TOPIC, 20)
            traffic.assert_all_is_there(TOPIC)
            traffic.set_config(TOPIC, "retention.ms", "86400000")
        with cluster.client() as client:
            assert set(client.get_children("/")) == {"kafka", "zookeeper"}
            assert len({client.get(f"/kafka/{name}/cluster/id")[0] for name in ("a", "b")}) == 2
            assert len(client.get_children("/kafka/a/config/changes")) == 1
    finally:
        for other in others:
            for broker in other.brokers.values():
                broker.kill()


def test_a_cluster_serves_while_zookeeper_is_gone_and_then_goes_on(cluster: LegacyCluster) -> None:
    """For longer than a session: brokers know their roles, and ZooKeeper continues the sessions when it is back."""
    traffic = with_topic(cluster, 1, 2)
    with Writer(cluster.bootstrap_servers, TOPIC, 2) as writer:
        writer.wait_for_more(100)
        cluster.zookeeper.kill()
        # Of acknowledged records, because a fixed time would say nothing on a busy machine.
        writer.pause_s = 0.01
        writer.wait_for_more(100 * 3 * SESSION_S)
        cluster.zookeeper.start()
        cluster.brokers[2].kill()
        wait_until_in_sync(Traffic(cluster.brokers[1].bootstrap_servers), {1})
        cluster.brokers[2].start()
        wait_until_in_sync(traffic, {1, 2})
        writer.wait_for_more(100)
    assert_all_is_there(traffic, writer)
    about = [line for line in cluster.brokers[1].output if "ooKeeper" in line or "kazoo" in line]
    assert sum("the connection with ZooKeeper is lost" in line for line in about) == 1
    assert len(about) < 10, "a line when the connection is lost, and one when it is back"


def test_a_controller_that_slept_through_its_session_resigns(cluster: LegacyCluster) -> None:
    """SIGSTOP: the other broker is elected. The sleeper still thinks that it is the controller; its requests and its
    writes are of a former epoch, and it registers again.
    """
    traffic = with_topic(cluster, 1, 2)
    with Writer(cluster.bootstrap_servers, TOPIC, 2) as writer:
        writer.wait_for_more(100)
        sleeper = cluster.brokers[1]
        sleeper.pause()
        eventually(lambda: (found := cluster.controller()) is not None and found.broker_id == 2, TIMEOUT_S)
        wait_until_in_sync(Traffic(cluster.brokers[2].bootstrap_servers), {2})
        sleeper.resume()
        wait_until_in_sync(traffic, {1, 2})
        writer.wait_for_more(100)
    assert_all_is_there(traffic, writer)
    assert sum("registered in ZooKeeper with broker epoch" in line for line in sleeper.output) == 2
    found = cluster.controller()
    assert found is not None
    assert found.broker_id == 2
    with cluster.client() as client:
        assert client.get(CONTROLLER_EPOCH)[0] == b"2"


def test_the_leader_of_an_ensemble_is_killed_under_load(tmp_path: Path) -> None:
    """The brokers continue their sessions at another server: none registers again, and nothing is lost."""
    with legacy_cluster(tmp_path, 3, **{**SETTINGS, "zookeeper_session_timeout_ms": "10000"}) as cluster:
        ensemble = cluster.zookeeper
        assert isinstance(ensemble, ZooKeeperEnsemble)
        traffic = with_topic(cluster, 1, 2)
        with Writer(cluster.bootstrap_servers, TOPIC, 2) as writer:
            writer.wait_for_more(100)
            leader = ensemble.leader()
            assert leader is not None
            leader.kill()
            eventually(lambda: ensemble.leader() is not None, TIMEOUT_S)
            assert cluster.brokers[2].stop() == 0  # needs a controller that writes to ZooKeeper
            wait_until_in_sync(Traffic(cluster.brokers[1].bootstrap_servers), {1})
            cluster.brokers[2].start()
            wait_until_in_sync(traffic, {1, 2})
            writer.wait_for_more(100)
        assert_all_is_there(traffic, writer)
        assert sum("registered in ZooKeeper with broker epoch" in line for line in cluster.brokers[1].output) == 1


def test_malformed_znodes_cost_a_line_each_and_no_broker(cluster: LegacyCluster) -> None:
    """Settings, topics, notifications and requests of tools, as another program may write them."""
    traffic = with_topic(cluster, 1)
    settings = encode_config({"retention.ms": "soon", "flush.messages": "7"})
    with cluster.client() as client:
        client.set("/config/topics/orders", settings)
        client.create("/config/brokers/<default>", encode_config({"log.segment.bytes": "-1", "broker.id": "7"}))
        client.create("/brokers/topics/broken", b"{")
        client.create("/brokers/ids/9", b"[]")
        client.create("/admin/reassign_partitions", b"{")
        client.create("/isr_change_notification/isr_change_", b"7", sequence=True)
        for entity in (b"{", encode_config_change("topics/orders"), encode_config_change("brokers/<default>")):
            client.create("/config/changes/config_change_", entity, sequence=True)
        eventually(lambda: traffic.config(TOPIC, "flush.messages") == "7", TIMEOUT_S)
        eventually(lambda: not client.exists("/admin/reassign_partitions"), TIMEOUT_S)
        assert traffic.config(TOPIC, "retention.ms") == "604800000"
        wanted = ("retention.ms", "log.segment.bytes", "broker.id", "config_change_0", "/brokers/topics/broken")
        node = cluster.brokers[1]
        for what in (*wanted, "/brokers/ids/9", "/admin/reassign_partitions", "isr_change_0"):
            eventually(lambda what=what: any(what in line for line in errors_and_warnings(node)), TIMEOUT_S)
    cluster.create_topic("fine", (1,))
    eventually(lambda: "fine" in traffic.topics(), TIMEOUT_S)
    traffic.write(TOPIC, 20)
    traffic.assert_all_is_there(TOPIC)
    assert node.stop() == 0
    node.start()
    traffic.write(TOPIC, 20)
    assert "Traceback" not in "".join(node.output)


def test_a_malformed_cluster_id_is_one_line(cluster: LegacyCluster) -> None:
    with cluster.client() as client:
        client.create("/cluster/id", b'{"version":"1"}', makepath=True)
    node = cluster.prepare(1, OURS)
    node.launch()
    assert node.wait_ended() == 1
    assert node.output[-1] == "malformed data in the znode /cluster/id: id is not a string: None\n"


def errors_and_warnings(node: LegacyBroker) -> list[str]:
    return [line for line in node.output if " ERROR " in line or " WARNING " in line]
