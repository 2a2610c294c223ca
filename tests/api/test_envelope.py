"""Envelope: a client's request in a broker's hands (KIP-590)."""

from __future__ import annotations

import struct
from typing import Any

import pytest
import trio
import trio.testing

from kraft.api.envelope import at_controller, unwrap_request
from kraft.api.forwarding import unwrap_response, wrap_request
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.messages.envelope_request import EnvelopeRequest
from kraft.messages.registry import request_header_version
from kraft.metadata.steps import finished
from kraft.rpc.channel import ConnectionInfo, Parked, Request
from kraft.rpc.header import parse_request
from kraft.rpc.memory_pool import MemoryPool
from kraft.wire.codec import decode_in_steps, encode
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message
from tests.api.serving import Serving

CLIENT = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "10.1.2.3", 5000, "10.1.2.3:5000", principal="User:alice")
CREATE = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)])
MANY = CreateTopicsRequest(topics=[CreatableTopic(f"topic-{number}", 1, 1) for number in range(1_100)])
DESCRIBE = DescribeQuorumRequest([TopicData("__cluster_metadata", [PartitionData(0)])])


def received(message: Message, version: int, client: ConnectionInfo = CLIENT) -> Request:
    """A request as a broker has it from its client."""
    key = message.API_KEY
    header = struct.pack(">hhih", key, version, 77, 4) + b"here"
    if request_header_version(key, version) == 2:
        header += b"\0"
    return parse_request(header + encode(message, version), client, {key: (version, version)})


@pytest.mark.parametrize("version", range(2, 8))
async def test_the_answer_is_the_one_to_the_request_inside(active: Serving, version: int) -> None:
    """KIP-590: the Envelope has the response for the client, in the version of the client's request."""
    request = received(CREATE, version)
    answer: Any = await unwrap_response(request, await active.ask(wrap_request(request)))
    [topic] = answer.topics
    assert topic.name == "t"
    assert topic.error_code == ErrorCode.INVALID_REPLICATION_FACTOR, "no broker is registered"


@pytest.mark.parametrize(
    "message", [CREATE, DESCRIBE, CreateTopicsRequest()], ids=["create", "describe quorum", "no topic to say it of"]
)
async def test_the_envelope_has_the_error_not_controller(standby: Serving, message: Message) -> None:
    """KIP-590: then the broker sends the request to another controller, and the client gets no error."""
    request = received(message, message.VALID_VERSIONS[1])
    answer = await standby.ask(wrap_request(request))
    assert (answer.error_code, answer.response_data) == (ErrorCode.NOT_CONTROLLER, None)
    with pytest.raises(KafkaError) as refused:
        await unwrap_response(request, answer)
    assert refused.value.code is ErrorCode.NOT_CONTROLLER


