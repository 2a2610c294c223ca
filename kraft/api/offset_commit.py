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

from kraft.api.context import BrokerContext
from kraft.api.offset_commits import commit_known
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.offset_commit_request import OffsetCommitRequest
from kraft.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.OFFSET_COMMIT,
    versions={ListenerType.BROKER: (2, 9), ListenerType.ZK_BROKER: (2, 9)},
    permissions=((Operation.READ, Resource.GROUP), (Operation.READ, Resource.TOPIC)),
)


async def at_broker(broker: BrokerContext, request: Request, message: OffsetCommitRequest) -> Reply:
    def submit(known: OffsetCommitRequest) -> Reply:
        return broker.groups.shard_of(message.group_id).submit(request, known)

    return await commit_known(broker, message, submit, OffsetCommitResponsePartition)


at_zk_broker = at_broker


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
