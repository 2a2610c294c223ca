"""AlterConfigs (key 33): replace all settings of topics or brokers, as brokers pass it on.

Versions 0 to 2: as at a broker.
"""

from __future__ import annotations

from kraft.api.alter_configs import error as error
from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: AlterConfigsRequest) -> Reply:
    return decide(plane, request, message)
