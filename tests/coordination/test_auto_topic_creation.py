"""Topics that a broker creates because a client needs them: each by one request at a time, beside the clients."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from kraft.coordination.auto_topic_creation import MAX_TOPICS
from kraft.messages.create_topics_request import CreatableTopic
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordination.creation import creation


async def test_a_topic_in_flight_is_not_requested_again() -> None:
    """``DefaultAutoTopicCreationManager.inflightTopics``: the topics of one client have one request, without those
    that are in flight."""
    async with creation() as (topics, controller):
        for names in (["a", "b", "a"], ["b", "c"], ["a"]):
            topics.create(names)
            await wait_all_tasks_blocked()
        assert controller.names == [["a", "b"], ["c"]]
        await controller.answer(ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        topics.create(["a", "c"])
        await wait_all_tasks_blocked()
        assert controller.names == [["a", "b"], ["c"], ["a"]]


async def test_a_bounded_number_of_topics_is_in_flight() -> None:
    """MAX_TOPICS: the clients of the others retry."""
    async with creation() as (topics, controller):
        names = [f"topic-{number}" for number in range(MAX_TOPICS + 3)]
        for name in names:  # before the task sends any of them
            topics.create([name])
        await wait_all_tasks_blocked()
        assert controller.names == [[name] for name in names[:MAX_TOPICS]]
        await controller.answer(ErrorCode.NONE)
        topics.create(names)
        await wait_all_tasks_blocked()
        assert controller.names[MAX_TOPICS:] == [[names[0]]]


async def test_a_refused_topic_is_requested_again_after_a_pause(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the topic and the reason, because clients only see that the topic does not exist."""
    async with creation() as (topics, controller):
        topics.create(["good", "bad"])
        await wait_all_tasks_blocked()
        with caplog.at_level(logging.WARNING):
            await controller.answer(ErrorCode.NONE, ErrorCode.INVALID_REPLICATION_FACTOR)
        assert "topic bad" in caplog.text
        assert "INVALID_REPLICATION_FACTOR" in caplog.text
        assert "good" not in caplog.text
        topics.create(["bad"])
        await wait_all_tasks_blocked()
        assert len(controller.asked) == 1
        await trio.sleep(1.5)
        topics.create(["bad"])
        await wait_all_tasks_blocked()
        assert controller.names[1:] == [["bad"]]


async def test_a_request_without_an_answer_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """ControllerChannel: REQUEST_TIMED_OUT if no controller answered in time."""
    async with creation() as (topics, controller):
        topics.create(["a", "b"])
        await wait_all_tasks_blocked()
        with caplog.at_level(logging.WARNING):
            await controller.fail(KafkaError(ErrorCode.REQUEST_TIMED_OUT))
        assert "topic a and 1 more" in caplog.text
        topics.create(["b"])
        await wait_all_tasks_blocked()
        assert controller.names[1:] == [["b"]]


async def test_a_topic_has_the_settings_of_this_broker() -> None:
    """``DefaultAutoTopicCreationManager.creatableTopic``: its own ``num.partitions`` and ``default.replication.factor``
    if they are set, else those of the controller (KIP-464).
    """
    for settings, expected in (
        ({}, (-1, -1)),
        ({"num_partitions": "3"}, (3, -1)),
        ({"num_partitions": "1", "default_replication_factor": "2"}, (1, 2)),
    ):
        async with creation(**settings) as (topics, controller):
            topics.create(["orders"])
            await wait_all_tasks_blocked()
            topic: CreatableTopic = controller.asked[0].topics[0]
        assert (topic.num_partitions, topic.replication_factor) == expected


async def test_the_offsets_topic_has_settings_of_its_own() -> None:
    """``offsets.topic.*``; GroupCoordinator.offsetsTopicConfigs: compacted, in the producer's compression."""
    settings = {"offsets_topic_num_partitions": "7", "offsets_topic_replication_factor": "3"}
    async with creation(offsets_topic_segment_bytes="1048576", **settings) as (topics, controller):
        topics.create(["__consumer_offsets"])
        await wait_all_tasks_blocked()
        topic: CreatableTopic = controller.asked[0].topics[0]
    assert (topic.num_partitions, topic.replication_factor) == (7, 3)
    assert {each.name: each.value for each in topic.configs} == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "1048576",
    }
