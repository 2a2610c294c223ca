"""UnregisterBroker (key 64): forget a broker, alive or not (KIP-631).

Version 0.
"""

from __future__ import annotations

from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.node.control_plane import ControlPlane
from kraft.node.controller_handlers.deciding import decide
from kraft.node.handlers.unregister_broker import error as error
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControlPlane, request: Request, message: UnregisterBrokerRequest) -> Reply:
    return decide(plane, request, message)
