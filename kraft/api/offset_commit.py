"""OffsetCommit (key 8): store the offsets of a group.

Versions 2 to 9.

| version | change |
|---|---|
| 2 | retention time in the request (up to 4) |
| 6 | leader epoch of the committed offset (KIP-320) |
| 7 | static members |
| 8 | flexible |
| 9 | the error codes of KIP-848 |

A partition that the image does not have gets an error of its own. The others are one batch in ``__consumer_offsets``.
"""

from __future__ import annotations

import attrs

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestTopic
from kraft.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped
from kraft.world.turns import Turns

ROW = Api(
    ApiKey.OFFSET_COMMIT,
    versions={ListenerType.BROKER: (2, 9), ListenerType.ZK_BROKER: (2, 9)},
    permissions=((Operation.READ, Resource.GROUP), (Operation.READ, Resource.TOPIC)),
)

_SLICE_PARTITIONS = 500


async def at_broker(broker: BrokerContext, request: Request, message: OffsetCommitRequest) -> Reply:
    known, unknown = await _divided(broker, message.topics)
    shard = broker.groups.shard_of(message.group_id)
    if not any(unknown):
        return shard.submit(request, message)
    reply = shard.submit(request, attrs.evolve(message, topics=known))

    async def with_unknown() -> OffsetCommitResponse:
        response = await reply.wait() if isinstance(reply, Parked) else reply
        assert isinstance(response, OffsetCommitResponse)
        turns = Turns(_SLICE_PARTITIONS)
        for topic, missing in zip(response.topics, unknown, strict=True):
            for index in missing:
                topic.partitions.append(OffsetCommitResponsePartition(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
                await turns.spend()
        return response

    return Parked(with_unknown)


at_zk_broker = at_broker


async def _divided(
    broker: BrokerContext, topics: list[OffsetCommitRequestTopic]
) -> tuple[list[OffsetCommitRequestTopic], list[list[int]]]:
    """Return each topic with the partitions that exist, and the numbers of the others."""
    turns = Turns(_SLICE_PARTITIONS)
    known, unknown = [], []
    for topic in topics:
        count = broker.replicas.partition_count(topic.name)
        existing, missing = [], []
        for each in topic.partitions:
            if 0 <= each.partition_index < count:
                existing.append(each)
            else:
                missing.append(each.partition_index)
            await turns.spend()
        known.append(attrs.evolve(topic, partitions=existing))
        unknown.append(missing)
        await turns.spend()
    return known, unknown


def error(message: OffsetCommitRequest, version: int, code: ErrorCode, text: str | None = None) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=mapped(
            message.topics,
            lambda topic: OffsetCommitResponseTopic(
                name=topic.name,
                partitions=mapped(
                    topic.partitions, lambda wanted: OffsetCommitResponsePartition(wanted.partition_index, code)
                ),
            ),
        )
    )
