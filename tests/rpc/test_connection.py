"""Responses whose records are in a file, and replies that cannot be made."""

from __future__ import annotations

import logging
import struct
from pathlib import Path

import pytest

from kraft.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kraft.rpc.channel import CLOSE, ConnectionInfo, Reply, Request
from kraft.rpc.connection import error_reply, failed_reply
from kraft.rpc.rejections import RejectionLog
from kraft.wire.codec import encode
from kraft.wire.decode_error import DecodeError
from kraft.wire.schema import Message
from kraft.wire.splice import FileSlice, Records
from tests.rpc.planes import FETCH, frame, running


def a_fetch_response(*records: Records) -> FetchResponse:
    partitions = [PartitionData(partition_index=index, records=value) for index, value in enumerate(records)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


@pytest.mark.parametrize("version", [4, 12])
async def test_records_in_files_are_sent_as_if_they_were_in_memory(version: int, tmp_path: Path) -> None:
    content = bytes(range(256)) * 4000
    path = tmp_path / "segment"
    path.write_bytes(content)
    expected = encode(a_fetch_response(content[7:900_000], b"memory", content[:1], None), version)
    header = struct.pack(">iB", 5, 0)[: 5 if version == 12 else 4]
    with path.open("rb") as file:

        async def handle(request: Request) -> Reply:
            return a_fetch_response(FileSlice(file, 7, 899_993), b"memory", FileSlice(file, 0, 1), None)

        async with running(handle) as plane, await plane.peer() as peer:
            request = frame(5, api_key=FETCH, version=version)
            if version == 12:
                request = struct.pack(">i", len(request) - 3) + request[4:] + b"\0"
            await peer.send_bytes(request)
            received = b""
            while len(received) < 4 + len(header) + len(expected):
                received += await peer.stream.receive_some(65_536)
    assert received == struct.pack(">i", len(header) + len(expected)) + header + expected


async def test_a_file_that_was_cut_short_closes_the_connection(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"short")
    with path.open("rb") as file:

        async def handle(request: Request) -> Reply:
            return a_fetch_response(FileSlice(file, 0, 100))

        async with running(handle) as plane, await plane.peer() as peer:
            await peer.send_bytes(frame(5, api_key=FETCH, version=4))
            assert await peer.receive() is None


@pytest.fixture
def request_() -> Request:
    connection = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "10.0.0.1", 5, "10.0.0.1:5")
    return Request(0, 0, 1, "client", b"", 0, connection)


def test_a_version_that_does_not_exist_is_malformed(request_: Request) -> None:
    request_.api_version = 99
    with pytest.raises(DecodeError, match="ProduceRequest has versions"):
        request_.message()


def test_a_failure_without_an_error_response_closes(request_: Request, caplog: pytest.LogCaptureFixture) -> None:
    def broken(request: Request, error: Exception) -> Message | None:
        raise RuntimeError("the error response fails as well")

    assert error_reply(request_, RuntimeError("handler"), lambda request, error: None) is CLOSE
    assert error_reply(request_, RuntimeError("handler"), broken) is CLOSE
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 3


def test_a_client_id_writes_no_line_of_its_own(request_: Request, caplog: pytest.LogCaptureFixture) -> None:
    request_.client_id = "me\n2030-01-01 ERROR kraft: all is lost"
    rejections = RejectionLog(lambda: 0.0)
    assert failed_reply(request_, DecodeError("no such message"), lambda request, error: None, rejections) is CLOSE
    assert "\n" not in caplog.text.rstrip("\n")
