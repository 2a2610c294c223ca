"""Metadata, DescribeTopicPartitions, DescribeCluster, FindCoordinator: what the cluster looks like to clients."""

from __future__ import annotations

import uuid

import pytest

from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.describe_topic_partitions_request import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from kraft.messages.describe_topic_partitions_response import DescribeTopicPartitionsResponse
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.metadata_response import MetadataResponse
from kraft.rpc.client import Connection
from kraft.testing import EmbeddedCluster, embedded_node
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import ZERO_UUID
from tests.support.nodes import connected, connected_to_controller
from tests.support.talk import create, topic_id_of


async def ask(
    broker: Connection, *names: str | None, version: int = 13, create_topics: bool = False, **fields: object
) -> MetadataResponse:
    topics = None if names == (None,) else [MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=create_topics, **fields)  # type: ignore[arg-type]
    response: MetadataResponse = await broker.request(request, version)
    return response


@pytest.mark.parametrize("version", range(14))
async def test_every_version_describes_a_topic(
    kraft_shared_cluster: EmbeddedCluster, broker: Connection, topic: str, version: int
) -> None:
    response = await ask(broker, topic, version=version, create_topics=True)
    host, port = kraft_shared_cluster.bootstrap_servers.split(":")
    assert [(each.node_id, each.host, each.port) for each in response.brokers] == [(1, host, int(port))]
    (found,) = response.topics
    assert (found.error_code, found.name, found.is_internal) == (0, topic, False)
    (partition,) = found.partitions
    assert (partition.error_code, partition.partition_index, partition.leader_id) == (0, 0, 1)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([1], [1], [])
    if version >= 1:
        assert response.controller_id in {each.node_id for each in response.brokers}, (
            "clients send admin requests there"
        )
    if version >= 2:
        assert response.cluster_id == kraft_shared_cluster.cluster_id
    if version >= 7:
        assert partition.leader_epoch == 0
    if version >= 10:
        assert found.topic_id != ZERO_UUID


async def test_null_and_empty_lists_of_topics(broker: Connection, topic: str) -> None:
    """Version 0 asks for all with an empty list; from 1 on null asks for all, and an empty list for none."""
    assert topic in {each.name for each in (await ask(broker, version=0, create_topics=True)).topics}
    for version in range(1, 14):
        allowed = version < 4
        assert topic in {each.name for each in (await ask(broker, None, version=version, create_topics=allowed)).topics}
        assert (await ask(broker, version=version, create_topics=allowed)).topics == []


async def test_topics_by_id(broker: Connection, topic: str) -> None:
    """KIP-516, as clients may use it from version 12 on."""
    topic_id = await topic_id_of(broker, topic)
    unknown = uuid.uuid4()
    wanted = [MetadataRequestTopic(topic_id, None), MetadataRequestTopic(unknown, None)]
    response = await broker.request(MetadataRequest(topics=wanted), 12)
    found, missing = response.topics
    assert (found.error_code, found.name, found.topic_id) == (0, topic, topic_id)
    assert (missing.error_code, missing.name, missing.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, None, unknown)


@pytest.mark.parametrize("version", [10, 11])
async def test_ids_are_refused_before_version_12(broker: Connection, topic: str, version: int) -> None:
    for wanted in (MetadataRequestTopic(uuid.uuid4(), None), MetadataRequestTopic(uuid.uuid4(), topic)):
        response = await broker.request(MetadataRequest(topics=[wanted]), version)
        assert response.topics[0].error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "é", "x" * 250])
async def test_names_that_no_topic_can_have(broker: Connection, name: str) -> None:
    response = await ask(broker, name, create_topics=True)
    assert response.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_topics_are_created_when_both_sides_want_it(broker: Connection, new_name: str) -> None:
    """``auto.create.topics.enable`` and, from version 4 on, ``allow.auto.create.topics`` of the client."""
    refused = await ask(broker, new_name)
    assert refused.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    created = (await ask(broker, new_name, create_topics=True)).topics[0]
    assert (created.error_code, len(created.partitions)) == (0, 1)
    assert created.partitions[0].leader_id == 1
    again = (await ask(broker, new_name, create_topics=True)).topics[0]
    assert again.topic_id == created.topic_id
    by_an_old_client = (await ask(broker, f"{new_name}-old", version=3, create_topics=True)).topics[0]
    assert by_an_old_client.error_code == 0


async def test_asking_for_all_creates_nothing(broker: Connection) -> None:
    """Clients that list topics leave the permission at true."""
    before = {each.name for each in (await ask(broker, None)).topics}
    assert {each.name for each in (await ask(broker, None, create_topics=True)).topics} == before


async def test_the_broker_decides_how_topics_are_created() -> None:
    """``auto.create.topics.enable=false``; ``num.partitions``; ``default.replication.factor`` beyond the cluster."""
    async with embedded_node(settings={"auto.create.topics.enable": "false"}) as node, connected(node) as broker:
        answer = (await ask(broker, "orders", create_topics=True)).topics[0]
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    async with embedded_node(settings={"num.partitions": "3"}) as node, connected(node) as broker:
        assert len((await ask(broker, "orders", create_topics=True)).topics[0].partitions) == 3
    async with embedded_node(settings={"default.replication.factor": "3"}) as node, connected(node) as broker:
        answer = (await ask(broker, "orders", create_topics=True)).topics[0]
        assert answer.error_code == ErrorCode.INVALID_REPLICATION_FACTOR


async def test_authorized_operations(broker: Connection, topic: str) -> None:
    """KIP-430: a bit for each operation, and the smallest number where nobody asked."""
    nothing = await ask(broker, topic, version=8)
    assert nothing.topics[0].topic_authorized_operations == -(2**31)
    response = await ask(broker, topic, include_topic_authorized_operations=True)
    assert response.topics[0].topic_authorized_operations == 0b110111111000
    cluster = await ask(broker, topic, version=10, include_cluster_authorized_operations=True)
    assert cluster.cluster_authorized_operations > 0


