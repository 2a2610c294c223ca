"""IncrementalAlterConfigs (key 44): set or unset single settings (KIP-339), as brokers pass it on.

Versions 0 and 1: as at a broker.
"""

from __future__ import annotations

from kraft.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kraft.node.control_plane import ControlPlane
from kraft.node.controller_handlers.deciding import decide
from kraft.node.handlers.incremental_alter_configs import error as error
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControlPlane, request: Request, message: IncrementalAlterConfigsRequest) -> Reply:
    return decide(plane, request, message)
