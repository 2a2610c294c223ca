"""Metadata: the cluster as clients see it."""

from __future__ import annotations

import uuid

import pytest

from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from kraft.rpc.client import Connection
from kraft.testing import EmbeddedCluster, embedded_node
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import ZERO_UUID
from tests.support.eventually import eventually_async
from tests.support.nodes import connected
from tests.support.talk import topic_id_of


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
    """In version 0 an empty list requests all topics. From version 1 on null requests all, and an empty list none."""
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


async def created(broker: Connection, name: str, version: int = 13) -> MetadataResponseTopic:
    """Request a topic until the broker has created it, as clients do."""

    async def attempt() -> MetadataResponseTopic | None:
        (topic,) = (await ask(broker, name, version=version, create_topics=True)).topics
        return None if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION else topic

    topic = await eventually_async(attempt)
    assert topic is not None
    return topic


async def test_topics_are_created_when_both_sides_want_it(broker: Connection, new_name: str) -> None:
    """``auto.create.topics.enable`` and, from version 4 on, ``allow.auto.create.topics`` of the client."""
    for allowed in (False, False, True):  # a request without permission has created nothing
        answer = (await ask(broker, new_name, create_topics=allowed)).topics[0]
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic = await created(broker, new_name)
    assert (topic.error_code, len(topic.partitions)) == (0, 1)
    assert topic.partitions[0].leader_id == 1
    assert (await created(broker, new_name)).topic_id == topic.topic_id
    assert (await created(broker, f"{new_name}-old", version=3)).error_code == 0


async def test_a_name_beside_an_id_creates_nothing(broker: Connection, topic: str, new_name: str) -> None:
    """KafkaApis.handleTopicMetadataRequest: with an id, only the topics that have one are looked at."""
    by_id, by_name = (
        MetadataRequestTopic(await topic_id_of(broker, topic), None),
        MetadataRequestTopic(name=f"{new_name}-beside"),
    )
    response = await broker.request(MetadataRequest(topics=[by_id, by_name], allow_auto_topic_creation=True), 12)
    assert [each.name for each in response.topics] == [topic]
    await created(broker, f"{new_name}-later")
    answer = (await ask(broker, f"{new_name}-beside", create_topics=False)).topics[0]
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_request_for_all_topics_creates_nothing(broker: Connection) -> None:
    """Clients that list topics leave the permission at true."""
    before = {each.name for each in (await ask(broker, None)).topics}
    assert {each.name for each in (await ask(broker, None, create_topics=True)).topics} == before


async def test_the_broker_decides_how_topics_are_created() -> None:
    """``auto.create.topics.enable=false``; ``num.partitions``."""
    async with embedded_node(settings={"auto.create.topics.enable": "false"}) as node, connected(node) as broker:
        answer = (await ask(broker, "orders", create_topics=True)).topics[0]
        assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    async with embedded_node(settings={"num.partitions": "3"}) as node, connected(node) as broker:
        assert len((await created(broker, "orders")).partitions) == 3


async def test_authorized_operations(broker: Connection, topic: str) -> None:
    """KIP-430: one bit for each operation, and the smallest number if the client did not request them."""
    nothing = await ask(broker, topic, version=8)
    assert nothing.topics[0].topic_authorized_operations == -(2**31)
    response = await ask(broker, topic, include_topic_authorized_operations=True)
    assert response.topics[0].topic_authorized_operations == 0b110111111000
    missing = await ask(broker, f"{topic}-missing", include_topic_authorized_operations=True)
    assert missing.topics[0].topic_authorized_operations == 0b110111111000, "as KafkaApis.handleTopicMetadataRequest"
    cluster = await ask(broker, topic, version=10, include_cluster_authorized_operations=True)
    assert cluster.cluster_authorized_operations > 0
