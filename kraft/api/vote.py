"""Vote (key 52): a candidate asks for a vote, or whether it would get one (KIP-595, KIP-996).

Versions 0 to 2: 1 has directory ids and says where the leader is (KIP-853), 2 the pre-vote.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.quorum_requests import ask
from kraft.messages.vote_request import VoteRequest
from kraft.messages.vote_response import VoteResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(plane: ControllerContext, request: Request, message: VoteRequest) -> Reply:
    return await ask(plane, request, message)


def error(message: VoteRequest, version: int, code: ErrorCode, text: str | None = None) -> VoteResponse:
    return VoteResponse(error_code=code)
