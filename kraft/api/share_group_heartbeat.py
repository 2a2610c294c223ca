"""ShareGroupHeartbeat (key 76): join, leave and keep in step with a share group (KIP-932).

Version 1. Kafka 4.0 had version 0 as a preview.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.config.features import SHARE_VERSION
from kraft.messages.registry import ApiKey
from kraft.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kraft.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

ROW = Api(
    ApiKey.SHARE_GROUP_HEARTBEAT,
    versions={ListenerType.BROKER: (1, 1)},
    permissions=((Operation.READ, Resource.GROUP), (Operation.DESCRIBE, Resource.TOPIC)),
)


async def at_broker(broker: BrokerContext, request: Request, message: ShareGroupHeartbeatRequest) -> Reply:
    if not broker.image.features.get(SHARE_VERSION, 0):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    return broker.coordinators.groups.shard_of(message.group_id).submit(request, message)


def error(
    message: ShareGroupHeartbeatRequest, version: int, code: ErrorCode, text: str | None = None
) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=code, error_message=text)
