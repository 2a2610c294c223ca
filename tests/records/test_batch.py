"""Batch headers: accepted and refused ones, and changes in place."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    OldMagic,
    TimestampType,
    TruncatedBatch,
    check_batch,
    iter_headers,
    parse_header,
    set_max_timestamp,
    stamp,
)
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch, read_records
from tests.records.strategies import CAP, forge, record_lists
from tests.support.sweep import sweep

BATCH = encode_batch([Record(index, 1000 + index, b"key", b"value") for index in range(3)])


def test_layout_is_that_of_the_protocol_guide() -> None:
    """Kafka protocol guide, "Record Batch": written out by hand, so that encoder and decoder cannot err together."""
    expected = bytes.fromhex(
        "0000000000000007"  # base offset
        "0000003a"  # length
        "00000005"  # partition leader epoch
        "02"  # magic
        "b3e3b3b3"  # CRC-32C, set below
        "0010"  # attributes: transactional
        "00000000"  # last offset delta
        "00000000000003e8"  # base timestamp
        "00000000000003e8"  # max timestamp
        "0000000000000009"  # producer id
        "0004"  # producer epoch
        "0000000b"  # base sequence
        "00000001"  # count
        "10"  # record length 8
        "00"  # attributes
        "00"  # timestamp delta
        "00"  # offset delta
        "02" + b"k".hex() + "02" + b"v".hex() + "00"  # key, value, no headers
    )
    batch = encode_batch(
        [Record(7, 1000, b"k", b"v")],
        base_offset=7,
        leader_epoch=5,
        transactional=True,
        producer_id=9,
        producer_epoch=4,
        base_sequence=11,
    )
    assert batch == forge(expected)
    header = parse_header(batch)
    check_batch(batch, 0, header)
    assert (header.size, header.last_offset, header.next_offset, header.last_sequence) == (len(batch), 7, 8, 11)
    assert (header.is_transactional, header.is_control, header.compression) == (True, False, Compression.NONE)
    assert header.delete_horizon_ms is None
    assert parse_header(BATCH).last_sequence == -1


def test_the_smallest_batch_has_no_records() -> None:
    """KIP-98: compaction retains an empty batch for the sake of its producer's last sequence."""
    batch = encode_batch([], base_offset=5, last_offset=9, producer_id=1, producer_epoch=0, base_sequence=2**31 - 3)
    header = parse_header(batch)
    check_batch(batch, 0, header)
    assert len(batch) == HEADER_SIZE
    assert (header.count, header.next_offset, header.last_sequence) == (0, 10, 1)
    assert list(read_records(batch, 0, header, max_bytes=0)) == []


@sweep(("size",), ((size,) for size in range(HEADER_SIZE)))
def test_a_short_header_is_truncated(size: int) -> None:
    with pytest.raises(TruncatedBatch):
        parse_header(BATCH[:size])


@sweep(("size",), ((size,) for size in range(HEADER_SIZE, len(BATCH))))
def test_a_short_batch_is_truncated(size: int) -> None:
    header = parse_header(BATCH[:size])
    with pytest.raises(TruncatedBatch):
        check_batch(BATCH[:size], 0, header)
    with pytest.raises(TruncatedBatch):
        read_records(BATCH[:size], 0, header, max_bytes=CAP)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("size", [17, 34, 100])
def test_an_old_magic_has_an_error_of_its_own(magic: int, size: int) -> None:
    """A message of magic 0 may be shorter than a header of magic 2."""
    with pytest.raises(OldMagic):
        parse_header(bytes(16) + bytes((magic,)) + bytes(size - 17))


@pytest.mark.parametrize(
    "field",
    [(16, "b", 3), (16, "b", -1), (8, "i", 48), (8, "i", 0), (8, "i", -1), (57, "i", -1), (23, "i", -1)],
    ids=["magic 3", "magic -1", "length 48", "length 0", "length -1", "count -1", "last offset delta -1"],
)
def test_a_malformed_header_is_corrupt(field: tuple[int, str, int]) -> None:
    batch = bytearray(BATCH)
    struct.pack_into(">" + field[1], batch, field[0], field[2])
    with pytest.raises(CorruptBatch) as caught:
        parse_header(batch)
    assert caught.type is CorruptBatch


