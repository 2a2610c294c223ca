"""Metadata snapshots (KIP-630) and ``bootstrap.checkpoint``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.raft.messages import SnapshotId
from kraft.records.batch import iter_headers
from kraft.records.control import ControlType, control_record
from kraft.records.record import Record, encode_batch
from kraft.storage.errors import CorruptLog
from kraft.storage.snapshot import (
    delete_leftovers,
    delete_snapshots_before,
    list_snapshots,
    read_snapshot,
    snapshot_batches,
    snapshot_name,
    snapshot_timestamp,
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
    for position in range(len(whole)):
        path.write_bytes(whole[:position])
        with pytest.raises(CorruptLog, match=r"bootstrap\.checkpoint"):
            list(read_snapshot(path))
        damaged = bytearray(whole)
        damaged[position] ^= 0x10
        path.write_bytes(damaged)
        with pytest.raises(CorruptLog) as refused:
            list(read_snapshot(path))
        assert refused.value.position == max(start for start, _ in iter_headers(whole) if start <= position)


def test_only_whole_snapshots_are_listed_and_the_rest_is_swept(tmp_path: Path) -> None:
    for end_offset in (5, 10, 20):
        write_snapshot(tmp_path, SnapshotId(end_offset, 1), [b"x"], timestamp=0)
    for name in ("0" * 20 + "-0000000001-123.checkpoint.part", "0" * 20 + "-0000000001.checkpoint.deleted"):
        (tmp_path / name).touch()
    assert list_snapshots(tmp_path) == [(5, 1), (10, 1), (20, 1)]
    delete_snapshots_before(tmp_path, SnapshotId(10, 1))
    assert list_snapshots(tmp_path) == [(10, 1), (20, 1)]
    (tmp_path / "00000000000000000010.snapshot").touch()
    delete_leftovers(tmp_path)
    kept = ["00000000000000000010.snapshot", snapshot_name(SnapshotId(10, 1)), snapshot_name(SnapshotId(20, 1))]
    assert sorted(os.listdir(tmp_path)) == sorted(kept)


def test_the_timestamp_is_that_of_the_last_record_in_it(tmp_path: Path) -> None:
    """KIP-630: LastContainedLogTimestamp, the append time of the highest record that the snapshot covers."""
    path = write_snapshot(tmp_path, SnapshotId(12, 3), [b"a"], timestamp=99)
    assert snapshot_timestamp(path) == 99
    Path(path).write_bytes(b"")
    with pytest.raises(CorruptLog, match="empty"):
        snapshot_timestamp(path)
    Path(path).write_bytes(encode_batch([Record(0, 99, None, b"a")]))
    with pytest.raises(CorruptLog, match="without a snapshot header"):
        snapshot_timestamp(path)


HEADER, DATA, FOOTER = snapshot_batches([b"a"], epoch=3, timestamp=99)


@pytest.mark.parametrize(
    ("batches", "reason"),
    [
        ([DATA, FOOTER], "begins at offset 1"),
        ([HEADER, FOOTER], "begins at offset 2 in epoch 3, expected offset 1"),
        ([HEADER, DATA, FOOTER, FOOTER], "a batch follows the footer"),
        ([HEADER, DATA], "ends without a snapshot footer"),
        ([], "ends without a snapshot footer"),
        ([encode_batch([Record(0, 0, None, b"a")], leader_epoch=3)], "begins without a snapshot header"),
        (
            [HEADER, encode_batch([Record(1, 0, None, b"a")], base_offset=1, leader_epoch=2)],
            "expected offset 1 in epoch 3",
        ),
        ([HEADER, encode_batch([Record(1, 0, None, None)], base_offset=1, leader_epoch=3)], "has no value"),
        ([HEADER, encode_batch([Record(1, 0, None, b"a")], base_offset=1, last_offset=5, leader_epoch=3)], "1 records"),
        (
            [
                HEADER,
                encode_batch(
                    [control_record(ControlType.SNAPSHOT_HEADER, b"", offset=1, timestamp=0)],
                    base_offset=1,
                    leader_epoch=3,
                    control=True,
                ),
            ],
            "out of place",
        ),
    ],
)
def test_only_the_one_layout_is_taken(batches: list[bytes], reason: str, tmp_path: Path) -> None:
    """KIP-630: the header is the first record, the footer the last, and offsets and epochs are those of one log."""
    path = tmp_path / snapshot_name(SnapshotId(12, 3))
    path.write_bytes(b"".join(batches))
    with pytest.raises(CorruptLog, match=reason):
        list(read_snapshot(path, epoch=3))


def test_a_failed_snapshot_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> object:
        yield b"x"
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        write_snapshot(tmp_path, SnapshotId(1, 1), failing(), timestamp=0)  # type: ignore[arg-type]
    assert os.listdir(tmp_path) == []
