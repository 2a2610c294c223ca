"""OffsetDelete: single offsets are forgotten (KIP-496)."""

from __future__ import annotations

from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.rpc.client import Connection
from tests.api.groups import commit, committed


async def test_offsets_are_forgotten_one_by_one(broker: Connection, group: str, topic: str) -> None:
    """KIP-496."""
    assert await commit(broker, group, topic, 3) == 0
    topics = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]
    response = await broker.request(OffsetDeleteRequest(group, topics))
    assert (response.error_code, response.topics[0].partitions[0].error_code) == (0, 0)
    assert await committed(broker, group, topic) == -1
