"""The records of ``__transaction_state`` in Apache Kafka's bytes: an int16 version, then the message.

The key has version 0. The value has version 0, or 1 from ``transaction.version`` 1 on (KIP-890).
"""

from __future__ import annotations

import attrs

from kraft.coordinator.framing import VERSION, framed, known_version, version_of
from kraft.coordinator.transactions.transaction import (
    NO_PRODUCER_ID,
    Transaction,
    TransactionPartition,
    TransactionStatus,
)
from kraft.messages.transaction_log_key import TransactionLogKey
from kraft.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from kraft.metadata.steps import Steps, in_order
from kraft.wire.codec import decode, decode_in_steps, encode_in_steps
from kraft.wire.decode_error import DecodeError

KEY_VERSION = 0
TAGGED_VALUE_VERSION = 1
"""The first version of the value with tagged fields: producer ids and the version of the client."""
_ENCODING_COST = 100
"""The cost of a step of :func:`encode_in_steps`."""
_STATUSES = list(TransactionStatus)


@attrs.frozen(eq=False)
class TransactionRecord:
    """The next state of a transactional id. It is a tombstone if ``transaction`` is None.

    ``value`` is encoded when the record is made, because a record that is too large is refused.
    """

    transactional_id: str
    transaction: Transaction | None
    value: bytes | None

    @property
    def key(self) -> bytes:
        return transaction_key(self.transactional_id)


def transaction_key(transactional_id: str) -> bytes:
    return framed(TransactionLogKey(transactional_id=transactional_id), KEY_VERSION)


def transaction_value(transaction: Transaction, transaction_version: int) -> Steps[bytes]:
    """Return the value of a record. ``transaction_version`` is the level of the cluster, which chooses its version."""
    version = min(transaction_version, TAGGED_VALUE_VERSION)
    topics: list[PartitionsSchema] = []
    for topic, partition in (yield from in_order(transaction.partitions)):
        if not topics or topics[-1].topic != topic:
            topics.append(PartitionsSchema(topic=topic))
        topics[-1].partition_ids.append(partition)
        yield 1
    has_tags = version >= TAGGED_VALUE_VERSION
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        previous_producer_id=transaction.previous_producer_id if has_tags else NO_PRODUCER_ID,
        next_producer_id=transaction.next_producer_id if has_tags else NO_PRODUCER_ID,
        producer_epoch=transaction.epoch,
        transaction_timeout_ms=round(transaction.timeout_s * 1000),
        transaction_status=_STATUSES.index(transaction.status),
        transaction_partitions=None if transaction.status is TransactionStatus.EMPTY else topics,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
        client_transaction_version=transaction.client_version if has_tags else 0,
    )
    out = bytearray(VERSION.pack(version))
    for _ in encode_in_steps(value, version, out, []):
        yield _ENCODING_COST
    return bytes(out)


def decode_transaction(key: bytes | None, value: bytes | None) -> Steps[TransactionRecord | None]:
    """Return one record of the log, or None if its kind is unknown. A newer Kafka wrote it, and it is skipped.

    Raises DecodeError if the record is damaged, or its value has an unknown version.
    """
    if key is None or version_of(key) != KEY_VERSION:
        return None
    transactional_id = decode(TransactionLogKey, KEY_VERSION, key, VERSION.size)[0].transactional_id
    if value is None:
        return TransactionRecord(transactional_id, None, None)
    with known_version():
        message, _, _ = yield from decode_in_steps(
            TransactionLogValue, version_of(value), value, VERSION.size, max_elements=len(value)
        )
    partitions: set[TransactionPartition] = set()
    for topic in message.transaction_partitions or ():
        for partition in topic.partition_ids:
            partitions.add((topic.topic, partition))
            yield 1
    transaction = Transaction(
        producer_id=message.producer_id,
        previous_producer_id=message.previous_producer_id,
        next_producer_id=message.next_producer_id,
        epoch=message.producer_epoch,
        timeout_s=message.transaction_timeout_ms / 1000,
        status=_status(message.transaction_status),
        partitions=frozenset(partitions),
        started_ms=message.transaction_start_timestamp_ms,
        updated_ms=message.transaction_last_update_timestamp_ms,
        client_version=message.client_transaction_version,
    )
    return TransactionRecord(transactional_id, transaction, value)


def _status(number: int) -> TransactionStatus:
    if not 0 <= number < len(_STATUSES) or _STATUSES[number] in (
        TransactionStatus.DEAD,
        TransactionStatus.PREPARE_EPOCH_FENCE,
    ):
        raise DecodeError(f"a record of __transaction_state has status {number}")
    return _STATUSES[number]
