"""AddRaftVoter (key 80): a new voter (KIP-853). Refused: the voters of this quorum are static.

Versions 0 and 1: 1 may ask to be answered before the change is committed (KIP-1186).
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.static_voters import refuse_change
from kraft.messages.add_raft_voter_request import AddRaftVoterRequest
from kraft.messages.add_raft_voter_response import AddRaftVoterResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: AddRaftVoterRequest) -> Reply:
    raise refuse_change(broker, message)


def error(message: AddRaftVoterRequest, version: int, code: ErrorCode, text: str | None = None) -> AddRaftVoterResponse:
    return AddRaftVoterResponse(error_code=code, error_message=text)
