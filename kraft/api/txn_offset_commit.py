"""TxnOffsetCommit (key 28): add offsets of a group to a producer's transaction (KIP-98).

Versions 0 to 4.

| version | change |
|---|---|
| 2 | leader epoch of the committed offset |
| 3 | flexible; the member and its generation, which fence a zombie (KIP-447) |
| 4 | the producer understands TRANSACTION_ABORTABLE |

The offsets count once the transaction coordinator has written the marker that commits the transaction to
``__consumer_offsets``. Until then OffsetFetch returns UNSTABLE_OFFSET_COMMIT to those who ask for stable offsets.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import BrokerContext
from kraft.api.offset_commits import commit_known
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.registry import ApiKey
from kraft.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from kraft.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.TXN_OFFSET_COMMIT,
    versions={ListenerType.BROKER: (0, 4), ListenerType.ZK_BROKER: (0, 4)},
    permissions=(
        (Operation.WRITE, Resource.TRANSACTIONAL_ID),
        (Operation.READ, Resource.GROUP),
        (Operation.READ, Resource.TOPIC),
    ),
)

LOADING_SAID_VERSION = 2
"""Older producers fail at COORDINATOR_LOAD_IN_PROGRESS. They get COORDINATOR_NOT_AVAILABLE, which they retry."""


async def at_broker(broker: BrokerContext, request: Request, message: TxnOffsetCommitRequest) -> Reply:
    shard_of = partial(broker.groups.shard_of_member, message.group_id)
    return await commit_known(broker, shard_of, request, message, TxnOffsetCommitResponsePartition)


at_zk_broker = at_broker


def error(
    message: TxnOffsetCommitRequest, version: int, code: ErrorCode, text: str | None = None
) -> TxnOffsetCommitResponse:
    if version < LOADING_SAID_VERSION and code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return TxnOffsetCommitResponse(
        topics=mapped(
            message.topics,
            lambda topic: TxnOffsetCommitResponseTopic(
                topic.name,
                mapped(topic.partitions, lambda wanted: TxnOffsetCommitResponsePartition(wanted.partition_index, code)),
            ),
        )
    )
