"""OffsetFetch: the forms that its versions have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kraft.api import offset_fetch
from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kraft.messages.offset_fetch_response import OffsetFetchResponse
from kraft.rpc.client import Connection
from kraft.wire.codec import decode, encode
from kraft.wire.errors import ErrorCode, KafkaError
from tests.api.groups import commit


@pytest.mark.parametrize("version", range(1, 8))
async def test_the_older_offset_fetch(broker: Connection, group: str, topic: str, version: int) -> None:
    """One group, and from version 2 on null topics for all."""
    assert await commit(broker, group, topic, 44) == 0
    named = OffsetFetchRequest(group_id=group, topics=[OffsetFetchRequestTopic(topic, [0, 7])])
    response = await broker.request(named, version)
    assert [each.committed_offset for each in response.topics[0].partitions] == [44, -1]
    if version >= 2:
        everything = await broker.request(OffsetFetchRequest(group_id=group, topics=None), version)
        assert [(each.name, each.partitions[0].committed_offset) for each in everything.topics] == [(topic, 44)]


async def test_a_group_and_a_partition_that_are_named_again_are_returned_once(
    broker: Connection, group: str, topic: str
) -> None:
    """A name costs a few bytes in the request, and up to all offsets of the group in the response."""
    assert await commit(broker, group, topic, 44) == 0
    wanted = OffsetFetchRequestGroup(group_id=group, topics=None)
    named = [OffsetFetchRequestTopics(topic, partition_indexes=each) for each in ([0, 0], [1, 0])]
    other = OffsetFetchRequestGroup(group_id="other", topics=named)
    response = await broker.request(OffsetFetchRequest(groups=[wanted, other] * 1000), 8)
    assert [each.group_id for each in response.groups] == [group, "other"]
    assert [each.partition_index for each in response.groups[1].topics[0].partitions] == [0, 1]
    assert len(response.groups[1].topics) == 1


async def test_version_10_names_topics_by_id(broker: Connection, group: str, topic: str, topic_id: UUID) -> None:
    """KIP-848: UNKNOWN_TOPIC_ID for an unknown id. Null topics request all, with their ids."""
    assert await commit(broker, group, topic, 44) == 0
    named = [OffsetFetchRequestTopics(topic_id=each, partition_indexes=[0, 1]) for each in (UUID(int=7), topic_id)]
    groups = [OffsetFetchRequestGroup(group_id=group, topics=named)]
    (answer,) = (await broker.request(OffsetFetchRequest(groups=groups), 10)).groups
    assert [
        (each.topic_id, [(one.committed_offset, one.error_code) for one in each.partitions]) for each in answer.topics
    ] == [
        (topic_id, [(44, 0), (-1, 0)]),
        (UUID(int=7), [(-1, ErrorCode.UNKNOWN_TOPIC_ID)] * 2),
    ]
    everything = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    (answer,) = (await broker.request(everything, 10)).groups
    assert [(each.topic_id, each.partitions[0].committed_offset) for each in answer.topics] == [(topic_id, 44)]
    member = OffsetFetchRequestGroup(group_id=group, topics=named, member_id="nobody", member_epoch=1)
    assert (await broker.request(OffsetFetchRequest(groups=[member]), 10)).groups[0].error_code == 0  # a classic group


@pytest.mark.parametrize("version", range(1, 8))
async def test_a_coordinator_that_loads_never_looks_like_a_group_without_offsets(version: int) -> None:
    """Version 1 has the error at each partition, and the later ones at the top (``OffsetFetchResponse``). Without an
    error a client would begin where ``auto.offset.reset`` says.
    """

    def refuse(group_id: str) -> None:
        raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    context: Any = SimpleNamespace(coordinators=SimpleNamespace(groups=SimpleNamespace(shard_of=refuse)))
    request: Any = SimpleNamespace(api_version=version)
    message = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic("t", [0, 1])])
    reply = await offset_fetch.at_broker(context, request, message)
    response, _ = decode(OffsetFetchResponse, version, encode(reply, version))  # type: ignore[arg-type]
    codes = [each.error_code for topic in response.topics for each in topic.partitions]
    expected = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert (response.error_code, codes) == ((0, [expected] * 2) if version == 1 else (expected, []))
