"""Batches of the metadata log as bytes: a leader encodes them, and a follower checks those that it fetched (KIP-595).

A metadata log has no gaps, no producers and no client transactions. A follower checks lengths, checksums, offsets and
epochs of fetched batches, and decodes each record, before it appends them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kraft.messages.leader_change_message import LeaderChangeMessage, Voter
from kraft.metadata.frame import encode_record
from kraft.metadata.levels import record_version
from kraft.metadata.steps import Steps
from kraft.quorum.support import require_static_voters
from kraft.raft.events import LeaderChange
from kraft.raft.messages import EpochEnd, LogSlice
from kraft.records.batch import (
    HEADER_SIZE,
    NO_PRODUCER_ID,
    BatchHeader,
    CorruptBatch,
    check_batch,
    whole_batches,
)
from kraft.records.control import ControlType, control_record
from kraft.records.record import encode_batch, encode_pairs, read_records
from kraft.storage.segment import AppendedBatch
from kraft.storage.snapshot import MAX_READ_BATCH_BYTES
from kraft.wire.codec import encode
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.varint import Buffer

#: The maximum number of records in a batch: as many as the largest operation of a user creates.
MAX_BATCH_RECORDS = 10_000
#: The maximum size of an encoded batch, in bytes. A controller of Apache Kafka reads no larger one.
MAX_BATCH_BYTES = 8 * 2**20

_LEADER_CHANGE_VERSION = 0
_CHECKED_AT_ONCE = 8
_MAX_RECORD_OVERHEAD = 32


class FetchedBatches(NamedTuple):
    """Whole batches from the leader of ``leader_epoch``, checked to continue a log that ends at ``follows``.

    ``data`` has the bytes of ``batches``. ``records`` has their offsets and epochs.
    """

    records: LogSlice
    data: Buffer
    batches: Sequence[AppendedBatch]
    follows: EpochEnd
    leader_epoch: int

    @property
    def opens_epoch(self) -> bool:
        """Whether these batches include the LeaderChange control record of a new epoch."""
        return self.records.runs[-1].epoch > self.follows.epoch

    @property
    def epochs(self) -> list[tuple[int, int]]:
        """The epoch and the start offset of each run of batches with the same epoch."""
        starts = [self.records.base_offset, *(run.end_offset for run in self.records.runs)]
        return [(run.epoch, start) for run, start in zip(self.records.runs, starts, strict=False)]


def encoded_batches(
    records: Sequence[Any], offset: int, epoch: int, timestamp_ms: int
) -> Steps[list[tuple[Sequence[Any], bytes]]]:
    """Return the records and the bytes of each batch, in steps. The first record gets ``offset``.

    Raises KafkaError RECORD_LIST_TOO_LARGE for a record that fits in no batch.
    """
    values: list[bytes] = []
    for record in records:
        values.append(encode_record(record, record_version(record)))
        yield 1
    batches: list[tuple[Sequence[Any], bytes]] = []
    for start, end in _parts([len(value) for value in values]):
        pairs = ((None, value) for value in values[start:end])
        encoded = encode_pairs(pairs, base_offset=offset + start, leader_epoch=epoch, timestamp_ms=timestamp_ms)
        batches.append((records[start:end], (yield from encoded)))
    return batches


def _parts(sizes: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of each batch for values of these ``sizes`` in bytes."""
    start, room = 0, MAX_BATCH_BYTES - HEADER_SIZE
    for number, size in enumerate(sizes):
        needed = size + _MAX_RECORD_OVERHEAD
        if needed > MAX_BATCH_BYTES - HEADER_SIZE:
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, f"a metadata record of {size} bytes fits in no batch")
        if needed > room or number - start == MAX_BATCH_RECORDS:
            yield start, number
            start, room = number, MAX_BATCH_BYTES - HEADER_SIZE
        room -= needed
    if start < len(sizes):
        yield start, len(sizes)


def leader_change_batch(change: LeaderChange, offset: int, timestamp_ms: int) -> bytes:
    """Encode the LeaderChange control batch, the first of an epoch."""
    message = LeaderChangeMessage(
        version=_LEADER_CHANGE_VERSION,
        leader_id=change.leader_id,
        voters=[Voter(voter_id=voter) for voter in change.voters],
        granting_voters=[Voter(voter_id=voter) for voter in change.granting_voters],
    )
    value = encode(message, _LEADER_CHANGE_VERSION)
    record = control_record(ControlType.LEADER_CHANGE, value, offset=offset, timestamp=timestamp_ms)
    return encode_batch([record], base_offset=offset, leader_epoch=change.epoch, control=True)


def log_slice(headers: Iterable[BatchHeader]) -> LogSlice | None:
    """Return the base offset and the end of each epoch of consecutive batches, or None if there are no batches."""
    base_offset = None
    runs: list[EpochEnd] = []
    for header in headers:
        if base_offset is None:
            base_offset = header.base_offset
        if runs and runs[-1].epoch == header.leader_epoch:
            runs.pop()
        runs.append(EpochEnd(header.leader_epoch, header.next_offset))
    return None if base_offset is None else LogSlice(base_offset, tuple(runs))


def check_fetched(data: Buffer, end_offset: int, last_epoch: int, epoch: int) -> Steps[FetchedBatches | None]:
    """Check batches from the leader of ``epoch``, in steps. They must continue a log that ends at ``end_offset`` in
    ``last_epoch``.

    Returns the whole batches, or None if there is no whole batch.

    Raises:
        CorruptBatch: No leader would send these batches.
        UnsupportedFormat: The leader's log has dynamic voters.
    """
    follows = EpochEnd(last_epoch, end_offset)
    size, headers = 0, []
    batches: list[AppendedBatch] = []
    for position, header in whole_batches(data, MAX_READ_BATCH_BYTES):
        if header.base_offset != end_offset:
            raise CorruptBatch(f"a batch begins at offset {header.base_offset}, expected {end_offset}")
        if not last_epoch <= header.leader_epoch <= epoch:
            found = f"a batch of epoch {header.leader_epoch} after one of {last_epoch}"
            raise CorruptBatch(f"{found}, from the leader of {epoch}")
        yield from _check_content(data, position, header)
        if header.leader_epoch != last_epoch and not header.is_control:
            raise CorruptBatch(f"epoch {header.leader_epoch} does not begin with its leader's control batch")
        end_offset, last_epoch = header.next_offset, header.leader_epoch
        size = position + header.size
        headers.append(header)
        batches.append(AppendedBatch(position, end_offset - 1, header.max_timestamp))
    records = log_slice(headers)
    if records is None:
        return None
    return FetchedBatches(records, data if size == len(data) else memoryview(data)[:size], batches, follows, epoch)


def _check_content(data: Buffer, position: int, header: BatchHeader) -> Steps[None]:
    check_batch(data, position, header)
    if header.producer_id != NO_PRODUCER_ID or header.is_transactional:
        raise CorruptBatch("a batch of a client's producer")
    if header.count != header.last_offset_delta + 1:
        raise CorruptBatch(f"{header.count} records where there are {header.last_offset_delta + 1} offsets")
    is_control = header.is_control
    records = read_records(data, position, header, max_bytes=MAX_READ_BATCH_BYTES)
    for number, record in enumerate(records):
        if not number % _CHECKED_AT_ONCE:
            yield 1
        if is_control:
            require_static_voters(record, "the log of the leader")
        elif record.value is None:
            raise CorruptBatch(f"the record at offset {record.offset} has no value")
