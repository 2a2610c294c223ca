"""The handler that all APIs of the active controller share at a controller's listener."""

from __future__ import annotations

from typing import Any

from kraft.api.context import ControllerContext
from kraft.rpc.channel import Parked, Reply, Request


async def decide(controller: ControllerContext, request: Request, message: Any) -> Reply:
    """Return the controller's response once it is committed, or raise KafkaError, as ``Controller.request`` does.

    The connection's own task decides, so no handler waits for the end of a large decision: a plane's handlers also
    serve the quorum.
    """

    async def answer() -> Any:
        return await controller.controller.request(message, request.api_version)

    return Parked(answer)
