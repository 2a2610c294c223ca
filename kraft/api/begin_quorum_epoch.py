"""BeginQuorumEpoch (key 53): the leader of a new epoch makes itself known (KIP-595).

Versions 0 and 1: 1 is flexible and has directory ids and endpoints (KIP-853).
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.quorum_requests import ask
from kraft.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from kraft.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(plane: ControllerContext, request: Request, message: BeginQuorumEpochRequest) -> Reply:
    return await ask(plane, request, message)


def error(
    message: BeginQuorumEpochRequest, version: int, code: ErrorCode, text: str | None = None
) -> BeginQuorumEpochResponse:
    return BeginQuorumEpochResponse(error_code=code)
