"""Requests that change metadata are the controller's: any broker takes them and passes them on (KIP-590)."""

from __future__ import annotations

from typing import Any

from kraft.node.broker import Broker
from kraft.rpc.channel import Parked, Request


def forward(broker: Broker, request: Request, message: Any) -> Parked:
    """The controller's answer, once it is committed."""

    async def answer() -> Any:
        return await broker.change(message, request.api_version)

    return Parked(answer)
