"""Brokers of this project in a cluster with ZooKeeper, under a controller of Apache Kafka 3.9."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka as ck
import confluent_kafka.admin as cka
import pytest

from tests.interop.traffic import TIMEOUT_S, Traffic
from tests.support.eventually import eventually
from tests.support.node_process import OURS, Kind
from tests.support.writer import Writer
from tests.support.zookeeper_era import APACHE, LegacyBroker, LegacyCluster, legacy_cluster

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

APACHE_ID, OUR_ID, THIRD_ID = 1, 2, 3
TOPIC = "orders"
FORCED = "control.plane.force.controller.requests.enable"
NO_CONTROLLER = -1
A_MINUTE_S = 60
SETTINGS = {
    "replica_fetch_backoff_ms": "200",
    "replica_fetch_wait_max_ms": "200",
    "replica_lag_time_max_ms": "3000",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LegacyCluster]:
    """A broker of Apache Kafka, which is the controller because it starts first, and one of ours."""
    with legacy_cluster(tmp_path, **SETTINGS) as running:
        running.add(APACHE_ID, APACHE)
        running.add(OUR_ID, OURS)
        yield running


def create(traffic: Traffic, topic: str, *assignments: list[int]) -> None:
    """Create a topic, whose partitions have these replicas."""
    new = cka.NewTopic(topic, len(assignments), replica_assignment=list(assignments))
    traffic.admin.create_topics([new])[topic].result(TIMEOUT_S)


def test_a_broker_of_ours_leads_what_apaches_controller_gives_it(cluster: LegacyCluster) -> None:
    traffic = Traffic(cluster.brokers[OUR_ID].bootstrap_servers)
    create(traffic, TOPIC, [OUR_ID], [OUR_ID])
    eventually(lambda: {each.leader for each in traffic.describe(TOPIC).values()} == {OUR_ID}, TIMEOUT_S)
    traffic.write(TOPIC, 200)
    traffic.assert_all_is_there(TOPIC)


def test_replicas_of_both_follow_each_other_and_end_alike(cluster: LegacyCluster) -> None:
    """A broker that was killed leaves the ISR and joins it again: AlterPartition to the controller, both ways."""
    traffic = Traffic(cluster.bootstrap_servers)
    create(traffic, TOPIC, [OUR_ID, APACHE_ID], [APACHE_ID, OUR_ID])
    wait_until_in_sync(traffic, {OUR_ID, APACHE_ID})
    traffic.write(TOPIC, 200)
    ours = cluster.brokers[OUR_ID]
    ours.kill()
    wait_until_in_sync(traffic, {APACHE_ID})
    traffic.write(TOPIC, 200)
    ours.start()
    wait_until_in_sync(traffic, {OUR_ID, APACHE_ID})
    traffic.elect_preferred(TOPIC, 2)
    wait_for_leader(traffic, TOPIC, OUR_ID)
    traffic.write(TOPIC, 200)
    traffic.assert_all_is_there(TOPIC)
    eventually(lambda: logs(cluster, OUR_ID, 2) == logs(cluster, APACHE_ID, 2), TIMEOUT_S)


def wait_until_in_sync(traffic: Traffic, expected: set[int]) -> None:
    def in_sync() -> bool:
        partitions = traffic.describe(TOPIC).values()
        return bool(partitions) and all(each.isr == expected for each in partitions)

    eventually(in_sync, TIMEOUT_S)


def wait_for_leader(traffic: Traffic, topic: str, expected: int) -> None:
    """Wait until a broker shows the leader of partition 0.

    The controller responds to CreateTopics once its own broker knows the topic (``ZkAdminManager``). Another broker may
    still return UNKNOWN_TOPIC_OR_PARTITION.
    """

    def leads() -> bool:
        partition = traffic.describe(topic).get(0)
        return partition is not None and partition.leader == expected

    eventually(leads, TIMEOUT_S)


def logs(cluster: LegacyCluster, broker: int, partitions: int) -> list[bytes]:
    directory = cluster.brokers[broker].log_directory
    return [
        b"".join(path.read_bytes() for path in sorted((directory / f"{TOPIC}-{index}").glob("*.log")))
        for index in range(partitions)
    ]


def test_a_controlled_shutdown_moves_the_leaders_first(cluster: LegacyCluster) -> None:
    """ControlledShutdown: the controller has moved all leaderships before the broker stops, so no partition waits."""
    traffic = Traffic(cluster.brokers[APACHE_ID].bootstrap_servers)
    create(traffic, TOPIC, [OUR_ID, APACHE_ID])
    wait_until_in_sync(traffic, {OUR_ID, APACHE_ID})
    traffic.write(TOPIC, 100)
    ours = cluster.brokers[OUR_ID]
    assert ours.stop() == 0
    assert any("controlled shutdown succeeded" in line for line in ours.output), "no partition remained"
    # The controller informs its own broker by UpdateMetadata, too, which may come after the response.
    wait_for_leader(traffic, TOPIC, APACHE_ID)
    ours.start()
    wait_until_in_sync(traffic, {OUR_ID, APACHE_ID})
    traffic.assert_all_is_there(TOPIC)


def test_a_deleted_topic_is_deleted_on_disk_and_its_name_is_free(cluster: LegacyCluster) -> None:
    """StopReplica with deletion: the controller ends the deletion of a topic only after each replica's response."""
    traffic = Traffic(cluster.bootstrap_servers)
    create(traffic, TOPIC, [OUR_ID, APACHE_ID], [APACHE_ID, OUR_ID])
    wait_until_in_sync(traffic, {OUR_ID, APACHE_ID})
    traffic.write(TOPIC, 100)
    traffic.delete(TOPIC)
    directory = cluster.brokers[OUR_ID].log_directory
    eventually(lambda: not list(directory.glob(f"{TOPIC}-[0-9]")), TIMEOUT_S)
    eventually(lambda: TOPIC not in traffic.topics(), TIMEOUT_S)
    traffic.written.clear()

    def is_free() -> bool:
        try:
            create(traffic, TOPIC, [OUR_ID])
        except ck.KafkaException as refused:
            # "is marked for deletion", or "already exists" while the controller's own broker still shows the topic.
            if refused.args[0].code() != ck.KafkaError.TOPIC_ALREADY_EXISTS:
                raise
            return False
        return True

    eventually(is_free, TIMEOUT_S)
    wait_for_leader(traffic, TOPIC, OUR_ID)
    traffic.write(TOPIC, 10)
    traffic.assert_all_is_there(TOPIC)


