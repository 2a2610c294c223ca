"""DeleteTopics: by name or by id, with everything that was in them."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from tests.support.nodes import connected, node_in
from tests.support.talk import batch, create, end_offset, produce, topic_id_of, values


@pytest.mark.parametrize("version", range(1, 7))
async def test_every_version_deletes(broker: Connection, topic: str, version: int) -> None:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)], topic_names=[topic], timeout_ms=5000)
    if version >= 6:
        request.topic_names = []
    else:
        request.topics = []
    (answer,) = (await broker.request(request, version)).responses
    assert (answer.error_code, answer.name) == (0, topic)
    assert (await produce(broker, topic, batch(b"a"))).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_delete_by_id_and_its_refusals(broker: Connection, topic: str) -> None:
    topic_id = await topic_id_of(broker, topic)
    states = [DeleteTopicState(topic_id=topic_id), DeleteTopicState(topic_id=uuid.uuid4()), DeleteTopicState("nowhere")]
    answers = (await broker.request(DeleteTopicsRequest(topics=states, timeout_ms=5000), 6)).responses
    codes = {(each.name, each.error_code) for each in answers}
    assert codes == {
        (topic, 0),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    }


async def test_deletion_can_be_switched_off() -> None:
    """``delete.topic.enable``."""
    async with (
        embedded_node(topics={"orders": 1}, settings={"delete.topic.enable": "false"}) as node,
        connected(node) as broker,
    ):
        request = DeleteTopicsRequest(topics=[DeleteTopicState("orders")] * 2, timeout_ms=5000)
        answers = (await broker.request(request, 6)).responses
        assert [(each.error_code, each.error_message) for each in answers] == [
            (ErrorCode.TOPIC_DELETION_DISABLED, None)
        ] * 2


@pytest.mark.parametrize("length", [10, 249])
async def test_a_topic_that_is_deleted_and_created_again_is_empty(tmp_path: Path, length: int) -> None:
    """With a name of any length, and also after a restart in between."""
    name = "n" * length
    async with node_in(tmp_path) as node:
        first = await create(node.broker, name, 2)
        await produce(node.broker, name, batch(b"old"))
        await node.broker.request(DeleteTopicsRequest(topics=[DeleteTopicState(name)], timeout_ms=5000), 6)
        second = await create(node.broker, name, 1)
        assert second != first
        assert await end_offset(node.broker, name) == 0
        await produce(node.broker, name, batch(b"new"))
        node.kill()
    async with node_in(tmp_path) as node:
        assert await values(node.broker, name) == [b"new"]
        assert await topic_id_of(node.broker, name) == second
