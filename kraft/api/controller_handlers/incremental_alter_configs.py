"""IncrementalAlterConfigs (key 44): set or unset single settings (KIP-339), as brokers pass it on.

Versions 0 and 1: as at a broker.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.api.incremental_alter_configs import error as error
from kraft.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: IncrementalAlterConfigsRequest) -> Reply:
    return decide(plane, request, message)
