"""ControllerRegistration (key 70): a controller makes itself and its endpoints known (KIP-919).

Version 0.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.messages.controller_registration_request import ControllerRegistrationRequest
from kraft.messages.controller_registration_response import ControllerRegistrationResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(plane: ControllerContext, request: Request, message: ControllerRegistrationRequest) -> Reply:
    return decide(plane, request, message)


def error(
    message: ControllerRegistrationRequest, version: int, code: ErrorCode, text: str | None = None
) -> ControllerRegistrationResponse:
    return ControllerRegistrationResponse(error_code=code, error_message=text)
