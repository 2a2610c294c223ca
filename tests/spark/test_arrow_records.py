"""Record batches as Arrow columns. ``kraft.records.record.read_records`` is the oracle, also for refusals."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraft.records.batch import BatchHeader, CorruptBatch, TimestampType, check_batch, iter_headers, parse_header
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch, read_records
from kraft.spark import arrow_records
from kraft.spark.arrow_records import Columns, decode
from kraft.wire.varint import varlong
from tests.records.strategies import CAP, MALFORMED, ONE, forge, record_lists

compressions = st.sampled_from(Compression)
timestamp_types = st.sampled_from(TimestampType)


def rows(groups: Sequence[Columns]) -> list[Record]:
    found = []
    for group in groups:
        assert group.headers is not None
        columns = (group.offset, group.timestamp_ms, group.key, group.value, group.headers)
        for offset, timestamp, key, value, headers in zip(*(column.tolist() for column in columns), strict=True):
            found.append(Record(offset, timestamp, key, value, tuple((h["key"], h["value"]) for h in headers or ())))
    return found


def vectorised(buffer: bytes, max_bytes: int = CAP) -> list[Record]:
    return rows(list(decode(buffer, list(iter_headers(buffer)), max_bytes=max_bytes, with_headers=True)))


def expected(buffer: bytes, max_bytes: int = CAP) -> list[Record]:
    records = []
    for position, header in iter_headers(buffer):
        try:
            check_batch(buffer, position, header)
            records += read_records(buffer, position, header, max_bytes=max_bytes)
        except CorruptBatch as error:
            raise CorruptBatch(f"batch at offset {header.base_offset}: {error}") from error
    return records


def outcome(read: Any, buffer: bytes, max_bytes: int = CAP) -> Any:
    """The records, or the text of the refusal."""
    try:
        records = read(buffer, max_bytes)
    except CorruptBatch as error:
        return str(error)
    as_java = [tuple((_as_java(key), value) for key, value in record.headers) for record in records]
    return [record._replace(headers=headers) for record, headers in zip(records, as_java, strict=True)]


def _as_java(key: str) -> str:
    return key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """One to four batches, one behind the other, of any codec and kind of timestamp."""
    log, next_offset = b"", draw(st.integers(0, 2**40))
    for records in draw(st.lists(record_lists(gaps=True), min_size=1, max_size=4)):
        moved = [record._replace(offset=record.offset + next_offset) for record in records]
        log += encode_batch(
            moved, base_offset=next_offset, compression=draw(compressions), timestamp_type=draw(timestamp_types)
        )
        next_offset = moved[-1].offset + 1 + draw(st.integers(0, 3))
    return log


@given(logs())
def test_the_columns_hold_what_the_decoder_reads(log: bytes) -> None:
    assert vectorised(log) == expected(log)


def test_long_fields_and_large_deltas() -> None:
    """Each varint in its longer forms; more headers than a byte counts."""
    headers = tuple((f"name-{index}" * 20, bytes(300)) for index in range(200))
    records = [
        Record(0, 2**62, bytes(100_000), bytes(3_000_000), headers),
        Record(1, -1, b"", None, (("", None),)),
        Record(2**31 - 1, -(2**62), None, b"", ()),
    ]
    for compression in Compression:
        assert vectorised(encode_batch(records, compression=compression)) == records


@given(logs(), st.data())
def test_a_forged_payload_is_refused_for_the_same_reason(log: bytes, data: st.DataObject) -> None:
    """Mutations behind a valid checksum, as a hostile producer sends them, in one batch of several."""
    batches = [log[position : position + header.size] for position, header in iter_headers(log)]
    chosen = data.draw(st.integers(0, len(batches) - 1))
    payload = bytearray(batches[chosen][61:])
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(payload)) | st.just(len(payload)))
    batches[chosen] = forge(batches[chosen], bytes(payload[:cut]))
    forged = b"".join(batches)
    assert outcome(vectorised, forged, 10_000) == outcome(expected, forged, 10_000)


@pytest.mark.parametrize("payload", MALFORMED.values(), ids=MALFORMED)
def test_malformed_records_are_refused_alike(payload: str) -> None:
    forged = forge(ONE, bytes.fromhex(payload))
    assert outcome(vectorised, forged) == outcome(expected, forged)
    assert isinstance(outcome(vectorised, forged), str)


@pytest.mark.parametrize("offset", [0, 1])
def test_offsets_must_ascend_within_a_batch_only(offset: int) -> None:
    """The next batch begins with delta 0 again."""
    two = encode_batch([Record(0, 0, None, None), Record(1, 0, None, None)])
    record = two[61:][: len(two[61:]) // 2]
    assert record[3] == 0
    second = record[:3] + bytes([2 * offset]) + record[4:]
    log = forge(two, record + second) + encode_batch([Record(2, 0, None, None)], base_offset=2)
    assert outcome(vectorised, log) == outcome(expected, log)
    assert isinstance(outcome(vectorised, log), list) == (offset == 1)


def longer(number: bytes, more: int) -> bytes:
    """The same varint with ``more`` superfluous bytes. The format allows them within the width of the number."""
    for _ in range(more):
        number = number[:-1] + bytes([number[-1] | 0x80, 0])
    return number


@st.composite
def numbers(draw: st.DrawFn, values: st.SearchStrategy[int], width: int) -> bytes:
    """A varint; a few of them are longer than they need be, or too long."""
    number = varlong(draw(values))
    if draw(st.integers(0, 5)) == 0:
        number = longer(number, draw(st.integers(0, width + 1 - len(number))) if len(number) <= width else 0)
    if draw(st.integers(0, 9)) == 0:
        number = draw(st.sampled_from([b"\xff" * (width - 1) + bytes([last]) for last in (1, 2, 15, 16, 0x7F, 0x80)]))
    return number


small = st.integers(0, 3)
lengths = numbers(st.sampled_from([-1, 0, 1, 2, -2]), 5)


@st.composite
def nearly_records(draw: st.DrawFn, delta: int) -> bytes:
    """A record out of fields that need not fit together, with a length before it that is right or nearly so."""
    body = b"\0" + draw(numbers(st.integers(-1, 1), 10)) + draw(numbers(st.just(delta) | st.integers(-1, 3), 5))
    for _ in range(2):
        length = draw(st.sampled_from([-1, 0, 1, 2]))
        body += draw(numbers(st.just(length), 5)) + bytes(max(0, length))
    headers = draw(small)
    body += draw(numbers(st.just(headers), 5))
    for _ in range(headers):
        body += draw(lengths) + bytes(draw(small)) + draw(lengths) + bytes(draw(small))
    wrong = draw(st.sampled_from([0] * 8 + [-1, 1]))
    return draw(numbers(st.just(len(body) + wrong), 5)) + body


@settings(max_examples=400)
@given(st.data(), st.booleans())
def test_nearly_right_payloads_are_read_or_refused_alike(data: st.DataObject, log_time: bool) -> None:
    count = data.draw(st.integers(0, 3))
    payload = b"".join(data.draw(nearly_records(delta)) for delta in range(count))
    last_delta = data.draw(st.sampled_from([2, 2, 2, 1]))
    fields = {"attributes": (21, "h", 8 * log_time), "delta": (23, "i", last_delta), "count": (57, "i", count)}
    forged = forge(ONE, payload, **fields) + ONE
    assert outcome(vectorised, forged) == outcome(expected, forged)


def test_a_sum_of_timestamps_beyond_64_bits_is_refused() -> None:
    batch = encode_batch([Record(0, 2**62, None, None), Record(1, 2**63 - 1, None, None)])
    forged = forge(batch, base=(27, "q", 2**62 + 1))
    assert (
        outcome(vectorised, forged) == outcome(expected, forged) == f"batch at offset 0: timestamp {2**63} out of range"
    )


def test_a_damaged_batch_is_named_by_its_offset() -> None:
    damaged = bytearray(encode_batch([Record(7, 0, b"k", b"v")], base_offset=7))
    damaged[-2] ^= 1
    with pytest.raises(CorruptBatch, match="batch at offset 7: checksum"):
        vectorised(bytes(damaged))


def test_an_empty_batch_of_a_compacted_log_has_no_rows() -> None:
    """Compaction keeps a batch without records for its producer's last sequence."""
    empty = encode_batch([], base_offset=3, last_offset=5)
    log = empty + encode_batch([Record(6, 1, b"k", b"v")], base_offset=6) + forge(empty, base=(0, "q", 7))
    assert vectorised(empty) == []
    assert vectorised(log) == [Record(6, 1, b"k", b"v")]


