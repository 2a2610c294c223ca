"""OffsetDelete: single offsets are forgotten (KIP-496)."""

from __future__ import annotations

import trio

from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from tests.api.groups import commit, committed, coordinated
from tests.support.nodes import connected
from tests.support.talk import create


async def test_offsets_are_forgotten_one_by_one(broker: Connection, group: str, topic: str) -> None:
    """KIP-496."""
    assert await commit(broker, group, topic, 3) == 0
    topics = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]
    response = await broker.request(OffsetDeleteRequest(group, topics))
    assert (response.error_code, response.topics[0].partitions[0].error_code) == (0, 0)
    assert await committed(broker, group, topic) == -1


async def test_topics_and_partitions_are_answered_in_the_order_of_the_request(
    broker: Connection, group: str, topic: str
) -> None:
    """The coordinator gets each known partition once. The response has an element for each of the request."""
    assert await commit(broker, group, topic, 3) == 0
    named = [
        OffsetDeleteRequestTopic("unknown", [OffsetDeleteRequestPartition(0)]),
        OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(index) for index in (99, 0, -1, 0)]),
        OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)]),
    ]
    response = await broker.request(OffsetDeleteRequest(group, named))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [(each.name, [(p.partition_index, p.error_code) for p in each.partitions]) for each in response.topics] == [
        ("unknown", [(0, unknown)]),
        (topic, [(99, unknown), (0, 0), (-1, unknown), (0, 0)]),
        (topic, [(0, 0)]),
    ]
    assert await committed(broker, group, topic) == -1


class ConnectionSteps(trio.abc.Instrument):
    """Counts the steps of a node's connections."""

    count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += task.name.startswith("connection ")


async def test_the_response_for_many_partitions_is_made_in_slices() -> None:
    """The connection makes it once the coordinator has decided: 99,000 elements in one step took 50 ms and more."""
    async with embedded_node() as node, connected(node) as broker:
        await create(broker, "topic")
        await coordinated(broker, "group")
        assert not await commit(broker, "group", "topic", 3)
        partitions = [OffsetDeleteRequestPartition(0)] * 10_000
        request = OffsetDeleteRequest("group", [OffsetDeleteRequestTopic("topic", partitions)])
        steps = ConnectionSteps()
        trio.lowlevel.add_instrument(steps)
        response = await broker.request(request)
        trio.lowlevel.remove_instrument(steps)
    assert {each.error_code for each in response.topics[0].partitions} == {ErrorCode.NONE}
    assert steps.count >= 20
