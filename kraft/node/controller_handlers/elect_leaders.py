"""ElectLeaders (key 43): preferred or unclean elections, as brokers pass it on (KIP-183).

Versions 0 to 2: as at a broker.
"""

from __future__ import annotations

from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.node.control_plane import ControlPlane
from kraft.node.controller_handlers.deciding import decide
from kraft.node.handlers.elect_leaders import error as error
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControlPlane, request: Request, message: ElectLeadersRequest) -> Reply:
    return decide(plane, request, message)
