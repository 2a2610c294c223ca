"""UnregisterBroker (key 64): forget a broker, alive or not (KIP-631).

Version 0.
"""

from __future__ import annotations

from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.messages.unregister_broker_response import UnregisterBrokerResponse
from kraft.node.broker import Broker
from kraft.node.handlers.forwarding import forward
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: Broker, request: Request, message: UnregisterBrokerRequest) -> Reply:
    return forward(broker, request, message)


def error(
    message: UnregisterBrokerRequest, version: int, code: ErrorCode, text: str | None = None
) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(error_code=code, error_message=text)
