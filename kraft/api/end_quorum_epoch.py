"""EndQuorumEpoch (key 54): a leader resigns, and names its successors (KIP-595).

Versions 0 and 1: 1 is flexible and has directory ids and endpoints (KIP-853).
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.quorum_requests import ask
from kraft.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from kraft.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(plane: ControllerContext, request: Request, message: EndQuorumEpochRequest) -> Reply:
    return await ask(plane, request, message)


def error(
    message: EndQuorumEpochRequest, version: int, code: ErrorCode, text: str | None = None
) -> EndQuorumEpochResponse:
    return EndQuorumEpochResponse(error_code=code)
