"""The rules for the records of one partition in a Produce request.

``check_produced`` checks the header and the checksum. Most topics need no more, and store the batch unchanged. If
``needs_opening`` returns true, ``RecordCheck`` checks the decoded records. A compacted topic requires a key in each
record. If timestamps are out of bounds, the response names their records.

A refusal is a KafkaError with the error code for the client.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from kraft.records.batch import (
    HEADER_SIZE,
    LOG_APPEND_TIME_BIT,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    CorruptBatch,
    OldMagic,
    TimestampType,
    check_batch,
    parse_header,
)
from kraft.records.compression import Compression
from kraft.records.record import Record
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.splice import FileSlice, Records
from kraft.wire.varint import Buffer

_ATTRIBUTES_LOW_BYTE = 22
_ZSTD_FROM_PRODUCE_VERSION = 7
MAX_RECORD_ERRORS = 1000
"""Not a Kafka setting. How many records a refusal names: a batch of 1 MB may hold millions."""


@attrs.frozen
class ProduceRules:
    """The settings of a topic that limit produced batches; sizes in bytes, times in ms."""

    max_message_bytes: int
    timestamp_type: TimestampType
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    keys_required: bool = False


class RefusedRecords(KafkaError):
    """Single records of a batch break a rule. ``indexes`` count from 0 within the batch (KIP-467 record errors)."""

    def __init__(self, code: ErrorCode, message: str, indexes: tuple[int, ...]) -> None:
        super().__init__(code, message)
        self.indexes = indexes


def check_produced(records: Buffer, rules: ProduceRules, *, produce_version: int) -> BatchHeader:
    """Check the records of one partition from a producer. Return the header of their one batch, or raise KafkaError.

    INVALID_RECORD: no batch or more than one, an old magic (Produce from version 3 on carries magic 2 only), offsets
    that do not count up from 0, control records, producer fields that contradict each other.
    UNSUPPORTED_COMPRESSION_TYPE: zstd below Produce 7 (KIP-110). MESSAGE_TOO_LARGE: above ``max.message.bytes``.
    CORRUPT_MESSAGE: truncated, malformed, wrong checksum. INVALID_TIMESTAMP: LogAppendTime, which only brokers write.
    """
    if not records:
        raise KafkaError(ErrorCode.INVALID_RECORD, "a produce request needs one record batch per partition")
    try:
        header = parse_header(records)
        size = header.size
        if len(records) > size:
            raise KafkaError(ErrorCode.INVALID_RECORD, "more than one record batch for a partition")
        if size > rules.max_message_bytes:
            message = f"batch of {size} bytes, max.message.bytes is {rules.max_message_bytes}"
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, message)
        check_batch(records, 0, header)
    except OldMagic as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from error
    except CorruptBatch as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    if produce_version < _ZSTD_FROM_PRODUCE_VERSION and header.compression is Compression.ZSTD:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or later")
    _check_offsets(header)
    _check_producer(header)
    if header.attributes & LOG_APPEND_TIME_BIT:
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, "a producer may not set the timestamp type LogAppendTime")
    return header


def needs_opening(header: BatchHeader, rules: ProduceRules, now_ms: int) -> bool:
    """Whether ``RecordCheck`` must also check the batch.

    It must if keys are required. It must also if the header has a timestamp out of bounds: the response then names
    these records.
    """
    return rules.keys_required or not _times_in_bounds(header, rules, now_ms)


def is_transactional(records: Records) -> bool:
    """Whether the batch in a request has the transactional bit. False for bytes that are too short for a batch."""
    if records is None or isinstance(records, FileSlice) or len(records) < HEADER_SIZE:
        return False
    return bool(records[_ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_BIT)


def _check_offsets(header: BatchHeader) -> None:
    if header.is_control:
        raise KafkaError(ErrorCode.INVALID_RECORD, "only brokers may write control records")
    if header.base_offset != 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"base offset {header.base_offset}, expected 0")
    if header.count == 0 or header.count != header.last_offset_delta + 1:
        message = f"{header.count} records with a last offset delta of {header.last_offset_delta}"
        raise KafkaError(ErrorCode.INVALID_RECORD, message)


def _check_producer(header: BatchHeader) -> None:
    """Require an epoch and a sequence with a producer id. Ignore them without one, because clients differ in them."""
    if header.producer_id < 0:
        if header.producer_id != NO_PRODUCER_ID or header.is_transactional:
            message = f"producer id {header.producer_id} on a batch that needs one"
            raise KafkaError(ErrorCode.INVALID_RECORD, message)
    elif header.producer_epoch < 0 or header.base_sequence < 0:
        message = f"producer epoch {header.producer_epoch}, base sequence {header.base_sequence} with a producer id"
        raise KafkaError(ErrorCode.INVALID_RECORD, message)


def _times_in_bounds(header: BatchHeader, rules: ProduceRules, now_ms: int) -> bool:
    """Check ``message.timestamp.{before,after}.max.ms`` against the header's first and max timestamp.

    A topic with LogAppendTime has no bounds, because the broker overwrites the timestamps.
    """
    if rules.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return True
    return _in_bounds(header.max_timestamp, rules, now_ms) and _in_bounds(header.base_timestamp, rules, now_ms)


def _in_bounds(timestamp: int, rules: ProduceRules, now_ms: int) -> bool:
    if timestamp == NO_TIMESTAMP:
        return True
    return -rules.timestamp_after_max_ms <= now_ms - timestamp <= rules.timestamp_before_max_ms


class RecordCheck:
    """Checks the records of a batch that passed ``check_produced``, some at a time."""

    def __init__(self, header: BatchHeader, rules: ProduceRules, now_ms: int) -> None:
        self._header, self._rules, self._now_ms = header, rules, now_ms
        self._index = 0
        self._late: list[int] = []
        self._keyless: list[int] = []

    def add(self, records: Iterable[Record]) -> int:
        """Check the next records; return how many there were, or 0 once ``MAX_RECORD_ERRORS`` are refused.

        Raises KafkaError CORRUPT_MESSAGE if the records cannot be read.
        """
        rules, first = self._rules, self._index
        if len(self._late) + len(self._keyless) >= MAX_RECORD_ERRORS:
            return 0
        bounded = rules.timestamp_type is TimestampType.CREATE_TIME
        try:
            for self._index, record in enumerate(records, first + 1):
                if rules.keys_required and record.key is None:
                    self._keyless.append(self._index - 1)
                elif bounded and not _in_bounds(record.timestamp, rules, self._now_ms):
                    self._late.append(self._index - 1)
        except CorruptBatch as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
        return self._index - first

    def finish(self) -> None:
        """Judge the batch after its last record.

        Raises:
            RefusedRecords: INVALID_TIMESTAMP if a timestamp is out of bounds, else INVALID_RECORD for missing keys.
            KafkaError: INVALID_TIMESTAMP if only the header has a timestamp out of bounds.
        """
        late, keyless = self._late, self._keyless
        if late:
            message = f"{len(late)} timestamps out of bounds"
            raise RefusedRecords(
                ErrorCode.INVALID_TIMESTAMP, message, tuple(sorted(late + keyless)[:MAX_RECORD_ERRORS])
            )
        if keyless:
            message = "a compacted topic needs a key in every record"
            raise RefusedRecords(ErrorCode.INVALID_RECORD, message, tuple(keyless[:MAX_RECORD_ERRORS]))
        if not _times_in_bounds(self._header, self._rules, self._now_ms):
            raise KafkaError(ErrorCode.INVALID_TIMESTAMP, "the timestamps of the batch are not those of its records")
