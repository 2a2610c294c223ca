"""The batches that a producer may append, and the error codes of the others."""

from __future__ import annotations

from itertools import islice
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.records.batch import BatchHeader, TimestampType, parse_header
from kraft.records.compression import Compression
from kraft.records.produced import (
    MAX_RECORD_ERRORS,
    ProduceRules,
    RecordCheck,
    RefusedRecords,
    check_produced,
    is_transactional,
    needs_opening,
)
from kraft.records.record import Record, encode_batch, read_records
from kraft.wire.errors import ErrorCode, KafkaError
from tests.records.strategies import CAP, forge, record_lists

NOW = 1_700_000_000_000
HOUR = 3_600_000
RULES = ProduceRules(
    max_message_bytes=100_000,
    timestamp_type=TimestampType.CREATE_TIME,
    timestamp_before_max_ms=2**63 - 1,
    timestamp_after_max_ms=HOUR,
)
RECORDS = [Record(index, NOW + index, b"key", b"value") for index in range(3)]
BATCH = encode_batch(RECORDS)


def check(batch: bytes, rules: ProduceRules = RULES, produce_version: int = 9) -> Any:
    return check_produced(batch, rules, produce_version=produce_version)


def check_records(batch: bytes, header: BatchHeader, rules: ProduceRules, *, now_ms: int, max_bytes: int) -> None:
    """Check the records two at a time."""
    records = read_records(batch, 0, header, max_bytes=max_bytes)
    checking = RecordCheck(header, rules, now_ms)
    while checking.add(islice(records, 2)):
        pass
    checking.finish()


