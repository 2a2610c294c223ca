"""Rows of a segment equal its records, and damage becomes rows or a failure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.records.batch import SEQUENCE_MASK, parse_header
from kraft.records.compression import Compression
from kraft.records.control import ControlType, control_record
from kraft.records.record import Record, encode_batch, read_records
from kraft.spark import arrow_records
from kraft.spark.log_rows import DOCS, MAX_TIMESTAMP_MS, SCHEMA_WITH_HEADERS, LogFile, read_log_file
from kraft.spark.segment_scan import CorruptInput
from tests.records.strategies import MALFORMED, ONE, forge, record_lists

BEGIN = datetime(1970, 1, 1, tzinfo=UTC)
TIMES_MS = st.integers(-1, 10**13)
HEADERS = {
    "leader_epoch": st.integers(0, 2**31 - 1),
    "producer_id": st.integers(-1, 2**63 - 1),
    "producer_epoch": st.integers(-1, 2**15 - 1),
    "base_sequence": st.sampled_from([-1, 0, 7, SEQUENCE_MASK]),
    "transactional": st.booleans(),
    "compression": st.sampled_from(list(Compression)),
}


def rows_of(*batches: bytes, directory: Path, **options: Any) -> list[dict[str, Any]]:
    path = directory / f"{0:020d}.log"
    path.write_bytes(b"".join(batches))
    file = LogFile(str(path), "orders", 3, options.pop("is_active", False))
    found: list[dict[str, Any]] = []
    for batch in read_log_file(file, **{"quarantine": False, "with_headers": True, **options}):
        batch.validate(full=True)
        found += batch.to_pylist()
    return found


@st.composite
def segments(draw: st.DrawFn) -> list[bytes]:
    """Batches one behind the other, each with settings of its own; compaction may have left gaps."""
    batches, base = [], draw(st.integers(0, 2**40))
    for _ in range(draw(st.integers(0, 4))):
        made = draw(record_lists(gaps=True, timestamps=TIMES_MS))
        settings = draw(st.fixed_dictionaries(HEADERS))
        shifted = [record._replace(offset=record.offset + base) for record in made]
        batches.append(encode_batch(shifted, base_offset=base, **settings))
        base = shifted[-1].offset + 1
    return batches


@given(segments())
def test_rows_are_the_records_of_their_batches(tmp_path_factory: pytest.TempPathFactory, batches: list[bytes]) -> None:
    """The decoder of the broker is the oracle."""
    directory = tmp_path_factory.mktemp("rows")
    expected, position = [], 0
    for batch in batches:
        header = parse_header(batch)
        for record in read_records(batch, 0, header, max_bytes=2**20):
            sequence = header.base_sequence + record.offset - header.base_offset
            expected.append(
                {
                    "key": record.key,
                    "value": record.value,
                    "topic": "orders",
                    "partition": 3,
                    "offset": record.offset,
                    "timestamp": BEGIN + timedelta(milliseconds=record.timestamp),
                    "timestampType": 0,
                    "leaderEpoch": header.leader_epoch,
                    "producerId": header.producer_id,
                    "producerEpoch": header.producer_epoch,
                    "sequence": sequence & SEQUENCE_MASK if header.base_sequence >= 0 else -1,
                    "isTransactional": header.is_transactional,
                    "isControl": False,
                    "controlType": None,
                    "batchOffset": header.base_offset,
                    "codec": header.compression.name.lower(),
                    "file": str(directory / f"{0:020d}.log"),
                    "position": position,
                    "bytes": None,
                    "error": None,
                    "headers": [{"key": name, "value": content} for name, content in record.headers] or None,
                }
            )
        position += len(batch)
    assert rows_of(*batches, directory=directory) == expected


def test_control_records_have_types(tmp_path: Path) -> None:
    """KIP-98: a marker ends a transaction; a later Kafka may have other types."""
    marker = control_record(ControlType.COMMIT, b"\0\0\0\0\0\1", offset=1, timestamp=1)
    later = Record(2, 1, b"\0\0\0\x63", b"")
    malformed = Record(3, 1, b"\0", b"")
    control = [encode_batch([record], base_offset=record.offset, control=True) for record in (marker, later, malformed)]
    rows = rows_of(encode_batch([Record(0, 1, b"k", b"v")]), *control, directory=tmp_path)
    assert [(row["isControl"], row["controlType"]) for row in rows] == [
        (False, None),
        (True, "COMMIT"),
        (True, "UNKNOWN(99)"),
        (True, "MALFORMED"),
    ]


@pytest.mark.parametrize("payload", MALFORMED.values(), ids=MALFORMED)
def test_a_batch_with_a_right_checksum_and_wrong_records_is_damage(tmp_path: Path, payload: str) -> None:
    """The batches beside it are rows."""
    bad = forge(ONE, bytes.fromhex(payload))
    batches = [encode_batch([Record(0, 1, b"k", b"v")]), bad, encode_batch([Record(1, 1, b"k", b"v")], base_offset=1)]
    with pytest.raises(CorruptInput, match=rf"{tmp_path}.*damaged at position {len(batches[0])} "):
        rows_of(*batches, directory=tmp_path)
    first, damage, last = rows_of(*batches, directory=tmp_path, quarantine=True)
    assert (first["error"], last["error"]) == (None, None)
    assert (damage["bytes"], damage["position"], damage["offset"]) == (bad, len(batches[0]), 0)
    assert (damage["topic"], damage["partition"], damage["value"]) == ("orders", 3, None)


def test_rows_before_a_damaged_batch_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The decoder yields groups of batches. The group of the damage is decoded again, the groups before it are not."""
    monkeypatch.setattr(arrow_records, "GROUP_BYTES", 1)
    good = [encode_batch([Record(at, 1, b"k", b"v")], base_offset=at) for at in range(4)]
    batches = [*good[:2], forge(ONE, b""), *good[2:]]
    rows = rows_of(*batches, directory=tmp_path, quarantine=True)
    assert [row["offset"] for row in rows if row["error"] is None] == [0, 1, 2, 3]
    assert len(rows) == 5


def test_a_time_beyond_those_of_spark_is_damage(tmp_path: Path) -> None:
    for time_ms, is_damage in ((MAX_TIMESTAMP_MS, False), (MAX_TIMESTAMP_MS + 1, True)):
        (row,) = read_raw(tmp_path, encode_batch([Record(0, time_ms, b"k", b"v")]))
        assert (row is not None) == is_damage


def read_raw(directory: Path, batch: bytes) -> list[str | None]:
    """The errors of the rows. Their times are beyond those of Python."""
    path = directory / f"{0:020d}.log"
    path.write_bytes(batch)
    found = read_log_file(LogFile(str(path), None, None, False), quarantine=True, with_headers=False)
    return [error for table in found for error in table.column("error").to_pylist()]


def test_a_torn_tail_is_a_row_of_the_quarantine_alone(tmp_path: Path) -> None:
    parts = [encode_batch([Record(0, 1, b"k", b"v")]), b"\0\0\0"]
    (row,) = rows_of(*parts, directory=tmp_path, is_active=True)
    assert row["offset"] == 0
    row, torn = rows_of(*parts, directory=tmp_path, is_active=True, quarantine=True)
    assert (torn["bytes"], torn["offset"]) == (b"\0\0\0", 1)
    with pytest.raises(CorruptInput):
        rows_of(*parts, directory=tmp_path, is_active=False)


def test_every_column_is_documented() -> None:
    assert list(DOCS) == SCHEMA_WITH_HEADERS.names
