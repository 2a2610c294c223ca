"""Metadata snapshots (KIP-630) and ``bootstrap.checkpoint``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.records.batch import iter_headers
from kraft.storage.errors import CorruptLog
from kraft.storage.snapshot import (
    SnapshotId,
    delete_snapshots_before,
    list_snapshots,
    read_snapshot,
    snapshot_batches,
    write_snapshot,
)


def test_the_layout_is_kafkas(tmp_path: Path) -> None:
    """KIP-630: a header batch, data batches, a footer batch; offsets from 0; the epoch of the snapshot everywhere."""
    path = write_snapshot(tmp_path, SnapshotId(12, 3), [b"a", b"b" * 2**20, b"c"], timestamp=99)
    assert os.listdir(tmp_path) == ["00000000000000000012-0000000003.checkpoint"]
    headers = [header for _, header in iter_headers(Path(path).read_bytes())]
    assert [(header.base_offset, header.is_control) for header in headers] == [
        (0, True),
        (1, False),
        (2, False),
        (3, False),
        (4, True),
    ]
    assert {(header.leader_epoch, header.max_timestamp) for header in headers} == {(3, 99)}


@given(values=st.lists(st.binary(max_size=100)))
def test_round_trip(values: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("snapshot") / "bootstrap.checkpoint"
    path.write_bytes(b"".join(snapshot_batches(values, epoch=0, timestamp=0)))
    assert list(read_snapshot(path)) == values


def test_every_cut_and_flipped_byte_is_seen(tmp_path: Path) -> None:
    whole = b"".join(snapshot_batches([b"some", b"records"], epoch=0, timestamp=0))
    path = tmp_path / "bootstrap.checkpoint"
    offset_fields = {start + byte for start, _ in iter_headers(whole) for byte in (*range(8), *range(12, 16))}
    for position in range(len(whole)):
        path.write_bytes(whole[:position])
        with pytest.raises(CorruptLog, match=r"bootstrap\.checkpoint"):
            list(read_snapshot(path))
        if position not in offset_fields:
            damaged = bytearray(whole)
            damaged[position] ^= 0x10
            path.write_bytes(damaged)
            with pytest.raises(CorruptLog):
                list(read_snapshot(path))


def test_only_whole_snapshots_are_listed_and_the_rest_is_swept(tmp_path: Path) -> None:
    for end_offset in (5, 10, 20):
        write_snapshot(tmp_path, SnapshotId(end_offset, 1), [b"x"], timestamp=0)
    for name in ("0" * 20 + "-0000000001-123.checkpoint.part", "0" * 20 + "-0000000001.checkpoint.deleted"):
        (tmp_path / name).touch()
    assert list_snapshots(tmp_path) == [(5, 1), (10, 1), (20, 1)]
    delete_snapshots_before(tmp_path, SnapshotId(10, 1))
    assert sorted(os.listdir(tmp_path)) == [SnapshotId(10, 1).file_name, SnapshotId(20, 1).file_name]


def test_a_failed_snapshot_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> object:
        yield b"x"
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        write_snapshot(tmp_path, SnapshotId(1, 1), failing(), timestamp=0)  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []
