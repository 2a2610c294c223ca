"""The handler that all APIs of the active controller share at a controller's listener."""

from __future__ import annotations

from typing import Any

from kraft.api.context import ControllerContext
from kraft.rpc.channel import Parked, Reply, Request


async def decide(controller: ControllerContext, request: Request, message: Any) -> Reply:
    """Return the controller's response once it is committed. Raises KafkaError as ``Controller.decide`` does."""
    decided = controller.controller.decide(message, request.api_version)

    async def answer() -> Any:
        return await controller.controller.committed(decided)

    return Parked(answer)
