"""TxnOffsetCommit (key 28): add offsets of a group to a producer's transaction (KIP-98).

Versions 0 to 5.

| version | change |
|---|---|
| 2 | leader epoch of the committed offset |
| 3 | flexible; the member and its generation, which fence a zombie (KIP-447) |
| 4 | the producer understands TRANSACTION_ABORTABLE |
| 5 | the broker adds the partition of the group to the transaction (KIP-890) |

The offsets count once the transaction coordinator has written the marker that commits the transaction to
``__consumer_offsets``. Until then OffsetFetch returns UNSTABLE_OFFSET_COMMIT to those who ask for stable offsets.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kraft.api.context import BrokerContext
from kraft.api.offset_commits import commit_known
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.broker.producer_state import IN_TRANSACTION
from kraft.coordinator.groups.transactions import TransactionalCommit
from kraft.messages.registry import ApiKey
from kraft.messages.txn_offset_commit_request import TxnOffsetCommitRequest
from kraft.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.TXN_OFFSET_COMMIT,
    versions={ListenerType.BROKER: (0, 5), ListenerType.ZK_BROKER: (0, 5)},
    permissions=(
        (Operation.WRITE, Resource.TRANSACTIONAL_ID),
        (Operation.READ, Resource.GROUP),
        (Operation.READ, Resource.TOPIC),
    ),
)

LOADING_SAID_VERSION = 2
"""Older producers fail at COORDINATOR_LOAD_IN_PROGRESS. They get COORDINATOR_NOT_AVAILABLE, which they retry."""
ABORTABLE_VERSION = 4
ADDING_VERSION = 5
_OF_COMMIT = {
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,  # retried at the same coordinator
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH,
}


async def at_broker(broker: BrokerContext, request: Request, message: TxnOffsetCommitRequest) -> Reply:
    shard = broker.coordinators.groups.shard_of_member(message.group_id)
    producers = shard.partition.log.producers
    is_known = producers.is_in_transaction(message.producer_id, message.producer_epoch)
    is_verified = broker.config.transactions.transaction_partition_verification_enable
    is_verified |= request.api_version >= ADDING_VERSION
    if is_known or not is_verified:
        return await _commit(broker, request, message, IN_TRANSACTION if is_verified else None)
    producers.check_epoch(message.producer_id, message.producer_epoch)

    async def verified() -> Any:
        end_offset = shard.partition.log.log_end_offset
        await _verify(broker, request.api_version, message, shard.index)
        reply = await _commit(broker, request, message, end_offset)
        return await reply.wait() if isinstance(reply, Parked) else reply

    return Parked(verified)


async def _commit(
    broker: BrokerContext, request: Request, message: TxnOffsetCommitRequest, verified_at: int | None
) -> Reply:
    def submit(known: TxnOffsetCommitRequest) -> Reply:
        shard = broker.coordinators.groups.shard_of_member(message.group_id)
        return shard.submit(request, TransactionalCommit(known, verified_at))

    answered = partial(error, version=request.api_version, code=ErrorCode.NONE)
    return await commit_known(broker, message, submit, answered, TxnOffsetCommitResponsePartition)


async def _verify(broker: BrokerContext, version: int, message: TxnOffsetCommitRequest, index: int) -> None:
    """Let the transaction coordinator confirm that the group's partition belongs to the transaction (KIP-890).

    Raises KafkaError with the coordinator's verdict, translated as by Apache's ``CoordinatorOperationExceptionHelper``
    and ``AddPartitionsToTxnManager``.
    """
    producer = message.producer_id, message.producer_epoch
    where, adds = {OFFSETS_TOPIC: [index]}, version >= ADDING_VERSION
    try:
        verdicts = await broker.coordinators.verification.verify(message.transactional_id, producer, where, add=adds)
        code = verdicts.get((OFFSETS_TOPIC, index), ErrorCode.COORDINATOR_NOT_AVAILABLE)
    except KafkaError as refused:
        code = refused.code
    code = _OF_COMMIT.get(code, code)
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_VERSION:
        code = ErrorCode.INVALID_TXN_STATE
    if code is not ErrorCode.NONE:
        raise KafkaError(code)


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
