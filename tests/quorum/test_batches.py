"""The batches that a follower accepts from a leader, and those that it refuses (KIP-595): it checks every byte of a
peer.
"""

from __future__ import annotations

import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.messages.no_op_record import NoOpRecord
from kraft.metadata.steps import finished
from kraft.quorum import batches as metadata_batches
from kraft.quorum.batches import FetchedBatches, check_fetched, encoded_batches, leader_change_batch
from kraft.raft.events import LeaderChange
from kraft.raft.messages import EpochEnd, LogSlice
from kraft.records.batch import (
    CHECKED_POSITION,
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    CorruptBatch,
    checksum,
    iter_headers,
    parse_header,
    whole_batches,
)
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from kraft.storage.segment import AppendedBatch
from kraft.wire.varint import Buffer


def records(offset: int, count: int = 1) -> list[Record]:
    return [Record(offset + number, 5, None, b"value") for number in range(count)]


def data_batch(offset: int, epoch: int, count: int = 1, **fields: object) -> bytes:
    return encode_batch(records(offset, count), base_offset=offset, leader_epoch=epoch, **fields)  # type: ignore[arg-type]


FETCHED = (
    leader_change_batch(LeaderChange(3, 1, (1, 2, 3), (1, 3)), 10, 5)
    + data_batch(11, 3, 4)
    + data_batch(15, 3)
    + leader_change_batch(LeaderChange(5, 1, (1, 2, 3), (1, 3)), 16, 5)
    + data_batch(17, 5, 2)
)


def checked(data: Buffer, end_offset: int, last_epoch: int, epoch: int) -> LogSlice | None:
    found = finished(check_fetched(data, end_offset, last_epoch, epoch))
    return None if found is None else found.records


def test_runs_of_an_epoch_become_one() -> None:
    whole = LogSlice(10, (EpochEnd(3, 16), EpochEnd(5, 19)))
    assert checked(FETCHED, 10, 2, 5) == whole
    assert checked(memoryview(bytearray(FETCHED)), 10, 3, 9) == whole
    assert checked(b"", 10, 3, 9) is None


@pytest.mark.parametrize("last_epoch", [2, 3])
def test_checked_batches_are_not_parsed_again(last_epoch: int) -> None:
    places = [AppendedBatch(at, header.last_offset, header.max_timestamp) for at, header in iter_headers(FETCHED)]
    whole = LogSlice(10, (EpochEnd(3, 16), EpochEnd(5, 19)))
    found = finished(check_fetched(FETCHED + FETCHED[:30], 10, last_epoch, 5))
    assert found == FetchedBatches(whole, FETCHED, places, follows=EpochEnd(last_epoch, 10), leader_epoch=5)
    assert found.opens_epoch
    assert found.epochs == [(3, 10), (5, 16)]


def test_a_batch_that_is_cut_off_is_passed_over() -> None:
    """KIP-74: the last batch of a fetch may be there in part."""
    ends = {position + header.size: header.next_offset for position, header in whole_batches(FETCHED)}
    end_offset = None
    for length in range(len(FETCHED)):
        end_offset = ends.get(length, end_offset)
        found = checked(FETCHED[:length], 10, 2, 5)
        assert (None if found is None else found.end_offset) == end_offset


@pytest.mark.parametrize("compression", Compression)
def test_every_codec_is_read(compression: Compression) -> None:
    """Metadata is not compressed, but a reader takes what any reader of Kafka takes."""
    assert checked(data_batch(0, 1, 100, compression=compression), 0, 1, 1) == LogSlice(0, (EpochEnd(1, 100),))


def forged(batch: bytes, payload: bytes | None = None, **fields: int) -> bytes:
    """A batch with other header fields and other records, and a checksum that fits them."""
    payload = batch[HEADER_SIZE:] if payload is None else payload
    header = parse_header(batch)._replace(length=HEADER_SIZE - LOG_OVERHEAD + len(payload))
    header = header._replace(**fields)
    crc = checksum(HEADER.pack(*header)[CHECKED_POSITION:], payload)
    return HEADER.pack(*header._replace(crc=crc)) + payload


