"""kraft.api.propagation: with ZooKeeper the controller responds when its own metadata shows the change."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

import attrs
import pytest
import trio

from kraft.api import alter_partition_reassignments, create_partitions, create_topics, delete_topics, elect_leaders
from kraft.api.context import ZkBrokerContext
from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponse
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from kraft.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from kraft.messages.elect_leaders_response import ElectLeadersResponse, PartitionResult, ReplicaElectionResult
from kraft.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kraft.metadata.delta import replay
from kraft.metadata.image import Image
from kraft.metadata.update_metadata import records_of
from kraft.rpc.channel import Parked, Request
from kraft.wire.errors import ErrorCode, KafkaError

TOPIC_ID = UUID(int=7)
NO_LEADER = -1


def image_with(*leaders: int, topic: str = "t") -> Image:
    """Brokers 1 and 2, and a topic whose partitions prefer broker 1 and have these leaders."""
    states = [
        UpdateMetadataPartitionState(partition_index=index, leader=leader, replicas=[1, 2], isr=[1, 2])
        for index, leader in enumerate(leaders)
    ]
    endpoint = UpdateMetadataEndpoint(port=9092, host="host", listener="PLAINTEXT", security_protocol=0)
    request = UpdateMetadataRequest(
        topic_states=[UpdateMetadataTopicState(topic_name=topic, topic_id=TOPIC_ID, partition_states=states)],
        live_brokers=[UpdateMetadataBroker(id=each, endpoints=[endpoint]) for each in (1, 2)],
    )
    return replay(Image(), list(records_of(Image(), request)), 0, 1, -1)[0]


@attrs.define
class Commands:
    """Shows the image of each second, in turn, and the last one for ever."""

    images: list[Image]
    start: float = attrs.Factory(trio.current_time)

    @property
    def image(self) -> Image:
        return self.images[min(int(trio.current_time() - self.start), len(self.images) - 1)]

    async def until(self, condition: Callable[[Image], bool]) -> None:
        for image in self.images[int(trio.current_time() - self.start) :]:
            if condition(image):
                return
            await trio.sleep(1)
        await trio.sleep_forever()


@attrs.define
class Controller:
    response: Any

    async def answer(self, message: Any, version: int) -> Any:
        return self.response


@attrs.define
class Broker:
    commands: Commands
    controller: Controller

    @property
    def image(self) -> Image:
        return self.commands.image


@attrs.define
class Asked:
    """The request, as far as these handlers read it."""

    api_version: int = 2


async def ask(handler: Any, message: Any, response: Any, *images: Image) -> tuple[Any, float]:
    """Return what the client gets, and after how many seconds."""
    broker = Broker(Commands(list(images)), Controller(response))
    reply = await handler(cast(ZkBrokerContext, broker), cast(Request, Asked()), message)
    assert isinstance(reply, Parked)
    return await reply.wait(), trio.current_time() - broker.commands.start


def created(name: str = "t", partitions: int = 2, code: ErrorCode = ErrorCode.NONE) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        topic_id=TOPIC_ID,
        error_code=code,
        num_partitions=partitions,
        replication_factor=2,
        configs=[CreatableTopicConfigs(name="retention.ms")],
    )


def creation(timeout_ms: int, **fields: Any) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreatableTopic(name="t")], timeout_ms=timeout_ms, **fields)


async def test_a_new_topic_is_shown_when_its_creator_gets_the_response(autojump_clock: object) -> None:
    """DelayedCreatePartitions: "every partition has a leader"."""
    images = Image(), image_with(1), image_with(1, NO_LEADER), image_with(1, 2)
    refused = created("u", code=ErrorCode.INVALID_CONFIG)
    response = CreateTopicsResponse(topics=[created(), refused])
    result, seconds = await ask(create_topics.at_zk_broker, creation(60_000), response, *images)
    assert [each.error_code for each in result.topics] == [ErrorCode.NONE, ErrorCode.INVALID_CONFIG]
    assert result.topics[0].num_partitions == 2
    assert seconds == 3


@pytest.mark.parametrize(("timeout_ms", "limit_s"), [(2500, 2.5), (0, 0), (-1, 0)])
async def test_a_topic_that_is_not_shown_in_time_has_timed_out(
    autojump_clock: object, timeout_ms: int, limit_s: float
) -> None:
    """KafkaApis: "Reset any configs in the response if Create failed"."""
    response = CreateTopicsResponse(topics=[created()])
    result, seconds = await ask(create_topics.at_zk_broker, creation(timeout_ms), response, image_with(1))
    (topic,) = result.topics
    assert (topic.error_code, topic.error_message) == (ErrorCode.REQUEST_TIMED_OUT, None)
    assert (topic.num_partitions, topic.replication_factor, topic.configs) == (-1, -1, [])
    assert topic.topic_id == TOPIC_ID
    assert math.isclose(seconds, limit_s)


async def test_nobody_waits_for_a_topic_that_is_only_validated(autojump_clock: object) -> None:
    response = CreateTopicsResponse(topics=[created()])
    result, seconds = await ask(
        create_topics.at_zk_broker, creation(60_000, validate_only=True), response, image_with(1)
    )
    assert (result.topics[0].error_code, seconds) == (ErrorCode.NONE, 0)
    grown = CreatePartitionsResponse(results=[CreatePartitionsTopicResult(name="t")])
    message = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=3)], timeout_ms=60_000, validate_only=True
    )
    assert (await ask(create_partitions.at_zk_broker, message, grown, image_with(1)))[1] == 0


async def test_a_deleted_topic_is_not_shown_when_its_deleter_gets_the_response(autojump_clock: object) -> None:
    """DelayedDeleteTopics: "all of the topics not in error have been removed"."""
    message = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=60_000)
    unknown = DeletableTopicResult(None, UUID(int=9), ErrorCode.UNKNOWN_TOPIC_ID, None)

    def response() -> DeleteTopicsResponse:
        return DeleteTopicsResponse(responses=[DeletableTopicResult("t", TOPIC_ID, ErrorCode.NONE, None), unknown])

    result, seconds = await ask(delete_topics.at_zk_broker, message, response(), image_with(1), Image())
    assert [each.error_code for each in result.responses] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID]
    assert seconds == 1
    failed = DeletableTopicResult("t", TOPIC_ID, ErrorCode.UNKNOWN_SERVER_ERROR, None)
    refused = DeleteTopicsResponse(responses=[failed])
    result, seconds = await ask(delete_topics.at_zk_broker, message, refused, image_with(1))
    assert (result.responses[0].error_code, seconds) == (ErrorCode.UNKNOWN_SERVER_ERROR, 0)
    result, seconds = await ask(delete_topics.at_zk_broker, message, response(), image_with(1))
    assert [each.error_code for each in result.responses] == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_TOPIC_ID]
    assert seconds == 60


async def test_new_partitions_are_shown_when_their_creator_gets_the_response(autojump_clock: object) -> None:
    message = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=3)], timeout_ms=5000)
    for images, code, expected_s in (
        ((image_with(1, 2), image_with(1, 2, NO_LEADER), image_with(1, 2, 1)), ErrorCode.NONE, 2),
        ((image_with(1, 2),), ErrorCode.REQUEST_TIMED_OUT, 5),
    ):
        grown = CreatePartitionsResponse(results=[CreatePartitionsTopicResult(name="t")])
        result, seconds = await ask(create_partitions.at_zk_broker, message, grown, *images)
        assert (result.results[0].error_code, seconds) == (code, expected_s)


@pytest.mark.parametrize(
    ("election_type", "before", "after"),
    [(elect_leaders.PREFERRED, 2, 1), (1, NO_LEADER, 2), (1, 3, 2)],
    ids=["preferred", "unclean, no leader", "unclean, a dead leader"],
)
async def test_an_elected_leader_is_shown_in_time_or_the_election_has_timed_out(
    autojump_clock: object, election_type: int, before: int, after: int
) -> None:
    """DelayedElectLeader waits until the metadata has the expected leaders."""
    message = ElectLeadersRequest(election_type=election_type, timeout_ms=5000)
    for images, code, expected_s in (
        ((Image(), image_with(1, before), image_with(1, after)), ErrorCode.NONE, 2),
        ((image_with(1, before),), ErrorCode.REQUEST_TIMED_OUT, 5),
    ):
        partitions = [PartitionResult(0, ErrorCode.ELECTION_NOT_NEEDED, None), PartitionResult(1, ErrorCode.NONE, None)]
        response = ElectLeadersResponse(replica_election_results=[ReplicaElectionResult("t", partitions)])
        result, seconds = await ask(elect_leaders.at_zk_broker, message, response, *images)
        codes = [each.error_code for each in result.replica_election_results[0].partition_result]
        assert (codes, seconds) == ([ErrorCode.ELECTION_NOT_NEEDED, code], expected_s)


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (create_topics.at_zk_broker, CreateTopicsRequest(topics=[CreatableTopic(name="t")] * 10_001)),
        (delete_topics.at_zk_broker, DeleteTopicsRequest(topics=[DeleteTopicState(name="t")] * 10_001)),
        (delete_topics.at_zk_broker, DeleteTopicsRequest(topic_names=["t"] * 10_001)),
        (create_partitions.at_zk_broker, CreatePartitionsRequest(topics=[CreatePartitionsTopic()] * 10_001)),
        (
            elect_leaders.at_zk_broker,
            ElectLeadersRequest(topic_partitions=[TopicPartitions("t", list(range(5_000)))] * 3),
        ),
        (
            alter_partition_reassignments.at_zk_broker,
            AlterPartitionReassignmentsRequest(
                topics=[ReassignableTopic("t", [ReassignablePartition(each) for each in range(5_001)])] * 2
            ),
        ),
    ],
)
async def test_a_request_with_too_many_entries_never_reaches_the_controller(handler: Any, message: Any) -> None:
    """The limit of KRaft's controller: one decision after the other has the loop to itself."""
    with pytest.raises(KafkaError) as refused:
        await ask(handler, message, None, Image())
    assert refused.value.code is ErrorCode.POLICY_VIOLATION


@pytest.mark.parametrize("code", [ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR])
async def test_an_election_for_all_partitions_that_fails_names_them(autojump_clock: object, code: ErrorCode) -> None:
    """KafkaApis takes the partitions from the metadata, so each has the error: version 0 has no other place."""
    response = ElectLeadersResponse(error_code=code)
    message = ElectLeadersRequest(topic_partitions=None, timeout_ms=5000)
    result, seconds = await ask(elect_leaders.at_zk_broker, message, response, image_with(1, 2))
    (topic,) = result.replica_election_results
    assert [(each.partition_id, each.error_code) for each in topic.partition_result] == [
        (0, code),
        (1, code),
    ]
    assert (result.error_code, seconds) == (ErrorCode.NONE, 0)