def test_groups_and_topic_settings_follow_the_controller(cluster: LegacyCluster) -> None:
    """The coordinator of a group is the leader of its partition of __consumer_offsets, on either kind of broker. The
    settings of a topic come from /config, and their changes by notification.
    """
    traffic = Traffic(cluster.brokers[OUR_ID].bootstrap_servers)
    create(traffic, "__consumer_offsets", [OUR_ID], [OUR_ID], [APACHE_ID])
    create(traffic, TOPIC, [OUR_ID])
    wait_for_leader(traffic, TOPIC, OUR_ID)
    traffic.write(TOPIC, 20)
    for group in ("first", "second", "third", "fourth"):
        assert traffic.read_in_group(TOPIC, group, 10) == traffic.written[TOPIC][:10]
        assert traffic.read_in_group(TOPIC, group, 10) == traffic.written[TOPIC][10:]
    other = Traffic(cluster.brokers[APACHE_ID].bootstrap_servers)
    other.set_config(TOPIC, "retention.ms", "86400000")
    eventually(lambda: traffic.config(TOPIC, "retention.ms") == "86400000", TIMEOUT_S)


@pytest.mark.parametrize("is_forced", [False, True])
def test_the_controllers_requests_have_a_plane_of_their_own(tmp_path: Path, is_forced: bool) -> None:
    """KIP-291: Apache's controller sends to the listener that our registration has for it, and our AlterPartition goes
    to the same listener of the controller. So does ControlledShutdown: "the broker needs to communicate with the
    controller using the control plane to send the controlledShutdown request" (its extension). Apache's controller also
    has what it needs on a control plane of ours that is forced.
    """
    with legacy_cluster(tmp_path, **SETTINGS) as cluster:
        apache, ours = (cluster.prepare(node_id, kind) for node_id, kind in ((APACHE_ID, APACHE), (OUR_ID, OURS)))
        for broker in (apache, ours):
            forced = {FORCED: "true"} if is_forced and broker is ours else {}
            broker.settings = {**broker.settings, **broker.with_control_plane(), **forced}
            broker.start()
        traffic = Traffic(cluster.bootstrap_servers)
        create(traffic, TOPIC, [OUR_ID, APACHE_ID])
        wait_until_in_sync(traffic, {OUR_ID, APACHE_ID})
        traffic.write(TOPIC, 100)
        traffic.assert_all_is_there(TOPIC)
        assert ours.stop() == 0
        sent_to = [line for line in apache.output if "for sending state change requests" in line]
        assert any(f"127.0.0.1:{ours.ports[1]} (id: {OUR_ID}" in line for line in sent_to)
        assert not any(f"127.0.0.1:{ours.ports[0]} " in line for line in sent_to)
        connected = re.findall(r" connected to controller (\S+)", "".join(ours.output))
        for_requests = apache.ports[0 if is_forced else 1]
        # Two for requests: CreateTopics, which waits for leaders, has one of its own.
        ports = (for_requests, for_requests, apache.ports[1])
        assert connected == [f"{APACHE_ID}@127.0.0.1:{port}" for port in ports]
        assert any("controlled shutdown succeeded" in line for line in ours.output)


