"""AllocateProducerIds (key 67): a block of producer ids for one broker (KIP-730).

Version 0.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(plane: ControllerContext, request: Request, message: AllocateProducerIdsRequest) -> Reply:
    return decide(plane, request, message)


def error(
    message: AllocateProducerIdsRequest, version: int, code: ErrorCode, text: str | None = None
) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(error_code=code)
