"""Append the records of a Produce request: check them, find duplicates, recompress them if the topic requires it."""

from __future__ import annotations

from typing import NamedTuple

from kraft.config.topic import LogConfig
from kraft.records.batch import BatchHeader, CorruptBatch, TimestampType, parse_header
from kraft.records.compression import Compression
from kraft.records.produced import ProduceRules, check_produced, check_records, needs_opening
from kraft.records.record import recompress
from kraft.replication.partition import HostedPartition
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.splice import FileSlice, Records
from kraft.wire.varint import Buffer

COMPACT = "compact"
AS_SENT = "producer"
MAX_DECOMPRESSED_BYTES = 64 << 20
"""The largest decompressed size, in bytes, of a batch that must be opened. A larger one is rejected as corrupt."""
_CODECS = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}


class AppendResult(NamedTuple):
    """The offsets of an append. ``end_offset`` is the offset after the last record.

    ``log_append_time_ms`` is -1 unless the broker set the timestamps. For a duplicate batch it is the largest timestamp
    of the batch.
    """

    base_offset: int
    end_offset: int
    log_append_time_ms: int
    log_start_offset: int


def rules_of(partition: HostedPartition) -> ProduceRules:
    """Return the rules of the partition's topic. They are computed again only after a change of its configuration."""
    config = partition.log.config
    known = partition.produce_rules
    if known is None or known[0] is not config:
        partition.produce_rules = known = (config, _rules(config))
    return known[1]


def _rules(config: LogConfig) -> ProduceRules:
    log_append_time = config.message_timestamp_type == "LogAppendTime"
    return ProduceRules(
        max_message_bytes=config.max_message_bytes,
        timestamp_type=TimestampType.LOG_APPEND_TIME if log_append_time else TimestampType.CREATE_TIME,
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        keys_required=COMPACT in config.cleanup_policy,
    )


def append_produced(partition: HostedPartition, records: Records, produce_version: int, now_ms: int) -> AppendResult:
    """Append a producer's records to one partition. A duplicate batch is acknowledged again, without an append.

    Raises:
        KafkaError: Nothing was appended; the error says why.
    """
    config = partition.log.config
    rules = rules_of(partition)
    assert not isinstance(records, FileSlice), "what was received is in memory"
    buffer = b"" if records is None else records
    header = check_produced(buffer, rules, produce_version=produce_version, now_ms=now_ms)
    duplicate = partition.log.producers.check(header)
    if duplicate is not None:
        batch = duplicate.batch
        return AppendResult(
            batch.first_offset, batch.last_offset + 1, batch.timestamp_ms, partition.log.log_start_offset
        )
    if needs_opening(header, rules, now_ms):
        check_records(buffer, header, rules, now_ms=now_ms, max_bytes=MAX_DECOMPRESSED_BYTES)
    codec = _CODECS.get(config.compression_type, header.compression)
    if codec is not header.compression:
        buffer = _recompressed(buffer, header, codec, config)
        header = parse_header(buffer)
    elif not isinstance(buffer, bytearray) and (isinstance(buffer, bytes) or buffer.readonly):
        buffer = bytearray(buffer)
    info = partition.append(buffer, now_ms, [(0, header)])
    return AppendResult(info.base_offset, info.last_offset + 1, info.log_append_time_ms, info.log_start_offset)


def _recompressed(buffer: Buffer, header: BatchHeader, codec: Compression, config: LogConfig) -> bytearray:
    level = _level_of(codec, config)
    try:
        return bytearray(recompress(buffer, 0, header, codec, level=level, max_bytes=MAX_DECOMPRESSED_BYTES))
    except CorruptBatch as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error


def _level_of(codec: Compression, config: LogConfig) -> int | None:
    """Return ``compression.<codec>.level``; None for a codec without levels."""
    levels = {
        Compression.GZIP: config.compression_gzip_level,
        Compression.LZ4: config.compression_lz4_level,
        Compression.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