def test_a_node_that_cannot_join_is_one_line(tmp_path: Path) -> None:
    """Without ZooKeeper: the node does not wait for ever, and not as if it worked."""
    with legacy_cluster(tmp_path, zookeeper_connection_timeout_ms="2000") as cluster:
        broker = cluster.prepare(OUR_ID, OURS)
        cluster.zookeeper.kill()
        broker.launch()
        assert broker.wait_ended() == 1
        reason = f"no session with ZooKeeper at {cluster.zookeeper.address}"
        lines = [line for line in broker.output if " INFO " not in line and " kazoo." not in line]
        assert [line for line in lines if reason in line], broker.output
        assert not [line for line in lines if "Traceback" in line]


def test_a_broker_that_was_paused_registers_again(cluster: LegacyCluster) -> None:
    """Its session expires meanwhile, so the other broker leads. After the pause it has a higher broker epoch, and the
    old one would be refused (KIP-380).
    """
    traffic = Traffic(cluster.bootstrap_servers)
    create(traffic, TOPIC, [OUR_ID, APACHE_ID], [APACHE_ID, OUR_ID])
    wait_until_in_sync(traffic, {OUR_ID, APACHE_ID})
    traffic.write(TOPIC, 100)
    ours = cluster.brokers[OUR_ID]
    ours.pause()
    wait_until_in_sync(Traffic(cluster.brokers[APACHE_ID].bootstrap_servers), {APACHE_ID})
    ours.resume()
    eventually(lambda: len(epochs(ours)) == 2, TIMEOUT_S)
    before, after = epochs(ours)
    assert before < after
    # A broker that was paused may show the metadata from before, in which all replicas are in sync.
    wait_until_in_sync(Traffic(cluster.brokers[APACHE_ID].bootstrap_servers), {OUR_ID, APACHE_ID})
    traffic.elect_preferred(TOPIC, 2)
    wait_for_leader(traffic, TOPIC, OUR_ID)
    traffic.write(TOPIC, 100)
    traffic.assert_all_is_there(TOPIC)


def epochs(broker: LegacyBroker) -> list[int]:
    """The broker epochs of a broker of ours, over all its registrations."""
    found = (re.search(r"registered in ZooKeeper with broker epoch (\d+)", line) for line in broker.output)
    return [int(match[1]) for match in found if match is not None]


def test_brokers_outlive_a_restart_of_zookeeper(cluster: LegacyCluster) -> None:
    """Without ZooKeeper clients write and read as before. With it again the controller goes on. A new idempotent
    producer would wait: the controller cannot allocate ids.
    """
    traffic = Traffic(cluster.bootstrap_servers, {TOPIC: [str(number) for number in range(100)]})
    create(traffic, TOPIC, [OUR_ID, APACHE_ID])
    wait_until_in_sync(traffic, {OUR_ID, APACHE_ID})
    cluster.zookeeper.kill()
    producer = ck.Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    for value in traffic.written[TOPIC]:
        producer.produce(TOPIC, value)
    assert producer.flush(TIMEOUT_S) == 0
    traffic.assert_all_is_there(TOPIC)
    cluster.zookeeper.start()
    create(traffic, "later", [OUR_ID, APACHE_ID])
    wait_for_leader(traffic, "later", OUR_ID)
    traffic.write("later", 100)
    traffic.assert_all_is_there("later")