# DescribeTopicPartitions (KIP-966)


async def _page(
    broker: Connection, *names: str, limit: int = 2000, cursor: Cursor | None = None
) -> DescribeTopicPartitionsResponse:
    topics = [TopicRequest(name) for name in names]
    request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit, cursor=cursor)
    response: DescribeTopicPartitionsResponse = await broker.request(request, 0)
    return response


async def test_pages(broker: Connection, new_name: str) -> None:
    names = [f"{new_name}-{letter}" for letter in "abc"]
    for name in names:
        await create(broker, name, 3)
    seen: list[tuple[str | None, int]] = []
    cursor: Cursor | None = None
    pages = 0
    while True:
        page = await _page(broker, *reversed(names), limit=2, cursor=cursor)
        seen += [(topic.name, each.partition_index) for topic in page.topics for each in topic.partitions]
        pages += 1
        if page.next_cursor is None:
            break
        cursor = Cursor(page.next_cursor.topic_name, page.next_cursor.partition_index)
    assert seen == [(name, index) for name in names for index in range(3)]
    assert pages == 5


async def test_a_page_is_no_larger_than_the_broker_allows() -> None:
    """KIP-966: max.request.partition.size.limit, whatever the client asks for."""
    async with (
        embedded_node(topics={"orders": 5}, settings={"max.request.partition.size.limit": "3"}) as node,
        connected(node) as broker,
    ):
        page = await _page(broker, "orders", limit=1000, cursor=None)
    assert [each.partition_index for each in page.topics[0].partitions] == [0, 1, 2]
    assert page.next_cursor is not None
    assert (page.next_cursor.topic_name, page.next_cursor.partition_index) == ("orders", 3)


async def test_topics_that_cannot_be_described(broker: Connection, topic: str) -> None:
    page = await _page(broker, topic, "nowhere", "a/b")
    codes = {each.name: each.error_code for each in page.topics}
    assert codes == {
        topic: 0,
        "nowhere": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "a/b": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    assert page.next_cursor is None
    partition = next(each for each in page.topics if each.name == topic).partitions[0]
    assert (partition.leader_id, partition.isr_nodes, partition.eligible_leader_replicas) == (1, [1], [])


async def test_an_empty_list_describes_all(broker: Connection, topic: str) -> None:
    assert topic in {each.name for each in (await _page(broker)).topics}


async def test_a_cursor_must_be_one(broker: Connection, topic: str) -> None:
    response = await _page(broker, topic, cursor=Cursor(topic, -1))
    assert response.topics[0].error_code == ErrorCode.INVALID_REQUEST


# DescribeCluster (KIP-700, KIP-919)


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_describe_cluster(kraft_shared_cluster: EmbeddedCluster, broker: Connection, version: int) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    response = await broker.request(request, version)
    assert (response.error_code, response.cluster_id) == (0, kraft_shared_cluster.cluster_id)
    assert [each.broker_id for each in response.brokers] == [response.controller_id] == [1]
    assert response.cluster_authorized_operations > 0


async def test_endpoint_types() -> None:
    """114 for the other kind of listener, 115 for a kind that is none."""
    async with embedded_node() as node, connected(node) as broker, connected_to_controller(node) as controller:
        wrong = await broker.request(DescribeClusterRequest(endpoint_type=2), 1)
        assert wrong.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE == 114
        for endpoint_type in (0, 3, -1):
            nonsense = await broker.request(DescribeClusterRequest(endpoint_type=endpoint_type), 1)
            assert nonsense.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE == 115
        right = await controller.request(DescribeClusterRequest(endpoint_type=2), 1)
        assert (right.error_code, right.controller_id, [each.broker_id for each in right.brokers]) == (0, 1, [1])
        assert right.brokers[0].port == int(node.controller.split(":")[1])
        assert (await controller.request(DescribeClusterRequest(), 1)).error_code == 114
        assert (await controller.request(DescribeClusterRequest(), 0)).error_code == ErrorCode.INVALID_REQUEST


# FindCoordinator


def _find(key: str, key_type: int, version: int) -> FindCoordinatorRequest:
    """KIP-699: several keys from version 4 on."""
    if version >= 4:
        return FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    return FindCoordinatorRequest(key=key, key_type=key_type)


@pytest.mark.parametrize("version", range(7))
async def test_the_coordinator_of_a_group(broker: Connection, new_name: str, version: int) -> None:
    response = await broker.request(_find(new_name, 0, version), version)
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id) == (0, 1)
    assert found.port > 0


async def test_the_first_question_creates_the_offsets_topic() -> None:
    async with embedded_node(settings={"offsets.topic.num.partitions": "4"}) as node, connected(node) as broker:
        assert (await ask(broker, None)).topics == []
        response = await broker.request(FindCoordinatorRequest(coordinator_keys=["g", "h", ""]), 4)
        assert [each.error_code for each in response.coordinators] == [0, 0, 0]
        (topic,) = (await ask(broker, None)).topics
        assert (topic.name, topic.is_internal, len(topic.partitions)) == ("__consumer_offsets", True, 4)


@pytest.mark.parametrize(("key_type", "version"), [(1, 3), (1, 4), (2, 6), (77, 4)])
async def test_only_groups_have_coordinators_here(broker: Connection, key_type: int, version: int) -> None:
    response = await broker.request(_find("t", key_type, version), version)
    found = response.coordinators[0] if version >= 4 else response
    assert found.error_code == ErrorCode.INVALID_REQUEST
