"""RemoveRaftVoter (key 81): a voter goes (KIP-853). Refused: the voters of this quorum are static.

Version 0.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.static_voters import refuse_change
from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: RemoveRaftVoterRequest) -> Reply:
    raise refuse_change(broker, message)


def error(
    message: RemoveRaftVoterRequest, version: int, code: ErrorCode, text: str | None = None
) -> RemoveRaftVoterResponse:
    return RemoveRaftVoterResponse(error_code=code, error_message=text)
