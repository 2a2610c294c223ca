"""OffsetCommit: stored and refused offsets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import trio
from immutables import Map

from kraft.api.offset_commits import commit_known
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kraft.rpc.channel import response_of
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.groups import commit, committed, coordinated


@pytest.mark.parametrize("version", range(2, 10))
async def test_every_version_commits_and_fetches(broker: Connection, group: str, topic: str, version: int) -> None:
    assert await commit(broker, group, topic, version, version=version) == 0
    assert await committed(broker, group, topic) == version


async def test_unknown_partitions_are_not_committed(broker: Connection, group: str, topic: str) -> None:
    assert await commit(broker, group, "nowhere", 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    request = OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(
                topic, partitions=[OffsetCommitRequestPartition(9, 1), OffsetCommitRequestPartition(0, 3)]
            )
        ],
    )
    (answer,) = (await broker.request(request, 9)).topics
    codes = {each.partition_index: each.error_code for each in answer.partitions}
    assert codes == {9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0: 0}
    assert await committed(broker, group, topic) == 3


@pytest.mark.parametrize("group", ["phantom", ""])
async def test_a_commit_without_an_existing_partition_needs_no_coordinator(own: Connection, group: str) -> None:
    """``KafkaApis.handleOffsetCommitRequest`` answers at once if ``authorizedTopicsRequest`` is empty. So there need
    not be a coordinator yet, and no group comes into being.
    """
    unknown = OffsetCommitRequestTopic(topic_id=UUID(int=7), partitions=[OffsetCommitRequestPartition(0, 3)])
    for is_coordinated in (False, True):
        if is_coordinated:
            await coordinated(own, "present")
        assert await commit(own, group, "nowhere", 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        (answer,) = (await own.request(OffsetCommitRequest(group, topics=[unknown]), 10)).topics
        assert (answer.topic_id, answer.partitions[0].error_code) == (UUID(int=7), ErrorCode.UNKNOWN_TOPIC_ID)
        assert (await own.request(OffsetCommitRequest(group), 9)).topics == []
    assert (await own.request(ListGroupsRequest(), 4)).groups == []


async def test_each_of_many_unknown_topics_has_its_error(broker: Connection, group: str) -> None:
    """:func:`mapped`: "A long list … makes its elements when it is iterated", so errors added to them would be lost."""
    partitions = [OffsetCommitRequestPartition(index, 1) for index in (4, 2)]
    topics = [OffsetCommitRequestTopic(f"nowhere-{index}", partitions=partitions) for index in range(100)]
    response = await broker.request(OffsetCommitRequest(group, topics=topics), 9)
    expected = dict.fromkeys((4, 2), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert [
        (each.name, {one.partition_index: one.error_code for one in each.partitions}) for each in response.topics
    ] == [(each.name, expected) for each in topics]


@pytest.mark.parametrize("retention_ms", [-1, 0, 2**63 - 1, -(2**63)])
async def test_any_retention_is_accepted(broker: Connection, group: str, topic: str, retention_ms: int) -> None:
    """Up to version 4 the request has a retention time; several values mean "forever"."""
    partition = OffsetCommitRequestPartition(0, 3)
    request = OffsetCommitRequest(
        group_id=group,
        retention_time_ms=retention_ms,
        topics=[OffsetCommitRequestTopic(topic, partitions=[partition])],
    )
    response = await broker.request(request, 4)
    assert response.topics[0].partitions[0].error_code == 0
    assert await committed(broker, group, topic) == 3


async def test_offsets_of_a_deleted_topic_are_gone(broker: Connection, group: str, new_name: str) -> None:
    request = CreateTopicsRequest(topics=[CreatableTopic(new_name, 1, 1)])
    await broker.request(request)
    assert await commit(broker, group, new_name, 3) == 0
    await broker.request(DeleteTopicsRequest(topics=[DeleteTopicState(new_name)], timeout_ms=5000), 6)
    await broker.request(request)
    assert await committed(broker, group, new_name) == -1


async def test_version_10_names_topics_by_id(broker: Connection, group: str, topic: str, topic_id: UUID) -> None:
    """KIP-848: the errors of ids differ from those of partitions (``KafkaApis.handleOffsetCommitRequest``)."""
    partitions = [OffsetCommitRequestPartition(9, 1), OffsetCommitRequestPartition(0, 3)]
    known = OffsetCommitRequestTopic(topic_id=topic_id, partitions=partitions)
    unknown = OffsetCommitRequestTopic(topic_id=UUID(int=7), partitions=partitions)
    response = await broker.request(OffsetCommitRequest(group_id=group, topics=[known, unknown]), 10)
    assert [
        (each.topic_id, {one.partition_index: one.error_code for one in each.partitions}) for each in response.topics
    ] == [
        (topic_id, {9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0: 0}),
        (UUID(int=7), dict.fromkeys((9, 0), ErrorCode.UNKNOWN_TOPIC_ID)),
    ]
    assert await committed(broker, group, topic) == 3


async def test_a_refused_commit_of_version_10_has_the_ids(broker: Connection, group: str, topic_id: UUID) -> None:
    sent = OffsetCommitRequestTopic(topic_id=topic_id, partitions=[OffsetCommitRequestPartition(0, 3)])
    request = OffsetCommitRequest(group, 5, "nobody", topics=[sent])
    (answer,) = (await broker.request(request, 10)).topics
    assert (answer.topic_id, answer.partitions[0].error_code) == (topic_id, ErrorCode.GROUP_ID_NOT_FOUND)


async def test_a_topic_that_is_deleted_while_a_commit_is_read_does_not_exist() -> None:
    """Its offsets would be forgotten before the commit, and stay. A topic of its name would have them."""
    ids = Map({"gone": UUID(int=1), "here": UUID(int=2)})
    replicas = SimpleNamespace(image=SimpleNamespace(topic_ids=ids))
    replicas.partition_count = lambda name: 1000 if name in replicas.image.topic_ids else 0
    context: Any = SimpleNamespace(replicas=replicas)
    topics = [
        OffsetCommitRequestTopic(name, partitions=[OffsetCommitRequestPartition(index, 1) for index in range(1000)])
        for name in ("gone", "here")
    ]
    message = OffsetCommitRequest(group_id="g", topics=topics)
    submitted: list[OffsetCommitRequest] = []

    def answered(known: OffsetCommitRequest) -> OffsetCommitResponse:
        return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(topic.name) for topic in known.topics])

    def submit(known: OffsetCommitRequest) -> OffsetCommitResponse:
        submitted.append(known)
        return answered(known)

    async def delete() -> None:
        replicas.image = SimpleNamespace(topic_ids=ids.delete("gone"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(delete)
        response = await response_of(
            await commit_known(context, message, submit, answered, OffsetCommitResponsePartition)  # type: ignore[arg-type]
        )
    (known,) = submitted
    assert [len(topic.partitions) for topic in known.topics] == [0, 1000]
    assert {each.error_code for each in response.topics[0].partitions} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert len(response.topics[0].partitions) == 1000