async def test_a_large_request_inside_is_decoded_once(active: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if its answer is an error that comes late."""
    decoded: list[int] = []
    decode = Request.decode

    async def counted(request: Request) -> None:
        decoded.append(request.api_key)
        await decode(request)

    async def late(*_: Any) -> Any:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)

    monkeypatch.setattr(Request, "decode", counted)
    monkeypatch.setattr(type(active.plane.controller), "request", late)
    request = received(MANY, 7)
    answer: Any = await unwrap_response(request, await active.ask(wrap_request(request)))
    assert {topic.error_code for topic in answer.topics} == {ErrorCode.REQUEST_TIMED_OUT}
    assert decoded.count(CREATE.API_KEY) == 1


async def test_a_large_request_inside_waits_for_the_memory_of_others(active: Serving) -> None:
    """As one that comes without an Envelope. It is released with the Envelope."""
    envelope, pool = wrap_request(received(MANY, 7)), MemoryPool(1)
    outer = received(envelope, 0)
    outer.room = pool
    pool.take(1)
    reply = await at_controller(active.plane, outer, envelope)
    assert isinstance(reply, Parked)
    responses: list[Any] = []

    async def respond() -> None:
        responses.append(await reply.wait())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(respond)
        await trio.testing.wait_all_tasks_blocked()
        assert responses == []
        pool.give_back(1)
        with trio.fail_after(30):
            while not responses:
                await trio.testing.wait_all_tasks_blocked()
    assert not responses[0].error_code
    assert pool.used == len(MANY.topics)
    assert outer.is_large
    outer.release()
    assert pool.used == 0


async def test_a_request_inside_whose_connection_has_ended_counts_nothing(active: Serving) -> None:
    """Nobody waits for the reply then, so nobody would give the memory back later."""
    envelope, pool = wrap_request(received(MANY, 7)), MemoryPool(1)
    outer = received(envelope, 0)
    outer.room = pool
    await at_controller(active.plane, outer, envelope)
    assert pool.used > 0
    outer.release()
    assert pool.used == 0


def test_the_client_is_known_on_the_other_side() -> None:
    inner = unwrap_request(wrap_request(received(CREATE, 7)), CLIENT)
    assert (inner.connection.principal, inner.connection.host) == ("User:alice", "10.1.2.3")
    assert (inner.client_id, inner.correlation_id, inner.message()) == ("here", 77, CREATE)


def test_a_large_request_is_not_copied() -> None:
    """A step of the event loop that copies 50 MB takes 15 to 30 ms."""
    create = CreateTopicsRequest(topics=[CreatableTopic(name=f"{number}".ljust(32_000)) for number in range(40)])
    request = received(create, 7)
    envelope = wrap_request(request)
    assert envelope.request_data is request.frame
    steps = decode_in_steps(EnvelopeRequest, 0, bytearray(encode(envelope, 0)), max_elements=0)
    arrived, *_ = finished(steps)
    inner = unwrap_request(arrived, CLIENT)
    assert inner.frame is arrived.request_data
    assert isinstance(inner.frame, memoryview)
    assert (inner.client_id, inner.message()) == ("here", create)


@pytest.mark.parametrize("host", ["10.1.2.3", "2001:db8::1", "fe80::1%eth0"])
def test_an_address_is_4_or_16_bytes(host: str) -> None:
    client = ConnectionInfo("PLAINTEXT", "PLAINTEXT", host, 5000, host)
    envelope = wrap_request(received(CREATE, 7, client))
    assert len(envelope.client_host_address) == (4 if "." in host else 16)
    assert unwrap_request(envelope, client).connection.host == host.partition("%")[0]


def sealed(**changes: Any) -> EnvelopeRequest:
    envelope = wrap_request(received(CREATE, 7))
    for name, value in changes.items():
        setattr(envelope, name, value)
    return envelope


@pytest.mark.parametrize(
    ("envelope", "error"),
    [
        (sealed(request_principal=None), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (sealed(request_principal=b""), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (sealed(request_principal=b"\0\1\0"), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (sealed(request_principal=b"\0\0\xff\xff"), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (sealed(client_host_address=b"\1\2\3"), ErrorCode.INVALID_REQUEST),
        (wrap_request(received(ApiVersionsRequest("a", "1"), 3)), ErrorCode.INVALID_REQUEST),
        (wrap_request(received(EnvelopeRequest(), 0)), ErrorCode.INVALID_REQUEST),
        (sealed(request_data=b""), ErrorCode.UNSUPPORTED_VERSION),
        (sealed(request_data=struct.pack(">hhih", 30_000, 0, 1, -1)), ErrorCode.UNSUPPORTED_VERSION),
        (sealed(request_data=struct.pack(">hhih", 19, 99, 1, -1)), ErrorCode.UNSUPPORTED_VERSION),
        (sealed(request_data=struct.pack(">hhih", 19, 2, 1, -1) + b"\xff"), ErrorCode.UNSUPPORTED_VERSION),
    ],
    ids=[
        "no principal",
        "an empty principal",
        "a principal of another version",
        "a principal that ends early",
        "no address",
        "a request that is not to be passed on",
        "an Envelope in an Envelope",
        "no request",
        "an unknown API",
        "an unknown version",
        "a request that ends early",
    ],
)
async def test_a_request_that_is_not_forwardable_is_refused(
    active: Serving, envelope: EnvelopeRequest, error: ErrorCode
) -> None:
    """KIP-590: the error of the Envelope distinguishes a fault in the Envelope from one in the request."""
    answer = await active.ask(envelope)
    assert (answer.error_code, answer.response_data) == (error, None)


@pytest.mark.parametrize("data", [b"", b"\0\0\0\1\0", b"\0\0\0\x4d\1", b"\0\0\0\x4d\0\xff"])
async def test_an_answer_that_is_none_is_a_failure(active: Serving, data: bytes) -> None:
    request = received(CREATE, 7)
    answer = await active.ask(wrap_request(request))
    answer.response_data = data
    with pytest.raises(KafkaError) as refused:
        await unwrap_response(request, answer)
    assert refused.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
