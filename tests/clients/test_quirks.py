"""Unusual requests of real clients, each shown on the wire.

Every test here first ran against Apache Kafka itself (``--bootstrap-servers``), whose responses are the expected ones.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Any

import confluent_kafka
import kafka
import pytest
from kafka.protocol.admin import (
    CreateTopicsRequest,
    DescribeClusterRequest,
    DescribeGroupsRequest,
    DescribeTopicPartitionsRequest,
)
from kafka.protocol.consumer import HeartbeatRequest, JoinGroupRequest, OffsetFetchRequest
from kafka.protocol.metadata import ApiVersionsRequest, FindCoordinatorRequest, MetadataRequest
from kafka.protocol.producer import InitProducerIdRequest

from tests.clients.adapter import Code
from tests.clients.requests import NO_SESSION, batch, fetch_request, list_offsets_request, produce_request
from tests.support.eventually import eventually
from tests.support.wire_client import WireClient, wire_client


class Api(IntEnum):
    PRODUCE = 0
    LIST_OFFSETS = 2
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    API_VERSIONS = 18
    END_TXN = 26
    DESCRIBE_CLUSTER = 60
    CONSUMER_GROUP_DESCRIBE = 69
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    DESCRIBE_TOPIC_PARTITIONS = 75


CLIENT_ID_X = b"\x00\x01x"


@pytest.fixture
def wire(bootstrap_servers: str) -> Iterator[WireClient]:
    with wire_client(bootstrap_servers) as client:
        yield client


@pytest.fixture
def new_topic(bootstrap_servers: str, topic: str) -> str:
    """A topic of one partition that the broker knows."""
    with wire_client(bootstrap_servers) as client:
        wanted = CreateTopicsRequest.CreatableTopic(
            name=topic, num_partitions=1, replication_factor=1, assignments=[], configs=[]
        )
        answer = client.call(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000, validate_only=False), 5)
        assert answer.topics[0].error_code == 0
        eventually(lambda: described(client, topic).error_code == 0)
    return topic


def offered(wire: WireClient) -> dict[int, range]:
    """Map each API key to the versions that the broker advertises."""
    answer = wire.call(api_versions_request(), 4)
    return {api.api_key: range(api.min_version, api.max_version + 1) for api in answer.api_keys}


def api_versions_request() -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name="test", client_software_version="1")


def metadata_request(*topics: str, create: bool = False) -> MetadataRequest:
    wanted = [MetadataRequest.MetadataRequestTopic(name=topic) for topic in topics]
    return MetadataRequest(topics=wanted, allow_auto_topic_creation=create)


def described(wire: WireClient, topic: str, create: bool = False) -> Any:
    return wire.call(metadata_request(topic, create=create), 12).topics[0]


def topic_names(wire: WireClient) -> set[str]:
    request = MetadataRequest(topics=None, allow_auto_topic_creation=True)
    return {found.name for found in wire.call(request, 12).topics}


def join_request(group: str, member_id: str) -> JoinGroupRequest:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[protocol],
    )


@pytest.mark.parametrize("version", range(5))
def test_produce_is_offered_from_version_0_or_old_librdkafka_does_not_compress(wire: WireClient, version: int) -> None:
    """librdkafka 2.0 takes a missing Produce v0 for a broker without gzip, snappy and lz4. None is served below 3."""
    answer = wire.call(api_versions_request(), version)
    (produce,) = [api for api in answer.api_keys if api.api_key == Api.PRODUCE]
    assert produce.min_version == 0


@pytest.mark.parametrize(
    "request_bytes",
    [
        # As librdkafka 2.16.0 requests all topics: a count of four zero bytes, of which one is the null array and the
        # next three are the flags and the tags. The following bytes are left over.
        bytes.fromhex("0003000d 00000003 0001 78 00   00 00 00 00 01 00 00"),
        bytes.fromhex("0003000c 00000003 0001 78 00   00 00 00 00 01 00 00"),
        bytes.fromhex("00030009 00000003 0001 78 00   00 00 00 00 00 00"),
    ],
    ids=["v13", "v12", "v9"],
)
def test_bytes_after_a_request_are_ignored(wire: WireClient, new_topic: str, request_bytes: bytes) -> None:
    wire.send_bytes(request_bytes)
    assert new_topic.encode() in wire.receive_bytes()


@pytest.mark.parametrize("version", range(5))
def test_the_header_of_an_api_versions_response_has_no_tags(wire: WireClient, version: int) -> None:
    """The error code stands right after the correlation id, also where the body is flexible."""
    wire.send_bytes(
        struct.pack(">hhi", Api.API_VERSIONS, version, 7)
        + CLIENT_ID_X
        + (b"\x00\x05test\x021\x00" if version > 2 else b"")
    )
    assert wire.receive_bytes()[:6] == struct.pack(">ih", 7, 0)


@pytest.mark.parametrize("version", [5, 99, 32767])
def test_an_unknown_api_versions_version_is_answered_in_version_0(wire: WireClient, version: int) -> None:
    """The response has error 35 and the single key 18 with its versions. The connection stays open.

    franz-go treats a response with more keys as the final one; librdkafka falls back to a fixed list of versions
    if the connection is closed instead.
    """
    wire.send_bytes(struct.pack(">hhi", Api.API_VERSIONS, version, 7) + CLIENT_ID_X + b"\x00" + b"whatever comes")
    correlation_id, code, count, key, lowest, highest = struct.unpack(">ihihhh", wire.receive_bytes())
    assert (correlation_id, code, count, key, lowest) == (7, Code.UNSUPPORTED_VERSION, 1, Api.API_VERSIONS, 0)
    assert wire.call(api_versions_request(), highest).error_code == 0


@pytest.mark.parametrize("version", range(1, 14))
def test_metadata_names_a_controller_that_is_one_of_its_brokers(wire: WireClient, version: int) -> None:
    """Admin clients send the requests for the controller there."""
    answer = wire.call(metadata_request(), version)
    assert answer.controller_id in {broker.node_id for broker in answer.brokers}


def test_an_unthrottled_client_gets_a_throttle_time_of_0_ms(wire: WireClient, new_topic: str) -> None:
    """kafka-python, kafkajs, Java and franz-go sleep for ``throttle_time_ms``."""
    answers = [
        wire.call(api_versions_request(), 4),
        wire.call(metadata_request(new_topic), 12),
        wire.call(produce_request(new_topic, batch(1)), 9),
        wire.call(fetch_request(NO_SESSION, topic=new_topic), 12),
        wire.call(list_offsets_request(new_topic), 8),
    ]
    assert [answer.throttle_time_ms for answer in answers] == [0] * 5


def test_kafka_python_infers_a_broker_that_has_fetch_sessions_and_defaults(bootstrap_servers: str) -> None:
    """It looks single versions up, newest first, and below 2.4 would want the number of partitions of a new topic."""
    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap_servers)
    try:
        consumer.topics()
        assert consumer.config["api_version"] >= (2, 4)
    finally:
        consumer.close()


def test_every_offered_range_is_a_range(wire: WireClient) -> None:
    """aiokafka asserts min <= max for every entry, and sends ApiVersions v0 only."""
    answer = wire.call(ApiVersionsRequest(), 0)
    assert answer.api_keys
    assert all(0 <= api.min_version <= api.max_version for api in answer.api_keys)
    assert len({api.api_key for api in answer.api_keys}) == len(answer.api_keys)


def test_the_describe_calls_of_the_java_admin_client(wire: WireClient, new_topic: str, group: str) -> None:
    """It sends DescribeTopicPartitions and DescribeCluster if the broker offers them.

    For a group it first sends ConsumerGroupDescribe, and continues with DescribeGroups after GROUP_ID_NOT_FOUND, or
    after UNSUPPORTED_VERSION, which Apache Kafka gives without group.version 1.
    """
    apis = offered(wire)
    if Api.DESCRIBE_TOPIC_PARTITIONS in apis:
        wanted = [DescribeTopicPartitionsRequest.TopicRequest(name=new_topic)]
        (found,) = wire.call(DescribeTopicPartitionsRequest(topics=wanted, response_partition_limit=10), 0).topics
        assert (found.error_code, found.name, len(found.partitions)) == (0, new_topic, 1)
    if Api.DESCRIBE_CLUSTER in apis:
        answer = wire.call(DescribeClusterRequest(include_cluster_authorized_operations=False), 1)
        assert answer.controller_id in {broker.broker_id for broker in answer.brokers}
    if Api.CONSUMER_GROUP_DESCRIBE in apis:
        name = group.encode()
        wire.send_bytes(
            struct.pack(">hhi", Api.CONSUMER_GROUP_DESCRIBE, 0, 7)
            + (CLIENT_ID_X + b"\x00\x02" + bytes([len(name) + 1]) + name + b"\x00\x00")
        )
        answer = wire.receive_bytes()
        # correlation id, tags, throttle time, one group: its error code
        codes = (Code.GROUP_ID_NOT_FOUND, Code.UNSUPPORTED_VERSION)
        assert answer[:12] in [struct.pack(">ibibh", 7, 0, 0, 2, code) for code in codes]
    eventually(lambda: wire.call(FindCoordinatorRequest(key=group), 0).error_code == 0)
    (found,) = wire.call(DescribeGroupsRequest(groups=[group]), 0).groups
    assert (found.error_code, found.group_state) == (0, "Dead")


def test_telemetry_is_not_offered(wire: WireClient) -> None:
    """KIP-714: a client that finds these keys requests a subscription and then pushes metrics."""
    assert not {Api.GET_TELEMETRY_SUBSCRIPTIONS, Api.PUSH_TELEMETRY} & offered(wire).keys()


@pytest.mark.parametrize("timeout_ms", [-1, 60_000, (1 << 31) - 1], ids=["librdkafka", "kafkajs", "Java"])
@pytest.mark.parametrize("version", range(5))
def test_the_timeout_of_a_producer_without_transactions_means_nothing(
    wire: WireClient, version: int, timeout_ms: int
) -> None:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=timeout_ms)
    first, second = (eventually(lambda: producer_id(wire, request, version)) for _ in range(2))
    assert first[0] != second[0]
    assert (first[1], second[1]) == (0, 0)


def producer_id(wire: WireClient, request: InitProducerIdRequest, version: int) -> tuple[int, int] | None:
    """Id and epoch; none while the broker has no block of ids yet (COORDINATOR_LOAD_IN_PROGRESS)."""
    answer = wire.call(request, version)
    assert answer.error_code in (0, 14)
    return None if answer.error_code else (answer.producer_id, answer.producer_epoch)


@pytest.mark.parametrize("version", range(4, 10))
def test_a_first_join_is_given_its_member_id_and_comes_again(wire: WireClient, group: str, version: int) -> None:
    """KIP-394: a dynamic member that joins without an id gets one, with MEMBER_ID_REQUIRED, from version 4 on."""
    eventually(lambda: wire.call(FindCoordinatorRequest(key=group), 0).error_code == 0)
    first = wire.call(join_request(group, ""), version)
    assert (first.error_code, bool(first.member_id)) == (Code.MEMBER_ID_REQUIRED, True)
    second = wire.call(join_request(group, first.member_id), version)
    assert (second.error_code, second.member_id, second.leader) == (0, first.member_id, first.member_id)
    beat = HeartbeatRequest(group_id=group, generation_id=second.generation_id, member_id=second.member_id)
    assert wire.call(beat, 3).error_code == 0


@pytest.mark.parametrize("base_sequence", [-1, 0], ids=["librdkafka", "kafkajs"])
def test_the_sequence_of_a_batch_without_producer_id_means_nothing(
    wire: WireClient, new_topic: str, base_sequence: int
) -> None:
    for expected_offset in (0, 3):
        answer = wire.call(produce_request(new_topic, batch(3, base_sequence)), 7)
        (partition,) = answer.responses[0].partition_responses
        assert (partition.error_code, partition.base_offset) == (0, expected_offset)


def test_each_version_of_the_uneven_apis_has_its_own_shape(wire: WireClient, new_topic: str, group: str) -> None:
    """ListOffsets has no leader epoch below 4, FindCoordinator takes many keys from 4, OffsetFetch groups from 8.

    ``call`` compares every byte of each response with the encoding of an independent codec.
    """
    apis = offered(wire)
    for version in set(apis[Api.LIST_OFFSETS]) & set(range(1, 12)):
        (partition,) = wire.call(list_offsets_request(new_topic), version).topics[0].partitions
        assert (partition.error_code, partition.offset) == (0, 0)
    for version in set(apis[Api.FIND_COORDINATOR]) & set(range(7)):
        request = FindCoordinatorRequest(key=group, coordinator_keys=[group, f"{group}-2"])
        answer = eventually(lambda request=request, version=version: coordinators(wire, request, version))
        assert len(answer) == (2 if version >= 4 else 1)
    for version in set(apis[Api.OFFSET_FETCH]) & set(range(1, 10)):
        wanted = {"name": new_topic, "partition_indexes": [0]}
        one = OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id=group, topics=[OffsetFetchRequest.OffsetFetchRequestGroup.OffsetFetchRequestTopics(**wanted)]
        )
        topics = [OffsetFetchRequest.OffsetFetchRequestTopic(**wanted)]
        answer = wire.call(OffsetFetchRequest(group_id=group, topics=topics, groups=[one]), version)
        found = answer.groups[0] if version >= 8 else answer
        (partition,) = found.topics[0].partitions
        assert (partition.error_code, partition.committed_offset) == (0, -1)


def coordinators(wire: WireClient, request: FindCoordinatorRequest, version: int) -> list[Any]:
    answer = wire.call(request, version)
    found = answer.coordinators if version >= 4 else [answer]
    return [] if any(one.error_code for one in found) else found


@pytest.mark.parametrize("version", range(4, 18))
def test_a_fetch_without_a_session_in_every_version(wire: WireClient, new_topic: str, version: int) -> None:
    """Topics by name, from version 13 on by id; session id 0 means that there is no session."""
    wire.call(produce_request(new_topic, batch(3)), 7)
    topic_id = described(wire, new_topic).topic_id
    answer = wire.call(fetch_request(NO_SESSION, topic=new_topic, topic_id=topic_id), version)
    (partition,) = answer.responses[0].partitions
    assert (partition.error_code, partition.high_watermark) == (0, 3)
    assert partition.records
    assert version < 7 or answer.session_id == 0


def test_acks_0_is_not_answered(wire: WireClient, new_topic: str) -> None:
    """The next answer on the connection is that of the next request."""
    wire.send(produce_request(new_topic, batch(3), acks=0), 7)
    (partition,) = wire.call(list_offsets_request(new_topic), 1).topics[0].partitions
    assert partition.offset == 3


def test_answers_come_in_the_order_of_the_requests(wire: WireClient, new_topic: str) -> None:
    """A parked Fetch delays the later requests on the same connection."""
    waiting = wire.send(fetch_request(NO_SESSION, max_wait_ms=300, topic=new_topic), 11)
    headers = [wire.send(metadata_request(), 12) for _ in range(20)]
    assert not wire.receive(waiting).responses[0].partitions[0].records
    for header in headers:
        assert wire.receive(header).brokers


def test_transaction_version_2_is_finalized_only_with_its_dependencies(wire: WireClient) -> None:
    """KIP-890: from then on Java clients leave AddPartitionsToTxn out, and send Produce 12 and EndTxn 5."""
    answer = wire.call(api_versions_request(), 4)
    levels = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    apis = offered(wire)
    if levels.get("transaction.version", 0) >= 2:
        assert 12 in apis[Api.PRODUCE]
        assert 5 in apis[Api.END_TXN]


def test_listing_all_topics_creates_none(wire: WireClient) -> None:
    """aiokafka, kcat and Java request all topics with automatic creation allowed."""
    before = topic_names(wire)
    assert topic_names(wire) == before


def test_a_requested_topic_is_created_only_if_allowed(wire: WireClient, fresh: Callable[[], str]) -> None:
    unwanted, wanted = fresh(), fresh()
    assert described(wire, unwanted, create=False).error_code == Code.UNKNOWN_TOPIC_OR_PARTITION
    described(wire, wanted, create=True)
    eventually(lambda: described(wire, wanted).error_code == 0)
    assert unwanted not in topic_names(wire)


def test_an_old_librdkafka_setting_changes_nothing(bootstrap_servers: str, new_topic: str) -> None:
    """``broker.version.fallback`` counts only if ApiVersions fails, which it does not."""
    settings = {"bootstrap.servers": bootstrap_servers, "broker.version.fallback": "0.10.0", "log_level": "2"}
    delivered: list[Any] = []
    producer = confluent_kafka.Producer({**settings, "compression.type": "zstd"})
    producer.produce(new_topic, b"x" * 1000, on_delivery=lambda error, _: delivered.append(error))
    assert producer.flush(30) == 0
    assert delivered == [None]
