"""RemoveRaftVoter (key 81): a voter goes (KIP-853). Refused: the voters of this quorum are static.

Version 0.
"""

from __future__ import annotations

from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from kraft.node.broker import Broker
from kraft.node.handlers.static_voters import refuse_change
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: Broker, request: Request, message: RemoveRaftVoterRequest) -> Reply:
    raise refuse_change(broker, message)


def error(
    message: RemoveRaftVoterRequest, version: int, code: ErrorCode, text: str | None = None
) -> RemoveRaftVoterResponse:
    return RemoveRaftVoterResponse(error_code=code, error_message=text)
