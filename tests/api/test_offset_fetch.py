"""OffsetFetch: the forms that its versions have."""

from __future__ import annotations

import pytest

from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
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
