"""Append the records of a Produce request: check them, find duplicates, recompress them if the topic requires it."""

from __future__ import annotations

from io import BytesIO
from itertools import islice
from typing import Final

import attrs

from kraft.broker.leadership import Leadership
from kraft.broker.producer_state import IN_TRANSACTION
from kraft.config.topic import COMPACT, LogConfig
from kraft.records.batch import BatchHeader, CorruptBatch, TimestampType, WritableBuffer, parse_header
from kraft.records.compression import Compression
from kraft.records.produced import ProduceRules, RecordCheck, check_produced, needs_opening
from kraft.records.record import decode_records, recompress
from kraft.replication.partition import HostedPartition
from kraft.storage.log import AppendInfo
from kraft.storage.opening import RECORDS_PER_SLICE, SMALL_BYTES, opened
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.splice import FileSlice, Records
from kraft.wire.varint import Buffer
from kraft.world.slices import Slices, next_slice
from kraft.world.world import World

MAX_PRODUCED_BYTES = 64 << 20
"""The largest decompressed size, in bytes, of a batch that must be opened. A larger one is rejected as corrupt."""
AT_ONCE_BYTES: Final = 4 << 20
"""Not a Kafka setting. A larger batch is written in pieces, in between of which other tasks run."""
EPOCH_BUMP_PRODUCE_VERSION: Final = 12
"""The first version of Produce whose producers bump their epoch after each transaction (KIP-890)."""
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
    partition: HostedPartition, records: Records, produce_version: int, now_ms: int, verified_at: int | None = None
) -> AppendInfo | LongAppend:
    """Append a producer's records to one partition. A duplicate batch is acknowledged again, without an append.

    Returns a LongAppend, and appends nothing yet, if that takes longer. ``verified_at`` is the end of the log when a
    coordinator confirmed a transaction that the partition lacked, IN_TRANSACTION if the partition had the transaction,
    and None if transactions are not verified.

    Raises KafkaError with the reason; then nothing was appended.
    """
    config = partition.log.config
    rules = rules_of(partition)
    assert not isinstance(records, FileSlice), "what was received is in memory"
    buffer = b"" if records is None else records
    header = check_produced(buffer, rules, produce_version=produce_version)
    check = RecordCheck(header, rules, now_ms) if needs_opening(header, rules, now_ms) else None
    try:
        duplicate = _check_producer(partition, header, produce_version, verified_at)
        if duplicate is not None:
            return duplicate
    except KafkaError:
        if check is None:
            raise
        # An error of the records comes first, as in Kafka's UnifiedLog.append. LongAppend repeats this check.
    present = header.compression
    codec = _CODECS.get(config.compression_type, present)
    is_long = len(buffer) > AT_ONCE_BYTES or partition.is_appending or partition.log.has_unsynced_id
    if is_long or check is not None or codec is not present:
        level = _level_of(codec, config)
        return LongAppend(
            partition, partition.leadership, buffer, header, check, codec, level, produce_version, verified_at
        )
    return partition.append(_writable(buffer), now_ms, [(0, header)])


@attrs.frozen(eq=False)
class LongAppend:
    """A batch that takes longer to append. Its records must be decoded or recompressed, or it is large, or follows a
    large one, or its log is new.
    """

    partition: HostedPartition
    leadership: Leadership | None
    buffer: Buffer
    header: BatchHeader
    check: RecordCheck | None
    codec: Compression
    level: int | None
    produce_version: int
    verified_at: int | None

    async def append(self, world: World, *, acks_all: bool = False) -> AppendInfo:
        """Open the batch if its records are needed, and append it.

        Checks the partition a second time, because it may change meanwhile; with ``acks_all`` also its ISR.

        Raises KafkaError with the reason; then nothing was appended.
        """
        buffer, header = self.buffer, self.header
        if self.check is not None or self.codec is not header.compression:
            buffer = await self._opened(world)
            header = parse_header(buffer)
            limit = self.partition.log.config.max_message_bytes
            if header.size > limit:
                message = f"batch of {header.size} bytes in the topic's codec, max.message.bytes is {limit}"
                raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, message)
        partition = self.partition
        async with partition.appending():
            if self.leadership is None or partition.leadership is not self.leadership:
                raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            if acks_all:
                partition.check_min_insync()
            duplicate = _check_producer(partition, header, self.produce_version, self.verified_at)
            if duplicate is not None:
                return duplicate
            writable, now_ms = _writable(buffer), world.clock.now_ms()
            if len(writable) > AT_ONCE_BYTES:
                return await partition.append_large(writable, now_ms, [(0, header)])
            return partition.append(writable, now_ms, [(0, header)])

    async def _opened(self, world: World) -> Buffer:
        """Check the records, and return the batch in its codec. Large ones are opened on a worker thread and checked
        in slices.
        """
        opening = opened(self.buffer, 0, self.header, max_bytes=MAX_PRODUCED_BYTES, compute=world.compute)
        try:
            async with opening as payload:
                if self.check is not None:
                    content = payload if isinstance(payload, bytes) else await _copied(payload)
                    await self._checked(self.check, content)
                if self.codec is self.header.compression:
                    return self.buffer
                return await self._recompressed(payload, world)
        except CorruptBatch as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error

    async def _checked(self, check: RecordCheck, payload: bytes) -> None:
        slices = Slices(RECORDS_PER_SLICE)
        records = decode_records(payload, self.header)
        while count := check.add(islice(records, RECORDS_PER_SLICE)):
            await slices.spend(count)
        check.finish()

    async def _recompressed(self, payload: Buffer, world: World) -> Buffer:
        if len(payload) <= SMALL_BYTES:
            return recompress(payload, self.header, self.codec, self.level)
        batch: bytearray = await world.compute(recompress, payload, self.header, self.codec, self.level)
        return batch


def _check_producer(
    partition: HostedPartition, header: BatchHeader, produce_version: int, verified_at: int | None
) -> AppendInfo | None:
    """Return the offsets of the same batch if it was appended before, and as append time its largest timestamp.

    Raises KafkaError for a gap in the sequence, or if the batch may not join its transaction.
    """
    producers = partition.log.producers
    duplicate = producers.check(header)
    if duplicate is not None:
        batch = duplicate.batch
        return AppendInfo(batch.first_offset, batch.last_offset, batch.timestamp_ms, partition.log.log_start_offset)
    if verified_at is not None:
        if header.is_transactional:
            producers.check_transaction(header.producer_id, header.producer_epoch, verified_at)
        if verified_at != IN_TRANSACTION and produce_version >= EPOCH_BUMP_PRODUCE_VERSION:
            producers.check_first_sequence(header)
    return None


async def _copied(data: Buffer) -> bytes:
    """Return a copy, made in pieces: a large one takes almost as long as its write."""
    copy = BytesIO()
    for start in range(0, len(data), AT_ONCE_BYTES):
        if start:
            await next_slice()
        copy.write(memoryview(data)[start : start + AT_ONCE_BYTES])
    return copy.getvalue()


def _writable(buffer: Buffer) -> WritableBuffer:
    if isinstance(buffer, bytearray) or not (isinstance(buffer, bytes) or buffer.readonly):
        return buffer
    return bytearray(buffer)


def _level_of(codec: Compression, config: LogConfig) -> int | None:
    """Return ``compression.<codec>.level``; None for a codec without levels."""
    levels = {
        Compression.GZIP: config.compression_gzip_level,
        Compression.LZ4: config.compression_lz4_level,
        Compression.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