def test_a_refusal_names_a_bounded_number_of_records() -> None:
    """A batch of 800 KB with 1,000,000 records would be answered with 50 MB of record errors (KIP-467)."""
    rules = attrs.evolve(RULES, keys_required=True)
    batch = encode_batch([Record(offset, NOW, None, b"") for offset in range(3 * MAX_RECORD_ERRORS)])
    header = check(batch, rules)
    records, checking, added = read_records(batch, 0, header, max_bytes=CAP), RecordCheck(header, rules, NOW), 0
    while count := checking.add(islice(records, MAX_RECORD_ERRORS // 2)):
        added += count
    with pytest.raises(RefusedRecords) as caught:
        checking.finish()
    assert caught.value.indexes == tuple(range(MAX_RECORD_ERRORS))
    assert added == MAX_RECORD_ERRORS, "the rest need not be decoded"


def refused(batch: bytes, rules: ProduceRules = RULES, produce_version: int = 9) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        check(batch, rules, produce_version)
    return caught.value.code


@given(record_lists(), st.sampled_from(Compression))
def test_batches_of_clients_are_accepted(records: list[Record], compression: Compression) -> None:
    rules = attrs.evolve(RULES, timestamp_after_max_ms=2**63 - 1)
    batch = encode_batch(records, compression=compression)
    header = check(batch, rules)
    assert header == parse_header(batch)
    check_records(batch, header, rules, now_ms=NOW, max_bytes=CAP)


def test_exactly_one_batch_per_partition() -> None:
    """Produce from version 3 on: exactly one record batch per partition, of magic 2."""
    assert refused(b"") is ErrorCode.INVALID_RECORD
    assert refused(BATCH + BATCH) is ErrorCode.INVALID_RECORD
    assert refused(BATCH + b"\0") is ErrorCode.INVALID_RECORD
    assert refused(bytes(16) + b"\x01" + bytes(30)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    "batch",
    [BATCH[:-1], BATCH[:40], BATCH[:-1] + b"\x55", BATCH[:16] + b"\x03" + BATCH[17:], forge(BATCH, c=(21, "h", 5))],
    ids=["cut", "cut in the header", "checksum", "magic 3", "codec 5"],
)
def test_corrupt_batches(batch: bytes) -> None:
    assert refused(batch) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "batch",
    [
        forge(BATCH, base=(0, "q", 5)),
        forge(BATCH, count=(57, "i", 2)),
        forge(BATCH, count=(57, "i", 0)),
        forge(BATCH, attributes=(21, "h", 0x20)),
        forge(BATCH, attributes=(21, "h", 0x10)),
        forge(BATCH, producer_id=(43, "q", -2)),
        forge(BATCH, producer_id=(43, "q", 7)),
        forge(BATCH, producer_id=(43, "q", 7), epoch=(51, "h", 0)),
        forge(BATCH, producer_id=(43, "q", 7), sequence=(53, "i", 0)),
    ],
    ids=[
        "base offset 5",
        "fewer records than offsets",
        "no records",
        "control batch",
        "transactional without producer id",
        "producer id -2",
        "no epoch, no sequence",
        "no sequence",
        "no epoch",
    ],
)
def test_invalid_batches(batch: bytes) -> None:
    assert refused(batch) is ErrorCode.INVALID_RECORD


def test_without_a_producer_id_epoch_and_sequence_do_not_matter() -> None:
    """kafkajs and aiokafka send base sequence 0 with producer id -1, others -1."""
    assert check(forge(BATCH, epoch=(51, "h", 3), sequence=(53, "i", 0))).producer_id == -1


def test_size_is_judged_before_the_checksum() -> None:
    """``max.message.bytes``: the largest batch size, after compression."""
    assert check(BATCH, attrs.evolve(RULES, max_message_bytes=len(BATCH)))
    small = attrs.evolve(RULES, max_message_bytes=len(BATCH) - 1)
    assert refused(BATCH[:-1] + b"\x55", small) is ErrorCode.MESSAGE_TOO_LARGE


def test_zstd_needs_produce_7() -> None:
    """KIP-110: a producer of an older version may not send zstd."""
    batch = encode_batch(RECORDS, compression=Compression.ZSTD)
    assert refused(batch, produce_version=6) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert check(batch, produce_version=7)


@pytest.mark.parametrize(
    ("timestamp", "accepted"),
    [(NOW, True), (NOW + HOUR, True), (NOW + HOUR + 1, False), (NOW - 1000, True), (NOW - 1001, False), (-1, True)],
)
def test_timestamp_bounds(timestamp: int, accepted: bool) -> None:
    """``message.timestamp.{before,after}.max.ms``; -1 is no timestamp and has no bounds."""
    rules = attrs.evolve(RULES, timestamp_before_max_ms=1000)
    batch = encode_batch([Record(0, timestamp, None, b"")])
    header = check(batch, rules)
    assert needs_opening(header, rules, NOW) is not accepted
    if accepted:
        check_records(batch, header, rules, now_ms=NOW, max_bytes=CAP)
    else:
        with pytest.raises(RefusedRecords) as caught:
            check_records(batch, header, rules, now_ms=NOW, max_bytes=CAP)
        assert (caught.value.code, caught.value.indexes) == (ErrorCode.INVALID_TIMESTAMP, (0,))
    overwritten = attrs.evolve(rules, timestamp_type=TimestampType.LOG_APPEND_TIME)
    check_records(batch, check(batch, overwritten), overwritten, now_ms=NOW, max_bytes=CAP)


def test_a_header_may_not_claim_a_time_out_of_bounds() -> None:
    lying = forge(BATCH, max_timestamp=(35, "q", NOW + 2 * HOUR))
    with pytest.raises(KafkaError) as caught:
        check_records(lying, check(lying), RULES, now_ms=NOW, max_bytes=CAP)
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP


def test_transactional_batches_are_seen_before_they_are_judged() -> None:
    assert is_transactional(forge(BATCH, attributes=(21, "h", 0x10)))
    assert not any(is_transactional(records) for records in (BATCH, BATCH[:20], b"", None))


def test_a_producer_may_not_claim_log_append_time() -> None:
    batch = encode_batch(RECORDS, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert refused(batch) is ErrorCode.INVALID_TIMESTAMP
    rules = attrs.evolve(RULES, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert refused(batch, rules) is ErrorCode.INVALID_TIMESTAMP


def test_record_errors_name_the_records() -> None:
    """KIP-467: the response names the records by their index in the batch."""
    rules = attrs.evolve(RULES, timestamp_before_max_ms=1000, keys_required=True)
    records = [Record(0, NOW, None, b""), Record(1, NOW, b"k", b""), Record(2, NOW - 2000, b"k", b"")]
    keyless = encode_batch(records[:2])
    with pytest.raises(RefusedRecords) as caught:
        check_records(keyless, check(keyless, rules), rules, now_ms=NOW, max_bytes=CAP)
    assert (caught.value.code, caught.value.indexes) == (ErrorCode.INVALID_RECORD, (0,))
    both = encode_batch(records)
    with pytest.raises(RefusedRecords) as caught:
        check_records(both, check(both, rules), rules, now_ms=NOW, max_bytes=CAP)
    assert (caught.value.code, caught.value.indexes) == (ErrorCode.INVALID_TIMESTAMP, (0, 2))


def test_unreadable_records_are_corrupt_and_a_false_max_timestamp_is_found() -> None:
    forged = forge(BATCH, BATCH[61:-1])
    with pytest.raises(KafkaError) as caught:
        check_records(forged, check(forged), RULES, now_ms=NOW, max_bytes=CAP)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    false = forge(BATCH, max_timestamp=(35, "q", NOW + 1000))
    check_records(false, check(false), RULES, now_ms=NOW, max_bytes=CAP)
