"""Metadata from files: which ones are read, what comes from each, and what damage does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraft.messages.topic_record import TopicRecord
from kraft.metadata.frame import encode_record
from kraft.quorum.log import MetadataLog
from kraft.records.batch import iter_headers
from kraft.records.record import Record, encode_batch
from kraft.spark.metadata_files import SegmentOffsets, SnapshotFile, plan_files, read_segment_file, read_snapshot_file
from kraft.spark.metadata_settings import Settings
from kraft.spark.options import OptionError
from kraft.spark.segment_scan import CorruptInput, segments
from kraft.storage.snapshot import list_snapshots, snapshot_name
from kraft.wire.varint import uvarint
from tests.support.metadata_logs import append_records, fill, flush, open_log, snapshot_of, topic

TOPICS = 30
UNKNOWN = uvarint(1) + uvarint(999) + uvarint(0) + b"later"


def read(path: str | Path, **options: str) -> list[dict[str, Any]]:
    """The rows of a batch query, in the order of its tasks."""
    settings = Settings.read({"path": str(path), **options})
    rows: list[dict[str, Any]] = []
    for part in plan_files(settings):
        reader = read_segment_file if isinstance(part, SegmentOffsets) else read_snapshot_file
        for batch in reader(part, settings):  # type: ignore[operator]
            rows += batch.to_pylist()
    return rows


def offsets(rows: list[dict[str, Any]]) -> list[int]:
    return [row["offset"] for row in rows]


@pytest.fixture
def log(tmp_path: Path) -> MetadataLog:
    """A log of several segments: epochs 1 and 2 with a LeaderChange and 15 topics each."""
    log = open_log(tmp_path)
    fill(log, 1, TOPICS // 2)
    fill(log, 2, TOPICS // 2)
    flush(log)
    return log


def trimmed(log: MetadataLog, limit: int) -> None:
    """Write snapshots up to ``limit`` and up to the end, and delete the segments that the first one covers."""
    first = snapshot_of(log, limit)
    snapshot_of(log, log.end_offset)
    log.trim(first)


def test_a_directory_is_read_segment_by_segment(log: MetadataLog, tmp_path: Path) -> None:
    """Alike from the log directory and from the partition's."""
    assert len(segments(log.directory)) > 3
    rows = read(tmp_path)
    assert rows == read(log.directory)
    assert offsets(rows) == [offset for offset in range(log.end_offset) if offset not in (0, 16)]
    assert {row["type"] for row in rows} == {"TOPIC_RECORD"}
    with_control = read(tmp_path, includeControlRecords="true")
    assert offsets(with_control) == list(range(log.end_offset))
    changes = [(row["offset"], row["epoch"]) for row in with_control if row["type"] == "LEADER_CHANGE"]
    assert changes == [(0, 1), (16, 2)]


def test_offsets_limit_what_is_read(log: MetadataLog, tmp_path: Path) -> None:
    rows = read(tmp_path, startingOffsets='{"offset": 5}', endingOffsets='{"offset": 12}')
    assert offsets(rows) == list(range(5, 12))
    base = log.end_offset
    append_records(log, [topic(number) for number in range(50, 56)], 2, 1000)
    inside = read(tmp_path, startingOffsets=f'{{"offset": {base + 2}}}', endingOffsets=f'{{"offset": {base + 4}}}')
    assert offsets(inside) == [base + 2, base + 3], "limits may lie inside a batch"
    with pytest.raises(OptionError, match="startingOffsets latest has no meaning for files"):
        read(tmp_path, startingOffsets="latest")


def test_a_snapshot_comes_first_where_the_log_begins_later(log: MetadataLog, tmp_path: Path) -> None:
    """KIP-630: the log begins at the end of a snapshot. The oldest snapshot leaves the most history to the log."""
    trimmed(log, 10)
    rows = read(tmp_path)
    of_snapshot = [row for row in rows if row["origin"] == "snapshot"]
    assert rows[: len(of_snapshot)] == of_snapshot
    assert {row["topic_record"]["name"] for row in of_snapshot} == {f"t{number}" for number in range(1, 10)}
    assert set(offsets(of_snapshot)) == {9}, "the last offset that it covers"
    assert offsets(rows[len(of_snapshot) :]) == [offset for offset in range(10, log.end_offset) if offset != 16]
    inside = read(tmp_path, startingOffsets='{"offset": 20}')
    assert offsets(inside) == list(range(20, log.end_offset)), "the log has these"
    assert read(tmp_path, endingOffsets='{"offset": 10}') == of_snapshot
    with pytest.raises(OptionError, match=r"offsets 0 to 9 are deleted: the snapshot .* covers all before 10"):
        read(tmp_path, endingOffsets='{"offset": 9}')


def test_a_missing_snapshot_is_named(log: MetadataLog, tmp_path: Path) -> None:
    trimmed(log, 10)
    for snapshot in list_snapshots(log.directory):
        Path(log.directory, snapshot_name(snapshot)).unlink()
    with pytest.raises(OptionError, match="the log begins at offset 8, and no snapshot covers the offsets before"):
        read(tmp_path)


