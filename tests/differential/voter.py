"""A voter with scripted responses, for the quorum of the compared node.

It accepts connections, advertises a voter's APIs, accepts BeginQuorumEpoch, and grants or refuses votes as scripted. It
leads only if scripted, and keeps the received requests.
"""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import attrs

from kraft.messages import begin_quorum_epoch_response as begin_response
from kraft.messages import fetch_response, vote_response
from kraft.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kraft.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from kraft.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from kraft.messages.fetch_request import FetchRequest
from kraft.messages.fetch_response import FetchResponse
from kraft.messages.plain import to_plain
from kraft.messages.registry import ApiKey, request_class, request_header_version, response_header_version
from kraft.messages.vote_request import VoteRequest
from kraft.messages.vote_response import VoteResponse
from kraft.quorum.rpcs import NOBODY
from kraft.wire.codec import decode, encode
from kraft.wire.errors import ErrorCode
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC, METADATA_TOPIC_ID
from kraft.wire.schema import Message

OFFERED = {
    ApiKey.FETCH: (12, 17),
    ApiKey.API_VERSIONS: (0, 4),
    ApiKey.BEGIN_QUORUM_EPOCH: (0, 1),
    ApiKey.END_QUORUM_EPOCH: (0, 1),
    ApiKey.FETCH_SNAPSHOT: (0, 1),
}
_HEADER = struct.Struct(">hhih")


@attrs.define(eq=False)
class FakeVoter:
    """The scripted responses, and the received requests.

    Attributes:
        port: The port of its listener.
        newest_vote: The newest advertised version of Vote; 2 is the first with pre-votes (KIP-996).
        pre_vote: Whether it would grant its vote; None: it closes the connection.
        vote: Whether it grants its vote; None: it closes the connection.
        epoch: It closes the connection of a vote request of an earlier epoch. A candidate of the previous scenario
            repeats its requests, and would be elected by the script of the next one.
        leads: The epoch in which it responds to one Fetch as the leader, without records.
        asked: The last request of each API, as JSON, with its version.
    """

    node_id: int
    port: int
    newest_vote: int
    pre_vote: bool | None = None
    vote: bool | None = None
    epoch: int = 0
    leads: int | None = None
    asked: dict[int, dict[str, Any]] = attrs.Factory(dict)

    def script(self, epoch: int, *, pre_vote: bool | None = None, vote: bool | None = None) -> None:
        """Respond in this way to vote requests of ``epoch`` and later ones, and forget the received requests."""
        self.epoch, self.pre_vote, self.vote = epoch, pre_vote, vote
        self.asked.clear()

    def answer(self, api_key: int, version: int, request: Message) -> Message | None:
        if api_key == ApiKey.API_VERSIONS:
            offered = {**OFFERED, ApiKey.VOTE: (0, self.newest_vote)}
            return ApiVersionsResponse(api_keys=[ApiVersion(key, *versions) for key, versions in offered.items()])
        if isinstance(request, VoteRequest) and request.topics[0].partitions[0].replica_epoch < self.epoch:
            return None
        self.asked[api_key] = {"(version)": version, **to_plain(request, version)}
        match request:
            case VoteRequest():
                wanted = request.topics[0].partitions[0]
                granted = self.pre_vote if wanted.pre_vote else self.vote
                return None if granted is None else self._voted(wanted.replica_epoch, granted)
            case FetchRequest():
                epoch = request.topics[0].partitions[0].current_leader_epoch
                leads = epoch == self.leads
                if leads:
                    self.leads = None
                return self._fetched(epoch, leads)
            case BeginQuorumEpochRequest():
                told = request.topics[0].partitions[0]
                begun = begin_response.PartitionData(0, 0, told.leader_id, told.leader_epoch)
                return BeginQuorumEpochResponse(topics=[begin_response.TopicData(CLUSTER_METADATA_TOPIC, [begun])])
        return None

    def _voted(self, epoch: int, granted: bool) -> VoteResponse:
        partition = vote_response.PartitionData(0, 0, NOBODY, epoch, granted)
        return VoteResponse(topics=[vote_response.TopicData(CLUSTER_METADATA_TOPIC, [partition])])

    def _fetched(self, epoch: int, leads: bool) -> FetchResponse:
        partition = fetch_response.PartitionData(high_watermark=NOBODY, records=b"")
        partition.error_code = ErrorCode.NONE if leads else ErrorCode.NOT_LEADER_OR_FOLLOWER
        partition.current_leader = fetch_response.LeaderIdAndEpoch(self.node_id if leads else NOBODY, epoch)
        topic = fetch_response.FetchableTopicResponse(CLUSTER_METADATA_TOPIC, METADATA_TOPIC_ID, [partition])
        return FetchResponse(responses=[topic])


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    voter: FakeVoter


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        with suppress(ConnectionError):  # a peer that ends
            self._answer_all()

    def _answer_all(self) -> None:
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
def fake_voter(node_id: int, port: int, newest_vote: int) -> Iterator[FakeVoter]:
    """Serve in threads of its own until the block ends."""
    with _Server(("127.0.0.1", port), _Connection) as server:
        server.voter = FakeVoter(node_id, port, newest_vote)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.voter
        finally:
            server.shutdown()
