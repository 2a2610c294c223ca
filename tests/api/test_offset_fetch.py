"""OffsetFetch: the forms that its versions have."""

from __future__ import annotations

import pytest

from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kraft.rpc.client import Connection
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
