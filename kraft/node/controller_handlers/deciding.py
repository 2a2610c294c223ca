"""What only the active controller decides."""

from __future__ import annotations

from typing import Any

from kraft.node.control_plane import ControlPlane
from kraft.rpc.channel import Parked, Request


def decide(plane: ControlPlane, request: Request, message: Any) -> Parked:
    """The controller's decision, once it is committed; NOT_CONTROLLER if this node's is not the active one."""

    async def answer() -> Any:
        return await plane.controller.request(message, request.api_version)

    return Parked(answer)
