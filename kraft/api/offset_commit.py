"""OffsetCommit (key 8): store the offsets of a group.

Versions 2 to 10, with ZooKeeper to 9.

| version | change |
|---|---|
| 2 | retention time in the request (up to 4) |
| 6 | leader epoch of the committed offset (KIP-320) |
| 7 | static members |
| 8 | flexible |
| 9 | the error codes of KIP-848 |
| 10 | topic ids instead of names: UNKNOWN_TOPIC_ID for an unknown one |

A partition that the image does not have gets an error of its own. The others are one batch in ``__consumer_offsets``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kraft.api.context import BrokerContext
from kraft.api.offset_commits import commit_known
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.offset_commit_request import OffsetCommitRequest, OffsetCommitRequestTopic
from kraft.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.OFFSET_COMMIT,
    versions={ListenerType.BROKER: (2, 10), ListenerType.ZK_BROKER: (2, 9)},
    permissions=((Operation.READ, Resource.GROUP), (Operation.READ, Resource.TOPIC)),
)


_TOPIC_IDS_VERSION = 10
_SLICE_TOPICS = 1000


async def at_broker(broker: BrokerContext, request: Request, message: OffsetCommitRequest) -> Reply:
    by_id = request.api_version >= _TOPIC_IDS_VERSION
    if by_id:
        message = message.evolve(topics=await _named(broker, message.topics))

    def submit(known: OffsetCommitRequest) -> Reply:
        return broker.coordinators.groups.shard_of(message.group_id).submit(request, known)

    answered = partial(error, version=request.api_version, code=ErrorCode.NONE)
    return await commit_known(broker, message, submit, answered, OffsetCommitResponsePartition, by_id=by_id)


async def _named(broker: BrokerContext, topics: Sequence[OffsetCommitRequestTopic]) -> list[OffsetCommitRequestTopic]:
    """Return the topics with their names, none for an unknown id."""
    slices = Slices(_SLICE_TOPICS)
    image = broker.image
    named = []
    for each in topics:
        topic = image.topics.get(each.topic_id)
        named.append(each.evolve(name="" if topic is None else topic.name))
        await slices.spend()
    return named


at_zk_broker = at_broker


def error(message: OffsetCommitRequest, version: int, code: ErrorCode, text: str | None = None) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=mapped(
            message.topics,
            lambda topic: OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=mapped(
                    topic.partitions, lambda wanted: OffsetCommitResponsePartition(wanted.partition_index, code)
                ),
            ),
        )
    )