@pytest.mark.parametrize("kinds", [(APACHE, OURS), (OURS, APACHE)], ids=["of Apache", "of ours"])
def test_a_minute_without_zookeeper_loses_nothing_acknowledged(tmp_path: Path, kinds: tuple[Kind, Kind]) -> None:
    """Ten times a session: both kinds lead, follow and serve as before, under a controller of either. Then the
    controller goes on with the same session, and a broker that was killed leaves the ISR and joins it again.
    """
    with legacy_cluster(tmp_path, **SETTINGS) as cluster:
        for node_id, kind in enumerate(kinds, 1):
            cluster.add(node_id, kind)
        traffic = Traffic(cluster.bootstrap_servers)
        create(traffic, TOPIC, [1, 2], [2, 1])
        wait_until_in_sync(traffic, {1, 2})
        with Writer(cluster.bootstrap_servers, TOPIC, 2) as writer:
            writer.wait_for_more(100)
            cluster.zookeeper.kill()
            end_s = time.monotonic() + A_MINUTE_S
            while time.monotonic() < end_s:
                writer.wait_for_more(100)
            cluster.zookeeper.start()
            cluster.brokers[2].kill()
            wait_until_in_sync(Traffic(cluster.brokers[1].bootstrap_servers), {1})
            cluster.brokers[2].start()
            wait_until_in_sync(traffic, {1, 2})
            writer.wait_for_more(100)
        assert writer.failures == []
        traffic.written[TOPIC] = [str(number) for number in range(writer.written)]
        traffic.assert_all_is_there(TOPIC)
        eventually(lambda: logs(cluster, 1, 2) == logs(cluster, 2, 2), TIMEOUT_S)
        assert controller_of(cluster) == 1


@pytest.mark.parametrize("has_control_plane", [False, True], ids=["one plane", "control plane"])
def test_the_controller_changes_between_both_kinds_under_load(tmp_path: Path, has_control_plane: bool) -> None:
    """By kill -9 and by SIGTERM, both ways: each controller leads the brokers of the other kind, nothing
    acknowledged is lost or there twice, and the replicas end alike.
    """
    with legacy_cluster(tmp_path, **SETTINGS) as cluster:
        for node_id, kind in ((APACHE_ID, APACHE), (OUR_ID, OURS), (THIRD_ID, APACHE)):
            broker = cluster.prepare(node_id, kind)
            if has_control_plane:
                broker.settings = {**broker.settings, **broker.with_control_plane()}
            broker.start()
        change_controllers(cluster)


def change_controllers(cluster: LegacyCluster) -> None:
    everyone = {APACHE_ID, OUR_ID, THIRD_ID}
    traffic = Traffic(cluster.bootstrap_servers)
    create(traffic, "__consumer_offsets", [OUR_ID, APACHE_ID, THIRD_ID])
    create(traffic, TOPIC, [OUR_ID, APACHE_ID, THIRD_ID], [APACHE_ID, THIRD_ID, OUR_ID], [THIRD_ID, OUR_ID, APACHE_ID])
    wait_until_in_sync(traffic, everyone)
    kinds = []
    with Writer(cluster.bootstrap_servers, TOPIC, 3) as writer:
        for by_kill in (True, True, False, False):
            writer.wait_for_more(200)
            former = controller_of(cluster)
            kinds.append(former == OUR_ID)
            lost = {former} if former == OUR_ID else everyone - {OUR_ID}
            for follower in lost - {former}:  # the broker that is left is elected
                cluster.brokers[follower].stop()
            broker = cluster.brokers[former]
            broker.kill() if by_kill else broker.stop()
            eventually(lambda former=former: controller_of(cluster) not in (former, NO_CONTROLLER), TIMEOUT_S)
            writer.wait_for_more(200)
            for node_id in lost:
                cluster.brokers[node_id].start()
            wait_until_in_sync(traffic, everyone)
    assert kinds == [False, True, False, True]
    assert writer.failures == []
    traffic.written[TOPIC] = [str(number) for number in range(writer.written)]
    traffic.assert_all_is_there(TOPIC)
    eventually(lambda: logs(cluster, OUR_ID, 3) == logs(cluster, APACHE_ID, 3) == logs(cluster, THIRD_ID, 3), TIMEOUT_S)


def controller_of(cluster: LegacyCluster) -> int:
    found = cluster.controller()
    return NO_CONTROLLER if found is None else found.broker_id


def test_a_broker_creates_topics_through_the_controller(cluster: LegacyCluster) -> None:
    """A ZooKeeper-era broker forwards nothing, but requests the topics that it needs: those that a producer names, and
    __consumer_offsets.
    """
    ours = cluster.brokers[OUR_ID].bootstrap_servers
    producer = ck.Producer({"bootstrap.servers": ours, "allow.auto.create.topics": True, "message.timeout.ms": 60_000})
    producer.produce("automatic", b"value")
    assert producer.flush(TIMEOUT_S) == 0
    traffic = Traffic(ours, {"automatic": ["value"]})
    assert traffic.read_in_group("automatic", "group", 1) == ["value"]
    assert {"automatic", "__consumer_offsets"} <= traffic.topics()
