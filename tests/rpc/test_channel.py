"""The decoding of a request: at once, or with turns for other tasks if its frame is large."""

from __future__ import annotations

import struct

import pytest

from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.rpc.channel import MAX_ELEMENTS, ConnectionInfo, Request
from kraft.rpc.header import parse_request
from kraft.wire.codec import encode
from kraft.wire.decode_error import DecodeError
from tests.support.steps import steps_of_this_task

CONNECTION = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 1, "127.0.0.1:1")


def metadata(names: int) -> Request:
    message = MetadataRequest(topics=[MetadataRequestTopic(name="")] * names)
    return parse_request(struct.pack(">hhih", 3, 4, 7, -1) + encode(message, 4), CONNECTION, {3: (0, 13)})


async def test_other_tasks_run_while_a_large_request_is_decoded() -> None:
    """ "Decode the body of a large frame …, with turns for other tasks.\""""
    request = metadata(50_000)
    async with steps_of_this_task() as steps:
        await request.decode()
        assert steps.count == 50
        message = request.message()
        assert steps.count == 50
    assert isinstance(message, MetadataRequest)
    assert len(message.topics or ()) == 50_000
    assert request.message() is message, "it is decoded once"


async def test_a_request_of_too_many_elements_is_malformed() -> None:
    request = metadata(MAX_ELEMENTS + 1)
    with pytest.raises(DecodeError, match="MetadataRequest v4: more than 100000 elements"):
        await request.decode()
