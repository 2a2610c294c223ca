"""ShareGroupDescribe (key 77): epochs, members and assignments of share groups (KIP-932).

Version 1. Kafka 4.0 had version 0 as a preview.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.group_descriptions import describe_each
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.config.features import SHARE_VERSION
from kraft.messages.registry import ApiKey
from kraft.messages.share_group_describe_request import ShareGroupDescribeRequest
from kraft.messages.share_group_describe_response import DescribedShareGroup, ShareGroupDescribeResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.SHARE_GROUP_DESCRIBE,
    versions={ListenerType.BROKER: (1, 1)},
    permissions=((Operation.DESCRIBE, Resource.GROUP), (Operation.DESCRIBE, Resource.TOPIC)),
)


async def at_broker(broker: BrokerContext, request: Request, message: ShareGroupDescribeRequest) -> Reply:
    if not broker.image.features.get(SHARE_VERSION, 0):
        return error(message, request.api_version, ErrorCode.UNSUPPORTED_VERSION)

    def submit(group_id: str) -> Reply:
        return broker.coordinators.groups.shard_of_member(group_id).submit(
            request, message.evolve(group_ids=[group_id])
        )

    def refused(group_id: str, code: ErrorCode) -> ShareGroupDescribeResponse:
        return error(message.evolve(group_ids=[group_id]), request.api_version, code)

    with_operations = message.include_authorized_operations
    return await describe_each(
        message.group_ids, submit, refused, ShareGroupDescribeResponse(), with_operations=with_operations
    )


def error(
    message: ShareGroupDescribeRequest, version: int, code: ErrorCode, text: str | None = None
) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(
        groups=mapped(
            message.group_ids,
            lambda group_id: DescribedShareGroup(error_code=code, error_message=text, group_id=group_id),
        )
    )
