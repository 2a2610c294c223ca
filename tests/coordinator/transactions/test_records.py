"""The records of ``__transaction_state``: Apache Kafka's bytes, and damaged ones."""

from __future__ import annotations

import attrs
import pytest

from kraft.coordinator.transactions.records import TransactionRecord, decode_transaction, transaction_value
from kraft.coordinator.transactions.transaction import Transaction, TransactionStatus
from kraft.metadata.steps import finished
from kraft.wire.decode_error import DecodeError

MINUTE = 60.0
KEY = bytes.fromhex("000000056d792d6964")

EMPTY = Transaction(1000, MINUTE, 1_700_000_000_000, epoch=0)
ONGOING = Transaction(
    1000,
    MINUTE,
    1_700_000_000_002,
    epoch=3,
    previous_producer_id=1000,
    status=TransactionStatus.ONGOING,
    partitions=frozenset({("topic", 0)}),
    started_ms=1_700_000_000_001,
)
PREPARED = Transaction(
    1000,
    MINUTE,
    1_700_000_000_002,
    epoch=32767,
    previous_producer_id=1000,
    next_producer_id=1001,
    status=TransactionStatus.PREPARE_COMMIT,
    partitions=frozenset({("topic", 0)}),
    started_ms=1_700_000_000_001,
    client_version=2,
)
COMPLETE = Transaction(
    1001,
    MINUTE,
    1_700_000_000_003,
    epoch=0,
    previous_producer_id=1000,
    status=TransactionStatus.COMPLETE_COMMIT,
    started_ms=1_700_000_000_001,
    client_version=2,
)
APACHE = [
    (0, EMPTY, "000000000000000003e800000000ea6000ffffffff0000018bcfe56800ffffffffffffffff"),
    (
        0,
        ONGOING,
        "000000000000000003e800030000ea6001000000010005746f70696300000001000000000000018bcfe568020000018bcfe56801",
    ),
    (2, EMPTY, "000100000000000003e800000000ea6000000000018bcfe56800ffffffffffffffff00"),
    (
        2,
        ONGOING,
        (
            "000100000000000003e800030000ea60010206746f7069630200000000000000018bcfe56802"
            "0000018bcfe5680101000800000000000003e8"
        ),
    ),
    (
        2,
        PREPARED,
        (
            "000100000000000003e87fff0000ea60020206746f7069630200000000000000018bcfe56802"
            "0000018bcfe5680103000800000000000003e8010800000000000003e902020002"
        ),
    ),
    (
        2,
        COMPLETE,
        "000100000000000003e900000000ea6004010000018bcfe568030000018bcfe5680102000800000000000003e802020002",
    ),
]
"""``transaction.version``, a transaction, and the value that ``TransactionLog.valueToBytes`` of Kafka 4.3.1 makes of it
(for the first one, with -1 as the previous producer id).
"""


@pytest.mark.parametrize(("version", "transaction", "expected"), APACHE)
def test_the_bytes_are_apaches(version: int, transaction: Transaction, expected: str) -> None:
    value = finished(transaction_value(transaction, version))
    assert value.hex() == expected
    record = TransactionRecord("my-id", transaction, value)
    assert record.key == KEY
    decoded = finished(decode_transaction(record.key, value))
    assert decoded is not None
    assert decoded.transactional_id == "my-id"
    has_tags = version > 0
    assert decoded.transaction == (transaction if has_tags else attrs.evolve(transaction, previous_producer_id=-1))


def test_a_record_without_tags_has_neither_producer_ids_nor_a_version() -> None:
    """Version 0 cannot hold them. Apache's encoder refuses such a record, which would be the end of its transaction."""
    decoded = finished(decode_transaction(KEY, finished(transaction_value(PREPARED, 0))))
    assert decoded is not None
    assert decoded.transaction is not None
    assert (decoded.transaction.next_producer_id, decoded.transaction.client_version) == (-1, 0)


def test_a_tombstone_has_no_transaction() -> None:
    decoded = finished(decode_transaction(KEY, None))
    assert decoded is not None
    assert (decoded.transactional_id, decoded.transaction) == ("my-id", None)


def test_a_record_of_an_unknown_kind_is_skipped() -> None:
    """Apache: ``TransactionStateManager.loadTransactionMetadata`` ignores an unknown version of the key."""
    assert finished(decode_transaction(b"\x00\x01", b"?")) is None
    assert finished(decode_transaction(None, b"?")) is None


@pytest.mark.parametrize("status", [6, 7, 8, 127, 255])
def test_a_status_that_no_record_has_is_damage(status: int) -> None:
    """Dead and PrepareEpochFence are never written."""
    value = bytearray(finished(transaction_value(EMPTY, 0)))
    value[16] = status
    with pytest.raises(DecodeError, match="status"):
        finished(decode_transaction(KEY, bytes(value)))


@pytest.mark.parametrize("value", [b"", b"\x00", b"\x00\x00", b"\x00\x02", b"\x00\x00\x00\x00"])
def test_a_damaged_value_is_an_error(value: bytes) -> None:
    with pytest.raises(DecodeError):
        finished(decode_transaction(KEY, value))
