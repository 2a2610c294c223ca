"""Apache Kafka's own files and its live quorum, read by the readers of kraft-log and kraft-metadata."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kraft.records.control import ControlType
from kraft.spark.log_rows import read_log_file
from kraft.spark.log_source import log_files
from kraft.spark.metadata_files import SegmentOffsets, plan_files, read_segment_file, read_snapshot_file
from kraft.spark.metadata_live import LiveSnapshot, plan, read_live_snapshot, read_range
from kraft.spark.metadata_settings import Settings
from kraft.spark.segment_scan import segments
from kraft.storage.snapshot import list_snapshots
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION
from tests.interop.traffic import Traffic
from tests.support.apache_process import APACHE_3, APACHE_4, Apache
from tests.support.apache_tool import DUMP_LOG, apache_tool
from tests.support.cluster import BOTH, Member, running_cluster
from tests.support.eventually import eventually

RECORDS = 200
TIMEOUT_S = 60.0
SMALL_SNAPSHOTS = {"metadata_log_max_record_bytes_between_snapshots": "3000"}
Rows = list[dict[str, Any]]


def rows(tables: Any) -> Rows:
    found: Rows = pa.Table.from_batches(tables).to_pylist() if (tables := list(tables)) else []
    return found


def live(controllers: str) -> tuple[list[Any], Rows]:
    """The parts and rows of a batch query on a live quorum."""
    settings = Settings.read({"kafka.bootstrap.controllers": controllers, "includeControlRecords": "true"})
    parts = plan(controllers, 0, 0, None)
    readers = [read_live_snapshot if isinstance(part, LiveSnapshot) else read_range for part in parts]
    tables = [rows(read(controllers, part, settings)) for read, part in zip(readers, parts, strict=True)]  # type: ignore[operator]
    return parts, [row for table in tables for row in table]


def in_files(path: Path) -> Rows:
    settings = Settings.read({"path": str(path), "includeControlRecords": "true"})
    found: Rows = []
    for part in plan_files(settings):
        found += rows(
            read_segment_file(part, settings)
            if isinstance(part, SegmentOffsets)
            else read_snapshot_file(part, settings)
        )
    return found


@pytest.mark.parametrize("apache", [APACHE_3, APACHE_4], ids=lambda kind: kind.version)
def test_apaches_logs_are_read_live_and_from_files(tmp_path: Path, apache: Apache) -> None:
    """The live quorum and its directory agree, and both agree with Apache's DumpLogSegments."""
    with running_cluster(tmp_path, {1: Member(apache, BOTH)}, **SMALL_SNAPSHOTS) as cluster:
        node, traffic = cluster.nodes[1], Traffic(cluster.bootstrap_servers)
        traffic.create("orders", 2)
        traffic.write("orders", RECORDS)
        for number in range(10):
            traffic.create(f"topic-{number}")
        directory = node.log_directory / CLUSTER_METADATA_PARTITION
        # A leader that has a snapshot serves no offset 0, whatever its log has.
        eventually(lambda: [each for each in list_snapshots(directory) if each.end_offset], TIMEOUT_S)
        parts, from_quorum = live(f"127.0.0.1:{node.ports[1]}")
        assert not any(isinstance(part, LiveSnapshot) for part in parts), "the log has every record"
        node.stop()
    from_files = in_files(node.log_directory)
    assert [row["offset"] for row in from_files] == list(range(len(from_files)))
    assert from_quorum == from_files[1 : len(from_quorum) + 1], "without the LeaderChange at offset 0"
    assert dumped(segments(str(directory))[0], apache) == {
        row["offset"]: json.loads(row["record"]) for row in from_files if row["apiKey"] is not None
    }
    snapshot = max(directory.glob("0*.checkpoint"))
    names = {row["topic_record"]["name"] for row in in_files(snapshot) if row["topic_record"]}
    assert "orders" in names

    values = []
    for file in log_files([str(node.log_directory)], "orders"):
        values += [row["value"] for row in rows(read_log_file(file, quarantine=False, with_headers=True))]
    assert sorted(int(value) for value in values if value) == sorted(map(int, traffic.written["orders"]))
    kinds = [row["controlType"] for row in metadata_log(node.log_directory) if row["isControl"]]
    assert ControlType.LEADER_CHANGE.name in kinds


def metadata_log(directory: Path) -> Rows:
    (file,) = log_files([str(directory)], "__cluster_metadata")
    return rows(read_log_file(file, quarantine=False, with_headers=False))


def dumped(segment: str, apache: Apache) -> dict[int, Any]:
    """The metadata records as DumpLogSegments decodes them."""
    name = DUMP_LOG if apache is APACHE_4 else "kafka.tools.DumpLogSegments"
    text = apache_tool(name, "--files", segment, "--cluster-metadata-decoder", kind=apache)
    found = re.findall(r"^\| offset: (\d+) .*?payload: (\{.*\})$", text, re.MULTILINE)
    return {int(offset): json.loads(payload) for offset, payload in found}
