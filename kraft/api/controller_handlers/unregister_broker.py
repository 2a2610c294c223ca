"""UnregisterBroker (key 64): forget a broker, alive or not (KIP-631).

Version 0.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.api.unregister_broker import error as error
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: UnregisterBrokerRequest) -> Reply:
    return decide(plane, request, message)
