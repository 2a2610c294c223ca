"""IncrementalAlterConfigs (key 44): set, delete, append to or subtract from single settings (KIP-339).

Versions 0 to 1: 1 is flexible.

A node changes the levels of its own loggers (KIP-412), and the active controller all other settings.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import BrokerContext, ControllerContext, ZkBrokerContext
from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.logger_levels import alter_loggers
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


async def at_broker(broker: BrokerContext, request: Request, message: IncrementalAlterConfigsRequest) -> Reply:
    return await alter_loggers(broker.node_id, request, message, partial(forward, broker))


async def at_controller(
    controller: ControllerContext, request: Request, message: IncrementalAlterConfigsRequest
) -> Reply:
    return await alter_loggers(controller.node_id, request, message, partial(decide, controller))


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: IncrementalAlterConfigsRequest) -> Reply:
    async def alter_others(_: Request, others: IncrementalAlterConfigsRequest) -> Reply:
        return alter(broker, others, changed, AlterConfigsResourceResponse, IncrementalAlterConfigsResponse)

    return await alter_loggers(broker.node_id, request, message, alter_others)


def error(
    message: IncrementalAlterConfigsRequest, version: int, code: ErrorCode, text: str | None = None
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=mapped(
            message.resources,
            lambda resource: AlterConfigsResourceResponse(code, text, resource.resource_type, resource.resource_name),
        )
    )
