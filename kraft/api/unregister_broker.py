"""UnregisterBroker (key 64): forget a broker, alive or not (KIP-631).

Version 0.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.forwarding import forward
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.messages.unregister_broker_response import UnregisterBrokerResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: UnregisterBrokerRequest) -> Reply:
    return forward(broker, request, message)


def error(
    message: UnregisterBrokerRequest, version: int, code: ErrorCode, text: str | None = None
) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(error_code=code, error_message=text)
