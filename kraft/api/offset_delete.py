"""OffsetDelete (key 47): delete committed offsets of a group by partition (KIP-496). Version 0.

Parked until the tombstones are committed.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.offset_delete_request import OffsetDeleteRequest
from kraft.messages.offset_delete_response import OffsetDeleteResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

ROW = Api(
    ApiKey.OFFSET_DELETE,
    versions={ListenerType.BROKER: (0, 0), ListenerType.ZK_BROKER: (0, 0)},
    permissions=((Operation.DELETE, Resource.GROUP), (Operation.READ, Resource.TOPIC)),
)


async def at_broker(broker: BrokerContext, request: Request, message: OffsetDeleteRequest) -> Reply:
    if not message.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    reply = broker.groups.shard_of(message.group_id).submit(request, message)

    async def with_unknown() -> OffsetDeleteResponse:
        response = await reply.wait() if isinstance(reply, Parked) else reply
        assert isinstance(response, OffsetDeleteResponse)
        for topic in response.topics:
            count = broker.replicas.partition_count(topic.name)
            for partition in topic.partitions:
                if not 0 <= partition.partition_index < count:
                    partition.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return response

    return Parked(with_unknown)


at_zk_broker = at_broker


def error(message: OffsetDeleteRequest, version: int, code: ErrorCode, text: str | None = None) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=code)
