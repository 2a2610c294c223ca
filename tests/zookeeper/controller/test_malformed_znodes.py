"""Malformed data in every znode that the legacy controller reads: a note each, and the controller goes on."""

from __future__ import annotations

import itertools
from uuid import UUID

import pytest

from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.wire.codec import encode
from kraft.zookeeper.operations import Create
from kraft.zookeeper.znodes.admin import DELETE_TOPICS, PREFERRED_REPLICA_ELECTION, REASSIGN_PARTITIONS
from kraft.zookeeper.znodes.brokers import broker_path
from kraft.zookeeper.znodes.cluster import FEATURE, PRODUCER_ID_BLOCK, config_path
from kraft.zookeeper.znodes.notifications import ISR_CHANGES, LOG_DIR_EVENTS
from kraft.zookeeper.znodes.topics import ReplicaAssignment, TopicAssignment, encode_topic, state_path, topic_path
from tests.support.legacy_cluster import LegacyClusterModel

DATA = [
    b"",
    b"\0\xff\xfe",
    b"{",
    b"null",
    b"[]",
    b"7",
    b'"text"',
    b"[" * 100_000,
    b"{}",
    b'{"version":99}',
    b'{"version":1,"partitions":null}',
    b'{"version":1,"partitions":{"0":null}}',
    b'{"version":1,"partitions":{"zero":[1]}}',
    b'{"version":1,"partitions":{"-1":[1]}}',
    b'{"version":3,"partitions":{"0":[1,1]},"topic_id":"?","adding_replicas":[],"removing_replicas":{}}',
    b'{"version":1,"partitions":[{"topic":7,"partition":"0","replicas":"1"}]}',
    b'{"version":1,"partitions":[{"topic":"t","partition":-1,"replicas":[]}]}',
    b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[-1]}]}',
    b'{"version":1,"partitions":[{"topic":"../t","partition":0,"replicas":[1]}]}',
    b'{"version":1,"partitions":[{"topic":"t","partition":1e400,"replicas":[1e400]}]}',
    b'{"version":1,"config":7}',
    b'{"version":1,"config":{"unclean.leader.election.enable":7}}',
    b'{"version":1,"leader":"1","isr":1,"leader_epoch":[],"controller_epoch":{}}',
    b'{"version":1,"leader":99,"isr":[],"leader_epoch":-7,"controller_epoch":-7}',
    b'{"version":1,"leader":1,"isr":[1],"leader_epoch":99999999999999999999,"controller_epoch":1}',
    b'{"version":1,"leader":1,"isr":[1,50000000000],"leader_epoch":1,"controller_epoch":1}',
    b'{"version":1,"leader":1,"isr":[1],"leader_epoch":1,"controller_epoch":1,"leader_recovery_state":300}',
    b'{"version":2,"partitions":{"0":[1,50000000000]}}',
    b'{"version":2,"partitions":{"0":[]}}',
    b'{"version":1,"leader":1,"isr":[1],"leader_epoch":2147483647,"controller_epoch":1}',
    b'{"version":1,"leader":2,"isr":[1,2],"leader_epoch":2147483646,"controller_epoch":1}',
    b'{"version":1,"config":{"log.retention.hours":"x","message.max.bytes":"x"}}',
    b'{"version":5,"endpoints":["PLAINTEXT://h:9"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
    b'"jmx_port":-1,"rack":"%s"}' % (b"r" * 40_000),
    b'{"version":5,"endpoints":["PLAINTEXT://%s:9"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
    b'"jmx_port":-1}' % (b"h" * 40_000),
    b'{"version":5,"endpoints":["PLAINTEXT"],"listener_security_protocol_map":{}}',
    b'{"version":5,"endpoints":["PLAINTEXT://h:99999"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"}}',
    b'{"version":1,"broker":"x","event":[]}',
    b'{"version":1,"broker":1,"block_start":"9","block_end":"1"}',
    b'{"version":2,"status":7,"features":[]}',
]
PATHS = [
    topic_path("t"),
    topic_path("other"),
    state_path("t", 0),
    broker_path(2),
    broker_path(9),
    f"{DELETE_TOPICS}/unknown",
    f"{DELETE_TOPICS}/t",
    REASSIGN_PARTITIONS,
    PREFERRED_REPLICA_ELECTION,
    ISR_CHANGES + "/isr_change_0000000000",
    LOG_DIR_EVENTS + "/log_dir_event_0000000000",
    FEATURE,
    PRODUCER_ID_BLOCK,
    config_path("topics", "t"),
    config_path("brokers", "<default>"),
]


@pytest.mark.parametrize("path", PATHS)
def test_no_data_ends_the_controller(path: str) -> None:
    """It takes in another topic afterwards, and so does the next controller, which reads everything anew."""
    for data in DATA:
        cluster = LegacyClusterModel(3, static_values={"log.retention.ms": "1000"})
        cluster.start(1, 2)
        cluster.create_topic("t", (2, 1))
        cluster.tree.put(path, data)
        cluster.settle()
        goes_on(cluster, "first", 1, data)
        cluster.stop(1)
        cluster.start(3)
        goes_on(cluster, "second", 3, data)
        assert len(cluster.notes) < 20, (data, cluster.notes)


def goes_on(cluster: LegacyClusterModel, topic: str, leader: int, data: bytes) -> None:
    cluster.create_topic(topic, (leader,))
    assert cluster.state(topic).leader == leader, data
    cluster.request(
        CreatePartitionsRequest(topics=[CreatePartitionsTopic("t", 2), CreatePartitionsTopic("other", 2)]), 3
    )
    cluster.request(ElectLeadersRequest(topic_partitions=None), 2)
    created = CreatableTopic(name=f"{topic}-created", num_partitions=1, replication_factor=1)
    assert cluster.request(CreateTopicsRequest(topics=[created]), 7).topics[0].error_code == 0, data
    for broker in cluster.brokers.values():
        for request in broker.received:
            encode(request.message, request.version)


def test_an_id_beyond_32_bits_is_no_broker() -> None:
    """Its registration is well-formed, and no request could have it among the live brokers."""
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    cluster.tree.put(broker_path(50_000_000_000), cluster.tree.data(broker_path(2)))
    cluster.settle()
    goes_on(cluster, "first", 1, b"")


def test_a_topic_whose_name_fits_in_no_request_is_ignored() -> None:
    """``kraft.zookeeper.znodes.fields.MAX_TEXT_BYTES``: Kafka's requests have no longer strings."""
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    long = "t" * 40_000
    cluster.tree.put(topic_path(long), encode_topic(TopicAssignment(UUID(int=7), {0: ReplicaAssignment((1, 2))})))
    cluster.settle()
    assert cluster.notes[0].endswith("has more than 32767 bytes; the topic is ignored")
    goes_on(cluster, "first", 1, b"")


def test_names_that_are_no_names_end_no_controller() -> None:
    """Children that another program made: a broker that is no number, a partition, a topic without data."""
    for parent, name in itertools.product(("/brokers/ids", "/brokers/topics", DELETE_TOPICS), ("-1", "x", "9" * 5000)):
        cluster = LegacyClusterModel(2)
        cluster.start(1, 2)
        cluster.tree.perform(None, Create(f"{parent}/{name}"))
        cluster.settle()
        goes_on(cluster, "first", 1, name.encode())
        cluster.stop(1)
        goes_on(cluster, "second", 2, name.encode())
