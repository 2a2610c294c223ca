"""Requests for topics at a broker with ZooKeeper: the responses and the znodes of Apache Kafka 3.9, and its tools."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import confluent_kafka as ck
import kafka
import pytest
import trio
from kafka.admin import NewTopic

from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kraft.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kraft.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.rpc.client import connect
from kraft.zookeeper.znodes.admin import (
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    encode_preferred_election,
    encode_reassignment,
)
from kraft.zookeeper.znodes.cluster import config_path, decode_config
from kraft.zookeeper.znodes.controllers import CONTROLLER, CONTROLLER_EPOCH
from tests.interop.traffic import TIMEOUT_S, Traffic
from tests.support.apache_process import APACHE_3
from tests.support.apache_tool import ELECTION, REASSIGNMENT, TOPICS, ZOOKEEPER_SHELL, apache_tool
from tests.support.eventually import eventually
from tests.support.node_process import OURS, Kind
from tests.support.same_requests import CONTROLLER as CONTROLLER_ID
from tests.support.same_requests import OTHER, BothClusters, both_clusters
from tests.support.zookeeper_era import APACHE, LegacyBroker, LegacyCluster, legacy_cluster
from tests.zookeeper.controller.test_create_topics import assigned, topic

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

WAITS_MS = 30_000
PREFERRED, UNCLEAN = 0, 1
SETTINGS = {"replica_lag_time_max_ms": "3000", "replica_fetch_wait_max_ms": "200"}


def create(*topics: CreatableTopic, timeout_ms: int = WAITS_MS, validate_only: bool = False) -> tuple[Any, int]:
    return CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only), 7


def grow(name: str, count: int, *replicas: list[int], validate_only: bool = False) -> tuple[Any, int]:
    assignments = [CreatePartitionsAssignment(each) for each in replicas] or None
    named = [CreatePartitionsTopic(name, count, assignments)]
    return CreatePartitionsRequest(topics=named, timeout_ms=WAITS_MS, validate_only=validate_only), 3


def reassign(name: str, index: int, replicas: list[int] | None) -> tuple[Any, int]:
    named = [ReassignableTopic(name, [ReassignablePartition(index, replicas)])]
    return AlterPartitionReassignmentsRequest(topics=named), 0


def elect(kind: int, *partitions: tuple[str, int]) -> tuple[Any, int]:
    named = [TopicPartitions(name, [index]) for name, index in partitions]
    return ElectLeadersRequest(election_type=kind, topic_partitions=named, timeout_ms=WAITS_MS), 2


def delete(*names: str | UUID, timeout_ms: int = WAITS_MS) -> tuple[Any, int]:
    named = [DeleteTopicState(each) if isinstance(each, str) else DeleteTopicState(None, each) for each in names]
    return DeleteTopicsRequest(topics=named, timeout_ms=timeout_ms), 6


LONG = CreatableTopicConfig("retention.ms", "5000")
REQUESTS: dict[str, tuple[Any, int]] = {
    "a topic with a setting": create(assigned("t", [1, 2], [2, 1]).evolve(configs=[LONG])),
    "a topic without settings": create(assigned("u", [1])),
    "a replica that is not registered": create(assigned("nine", [9, 1])),
    "no replica that is registered": create(assigned("ten", [9]), timeout_ms=500),
    "no wait": create(assigned("quick", [1]), topic("a/b"), timeout_ms=0),
    "a name with a dot": create(assigned("a.b", [1])),
    "a name that collides": create(assigned("a_b", [1])),
    "a topic that exists": create(assigned("t", [1])),
    "only validated": create(topic("v", partitions=-1, factor=-1), validate_only=True),
    "an illegal name": create(topic("a/b")),
    "no name": create(topic("")),
    "a prohibited name": create(topic("__cluster_metadata")),
    "no partitions": create(topic("e", partitions=0)),
    "negative partitions": create(topic("e", partitions=-2)),
    "no replicas": create(topic("e", factor=0)),
    "too many replicas": create(topic("e", factor=3)),
    "a bad value": create(topic("e", retention_ms="soon")),
    "an unknown setting": create(topic("e", no_such="1")),
    "a setting without a value": create(topic("e", retention_ms=None)),
    "replicas of two numbers": create(assigned("e", [1], [1, 2])),
    "a replica twice": create(assigned("e", [1, 1])),
    "a number beside an assignment": create(
        CreatableTopic("e", num_partitions=1, assignments=[CreatableReplicaAssignment(0, [1])])
    ),
    "a gap": create(CreatableTopic("e", -1, -1, assignments=[CreatableReplicaAssignment(1, [1])])),
    "more partitions": grow("t", 3, [2, 1]),
    "more partitions, placed": grow("t", 5),
    "fewer partitions": grow("t", 4),
    "as many partitions": grow("t", 5),
    "a negative number of partitions": grow("t", -1),
    "a partition with one replica": grow("t", 6, [1]),
    "a partition with a replica twice": grow("t", 6, [1, 1]),
    "a partition on an unknown broker": grow("t", 6, [1, 9]),
    "a partition without replicas": grow("t", 6, []),
    "two assignments for one partition": grow("t", 6, [1, 2], [2, 1]),
    "partitions of no topic": grow("gone", 4),
    "partitions that are only validated": grow("t", 7, validate_only=True),
    "reassigned to nothing": reassign("t", 0, []),
    "reassigned to one replica twice": reassign("t", 0, [1, 1]),
    "reassigned to a negative id": reassign("t", 0, [-1]),
    "reassigned to a dead broker": reassign("t", 0, [1, 9]),
    "no topic is reassigned": reassign("gone", 0, [1]),
    "no topic is reassigned to a dead broker": reassign("gone", 0, [9]),
    "nothing is cancelled": reassign("t", 0, None),
    "no partition is cancelled": reassign("t", 99, None),
    "the order of the replicas": reassign("t", 0, [2, 1]),
    "a preferred leader": elect(PREFERRED, ("t", 0), ("t", 1), ("t", 99), ("gone", 0)),
    "an unclean leader": elect(UNCLEAN, ("t", 0), ("gone", 0)),
    "all preferred leaders": (ElectLeadersRequest(topic_partitions=None, timeout_ms=WAITS_MS), 2),
    "no topic to delete": delete("gone", UUID(int=77)),
    "a name and an id": (DeleteTopicsRequest(topics=[DeleteTopicState("t", UUID(int=7))], timeout_ms=WAITS_MS), 6),
    "deleted": delete("t"),
    "deleted without a wait": delete("u", timeout_ms=0),
    "deleted by an old client": (DeleteTopicsRequest(topic_names=["quick", "gone"], timeout_ms=WAITS_MS), 5),
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothClusters]:
    with both_clusters(tmp_path_factory.mktemp("both")) as running:
        yield running


async def test_each_request_has_the_response_and_the_znodes_of_apache(both: BothClusters) -> None:
    """ZkAdminManager, AdminZkClient and KafkaController, by their results: codes in responses, bytes in ZooKeeper."""
    for case, (message, version) in REQUESTS.items():
        apache, ours = await both.ask(message, version)
        assert ours == apache, case
        await both.assert_same_znodes(case)


async def test_a_reassignment_under_way_has_the_znodes_of_apache(both: BothClusters) -> None:
    """Broker 2 of each is paused, so it does not come into the ISR; then the reassignment is cancelled."""
    await both.ask(*create(assigned("moved", [1])))
    for cluster in (both.apache, both.ours):
        cluster.brokers[OTHER].pause()
    try:
        for case, replicas in (("begun", [2, 1]), ("replaced", [2]), ("cancelled", None)):
            apache, ours = await both.ask(*reassign("moved", 0, replicas))
            assert ours == apache, case
            await both.assert_same_znodes(case)
            apache, ours = await both.ask(ListPartitionReassignmentsRequest(topics=None), 0)
            assert ours == apache, case
    finally:
        for cluster in (both.apache, both.ours):
            cluster.brokers[OTHER].resume()


@pytest.mark.parametrize("broker_id", [CONTROLLER_ID, OTHER])
async def test_each_broker_names_the_controller(both: BothClusters, broker_id: int) -> None:
    """``KafkaApis.handleDescribeCluster``: the cached controller, to which clients then send their requests."""
    apache, ours = await both.ask(DescribeClusterRequest(), 0, broker_id)
    assert apache["controller_id"] == ours["controller_id"] == CONTROLLER_ID


async def test_a_broker_that_is_not_the_controller_refuses_as_apache_does(both: BothClusters) -> None:
    """KafkaApis: NOT_CONTROLLER for each topic or partition, or for the whole response."""
    requests = [
        create(assigned("t", [1]), assigned("u", [1])),
        grow("t", 4),
        reassign("t", 0, [1]),
        elect(PREFERRED, ("t", 0)),
        delete("t", UUID(int=7)),
        (ListPartitionReassignmentsRequest(topics=None), 0),
        (ElectLeadersRequest(topic_partitions=None, timeout_ms=WAITS_MS), 0),
    ]
    for message, version in requests:
        apache, ours = await both.ask(message, version, OTHER)
        assert ours == apache, message


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LegacyCluster]:
    """Two brokers of ours; the first is the controller."""
    with legacy_cluster(tmp_path, **SETTINGS) as running:
        running.add(1, OURS)
        running.add(2, OURS)
        yield running


def wait_until_shown(cluster: LegacyCluster, name: str, count: int, leader: int | None = None) -> None:
    """Wait until every broker shows the partitions, each with a leader, and partition 0 with this one.

    The controller responds to CreateTopics once its own broker shows the topic; others may be later.
    """

    async def leaders(broker: LegacyBroker) -> list[int]:
        async with connect("127.0.0.1", broker.ports[0], "waits") as connection:
            request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
            (shown,) = (await connection.request(request)).topics
        return [each.leader_id for each in sorted(shown.partitions, key=lambda each: each.partition_index)]

    def is_shown(broker: LegacyBroker) -> bool:
        found = trio.run(leaders, broker)
        return len(found) == count and min(found, default=0) >= 0 and (leader is None or found[0] == leader)

    for broker in cluster.brokers.values():
        if broker.is_running:
            eventually(partial(is_shown, broker), TIMEOUT_S)


@pytest.mark.parametrize("kind", [OURS, APACHE], ids=["ours", "apache"])
def test_apaches_tools_change_topics(tmp_path: Path, kind: Kind) -> None:
    """kafka-topics, kafka-reassign-partitions and kafka-leader-election of 3.9. They know a broker that is not the
    controller, of ours or of Apache, and find the controller, which is ours, by Metadata."""
    with legacy_cluster(tmp_path, **SETTINGS) as cluster:
        cluster.add(1, OURS)
        cluster.add(2, kind)
        change_topics(cluster, tmp_path)


def change_topics(cluster: LegacyCluster, tmp_path: Path) -> None:
    bootstrap = "--bootstrap-server", cluster.brokers[2].bootstrap_servers
    traffic = Traffic(cluster.bootstrap_servers)
    apache_tool(TOPICS, *bootstrap, "--create", "--topic", "orders", "--replica-assignment", "1,2", kind=APACHE_3)
    wait_until_shown(cluster, "orders", 2)
    traffic.write("orders", 100)
    apache_tool(TOPICS, *bootstrap, "--alter", "--topic", "orders", "--partitions", "3", kind=APACHE_3)
    wait_until_shown(cluster, "orders", 3)
    described = apache_tool(TOPICS, *bootstrap, "--describe", "--topic", "orders", kind=APACHE_3)
    assert "PartitionCount: 3" in described
    plan = tmp_path / "plan.json"
    wanted = [
        {"topic": "orders", "partition": 0, "replicas": [2, 1]},
        {"topic": "orders", "partition": 1, "replicas": [1]},
    ]
    plan.write_text(json.dumps({"version": 1, "partitions": wanted}))
    by_plan = "--reassignment-json-file", str(plan)
    apache_tool(REASSIGNMENT, *bootstrap, *by_plan, "--execute", kind=APACHE_3)

    def replicas() -> list[list[int]]:
        return [traffic.describe("orders")[index].replicas for index in (0, 1)]

    eventually(lambda: replicas() == [[2, 1], [1]] and traffic.describe("orders")[0].isr == {1, 2}, TIMEOUT_S)
    verified = apache_tool(REASSIGNMENT, *bootstrap, *by_plan, "--verify", kind=APACHE_3)
    assert verified.count("is completed") == 2
    chosen = "--topic", "orders", "--partition", "0", "--election-type", "preferred"
    apache_tool(ELECTION, *bootstrap, *chosen, kind=APACHE_3)
    wait_until_shown(cluster, "orders", 3, leader=2)
    traffic.write("orders", 100)
    traffic.assert_all_is_there("orders")
    apache_tool(TOPICS, *bootstrap, "--delete", "--topic", "orders", kind=APACHE_3)
    wait_until_shown(cluster, "orders", 0)


def test_clients_follow_the_controller_after_a_failover(cluster: LegacyCluster) -> None:
    """librdkafka and kafka-python send their requests to the controller of Metadata, also after another was elected."""
    traffic = Traffic(cluster.bootstrap_servers)
    for controller in (1, 2):
        name = f"after-{controller}"
        eventually(lambda controller=controller: traffic.admin.list_topics().controller_id == controller, TIMEOUT_S)
        traffic.create(name, 2, 1, retention_ms="5000")
        wait_until_shown(cluster, name, 2)
        assert traffic.config(name, "retention.ms") == "5000"
        traffic.add_partitions(name, 4)
        wait_until_shown(cluster, name, 4)
        traffic.write(name, 40)
        traffic.assert_all_is_there(name)
        # This client asks the controller of its start for ever, so it has a new start here.
        with contextlib.closing(
            kafka.KafkaAdminClient(bootstrap_servers=cluster.brokers[2].bootstrap_servers)
        ) as admin:
            admin.create_topics([NewTopic(f"{name}-python", num_partitions=3, replication_factor=1)])
            wait_until_shown(cluster, f"{name}-python", 3)
            admin.delete_topics([f"{name}-python"])
            wait_until_shown(cluster, f"{name}-python", 0)
        traffic.delete(name)
        wait_until_shown(cluster, name, 0)
        if controller == 1:
            assert cluster.brokers[1].stop() == 0


def test_topics_are_created_when_clients_need_them(cluster: LegacyCluster) -> None:
    """auto.create.topics.enable and __consumer_offsets: the broker sends CreateTopics to the controller."""
    for node_id, name in ((1, "at-the-controller"), (2, "at-the-other")):
        producer = ck.Producer({"bootstrap.servers": cluster.brokers[node_id].bootstrap_servers})
        for number in range(20):
            producer.produce(name, str(number))
        assert producer.flush(TIMEOUT_S) == 0
        traffic = Traffic(cluster.brokers[node_id].bootstrap_servers)
        assert sorted(traffic.read_in_group(name, f"readers-{node_id}", 20), key=int) == list(map(str, range(20)))
    with cluster.client() as client:
        offsets = decode_config("offsets", client.get(config_path("topics", "__consumer_offsets"))[0])
    assert offsets["cleanup.policy"] == "compact"


def test_zookeeper_shell_shows_the_cluster_and_moves_the_controller(cluster: LegacyCluster) -> None:
    """zookeeper-shell of 3.9: the registrations, and the deletion of /controller, after which another epoch begins."""

    def shell(*command: str) -> str:
        return apache_tool(ZOOKEEPER_SHELL, "-server", cluster.zookeeper.address, *command, kind=APACHE_3)

    def epoch() -> str:
        return shell("get", CONTROLLER_EPOCH).splitlines()[-1]

    assert "[1, 2]" in shell("ls", "/brokers/ids").splitlines()
    registered = json.loads(shell("get", "/brokers/ids/2").splitlines()[-1])
    assert registered["endpoints"] == [f"PLAINTEXT://{cluster.brokers[2].bootstrap_servers}"]
    assert epoch() == "1"
    shell("delete", CONTROLLER)
    eventually(lambda: cluster.controller() is not None, TIMEOUT_S)
    assert epoch() == "2"
    cluster.create_topic("orders", (1, 2))
    wait_until_shown(cluster, "orders", 1, leader=1)


def test_znodes_of_older_tools_still_work(cluster: LegacyCluster) -> None:
    """/admin/reassign_partitions and /admin/preferred_replica_election."""
    traffic = Traffic(cluster.bootstrap_servers)
    cluster.create_topic("orders", (1,))
    wait_until_shown(cluster, "orders", 1, leader=1)
    traffic.write("orders", 50)
    with cluster.client() as client:
        client.create(REASSIGN_PARTITIONS, encode_reassignment({("orders", 0): (2, 1)}))
        eventually(lambda: client.exists(REASSIGN_PARTITIONS) is None, TIMEOUT_S)
        eventually(lambda: traffic.describe("orders")[0].isr == {1, 2}, TIMEOUT_S)
        eventually(lambda: traffic.describe("orders")[0].replicas == [2, 1], TIMEOUT_S)
        client.create(PREFERRED_REPLICA_ELECTION, encode_preferred_election([("orders", 0)]))
        eventually(lambda: client.exists(PREFERRED_REPLICA_ELECTION) is None, TIMEOUT_S)
    wait_until_shown(cluster, "orders", 1, leader=2)
    traffic.write("orders", 50)
    traffic.assert_all_is_there("orders")
