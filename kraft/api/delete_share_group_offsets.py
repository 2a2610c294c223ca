"""DeleteShareGroupOffsets (key 92): forget how far a share group has read topics (KIP-932).

Version 0. The group must be empty. Its next member begins where ``share.auto.offset.reset`` says.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.config.features import SHARE_VERSION
from kraft.messages.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from kraft.messages.delete_share_group_offsets_response import DeleteShareGroupOffsetsResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

ROW = Api(
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    versions={ListenerType.BROKER: (0, 0)},
    permissions=((Operation.DELETE, Resource.GROUP), (Operation.READ, Resource.TOPIC)),
)


async def at_broker(broker: BrokerContext, request: Request, message: DeleteShareGroupOffsetsRequest) -> Reply:
    if not broker.image.features.get(SHARE_VERSION, 0):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    return broker.coordinators.groups.shard_of_member(message.group_id).submit(request, message)


def error(
    message: DeleteShareGroupOffsetsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=code, error_message=text)
