"""IncrementalAlterConfigs (key 44): set, delete, append to or subtract from single settings (KIP-339).

Versions 0 to 1: 1 is flexible.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.forwarding import forward
from kraft.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kraft.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: IncrementalAlterConfigsRequest) -> Reply:
    return forward(broker, request, message)


def error(
    message: IncrementalAlterConfigsRequest, version: int, code: ErrorCode, text: str | None = None
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(code, text, resource.resource_type, resource.resource_name)
            for resource in message.resources
        ]
    )
