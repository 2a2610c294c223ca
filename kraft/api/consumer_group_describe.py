"""ConsumerGroupDescribe (key 69): epochs, members and assignments of consumer groups (KIP-848).

Versions 0 and 1: 1 has the types of members (KIP-1099).
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.group_descriptions import describe_each
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.config.features import GROUP_VERSION
from kraft.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from kraft.messages.consumer_group_describe_response import ConsumerGroupDescribeResponse, DescribedConsumerGroup
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    versions={ListenerType.BROKER: (0, 1)},
    permissions=((Operation.DESCRIBE, Resource.GROUP), (Operation.DESCRIBE, Resource.TOPIC)),
)


async def at_broker(broker: BrokerContext, request: Request, message: ConsumerGroupDescribeRequest) -> Reply:
    if not broker.image.features.get(GROUP_VERSION, 0):
        return error(message, request.api_version, ErrorCode.UNSUPPORTED_VERSION)

    def submit(group_id: str) -> Reply:
        return broker.coordinators.groups.shard_of_member(group_id).submit(
            request, message.evolve(group_ids=[group_id])
        )

    def refused(group_id: str, code: ErrorCode) -> ConsumerGroupDescribeResponse:
        return error(message.evolve(group_ids=[group_id]), request.api_version, code)

    with_operations = message.include_authorized_operations
    return await describe_each(
        message.group_ids, submit, refused, ConsumerGroupDescribeResponse(), with_operations=with_operations
    )


def error(
    message: ConsumerGroupDescribeRequest, version: int, code: ErrorCode, text: str | None = None
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=mapped(
            message.group_ids,
            lambda group_id: DescribedConsumerGroup(error_code=code, error_message=text, group_id=group_id),
        )
    )
