"""Append the records of a Produce request: check them, find duplicates, recompress them if the topic requires it."""

from __future__ import annotations

from itertools import islice

import attrs

from kraft.broker.leadership import Leadership
from kraft.config.topic import LogConfig
from kraft.records.batch import BatchHeader, CorruptBatch, TimestampType, parse_header
from kraft.records.compression import Compression
from kraft.records.produced import ProduceRules, RecordCheck, check_produced, needs_opening
from kraft.records.record import decode_records, recompress
from kraft.replication.partition import HostedPartition
from kraft.storage.log import AppendInfo
from kraft.storage.opening import RECORDS_PER_SLICE, SMALL_BYTES, opened
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.splice import FileSlice, Records
from kraft.wire.varint import Buffer
from kraft.world.turns import Turns
from kraft.world.world import World

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


def append_produced(
    partition: HostedPartition, records: Records, produce_version: int, now_ms: int
) -> AppendInfo | LongAppend:
    """Append a producer's records to one partition. A duplicate batch is acknowledged again, without an append.

    Returns a LongAppend, and appends nothing yet, if that takes longer.

    Raises:
        KafkaError: Nothing was appended; the error says why.
    """
    config = partition.log.config
    rules = rules_of(partition)
    assert not isinstance(records, FileSlice), "what was received is in memory"
    buffer = b"" if records is None else records
    header = check_produced(buffer, rules, produce_version=produce_version, now_ms=now_ms)
    duplicate = _duplicate(partition, header)
    if duplicate is not None:
        return duplicate
    present = header.compression
    codec = _CODECS.get(config.compression_type, present)
    check = RecordCheck(header, rules, now_ms) if needs_opening(header, rules, now_ms) else None
    if check is not None or codec is not present or partition.log.has_unsynced_id:
        return LongAppend(partition, partition.leadership, buffer, header, check, codec, _level_of(codec, config))
    return _append(partition, buffer, header, now_ms)


@attrs.frozen(eq=False)
class LongAppend:
    """A batch that takes longer to append: its records must be decoded or recompressed, or its log is new."""

    partition: HostedPartition
    leadership: Leadership | None
    buffer: Buffer
    header: BatchHeader
    check: RecordCheck | None
    codec: Compression
    level: int | None

    async def append(self, world: World) -> AppendInfo:
        """Open the batch if its records are needed, and append it.

        Checks the partition a second time, because it may change meanwhile.

        Raises:
            KafkaError: Nothing was appended; the error says why.
        """
        buffer, header = self.buffer, self.header
        if self.check is not None or self.codec is not header.compression:
            buffer = await self._opened(world)
            header = parse_header(buffer)
        if self.leadership is None or self.partition.leadership is not self.leadership:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        duplicate = _duplicate(self.partition, header)
        return _append(self.partition, buffer, header, world.clock.now_ms()) if duplicate is None else duplicate

    async def _opened(self, world: World) -> Buffer:
        """Check the records, and return the batch in its codec. Large ones are opened on a worker thread and checked
        in slices.
        """
        opening = opened(self.buffer, 0, self.header, max_bytes=MAX_DECOMPRESSED_BYTES, compute=world.compute)
        try:
            async with opening as payload:
                if self.check is not None:
                    await self._checked(self.check, bytes(payload))
                return (
                    self.buffer if self.codec is self.header.compression else await self._recompressed(payload, world)
                )
        except CorruptBatch as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error

    async def _checked(self, check: RecordCheck, payload: bytes) -> None:
        turns = Turns(RECORDS_PER_SLICE)
        records = decode_records(payload, self.header)
        while count := check.add(islice(records, RECORDS_PER_SLICE)):
            await turns.spend(count)
        check.finish()

    async def _recompressed(self, payload: Buffer, world: World) -> Buffer:
        if len(payload) <= SMALL_BYTES:
            return recompress(payload, self.header, self.codec, self.level)
        compressed: bytes = await world.compute(recompress, payload, self.header, self.codec, self.level)
        return compressed


def _duplicate(partition: HostedPartition, header: BatchHeader) -> AppendInfo | None:
    """Return the offsets of the same batch if it was appended before, and as append time its largest timestamp.

    Raises KafkaError for a gap in the sequence.
    """
    duplicate = partition.log.producers.check(header)
    if duplicate is None:
        return None
    batch = duplicate.batch
    return AppendInfo(batch.first_offset, batch.last_offset, batch.timestamp_ms, partition.log.log_start_offset)


def _append(partition: HostedPartition, buffer: Buffer, header: BatchHeader, now_ms: int) -> AppendInfo:
    if not isinstance(buffer, bytearray) and (isinstance(buffer, bytes) or buffer.readonly):
        buffer = bytearray(buffer)
    return partition.append(buffer, now_ms, [(0, header)])


def _level_of(codec: Compression, config: LogConfig) -> int | None:
    """Return ``compression.<codec>.level``; None for a codec without levels."""
    levels = {
        Compression.GZIP: config.compression_gzip_level,
        Compression.LZ4: config.compression_lz4_level,
        Compression.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
