"""AlterConfigs (key 33): replace all settings of topics or brokers, as brokers pass it on.

Versions 0 to 2: as at a broker.
"""

from __future__ import annotations

from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.node.control_plane import ControlPlane
from kraft.node.controller_handlers.deciding import decide
from kraft.node.handlers.alter_configs import error as error
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControlPlane, request: Request, message: AlterConfigsRequest) -> Reply:
    return decide(plane, request, message)
