"""kraft.quorum.peers: the connections to the other voters."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import UUID

import pytest
import trio

from kraft.config.listeners import Voter
from kraft.messages.registry import ApiKey, response_header_version
from kraft.quorum.inbound_requests import response_message
from kraft.quorum.peer_warnings import PeerWarnings
from kraft.quorum.peers import Peer
from kraft.quorum.rpcs import Identity
from kraft.raft.events import RequestFailed, ResponseReceived, Send
from kraft.raft.messages import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from kraft.raft.timing import Timing
from kraft.rpc.client import Connection
from kraft.wire.codec import encode
from kraft.wire.errors import ErrorCode
from kraft.world.transport import PlainTransport
from tests.support.cluster_id import CLUSTER_ID
from tests.support.eventually import until

VOTERS = {number: Voter(number, "localhost", 9090 + number) for number in (1, 2)}
IDENTITY = Identity(1, CLUSTER_ID, UUID(int=1), VOTERS, "CONTROLLER")
VERSION = 1


class SecondVoter:
    """The other end of each connection to voter 2, which answers one request at a time."""

    def __init__(self) -> None:
        self.accepted: list[socket.socket] = []
        self.answered = 0

    @contextlib.asynccontextmanager
    async def connect(self, host: str, port: int, client_id: str, timeout_s: float) -> AsyncIterator[Connection]:
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        self.accepted.append(theirs)
        connection = Connection(PlainTransport(ours), client_id, timeout_s)
        connection.versions = {ApiKey.BEGIN_QUORUM_EPOCH: (VERSION, VERSION)}
        try:
            yield connection
        finally:
            connection.close()
            theirs.close()

    async def answer(self) -> None:
        """Answer the next request of the newest connection."""
        asked = self.accepted[-1]
        await trio.lowlevel.wait_readable(asked)
        correlation_id = asked.recv(9999)[8:12]
        message = response_message(None, BeginQuorumEpochResponse(ErrorCode.NONE, 1, 1), IDENTITY, VERSION)
        tags = bytes(response_header_version(ApiKey.BEGIN_QUORUM_EPOCH, VERSION))
        frame = correlation_id + tags + encode(message, VERSION)
        asked.send(len(frame).to_bytes(4, "big") + frame)
        self.answered += 1


async def test_a_request_goes_over_a_new_connection_if_the_voter_closed_an_idle_one() -> None:
    """``connections.max.idle.ms``: a leader sends a voter nothing while that one fetches. If its EndQuorumEpoch is
    lost, the voters wait for a whole fetch timeout, as after a kill.
    """
    voter, reported = SecondVoter(), list[object]()

    async def report(event: object) -> None:
        reported.append(event)

    peer = Peer(VOTERS[2], IDENTITY, Timing(), PeerWarnings(IDENTITY), cast(Any, voter.connect), report)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer.run)
        for number in (1, 2):
            peer.send(Send(number, 2, BeginQuorumEpochRequest(1, 1)))
            await until(lambda number=number: len(voter.accepted) == number)
            await voter.answer()
            await until(lambda number=number: len(reported) == number)
            voter.accepted[-1].close()
        nursery.cancel_scope.cancel()
    assert [type(event) for event in reported] == [ResponseReceived] * 2


async def test_a_voter_that_cannot_be_reached_has_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """As of ``NetworkClient.processDisconnection``: "Connection to node … could not be established". Without it a node
    whose ``controller.quorum.voters`` has a wrong port waits in silence. ``PeerWarnings`` limits the lines.
    """
    reported = list[object]()

    @contextlib.asynccontextmanager
    async def refuse(*_: object) -> AsyncIterator[Connection]:
        raise OSError(errno.ECONNREFUSED, "Error connecting to ('127.0.0.1', 9092)")
        yield

    async def report(event: object) -> None:
        reported.append(event)

    peer = Peer(VOTERS[2], IDENTITY, Timing(), PeerWarnings(IDENTITY), cast(Any, refuse), report)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer.run)
        for number in (1, 2):
            peer.send(Send(number, 2, BeginQuorumEpochRequest(1, 1)))
            await until(lambda number=number: len(reported) == number)
        nursery.cancel_scope.cancel()
    assert [type(event) for event in reported] == [RequestFailed] * 2
    assert caplog.messages == ["cannot connect to voter 2@localhost:9092: Connection refused"]
