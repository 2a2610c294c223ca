"""The response to a client whose request another node's controller served in an Envelope (KIP-590)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
import trio

from kraft.api.envelope import wrap_response
from kraft.api.forwarding import forward
from kraft.control.controller_channel import ControllerChannel
from kraft.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.messages.envelope_request import EnvelopeRequest
from kraft.messages.envelope_response import EnvelopeResponse
from kraft.metadata.delta import Changes
from kraft.metadata.image import Image
from kraft.replication.replicas import Replicas
from kraft.rpc.channel import CLOSE, ConnectionInfo, Parked, Request
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC
from tests.support.eventually import eventually_async
from tests.support.talk import batch, produce, topic_id_of
from tests.support.trio_cluster import cluster_in

MESSAGE = CreateTopicsRequest()
CLIENT = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "192.0.2.7", 5123, "192.0.2.7:5123")
REQUEST = Request(MESSAGE.API_KEY, 5, 9, "client", b"the request as it came", 0, CLIENT, response_version=5)
CREATED = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", num_partitions=3)])


class Broker:
    """Whose controller gives this answer."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.envelope: EnvelopeRequest | None = None

    async def change(self, message: Any, version: int, *, envelope: EnvelopeRequest) -> Any:
        assert (message, version) == (MESSAGE, 5)
        self.envelope = envelope
        return self.response


async def forwarded(broker: Broker) -> Any:
    reply = await forward(cast(Any, broker), REQUEST, MESSAGE)
    assert isinstance(reply, Parked)
    return await reply.wait()


async def test_the_controller_of_this_node_answers_directly() -> None:
    assert await forwarded(Broker(CREATED)) is CREATED


async def test_the_client_gets_the_response_of_the_envelope() -> None:
    broker = Broker(await wrap_response(REQUEST, CREATED))
    assert await forwarded(broker) == CREATED
    assert broker.envelope is not None
    assert (broker.envelope.request_data, broker.envelope.client_host_address) == (REQUEST.frame, b"\xc0\0\2\7")


async def test_a_version_that_the_controller_does_not_know_ends_the_connection() -> None:
    """So that the client requests the offered versions again: they may have been another controller's."""
    assert await forwarded(Broker(EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))) is CLOSE


@pytest.mark.parametrize(
    "response",
    [
        EnvelopeResponse(error_code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        EnvelopeResponse(b"\0\0\0"),
        EnvelopeResponse(b"\0\0\0\x0a\0"),
    ],
    ids=["refused", "cut off", "another request's"],
)
async def test_an_envelope_that_cannot_be_opened_is_no_fault_of_the_client(response: EnvelopeResponse) -> None:
    with pytest.raises(KafkaError) as caught:
        await forwarded(Broker(response))
    assert caught.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


async def active_controller(broker: Connection) -> int:
    request = DescribeQuorumRequest(topics=[TopicData(CLUSTER_METADATA_TOPIC, [PartitionData(0)])])
    leader_id: int = (await broker.request(request)).topics[0].partitions[0].leader_id
    return leader_id


async def created_on(broker: Connection, node_id: int, name: str) -> UUID:
    """Create a topic whose one partition lies on a node. Return its id."""
    topic = CreatableTopic(name, -1, -1, [CreatableReplicaAssignment(0, [node_id])])
    (result,) = (await broker.request(CreateTopicsRequest(topics=[topic], timeout_ms=30_000))).topics
    assert result.error_code == 0, result
    topic_id: UUID = result.topic_id
    return topic_id


async def test_the_response_comes_when_the_broker_has_applied_all_that_it_knows_to_be_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/architecture.md, "A CreateTopics through another broker", step 7. The broker sees earlier topics with the
    response, however long that takes. Its own may follow if that takes too long: until then it names the errors after
    which clients retry.
    """
    known, responded, release = trio.Event(), trio.Event(), trio.Event()
    steps: list[str] = []
    apply, request = Replicas.apply, ControllerChannel.request

    async def apply_later(self: Replicas, image: Image, changes: Changes) -> Any:
        if self.node_id == other and not known.is_set() and image.topic("first") is not None:
            known.set()
            await release.wait()
            steps.append("first is applied")
        return await apply(self, image, changes)

    async def note_response(self: ControllerChannel, message: Any, *args: Any, **options: Any) -> Any:
        response = await request(self, message, *args, **options)
        if options.get("envelope") is not None:
            responded.set()
        return response

    async def create_second() -> None:
        await created_on(broker, other, "second")
        steps.append("second has its response")

    async with cluster_in(tmp_path, {"controller.quorum.fetch.timeout.ms": "20000"}) as cluster:
        async with cluster.connected(1) as broker:
            leader = await active_controller(broker)
        other = leader % 3 + 1
        monkeypatch.setattr(Replicas, "apply", apply_later)
        async with cluster.connected(leader) as controller, cluster.connected(other) as broker:
            first = await created_on(controller, leader, "first")
            monkeypatch.setattr(ControllerChannel, "request", note_response)
            with trio.fail_after(60):
                await known.wait()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(create_second)
                    await responded.wait()
                    async with cluster.connected(other) as neighbour:
                        assert await topic_id_of(neighbour, "first") != first
                    release.set()
            assert steps == ["first is applied", "second has its response"]
            assert await topic_id_of(broker, "first") == first

            async def written() -> bool:
                code = (await produce(broker, "second", batch(b"value"))).error_code
                assert code in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)
                return not code

            assert await eventually_async(written)
