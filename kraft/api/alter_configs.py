"""AlterConfigs (key 33): replace all settings of topics or brokers. IncrementalAlterConfigs supersedes it (KIP-339).

Versions 0 to 2: 2 is flexible.
"""

from __future__ import annotations

from kraft.api.context import ZkBrokerContext
from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.zookeeper_configs import alter
from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.messages.alter_configs_response import AlterConfigsResourceResponse, AlterConfigsResponse
from kraft.messages.registry import ApiKey
from kraft.metadata.config_changes import replaced
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.ALTER_CONFIGS,
    versions={ListenerType.BROKER: (0, 2), ListenerType.ZK_BROKER: (0, 2), ListenerType.CONTROLLER: (0, 2)},
    permissions=((Operation.ALTER_CONFIGS, Resource.CLUSTER), (Operation.ALTER_CONFIGS, Resource.TOPIC)),
    forwardable=True,
)

at_broker = forward
at_controller = decide


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: AlterConfigsRequest) -> Reply:
    return alter(broker, message, replaced, AlterConfigsResourceResponse, AlterConfigsResponse)


def error(message: AlterConfigsRequest, version: int, code: ErrorCode, text: str | None = None) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=mapped(
            message.resources,
            lambda resource: AlterConfigsResourceResponse(code, text, resource.resource_type, resource.resource_name),
        )
    )
