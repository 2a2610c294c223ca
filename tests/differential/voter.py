"""A voter that only does what a scenario says, for the node that is compared to have somebody in its quorum.

It takes connections, says what a voter would offer, and grants or refuses votes once it is told which. Whatever else
it is asked, it keeps, and answers nothing but the end of the connection.
"""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from kraft.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kraft.messages.plain import to_plain
from kraft.messages.registry import ApiKey, request_class, request_header_version, response_header_version
from kraft.messages.vote_request import VoteRequest
from kraft.messages.vote_response import PartitionData, TopicData, VoteResponse
from kraft.wire.codec import decode, encode
from kraft.wire.schema import Message

OFFERED = {
    ApiKey.FETCH: (12, 17),
    ApiKey.API_VERSIONS: (0, 4),
    ApiKey.VOTE: (0, 2),
    ApiKey.BEGIN_QUORUM_EPOCH: (0, 1),
    ApiKey.END_QUORUM_EPOCH: (0, 1),
    ApiKey.FETCH_SNAPSHOT: (0, 1),
}
_HEADER = struct.Struct(">hhih")


@attrs.define(eq=False)
class FakeVoter:
    """What the voter does, and what it was asked.

    Attributes:
        port: Where it listens.
        pre_vote: Whether it would grant its vote; None: no answer.
        vote: Whether it grants its vote; None: no answer.
        asked: The last request of each API, as JSON, with its version.
    """

    port: int
    pre_vote: bool | None = None
    vote: bool | None = None
    asked: dict[int, dict[str, Any]] = attrs.Factory(dict)

    def answer(self, api_key: int, version: int, request: Message) -> Message | None:
        if api_key == ApiKey.API_VERSIONS:
            return ApiVersionsResponse(api_keys=[ApiVersion(key, *offered) for key, offered in OFFERED.items()])
        self.asked[api_key] = {"(version)": version, **to_plain(request, version)}
        if not isinstance(request, VoteRequest):
            return None
        topic = request.topics[0]
        wanted = topic.partitions[0]
        granted = self.pre_vote if wanted.pre_vote else self.vote
        if granted is None:
            return None
        data = PartitionData(0, 0, -1, wanted.replica_epoch, granted)
        return VoteResponse(topics=[TopicData(topic.topic_name, [data])])


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    voter: FakeVoter


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while length := self.rfile.read(4):
            frame = self.rfile.read(int.from_bytes(length, "big"))
            api_key, version, correlation_id, client_id_length = _HEADER.unpack_from(frame)
            position = _HEADER.size + max(0, client_id_length) + (request_header_version(api_key, version) >= 2)
            request, _ = decode(request_class(api_key), version, frame, position)
            answer = self.server.voter.answer(api_key, version, request)
            if answer is None:
                return
            header = struct.pack(">i", correlation_id) + b"\0" * response_header_version(api_key, version)
            body = encode(answer, version)
            self.wfile.write(struct.pack(">i", len(header) + len(body)) + header + body)


@contextmanager
def fake_voter(port: int) -> Iterator[FakeVoter]:
    """Serve in threads of its own until the block ends."""
    with _Server(("127.0.0.1", port), _Connection) as server:
        server.voter = FakeVoter(port)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.voter
        finally:
            server.shutdown()
