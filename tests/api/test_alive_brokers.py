"""The errors and offline replicas that Metadata and DescribeTopicPartitions show (``KRaftMetadataCache``)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import attrs
import pytest

from kraft.api import describe_topic_partitions, metadata
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest, TopicRequest
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.metadata_response import MetadataResponsePartition
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from kraft.rpc.channel import ConnectionInfo, Request, response_of
from kraft.wire.errors import ErrorCode
from tests.support.held import TOPIC, TOPIC_ID, Broker, broker_in, registration, serving, topic

OTHER_LISTENER = RegisterBrokerRecord(
    broker_id=2,
    incarnation_id=UUID(int=6),
    broker_epoch=6,
    end_points=[BrokerEndpoint(name="OTHER", host="127.0.0.1", port=1)],
    log_dirs=[UUID(int=100)],
    fenced=False,
)


INFO = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")


async def partition_of(broker: Broker, version: int) -> MetadataResponsePartition:
    """Return the partition in a Metadata response of ``version``."""
    creates_nothing: Any = SimpleNamespace(create=lambda names: None)
    context = attrs.evolve(serving(broker.replicas), auto_topics=creates_nothing)
    message = MetadataRequest([MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
    answer = await response_of(await metadata.at_broker(context, Request(3, version, 0, "test", b"", 0, INFO), message))
    partition: MetadataResponsePartition = answer.topics[0].partitions[0]
    return partition


async def shown(broker: Broker, version: int | None) -> tuple[int, int, list[int]]:
    """Return error, leader and offline replicas of the partition from Metadata in ``version``, or from
    DescribeTopicPartitions if it is None.
    """
    if version is None:
        context = serving(broker.replicas)
        described = await response_of(
            await describe_topic_partitions.at_broker(
                context, Request(75, 0, 0, "test", b"", 0, INFO), DescribeTopicPartitionsRequest([TopicRequest(TOPIC)])
            )
        )
        (one,) = described.topics[0].partitions
        return one.error_code, one.leader_id, one.offline_replicas
    partition = await partition_of(broker, version)
    return partition.error_code, partition.leader_id, partition.offline_replicas


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (None, ErrorCode.LISTENER_NOT_FOUND),
        (6, ErrorCode.LISTENER_NOT_FOUND),
        (5, ErrorCode.LEADER_NOT_AVAILABLE),
    ],
)
async def test_a_leader_without_the_listener_of_the_request(
    tmp_path: Path, version: int | None, code: ErrorCode
) -> None:
    broker = broker_in(tmp_path, 1)
    await broker.hear(registration(1, 5), OTHER_LISTENER, *topic(1, 2, leader=2))
    assert await shown(broker, version) == (code, -1, [2])


@pytest.mark.parametrize("version", [None, 13])
async def test_a_leader_that_is_not_registered(tmp_path: Path, version: int | None) -> None:
    broker = broker_in(tmp_path, 1)
    await broker.hear(registration(1, 5), *topic(1, 3, leader=3))
    assert await shown(broker, version) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, [3])


async def test_version_0_has_no_replica_without_a_broker(tmp_path: Path) -> None:
    """``errorUnavailableEndpoints`` in Kafka: old clients look up each replica among the brokers of the response."""
    broker = broker_in(tmp_path, 1)
    await broker.hear(registration(1, 5), registration(2, 6), *topic(1, 2, leader=1))
    every = MetadataResponsePartition(0, 0, 1, 0, [1, 2], [1, 2], [])
    assert [await partition_of(broker, version) for version in (0, 1)] == [every, every]
    await broker.hear(OTHER_LISTENER)
    short = MetadataResponsePartition(ErrorCode.REPLICA_NOT_AVAILABLE, 0, 1, 0, [1], [1], [2])
    assert await partition_of(broker, 0) == short
    assert await partition_of(broker, 1) == MetadataResponsePartition(0, 0, 1, 0, [1, 2], [1, 2], [2])
    await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=2))
    lost = MetadataResponsePartition(ErrorCode.LEADER_NOT_AVAILABLE, 0, -1, 1, [1], [1], [2])
    assert await partition_of(broker, 0) == lost


@pytest.mark.parametrize("version", [None, 13])
async def test_a_replica_in_a_failed_directory_is_offline(tmp_path: Path, version: int | None) -> None:
    """KIP-858: its broker lives, and has removed the directory from its registration."""
    broker = broker_in(tmp_path, 1)
    second = registration(2, 6)
    second.log_dirs = [UUID(int=100), UUID(int=101)]
    await broker.hear(registration(1, 5), second, *topic(1, 2, leader=1))
    assert await shown(broker, version) == (0, 1, [])
    await broker.hear(
        BrokerRegistrationChangeRecord(broker_id=2, broker_epoch=6, log_dirs=[UUID(int=101)]),
        PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, isr=[1]),
    )
    assert await shown(broker, version) == (0, 1, [2])
