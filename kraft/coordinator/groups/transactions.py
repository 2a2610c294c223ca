"""TxnOffsetCommit, and the markers that end transactions in ``__consumer_offsets`` (KIP-98, KIP-447)."""

from __future__ import annotations

from typing import Protocol

import attrs

from kraft.coordinator.core import CoordinatorRequest, Token, TransactionalBatch
from kraft.coordinator.groups.consumer.registry import ConsumerGroups
from kraft.coordinator.groups.effects import Counted
from kraft.coordinator.groups.group import Group, GroupState
from kraft.coordinator.groups.join import member_of
from kraft.coordinator.groups.offsets import Offsets, batch_bytes
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.records import CommittedOffset, OffsetRecord, TransactionEnd
from kraft.messages.txn_offset_commit_request import TxnOffsetCommitRequest, TxnOffsetCommitRequestPartition
from kraft.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kraft.metadata.steps import Steps
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError


class CheckProducer(Protocol):
    """Raises KafkaError if the partition refuses a batch of a producer, perhaps a verified one, or a marker."""

    def __call__(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        verified_at: int | None = None,
        marker: EndTransactionMarker | None = None,
    ) -> None: ...


@attrs.frozen
class TransactionalCommit:
    """A TxnOffsetCommit. ``verified_at`` is the end of the log when the transaction coordinator confirmed that the
    transaction is open (KIP-890), IN_TRANSACTION if the partition had it, None if transactions are not verified.
    """

    message: TxnOffsetCommitRequest
    verified_at: int | None = None


@attrs.frozen
class EndTransaction:
    """A request of the transaction coordinator: write the marker that ends a producer's transaction. The reply is
    ErrorCode.NONE.
    """

    producer_id: int
    producer_epoch: int
    marker: EndTransactionMarker


def commit(
    step: Step,
    groups: dict[str, Group],
    consumers: ConsumerGroups,
    offsets: Offsets,
    request: CoordinatorRequest,
    check: CheckProducer,
) -> Steps[None]:
    """Append the offsets to the transaction if the sender may commit for the group. Otherwise every partition gets the
    error.
    """
    sent: TransactionalCommit = request.message
    message = sent.message
    reply = step.reply_once_committed
    try:
        if message.group_id in consumers.groups:
            yield from consumers.check_transactional_commit(message)
        else:
            _check_committer(groups.get(message.group_id), message)
        if message.producer_id < 0:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        check(message.producer_id, message.producer_epoch, verified_at=sent.verified_at)
        if not step.may_write():
            reply = step.reply  # the records before it may stay uncommitted for as long
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if (yield from batch_bytes(message)) > step.max_batch_bytes():
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if message.group_id not in groups and message.group_id not in consumers.groups:
            groups[message.group_id] = Group(message.group_id, state_since_ms=step.timestamp_ms)
        refused = ErrorCode.NONE
    except KafkaError as error:
        refused = error.code
    step.effects.transactional = TransactionalBatch(message.producer_id, message.producer_epoch)
    response = TxnOffsetCommitResponse()
    for topic in message.topics:
        answers = TxnOffsetCommitResponseTopic(topic.name)
        response.topics.append(answers)
        for partition in topic.partitions:
            code = refused or _commit_one(step, offsets, message, topic.name, partition)
            answers.partitions.append(TxnOffsetCommitResponsePartition(partition.partition_index, code))
            yield 1
        yield 1
    step.count(Counted.OFFSET_COMMITS, len(step.effects.append))
    reply(request.token, response)


def _check_committer(group: Group | None, message: TxnOffsetCommitRequest) -> None:
    """Check what the request has of a member: versions before 3 have nothing (KIP-447). The state of the group does
    not matter, unlike for OffsetCommit, as in Apache's ``ClassicGroup.validateOffsetCommit``.
    """
    if group is None:
        if message.generation_id >= 0:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        return
    if message.generation_id < 0:
        is_anonymous = not message.member_id and message.group_instance_id is None
        if is_anonymous or group.state is GroupState.EMPTY:
            return
    member_of(group, message.member_id, message.group_instance_id)
    if message.generation_id != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)


def _commit_one(
    step: Step,
    offsets: Offsets,
    message: TxnOffsetCommitRequest,
    topic: str,
    partition: TxnOffsetCommitRequestPartition,
) -> ErrorCode:
    metadata = partition.committed_metadata or ""
    if len(metadata) > step.settings.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    committed = CommittedOffset(
        partition.committed_offset,
        partition.committed_leader_epoch,
        metadata,
        step.timestamp_ms,
        topic_id=offsets.topic_id(topic),
    )
    record = OffsetRecord(message.group_id, topic, partition.partition_index, committed, message.producer_id)
    offsets.write(step, record)
    return ErrorCode.NONE


def end(step: Step, token: Token, message: EndTransaction, check: CheckProducer) -> None:
    """Append the marker. The offsets of the transaction change once it is committed."""
    try:
        check(message.producer_id, message.producer_epoch, marker=message.marker)
        if not step.may_write():
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    except KafkaError as refused:
        step.reply(token, refused)
        return
    step.effects.transactional = TransactionalBatch(message.producer_id, message.producer_epoch, message.marker)
    step.effects.append.append(TransactionEnd(message.producer_id, message.marker))
    step.reply_once_committed(token, ErrorCode.NONE)
