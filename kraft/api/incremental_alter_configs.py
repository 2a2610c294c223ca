"""IncrementalAlterConfigs (key 44): set, delete, append to or subtract from single settings (KIP-339).

Versions 0 to 1: 1 is flexible.
"""

from __future__ import annotations

from kraft.api.context import ZkBrokerContext
from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.zookeeper_configs import alter
from kraft.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from kraft.messages.incremental_alter_configs_response import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.config_changes import changed
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    versions={ListenerType.BROKER: (0, 1), ListenerType.ZK_BROKER: (0, 1), ListenerType.CONTROLLER: (0, 1)},
    permissions=((Operation.ALTER_CONFIGS, Resource.CLUSTER), (Operation.ALTER_CONFIGS, Resource.TOPIC)),
    forwardable=True,
)

at_broker = forward
at_controller = decide


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: IncrementalAlterConfigsRequest) -> Reply:
    return alter(broker, message, changed, AlterConfigsResourceResponse, IncrementalAlterConfigsResponse)


def error(
    message: IncrementalAlterConfigsRequest, version: int, code: ErrorCode, text: str | None = None
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=mapped(
            message.resources,
            lambda resource: AlterConfigsResourceResponse(code, text, resource.resource_type, resource.resource_name),
        )
    )
