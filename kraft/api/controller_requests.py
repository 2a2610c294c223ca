"""What only the active controller decides."""

from __future__ import annotations

from typing import Any

from kraft.api.context import ControllerContext
from kraft.rpc.channel import Parked, Request


def decide(plane: ControllerContext, request: Request, message: Any) -> Parked:
    """The controller's decision, once it is committed. Raises KafkaError as ``Controller.decide``."""
    decided = plane.controller.decide(message, request.api_version)

    async def answer() -> Any:
        return await plane.controller.committed(decided)

    return Parked(answer)