def test_one_snapshot_is_read_by_itself(log: MetadataLog, tmp_path: Path) -> None:
    path = Path(log.directory, snapshot_name(snapshot_of(log, 10)))
    rows = read(path)
    assert {(row["offset"], row["epoch"], row["origin"]) for row in rows} == {(9, 1, "snapshot")}
    kinds = [row["type"] for row in read(path, includeControlRecords="true")]
    assert (kinds[0], kinds[-1]) == ("SNAPSHOT_HEADER", "SNAPSHOT_FOOTER")


@pytest.mark.parametrize("name", ["missing", "empty", "other.log"])
def test_a_path_without_metadata_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.log").touch()
    with pytest.raises(OptionError, match=rf"Option path: .*{name}"):
        read(tmp_path / name)


def flip(path: str, position: int) -> None:
    data = bytearray(Path(path).read_bytes())
    data[position] ^= 1
    Path(path).write_bytes(data)


def test_a_damaged_batch_fails_the_query_or_is_one_row(log: MetadataLog, tmp_path: Path) -> None:
    """The rows of all other batches of the segment are there."""
    before = read(tmp_path)
    path = segments(log.directory)[1]
    flip(path, Path(path).stat().st_size - 1)
    with pytest.raises(CorruptInput, match=rf"{path}: damaged at position \d+ \(\d+ bytes\): checksum"):
        read(tmp_path)
    rows = read(tmp_path, mode="quarantine")
    (bad,) = [row for row in rows if row["error"]]
    assert [row for row in before if row["offset"] != bad["offset"]] == [row for row in rows if not row["error"]]
    assert bad["bytes"] == Path(path).read_bytes()[-len(bad["bytes"]) :]


def test_a_torn_tail_is_no_failure(log: MetadataLog, tmp_path: Path) -> None:
    """A live controller is writing, or a crash has cut the file. The quarantine shows the bytes."""
    whole = read(tmp_path)
    with open(segments(log.directory)[-1], "ab") as file:
        file.write(b"\0\0\0")
    assert read(tmp_path) == whole
    *rest, torn = read(tmp_path, mode="quarantine")
    assert rest == whole
    assert (torn["bytes"], torn["offset"]) == (b"\0\0\0", log.end_offset)
    assert "incomplete batch" in torn["error"]


def test_a_record_of_a_later_kafka_fails_the_query_or_is_one_row(tmp_path: Path) -> None:
    """KIP-631: a later metadata.version adds record types."""
    values = [encode_record(TopicRecord(name="before"), 0), UNKNOWN, encode_record(TopicRecord(name="after"), 0)]
    records = [Record(at, 1000, None, value) for at, value in enumerate(values)]
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    path = directory / f"{0:020d}.log"
    path.write_bytes(encode_batch(records, leader_epoch=1))
    with pytest.raises(CorruptInput, match=rf"{path}: position 0: the record at offset 1 .* unknown type 999"):
        read(tmp_path)
    rows = read(tmp_path, mode="quarantine")
    assert [(row["type"], row["apiKey"], row["bytes"]) for row in rows] == [
        ("TOPIC_RECORD", 2, None),
        (None, 999, UNKNOWN),
        ("TOPIC_RECORD", 2, None),
    ]


@pytest.mark.parametrize("cut", [3, None], ids=["torn", "without footer"])
def test_a_snapshot_without_its_end_is_damaged(log: MetadataLog, tmp_path: Path, cut: int | None) -> None:
    """KIP-630: the footer is the last record of a complete snapshot."""
    path = Path(log.directory, snapshot_name(snapshot_of(log, 10)))
    data = path.read_bytes()
    headers = [position for position, _ in iter_headers(data)]
    copy = tmp_path / path.name
    copy.write_bytes(data[:-cut] if cut else data[: headers[-1]])
    with pytest.raises(CorruptInput, match=r"damaged at position .*(left of a batch|ends without its footer)"):
        read(copy)
    *rows, bad = read(copy, mode="quarantine")
    assert rows == read(path)[: len(rows)]
    assert bad["error"]


@pytest.mark.parametrize("number", [1, 2], ids=["cut", "deleted"])
def test_a_gap_is_damage(log: MetadataLog, tmp_path: Path, number: int) -> None:
    """A metadata log has no gaps (KIP-595), so missing batches are no compaction."""
    path = Path(segments(log.directory)[number])
    headers = [position for position, _ in iter_headers(path.read_bytes())]
    path.unlink() if number == 2 else path.write_bytes(path.read_bytes()[: headers[-1]])
    with pytest.raises(CorruptInput, match=r"damaged at position \d+ \(0 bytes\): offset \d+ follows where \d+ is exp"):
        read(tmp_path)
    (bad,) = [row for row in read(tmp_path, mode="quarantine") if row["error"]]
    assert bad["offset"] not in offsets([row for row in read(tmp_path, mode="quarantine") if not row["error"]])


def test_the_parts_of_a_plan_are_plain(log: MetadataLog, tmp_path: Path) -> None:
    """Spark pickles them on their way to the executors."""
    trimmed(log, 10)
    snapshot, *rest = plan_files(Settings.read({"path": str(tmp_path)}))
    assert isinstance(snapshot, SnapshotFile)
    assert [part.is_active for part in rest if isinstance(part, SegmentOffsets)] == [False] * (len(rest) - 1) + [True]
    append_records(log, [topic(99)], 2, 1000)
