"""ConsumerGroupHeartbeat (key 68): join, leave and keep in step with a consumer group (KIP-848).

Versions 0 and 1: since 1 the client chooses the member id (KIP-1082), and may subscribe by a regular expression.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.config.features import GROUP_VERSION
from kraft.coordination.regexes import check
from kraft.coordinator.groups.consumer.regexes import InvalidRegexHeartbeat
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from kraft.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

ROW = Api(
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    versions={ListenerType.BROKER: (0, 1)},
    permissions=((Operation.READ, Resource.GROUP), (Operation.DESCRIBE, Resource.TOPIC)),
)


async def at_broker(broker: BrokerContext, request: Request, message: ConsumerGroupHeartbeatRequest) -> Reply:
    if not broker.image.features.get(GROUP_VERSION, 0):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if message.subscribed_topic_regex:
        try:
            await check(broker.coordinators.groups.world, message.subscribed_topic_regex)
        except KafkaError as refused:
            invalid = InvalidRegexHeartbeat(message, refused)
            return broker.coordinators.groups.shard_of(message.group_id).submit(request, invalid)
    return broker.coordinators.groups.shard_of(message.group_id).submit(request, message)


def error(
    message: ConsumerGroupHeartbeatRequest, version: int, code: ErrorCode, text: str | None = None
) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=code, error_message=text)
