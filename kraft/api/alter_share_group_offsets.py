"""AlterShareGroupOffsets (key 91): set the offsets where a share group begins to read (KIP-932).

Version 0. The group must be empty, and is created if it does not exist.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.config.features import SHARE_VERSION
from kraft.messages.alter_share_group_offsets_request import AlterShareGroupOffsetsRequest
from kraft.messages.alter_share_group_offsets_response import AlterShareGroupOffsetsResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

ROW = Api(
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    versions={ListenerType.BROKER: (0, 0)},
    permissions=((Operation.READ, Resource.GROUP), (Operation.READ, Resource.TOPIC)),
)


async def at_broker(broker: BrokerContext, request: Request, message: AlterShareGroupOffsetsRequest) -> Reply:
    if not broker.image.features.get(SHARE_VERSION, 0):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    return broker.coordinators.groups.shard_of_member(message.group_id).submit(request, message)


def error(
    message: AlterShareGroupOffsetsRequest, version: int, code: ErrorCode, text: str | None = None
) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=code, error_message=text)
