"""The response to a client whose request another node's controller served in an Envelope (KIP-590)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kraft.api.envelope import wrap_response
from kraft.api.forwarding import forward
from kraft.messages.create_topics_request import CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.messages.envelope_request import EnvelopeRequest
from kraft.messages.envelope_response import EnvelopeResponse
from kraft.rpc.channel import CLOSE, ConnectionInfo, Parked, Request
from kraft.wire.errors import ErrorCode, KafkaError

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
