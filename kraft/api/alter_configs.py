"""AlterConfigs (key 33): replace all settings of topics or brokers. IncrementalAlterConfigs took its place (KIP-339).

Versions 0 to 2: 2 is flexible.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.forwarding import forward
from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: AlterConfigsRequest) -> Reply:
    return forward(broker, request, message)


def error(message: AlterConfigsRequest, version: int, code: ErrorCode, text: str | None = None) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResourceResponse(code, text, resource.resource_type, resource.resource_name)
            for resource in message.resources
        ]
    )
