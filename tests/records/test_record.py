"""Records in and out of batches: round trips, refusals, and two independent implementations as oracles."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import aiokafka.record.default_records as aiokafka_records
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kraft.metadata.steps import finished
from kraft.records import record as record_module
from kraft.records.batch import CorruptBatch, TimestampType, check_batch, parse_header
from kraft.records.compression import Compression
from kraft.records.record import (
    Record,
    batch_payload,
    decode_times,
    encode_batch,
    encode_pairs,
    read_records,
    recompress,
)
from tests.records.strategies import CAP, MALFORMED, ONE, forge, record_lists

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its resources in the old way
    import kafka.record.default_records as kafka_python_records
    from kafka.codec import has_snappy

compressions = st.sampled_from(Compression)


def read(batch: bytes, max_bytes: int = CAP) -> list[Record]:
    header = parse_header(batch)
    check_batch(batch, 0, header)
    return list(read_records(batch, 0, header, max_bytes=max_bytes))


@given(record_lists(gaps=True), compressions, st.integers(0, 2**40))
def test_round_trip(records: list[Record], compression: Compression, base: int) -> None:
    records = [record._replace(offset=record.offset + base) for record in records]
    batch = encode_batch(records, base_offset=base, compression=compression)
    assert read(batch) == records
    header = parse_header(batch)
    assert header.compression is compression
    assert header.max_timestamp == max(record.timestamp for record in records)
    assert header.base_timestamp == records[0].timestamp


some_bytes = st.none() | st.binary(max_size=200)


@given(st.lists(st.tuples(some_bytes, some_bytes), min_size=1, max_size=40), st.integers(0, 2**40), st.integers(1, 5))
def test_a_batch_in_steps_is_the_same_batch(
    pairs: list[tuple[bytes | None, bytes | None]], base_offset: int, at_once: int
) -> None:
    records = [Record(offset, 77, *pair) for offset, pair in enumerate(pairs, base_offset)]
    with patch.object(record_module, "_ENCODED_AT_ONCE", at_once):
        work = encode_pairs(pairs, base_offset=base_offset, leader_epoch=3, timestamp_ms=77)
        assert finished(work) == encode_batch(records, base_offset=base_offset, leader_epoch=3)


def test_long_fields_and_large_deltas_come_back() -> None:
    """Each varint in its longer forms."""
    headers = tuple((f"name-{index}" * 20, bytes(300)) for index in range(200))
    records = [
        Record(0, 2**62, bytes(100_000), bytes(3_000_000), headers),
        Record(2**31 - 1, -(2**62), None, b"", ()),
    ]
    for compression in Compression:
        assert read(encode_batch(records, compression=compression)) == records


@given(record_lists(), compressions, compressions)
def test_recompress_changes_the_codec_and_nothing_else(
    records: list[Record], before: Compression, after: Compression
) -> None:
    """``compression.type`` of the topic, where it is not ``producer``."""
    fields: dict[str, Any] = {"producer_id": 5, "producer_epoch": 1, "base_sequence": 3, "transactional": True}
    batch = encode_batch(records, compression=before, **fields)
    header = parse_header(batch)
    again = recompress(batch_payload(batch, 0, header, CAP), header, after)
    assert again == encode_batch(records, compression=after, **fields)


def test_delete_horizon_takes_the_place_of_the_base_timestamp() -> None:
    """KIP-534: the base timestamp of such a batch is the time from which its tombstones may go."""
    records = [Record(4, 1000, b"k", None), Record(9, 900, b"l", None)]
    batch = encode_batch(records, base_offset=2, last_offset=12, delete_horizon_ms=5000)
    header = parse_header(batch)
    assert (header.delete_horizon_ms, header.next_offset, header.max_timestamp) == (5000, 13, 1000)
    assert read(batch) == records


def test_header_keys_that_are_not_utf_8_survive() -> None:
    batch = encode_batch([Record(0, 0, None, None, (("\udcff", b"x"),))])
    (record,) = read(batch)
    assert encode_batch([record]) == batch


@pytest.mark.parametrize("offsets", [[1, 1], [2, 1], [-1], [0, 11]])
def test_offsets_must_rise_within_the_batch(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offset"):
        encode_batch([Record(offset, 0, None, None) for offset in offsets], last_offset=10)
    with pytest.raises(ValueError, match="empty"):
        encode_batch([])


@pytest.mark.parametrize("payload", MALFORMED.items(), ids=lambda case: case[0])
def test_malformed_records_are_corrupt(payload: tuple[str, str]) -> None:
    """The checksum is right: only the reader of the records can see it."""
    batch = forge(ONE, bytes.fromhex(payload[1]))
    with pytest.raises(CorruptBatch):
        read(batch)


def test_offsets_of_records_must_rise() -> None:
    two = encode_batch([Record(0, 0, None, None), Record(1, 0, None, None)])
    record = two[61:][: len(two[61:]) // 2]
    with pytest.raises(CorruptBatch, match="offset delta 0"):
        read(forge(two, record + record))


@given(record_lists(), compressions, st.data())
def test_a_forged_payload_gives_records_or_corrupt(
    records: list[Record], compression: Compression, data: st.DataObject
) -> None:
    """Mutations behind a valid checksum, as a hostile producer sends them: no other error, no more than the cap."""
    batch = encode_batch(records, compression=compression)
    payload = bytearray(batch[61:])
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(payload)) | st.just(len(payload)))
    with contextlib.suppress(CorruptBatch):
        assert len(read(forge(batch, bytes(payload[:cut])), max_bytes=10_000)) == len(records)


@given(st.binary(max_size=100), compressions, st.integers(0, 2**31 - 1))
def test_any_payload_gives_records_or_corrupt(junk: bytes, compression: Compression, count: int) -> None:
    fields = {"codec": (21, "h", compression), "delta": (23, "i", 2**31 - 1), "count": (57, "i", count)}
    with contextlib.suppress(CorruptBatch):
        assert len(read(forge(ONE, junk, **fields), max_bytes=10_000)) == count


def test_log_append_time_overrides_the_deltas() -> None:
    records = [Record(0, 1000, b"k", b"v"), Record(1, 1005, b"k", b"v")]
    batch = encode_batch(records, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert [record.timestamp for record in read(batch)] == [1005, 1005]


# -- oracles: the builders and readers of kafka-python and aiokafka (their C extension, and their Python twin)

PEERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "kafka-python": (kafka_python_records.DefaultRecordBatchBuilder, kafka_python_records.DefaultRecordBatch),
    "aiokafka": (aiokafka_records.DefaultRecordBatchBuilder, aiokafka_records.DefaultRecordBatch),
    "aiokafka in Python": (aiokafka_records._DefaultRecordBatchBuilderPy, aiokafka_records._DefaultRecordBatchPy),
}

peer_records = record_lists(timestamps=st.integers(0, 2**62))  # aiokafka takes -1 for "now"


def assume_codec(peer: str, compression: Compression) -> None:
    """kafka-python reads snappy through python-snappy, and only if that is installed."""
    assume(peer != "kafka-python" or compression is not Compression.SNAPPY or has_snappy())


@pytest.mark.parametrize("peer", PEERS)
@given(records=peer_records, compression=compressions)
def test_peers_read_our_batches(peer: str, records: list[Record], compression: Compression) -> None:
    assume_codec(peer, compression)
    batch = encode_batch(records, compression=compression, producer_id=7, producer_epoch=2, base_sequence=11)
    theirs = PEERS[peer][1](batch)
    assert theirs.validate_crc()
    assert (theirs.compression_type, theirs.base_offset, theirs.next_offset) == (compression, 0, len(records))
    seen = [
        Record(record.offset, record.timestamp, record.key, record.value, tuple(map(tuple, record.headers)))
        for record in theirs
    ]
    assert seen == records


@pytest.mark.parametrize("peer", PEERS)
@given(records=peer_records, compression=compressions, transactional=st.booleans())
def test_we_read_the_batches_of_peers(
    peer: str, records: list[Record], compression: Compression, transactional: bool
) -> None:
    assume_codec(peer, compression)
    builder = PEERS[peer][0](
        magic=2,
        compression_type=compression,
        is_transactional=transactional,
        producer_id=7,
        producer_epoch=2,
        base_sequence=11,
        batch_size=2**20,
    )
    for record in records:
        builder.append(record.offset, record.timestamp, record.key, record.value, list(record.headers))
    batch = bytes(builder.build())
    header = parse_header(batch)
    assert read(batch) == records
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 11)
    assert header.is_transactional is transactional
    # A peer drops a compression that saves nothing; without it the bytes are equal except for the leader epoch.
    assert header.compression in (compression, Compression.NONE)
    if header.compression is Compression.NONE:
        ours = encode_batch(
            records,
            leader_epoch=header.leader_epoch,
            transactional=transactional,
            producer_id=7,
            producer_epoch=2,
            base_sequence=11,
        )
        assert batch == ours


@given(record_lists(), st.sampled_from(TimestampType))
def test_times_alone_are_those_of_the_records(records: list[Record], timestamp_type: TimestampType) -> None:
    """ListOffsets needs no keys and values."""
    batch = encode_batch(records, timestamp_type=timestamp_type)
    header = parse_header(batch)
    times = list(decode_times(batch_payload(batch, 0, header, CAP), header))
    assert times == [(each.offset, each.timestamp) for each in read(batch)]


@pytest.mark.parametrize("payload", MALFORMED.values(), ids=MALFORMED)
def test_times_of_malformed_records_end_in_corrupt_batch(payload: str) -> None:
    """Damage in keys and values goes unnoticed here. No damage leads to another exception, or to more records."""
    batch = forge(ONE, bytes.fromhex(payload))
    header = parse_header(batch)
    times = 0
    with contextlib.suppress(CorruptBatch):
        times = len(list(decode_times(batch_payload(batch, 0, header, CAP), header)))
    assert times <= header.count
