"""BrokerRegistration (key 62): an incarnation of a broker makes itself known, and is fenced at first (KIP-631).

Versions 0 to 4: 2 has the ids of log directories (KIP-858), 3 the former epoch (KIP-966), 4 may show a feature whose
lowest version is 0.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.messages.broker_registration_request import BrokerRegistrationRequest
from kraft.messages.broker_registration_response import BrokerRegistrationResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(plane: ControllerContext, request: Request, message: BrokerRegistrationRequest) -> Reply:
    return decide(plane, request, message)


def error(
    message: BrokerRegistrationRequest, version: int, code: ErrorCode, text: str | None = None
) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(error_code=code)