def test_groups_are_bounded_and_know_their_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetch of small compressed batches may decompress to any size: the rows come in groups."""
    monkeypatch.setattr(arrow_records, "GROUP_BYTES", 1000)
    batches = [
        encode_batch([Record(n, 0, None, bytes(400)) for n in range(at, at + 2)], base_offset=at, producer_id=at)
        for at in range(0, 12, 2)
    ]
    log = b"".join(batches)
    groups = list(decode(log, list(iter_headers(log)), max_bytes=CAP, with_headers=True))
    assert [len(group.batches) for group in groups] == [2, 2, 2]
    assert [record.offset for record in rows(groups)] == list(range(12))
    ids = [group.of_batches([header.producer_id for _, header in group.batches], "int64").tolist() for group in groups]
    assert ids == [[0, 0, 2, 2], [4, 4, 6, 6], [8, 8, 10, 10]]


@given(logs(), st.data())
def test_a_range_of_offsets(log: bytes, data: st.DataObject) -> None:
    """A fetch begins with the whole batch that has the offset, and a Spark partition may end inside of one."""
    records = expected(log)
    bounds = st.integers(records[0].offset - 1, records[-1].offset + 1)
    start, end = sorted((data.draw(bounds), data.draw(bounds)))
    group: Columns
    (group,) = decode(log, list(iter_headers(log)), max_bytes=CAP, with_headers=True)
    part = group.between(start, end)
    assert rows([part]) == [record for record in records if start <= record.offset < end]
    assert part.counts.tolist() == [
        sum(max(start, header.base_offset) <= record.offset < min(end, header.next_offset) for record in records)
        for _, header in group.batches
    ]


def test_headers_are_checked_when_they_are_not_wanted() -> None:
    one = encode_batch([Record(0, 0, b"k", b"v", (("h", b"x"),))])
    batches: list[tuple[int, BatchHeader]] = [(0, parse_header(one))]
    (group,) = decode(one, batches, max_bytes=CAP)
    assert group.headers is None
    payload = bytearray(one[61:])
    payload[-4] = 1  # the header's key is null
    forged = forge(one, bytes(payload))
    with pytest.raises(CorruptBatch, match="null header key"):
        list(decode(forged, [(0, parse_header(forged))], max_bytes=CAP))


def test_bytes_behind_the_last_record_are_refused_also_before_another_batch() -> None:
    """The payloads of a group are joined: a batch may not borrow from the next one."""
    one = encode_batch([Record(0, 0, b"k", b"v")])
    two = encode_batch([Record(1, 0, b"k", b"v")], base_offset=1)
    short = forge(one, one[61:], count=(57, "i", 2), delta=(23, "i", 1))
    for log in (forge(one, one[61:] + b"\0") + two, short + two):
        assert outcome(vectorised, log) == outcome(expected, log)
        assert isinstance(outcome(vectorised, log), str)
    assert struct.unpack_from(">i", short, 57) == (2,)
