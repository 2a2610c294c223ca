"""The requests of producers: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn and EndTxn.

Sources: KIP-98 (transactions), KIP-360 (a producer bumps its own epoch), KIP-588 (PRODUCER_FENCED), KIP-890 (epochs
that each end of a transaction bumps), and Apache's ``TransactionCoordinator``.
"""

from __future__ import annotations

from kraft.coordinator.core import CoordinatorRequest
from kraft.coordinator.transactions.step import OUTCOME_BYTES, TransactionEntry, TransactionStep
from kraft.coordinator.transactions.transaction import (
    EPOCH_BUMP_VERSION,
    FENCING_EPOCH,
    LAST_EPOCH,
    NO_EPOCH,
    NO_PRODUCER_ID,
    PREPARED,
    Transaction,
    TransactionPartition,
    TransactionStatus,
)
from kraft.messages.add_partitions_to_txn_request import AddPartitionsToTxnTransaction
from kraft.messages.add_partitions_to_txn_response import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from kraft.messages.end_txn_request import EndTxnRequest
from kraft.messages.end_txn_response import EndTxnResponse
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.messages.init_producer_id_response import InitProducerIdResponse
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

_INIT_FENCED_VERSION = 4
_FENCED_VERSION = 2
"""The first versions whose clients know PRODUCER_FENCED (KIP-588). Before, it is INVALID_PRODUCER_EPOCH."""
_BUMPING_END_VERSION = 5
"""The first version of EndTxn that bumps the epoch (KIP-890)."""
_BUMPING_ADD_VERSION = 4
"""The first version of AddPartitionsToTxn that brokers send for producers whose epoch is bumped (KIP-890)."""

Entries = dict[str, TransactionEntry]


def init_producer_id(step: TransactionStep, entries: Entries, request: CoordinatorRequest) -> Steps[None]:
    """Give a producer its id and epoch. An open transaction is aborted first, and the producer asks again."""
    message: InitProducerIdRequest = request.message
    try:
        entry = _entry_of_new_producer(step, entries, message)
        current = entry.transaction
        if current.status is TransactionStatus.ONGOING:
            yield from step.fence(entry)
            code = ErrorCode.CONCURRENT_TRANSACTIONS
            step.reply_once_committed(request.token, _init_error(code, request.version))
            return
        initialized = _initialized(step, current, message)
        yield from step.write(entry, initialized)
    except KafkaError as refused:
        step.reply(request.token, _init_error(refused.code, request.version))
        return
    response = InitProducerIdResponse(producer_id=initialized.producer_id, producer_epoch=initialized.epoch)
    step.reply_once_committed(request.token, response)


def _entry_of_new_producer(step: TransactionStep, entries: Entries, message: InitProducerIdRequest) -> TransactionEntry:
    """Return the entry of the transactional id, a new one if it has none.

    Raises KafkaError if the request is refused.
    """
    timeout_s, transactional_id = message.transaction_timeout_ms / 1000, message.transactional_id
    has_id, has_epoch = message.producer_id != NO_PRODUCER_ID, message.producer_epoch != NO_EPOCH
    if not transactional_id or has_id != has_epoch:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if not 0 < timeout_s <= step.world.settings.transaction_max_timeout_s:
        raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    entry = entries.get(transactional_id)
    if entry is None:
        created = Transaction(step.world.new_producer_id(), timeout_s, step.timestamp_ms)
        entry = entries[transactional_id] = TransactionEntry(transactional_id, created)
    current = entry.transaction
    if entry.is_changing:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if has_id and not _may_continue(current, message):
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    return entry


def _may_continue(current: Transaction, message: InitProducerIdRequest) -> bool:
    """Return whether the producer of the request may be the current one (KIP-360).

    A producer with exhausted epochs may repeat a request whose response with the new producer id was lost.
    """
    return (
        current.epoch == NO_EPOCH
        or message.producer_id == current.producer_id
        or (message.producer_id == current.previous_producer_id and message.producer_epoch >= LAST_EPOCH)
    )


def _initialized(step: TransactionStep, current: Transaction, message: InitProducerIdRequest) -> Transaction:
    """Return the transaction with the next epoch, or with a new producer id after the last epoch.

    Raises KafkaError PRODUCER_FENCED if the producer has neither the current nor the last epoch, or there is no new
    producer id yet.
    """
    now_ms, timeout_s = step.timestamp_ms, message.transaction_timeout_ms / 1000
    expected = message.producer_epoch
    continues = expected != NO_EPOCH
    if continues and current.epoch not in (NO_EPOCH, expected):
        if expected != current.last_epoch:
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        # A retry. A new producer would have removed ``last_epoch``.
        return current.initialized(now_ms, timeout_s)
    last_epoch = current.epoch if continues else NO_EPOCH
    if current.is_exhausted:
        producer_id = step.world.new_producer_id()
        return current.initialized(now_ms, timeout_s, producer_id=producer_id, epoch=0, last_epoch=last_epoch)
    return current.initialized(now_ms, timeout_s, epoch=current.epoch + 1, last_epoch=last_epoch)


def _init_error(code: ErrorCode, version: int) -> InitProducerIdResponse:
    code = _known(code, version, _INIT_FENCED_VERSION)
    return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)


def _known(code: ErrorCode, version: int, fenced_version: int = _FENCED_VERSION) -> ErrorCode:
    if code is ErrorCode.PRODUCER_FENCED and version < fenced_version:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


