"""DescribeTopicPartitions: topics page by page (KIP-966)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraft.api.describe_topic_partitions import at_broker
from kraft.messages.describe_topic_partitions_request import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from kraft.messages.describe_topic_partitions_response import DescribeTopicPartitionsResponse
from kraft.rpc.channel import ConnectionInfo, Request
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from tests.support.held import broker_in, serving
from tests.support.nodes import connected
from tests.support.steps import steps_of_this_task
from tests.support.talk import create


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
    """KIP-966: max.request.partition.size.limit, for any limit of the client."""
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


async def test_many_names_let_other_tasks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request may have 100,000 names. They are collected in slices, and sorted one by one as they are described."""
    monkeypatch.setattr("kraft.api.describe_topic_partitions._SLICE_NAMES", 10)
    context = serving(broker_in(tmp_path, 1).replicas)
    info = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")
    names = [f"t{number:03}" for number in range(100)]
    message = DescribeTopicPartitionsRequest([TopicRequest(name) for name in [*reversed(names), *names]])
    async with steps_of_this_task() as steps:
        answer = await at_broker(context, Request(75, 0, 0, "test", b"", 0, info), message)
    assert steps.count >= 200 // 10
    assert isinstance(answer, DescribeTopicPartitionsResponse)
    assert [topic.name for topic in answer.topics] == names
