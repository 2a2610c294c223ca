"""The requests of an administrator: DescribeTransactions and ListTransactions (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from kraft.coordinator.transactions.step import TransactionEntry
from kraft.coordinator.transactions.transaction import PREPARED, TransactionPartition, TransactionStatus
from kraft.messages import describe_transactions_response as described_messages
from kraft.messages import list_transactions_response as listed_messages
from kraft.messages.list_transactions_request import ListTransactionsRequest
from kraft.metadata.steps import Steps, in_order
from kraft.wire.errors import ErrorCode

_STATUS_OF_NAME = {status.value: status for status in TransactionStatus}
_STEP_IDS = 1_000
"""Not a Kafka setting. The producer ids of a filter that are one step of work."""


def described(
    entries: dict[str, TransactionEntry], transactional_id: str
) -> Steps[described_messages.TransactionState]:
    """Describe one transactional id. The partitions of a prepared transaction are those that miss their marker."""
    entry = entries.get(transactional_id)
    if entry is None:
        code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else ErrorCode.INVALID_REQUEST
        return described_messages.TransactionState(error_code=code, transactional_id=transactional_id)
    transaction = entry.transaction
    answer = described_messages.TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.status.value,
        transaction_timeout_ms=round(transaction.timeout_s * 1000),
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
    )
    partitions: Iterable[TransactionPartition] = transaction.partitions
    if transaction.status in PREPARED:
        partitions = tuple(entry.unwritten)
    for topic, partition in (yield from in_order(partitions)):
        if not answer.topics or answer.topics[-1].topic != topic:
            answer.topics.append(described_messages.TopicData(topic=topic))
        answer.topics[-1].partitions.append(partition)
        yield 1
    return answer


@attrs.frozen
class TransactionFilter:
    """The filters of ListTransactions. An empty set admits all, and so does a negative duration.

    ``has_states`` is true even if no state of the request exists: then nothing is listed.
    """

    has_states: bool
    statuses: frozenset[TransactionStatus]
    unknown_states: tuple[str, ...]
    producer_ids: set[int]
    duration_ms: int

    def admits(self, entry: TransactionEntry, now_ms: int) -> bool:
        """Apache: ``TransactionStateManager.listTransactionStates``. Even a transaction that is not open has an age."""
        transaction = entry.transaction
        return (
            (not self.has_states or transaction.status in self.statuses)
            and (not self.producer_ids or transaction.producer_id in self.producer_ids)
            and (self.duration_ms < 0 or now_ms - transaction.started_ms > self.duration_ms)
        )


def transaction_filter(message: ListTransactionsRequest) -> Steps[TransactionFilter]:
    """Return the filter of a request. The names of states are those of :class:`TransactionStatus`, in their case."""
    producer_ids: set[int] = set()
    for start in range(0, len(message.producer_id_filters), _STEP_IDS):
        producer_ids.update(message.producer_id_filters[start : start + _STEP_IDS])
        yield _STEP_IDS // 10
    statuses, unknown = set(), []
    for name in message.state_filters:
        status = _STATUS_OF_NAME.get(name)
        if status is None:
            unknown.append(name)
        else:
            statuses.add(status)
        yield 1
    return TransactionFilter(
        has_states=bool(message.state_filters),
        statuses=frozenset(statuses),
        unknown_states=tuple(unknown),
        producer_ids=producer_ids,
        duration_ms=message.duration_filter,
    )


def listed(
    entries: dict[str, TransactionEntry], wanted: TransactionFilter, now: float
) -> Steps[list[listed_messages.TransactionState]]:
    """List the transactional ids that the filter admits. Ids may come and go between the steps."""
    answer = []
    now_ms = round(now * 1000)
    for entry in list(entries.values()):
        yield 1
        if wanted.admits(entry, now_ms):
            answer.append(
                listed_messages.TransactionState(
                    transactional_id=entry.transactional_id,
                    producer_id=entry.transaction.producer_id,
                    transaction_state=entry.transaction.status.value,
                )
            )
    return answer