@pytest.mark.parametrize(
    "field",
    [(57, "i", 4), (0, "q", -1), (0, "q", 2**63 - 3), (21, "h", 5), (21, "h", 7)],
    ids=["more records than offsets", "negative offset", "offset overflow", "codec 5", "codec 7"],
)
def test_a_header_at_odds_with_itself_is_corrupt(field: tuple[int, str, int]) -> None:
    batch = forge(BATCH, changed=field)
    header = parse_header(batch)
    with pytest.raises(CorruptBatch):
        check_batch(batch, 0, header)


def test_an_unknown_codec_is_corrupt_on_request() -> None:
    header = parse_header(forge(BATCH, codec=(21, "h", 6)))
    with pytest.raises(CorruptBatch):
        _ = header.compression


@given(record_lists(gaps=True), st.sampled_from(Compression), st.data())
def test_a_flipped_bit_is_seen_or_lies_outside_the_checksum(
    records: list[Record], compression: Compression, data: st.DataObject
) -> None:
    """Outside are base offset and leader epoch: a change there shows in the header, and in nothing else."""
    batch = bytearray(encode_batch(records, compression=compression))
    before = parse_header(batch)
    position = data.draw(st.integers(0, len(batch) - 1))
    batch[position] ^= 1 << data.draw(st.integers(0, 7))
    try:
        header = parse_header(batch)
        check_batch(batch, 0, header)
    except CorruptBatch:
        return
    assert position in range(8) or position in range(12, 16)
    assert header._replace(base_offset=0, leader_epoch=0) == before
    shift = header.base_offset - before.base_offset
    expected = [record._replace(offset=record.offset + shift) for record in records]
    assert list(read_records(batch, 0, header, max_bytes=CAP)) == expected


@given(st.binary(max_size=200), st.integers(0, 3))
def test_any_bytes_are_a_header_or_corrupt(junk: bytes, position: int) -> None:
    try:
        header = parse_header(junk, position)
    except CorruptBatch:
        return
    assert isinstance(header, BatchHeader)


def test_iter_headers_yields_whole_batches_and_raises_for_a_truncated_one() -> None:
    second = encode_batch([Record(3, 1, None, None)], base_offset=3)
    assert [(position, header.base_offset) for position, header in iter_headers(BATCH + second)] == [
        (0, 0),
        (len(BATCH), 3),
    ]
    cut = iter_headers(BATCH + second[:-1])
    assert next(cut)[0] == 0
    with pytest.raises(TruncatedBatch):
        next(cut)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_will_do(kind: type) -> None:
    buffer = kind(b"pad" + BATCH)
    header = parse_header(buffer, 3)
    check_batch(buffer, 3, header)
    assert [record.value for record in read_records(buffer, 3, header, max_bytes=CAP)] == [b"value"] * 3


@given(st.integers(0, 2**63 - 4), st.integers(-1, 2**31 - 1))
def test_a_stamp_leaves_the_checksum_valid(base_offset: int, leader_epoch: int) -> None:
    """KIP-98: the leader epoch is not in the checksum, so that it need not be computed again for every batch."""
    batch = bytearray(b"pad" + BATCH)
    stamp(batch, 3, base_offset, leader_epoch)
    header = parse_header(batch, 3)
    check_batch(batch, 3, header)
    assert header == parse_header(BATCH)._replace(base_offset=base_offset, leader_epoch=leader_epoch)


@given(st.integers(-1, 2**63 - 1))
def test_log_append_time_is_the_time_of_every_record(now: int) -> None:
    """``message.timestamp.type=LogAppendTime``: the records carry the time at which the broker appended them."""
    batch = bytearray(b"pad" + BATCH)
    new = set_max_timestamp(batch, 3, parse_header(batch, 3), TimestampType.LOG_APPEND_TIME, now)
    header = parse_header(batch, 3)
    assert header == new
    check_batch(batch, 3, header)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in read_records(batch, 3, header, max_bytes=CAP)] == [now] * 3
    set_max_timestamp(batch, 3, header, TimestampType.CREATE_TIME, 1002)
    assert bytes(batch[3:]) == BATCH
