"""OffsetFetch: the forms that its versions have."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
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