BATCH = data_batch(10, 3, 2)
CONTROL = leader_change_batch(LeaderChange(3, 1, (1,), (1,)), 10, 5)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (data_batch(11, 3), "begins at offset 11, expected 10"),
        (data_batch(9, 3, 2), "begins at offset 9, expected 10"),
        (data_batch(10, 2) + data_batch(12, 2), "begins at offset 12, expected 11"),
        (data_batch(10, 2) + data_batch(10, 2), "begins at offset 10, expected 11"),
        (data_batch(10, 1), "of epoch 1 after one of 2"),
        (leader_change_batch(LeaderChange(4, 1, (1,), (1,)), 10, 5) + data_batch(11, 3), "of epoch 3 after one of 4"),
        (CONTROL + data_batch(11, 4), "epoch 4 does not begin with its leader's control batch"),
        (data_batch(10, 6), "of epoch 6 after one of 2, from the leader of 5"),
        (data_batch(10, -1), "of epoch -1"),
        (BATCH[:-1] + b"?", "checksum"),
        (forged(BATCH, magic=1), "message format 1"),
        (forged(BATCH, magic=3), "magic 3"),
        (forged(BATCH, length=40), "below the minimum"),
        (forged(BATCH, length=-5), "below the minimum"),
        (forged(BATCH, length=2**31 - 1), "a batch of 2147483659 bytes"),
        (forged(BATCH, attributes=7), "codec 7"),
        (forged(BATCH, producer_id=7, producer_epoch=0, base_sequence=0), "client's producer"),
        (forged(BATCH, attributes=0x10), "client's producer"),
        (forged(BATCH, last_offset_delta=5), "2 records where there are 6 offsets"),
        (forged(BATCH, last_offset_delta=-1), "negative"),
        (forged(BATCH, count=1), "1 records where there are 2 offsets"),
        (forged(BATCH, count=3, last_offset_delta=2), "bytes end inside"),
        (forged(BATCH, count=1, last_offset_delta=0), "left over"),
        (forged(BATCH, b""), "bytes end inside"),
        (forged(BATCH, b"\xff" * 30), "variable-length"),
        (forged(BATCH, attributes=Compression.GZIP), "gzip"),
        (forged(BATCH, attributes=Compression.ZSTD), "zstd"),
        (encode_batch([Record(10, 5, None, None)], base_offset=10, leader_epoch=3), "no value"),
        (encode_batch([Record(10, 5, b"1", b"")], base_offset=10, leader_epoch=3, control=True), "too short"),
        (encode_batch([Record(10, 5, None, b"")], base_offset=10, leader_epoch=3, control=True), "too short"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_batch_that_no_leader_sends_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(CorruptBatch, match=reason):
        finished(check_fetched(data, 10, 2, 5))


def test_a_decompression_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_batches, "MAX_READ_BATCH_BYTES", 10_000)
    small = encode_batch([Record(0, 5, None, bytes(9_000))], compression=Compression.GZIP)
    assert checked(small, 0, 0, 0) is not None
    bomb = encode_batch([Record(0, 5, None, bytes(1_000_000))], compression=Compression.GZIP)
    assert len(bomb) < 2_000
    with pytest.raises(CorruptBatch):
        finished(check_fetched(bomb, 0, 0, 0))


_int32 = st.integers(-(2**31), 2**31 - 1)
_int64 = st.integers(-(2**63), 2**63 - 1)