def add_partitions(step: TransactionStep, entries: Entries, request: CoordinatorRequest) -> Steps[None]:
    """Add partitions to a transaction, or begin it. With ``verify_only``, check that they are in it (KIP-890)."""
    message: AddPartitionsToTxnTransaction = request.message
    partitions: set[TransactionPartition] = set()
    for topic in message.topics:
        for index in topic.partitions:
            partitions.add((topic.name, index))
            yield 1
    try:
        entry = _entry_of_producer(entries, message)
        if message.verify_only:
            present = entry.transaction.partitions
            step.reply(request.token, (yield from _added(message, present, ErrorCode.TRANSACTION_ABORTABLE)))
            return
        current = entry.transaction
        if current.status is not TransactionStatus.ONGOING or not partitions <= current.partitions:
            client_version = EPOCH_BUMP_VERSION if request.version >= _BUMPING_ADD_VERSION else 0
            extended = current.extended(step.timestamp_ms, frozenset(partitions), client_version)
            yield from step.write(entry, extended, spare_bytes=OUTCOME_BYTES)
    except KafkaError as refused:
        code = _known(refused.code, request.version)
        step.reply(request.token, (yield from _added(message, frozenset(), code)))
        return
    step.reply_once_committed(request.token, (yield from _added(message, partitions, ErrorCode.NONE)))


def _entry_of_producer(entries: Entries, message: AddPartitionsToTxnTransaction) -> TransactionEntry:
    """Return the entry of the producer's transactional id. Raises KafkaError if the request is refused."""
    if not message.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    entry = entries.get(message.transactional_id)
    if entry is None:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    # The producer may have the id that it gets with the end of the transaction under way.
    if entry.is_changing and not message.verify_only:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    current = entry.transaction
    if current.producer_id != message.producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if message.producer_epoch != current.epoch or current.epoch == FENCING_EPOCH:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if current.status in PREPARED:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return entry


def _added(
    message: AddPartitionsToTxnTransaction,
    present: frozenset[TransactionPartition] | set[TransactionPartition],
    otherwise: ErrorCode,
) -> Steps[AddPartitionsToTxnResult]:
    """Return NONE for the partitions that are present, and another code for the others."""
    result = AddPartitionsToTxnResult(transactional_id=message.transactional_id)
    for topic in message.topics:
        answer = AddPartitionsToTxnTopicResult(name=topic.name)
        for index in topic.partitions:
            code = ErrorCode.NONE if (topic.name, index) in present else otherwise
            answer.results_by_partition.append(
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
            )
            yield 1
        result.topic_results.append(answer)
    return result


def end_transaction(step: TransactionStep, entries: Entries, request: CoordinatorRequest) -> Steps[None]:
    """Commit or abort a transaction. The reply does not wait for the markers."""
    message: EndTxnRequest = request.message
    bumps = request.version >= _BUMPING_END_VERSION
    try:
        if not message.transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        entry = entries.get(message.transactional_id)
        if entry is None:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        current = entry.transaction
        if (_is_ended_with_bump if bumps else _is_ended)(entry, message):
            step.reply(request.token, _ended(current, bumps=bumps))
            return
        prepared = yield from step.end(
            entry, committed=message.committed, client_version=EPOCH_BUMP_VERSION if bumps else 0
        )
    except KafkaError as refused:
        code = _known(refused.code, request.version)
        step.reply(request.token, EndTxnResponse(error_code=code))
        return
    step.reply_once_committed(request.token, _ended(prepared.completed(step.timestamp_ms), bumps=bumps))


def _ended(transaction: Transaction, *, bumps: bool) -> EndTxnResponse:
    """Return the producer id and epoch of the next transaction. Before version 5 the producer keeps its own."""
    if not bumps:
        return EndTxnResponse()
    return EndTxnResponse(producer_id=transaction.producer_id, producer_epoch=transaction.epoch)


def _is_ended(entry: TransactionEntry, message: EndTxnRequest) -> bool:
    """Return whether the transaction already ended as requested. Raises KafkaError if the request is refused."""
    current = entry.transaction
    if message.producer_id != current.producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if message.producer_epoch != current.epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if entry.is_changing:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if current.status is TransactionStatus.ONGOING:
        return False
    _check_outcome(current, message)
    return True


def _is_ended_with_bump(entry: TransactionEntry, message: EndTxnRequest) -> bool:
    """As :func:`_is_ended`, if each end bumps the epoch (KIP-890).

    A request with the epoch before the current one is a retry. A producer may abort a transaction that has no
    partition: it cannot know whether a lost Produce added one.

    Raises KafkaError if the request is refused.
    """
    current = entry.transaction
    if entry.is_changing:  # as soon as the reply is there, the producer may begin and end the next transaction
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    rotated = current.epoch == 0 and (current.previous_producer_id, LAST_EPOCH) == (
        message.producer_id,
        message.producer_epoch,
    )
    if message.producer_id != current.producer_id and not rotated:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    has_ended = current.status not in (TransactionStatus.EMPTY, TransactionStatus.ONGOING)
    if has_ended and (rotated or message.producer_epoch + 1 == current.epoch):
        _check_outcome(current, message)
        return True
    is_current = message.producer_epoch == current.epoch != FENCING_EPOCH
    if rotated or not is_current:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if message.committed and current.status is not TransactionStatus.ONGOING:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    return False


def _check_outcome(current: Transaction, message: EndTxnRequest) -> None:
    """Raises KafkaError unless the transaction is complete, with the outcome of the request."""
    complete = TransactionStatus.COMPLETE_COMMIT if message.committed else TransactionStatus.COMPLETE_ABORT
    if current.status is not complete:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
