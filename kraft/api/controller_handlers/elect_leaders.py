"""ElectLeaders (key 43): preferred or unclean elections, as brokers pass it on (KIP-183).

Versions 0 to 2: as at a broker.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.api.elect_leaders import error as error
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: ElectLeadersRequest) -> Reply:
    return decide(plane, request, message)