@given(
    batch=st.sampled_from([BATCH, CONTROL]),
    payload=st.none() | st.binary(max_size=60),
    fields=st.fixed_dictionaries(
        {},
        optional={
            "base_offset": st.just(10) | _int64,
            "leader_epoch": st.integers(0, 7) | _int32,
            "attributes": st.integers(0, 0x7F),
            "last_offset_delta": st.integers(0, 4) | _int32,
            "base_timestamp": _int64,
            "max_timestamp": _int64,
            "producer_id": _int64,
            "count": st.integers(0, 4) | _int32,
        },
    ),
)
def test_forgeries_are_taken_or_refused_and_nothing_else(
    batch: bytes, payload: bytes | None, fields: dict[str, int]
) -> None:
    try:
        found = checked(forged(batch, payload, **fields), 10, 2, 5)
    except CorruptBatch:
        return
    assert found is not None
    assert found.base_offset == 10
    assert all(2 <= run.epoch <= 5 for run in found.runs)
    assert 10 < found.end_offset <= 10 + 60


@given(
    position=st.integers(0, len(FETCHED) - 1),
    byte=st.integers(0, 255),
    cut=st.integers(0, len(FETCHED)),
)
def test_damage_is_refused_or_lies_behind_the_accepted_batches(position: int, byte: int, cut: int) -> None:
    damaged = bytearray(FETCHED)
    damaged[position] = byte
    unchanged = damaged == FETCHED
    in_epoch = any(start + 12 <= position < start + 16 for start, _ in whole_batches(FETCHED))
    try:
        found = checked(bytes(damaged[:cut]), 10, 2, 5)
    except CorruptBatch:
        assert not unchanged
        return
    if found is not None and not in_epoch:  # only the epoch is outside of the checksum and has more than one value
        taken = sum(header.size for _, header in whole_batches(FETCHED) if header.next_offset <= found.end_offset)
        assert unchanged or position >= taken


@given(values=st.lists(st.integers(0, 900), min_size=1, max_size=30), limit=st.integers(1, 8))
def test_batches_are_full_and_no_fuller(values: list[int], limit: int) -> None:
    """At most MAX_BATCH_RECORDS and MAX_BATCH_BYTES, in order and without gaps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata_batches, "MAX_BATCH_RECORDS", limit)
        patch.setattr(metadata_batches, "MAX_BATCH_BYTES", 1000)
        patch.setattr(metadata_batches, "encode_record", lambda size, version: bytes(size))
        patch.setattr(metadata_batches, "record_version", lambda record: 0)
        batches = finished(encoded_batches(values, 7, 2, 5))
    assert [size for part, _ in batches for size in part] == values
    assert all(len(part) <= limit and len(data) <= 1000 for part, data in batches)
    found = checked(b"".join(data for _, data in batches), 7, 2, 2)
    assert found == LogSlice(7, (EpochEnd(2, 7 + len(values)),))
    for (part, _), (following, _) in itertools.pairwise(batches):
        full = sum(part) + following[0] + 32 * (len(part) + 1) + HEADER_SIZE > 1000
        assert full or len(part) == limit


def test_a_record_costs_no_more_than_is_reserved_for_it() -> None:
    """The overhead that is reckoned with is that of the last record of the largest batch."""
    offset = metadata_batches.MAX_BATCH_RECORDS - 1
    value = bytes(2**21)
    batch = encode_batch([Record(offset, 5, None, value)], base_offset=0, last_offset=offset)
    assert len(batch) - HEADER_SIZE - len(value) <= metadata_batches._MAX_RECORD_OVERHEAD


def test_a_batch_of_ten_thousand_is_one() -> None:
    ((part, data),) = finished(encoded_batches([NoOpRecord()] * 10_000, 0, 1, 5))
    assert len(part) == 10_000
    assert struct.unpack_from(">i", data, 57) == (10_000,)


def test_a_large_batch_is_encoded_and_checked_in_steps() -> None:
    """A leader and a follower of 10,000 new partitions serve others meanwhile."""
    records = [NoOpRecord()] * 10_000
    assert sum(encoded_batches(records, 0, 1, 5)) == 2 * len(records)
    ((_, data),) = finished(encoded_batches(records, 0, 1, 5))
    assert sum(check_fetched(data, 0, 1, 1)) == len(records) / 8
