"""IncrementalAlterConfigs (key 44): set, delete, append to or subtract from single settings (KIP-339).

Versions 0 to 1: 1 is flexible.
"""

from __future__ import annotations

from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.mapped import mapped
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kraft.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    versions={ListenerType.BROKER: (0, 1), ListenerType.CONTROLLER: (0, 1)},
    permissions=((Operation.ALTER_CONFIGS, Resource.CLUSTER), (Operation.ALTER_CONFIGS, Resource.TOPIC)),
    forwardable=True,
)

at_broker = forward
at_controller = decide


def error(
    message: IncrementalAlterConfigsRequest, version: int, code: ErrorCode, text: str | None = None
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=mapped(
            message.resources,
            lambda resource: AlterConfigsResourceResponse(code, text, resource.resource_type, resource.resource_name),
        )
    )
