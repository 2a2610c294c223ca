"""Scans of files find every sound batch, and report every byte that is none."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.records.batch import HEADER_SIZE
from kraft.records.record import Record, encode_batch
from kraft.spark import segment_scan
from kraft.spark.segment_scan import DamagedBytes, SoundBatches, base_offset, is_newest, scan, segments

LENGTH_POSITION = 8


def batch(offset: int, size: int = 10, count: int = 2) -> bytes:
    records = [Record(at, 1000, None, b"x" * size) for at in range(offset, offset + count)]
    return encode_batch(records, base_offset=offset)


def file_of(directory: Path, *parts: bytes, name: str = f"{0:020d}.log") -> str:
    path = directory / name
    path.write_bytes(b"".join(parts))
    return str(path)


def read(path: str, *, is_active: bool = False, chunk_bytes: int = 2**20) -> tuple[list[int], list[DamagedBytes]]:
    """The base offsets of the sound batches, and the damage."""
    offsets, damages, position = [], [], 0
    for found in scan(path, is_active=is_active, chunk_bytes=chunk_bytes):
        if isinstance(found, DamagedBytes):
            assert found.position == position
            position += found.size
            damages.append(found)
            continue
        for at, header in found.batches:
            assert found.position + at == position
            assert found.data[at : at + 8] == struct.pack(">q", header.base_offset)
            position += header.size
            offsets.append(header.base_offset)
    assert position == Path(path).stat().st_size, "every byte is in a batch or in a damage"
    return offsets, damages


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def with_length(data: bytes, length: int) -> bytes:
    return data[:LENGTH_POSITION] + struct.pack(">i", length) + data[LENGTH_POSITION + 4 :]


@given(
    sizes=st.lists(st.integers(0, 300), max_size=8),
    broken=st.sets(st.integers(0, 7)),
    chunk_bytes=st.integers(HEADER_SIZE, 600),
)
def test_only_damaged_batches_are_damage(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], broken: set[int], chunk_bytes: int
) -> None:
    """The result does not depend on the size of the chunks: batches cross their ends, and may be larger."""
    batches = [batch(2 * number, size) for number, size in enumerate(sizes)]
    parts = [flipped(data) if number in broken else data for number, data in enumerate(batches)]
    path = file_of(tmp_path_factory.mktemp("scan"), *parts)
    offsets, damages = read(path, chunk_bytes=chunk_bytes)
    assert offsets == [2 * number for number in range(len(sizes)) if number not in broken]
    assert b"".join(damage.data for damage in damages) == b"".join(
        part for number, part in enumerate(parts) if number in broken
    )


def test_the_scan_continues_at_the_next_sound_batch_if_a_length_is_wrong(tmp_path: Path) -> None:
    """No checksum covers the length, so the end of the batch is unknown."""
    bad = batch(2)
    for length in (len(bad), 2**30, 0, -5):
        path = file_of(tmp_path, batch(0), with_length(bad, length), batch(4))
        offsets, (damage,) = read(path)
        assert offsets == [0, 4]
        assert (damage.position, damage.size, damage.offset) == (len(batch(0)), len(bad), 2)
        assert f"{path}: damaged at position {len(batch(0))} ({len(bad)} bytes): " in str(damage)


def test_a_batch_inside_a_damaged_record_is_no_batch_of_the_log(tmp_path: Path) -> None:
    """A record may hold the bytes of a batch. The end of the damaged batch is where the log continues."""
    inner = batch(3)
    outer = flipped(encode_batch([Record(2, 1000, None, inner + b"!")], base_offset=2))
    offsets, (damage,) = read(file_of(tmp_path, batch(0), outer, batch(3)))
    assert (offsets, damage.size) == ([0, 3], len(outer))


@pytest.mark.parametrize("cut", [1, HEADER_SIZE - 1, HEADER_SIZE, HEADER_SIZE + 1])
def test_an_incomplete_batch_at_the_end_is_torn_in_the_newest_segment_alone(tmp_path: Path, cut: int) -> None:
    """A broker appends to its newest segment only, and a batch becomes visible piece by piece."""
    path = file_of(tmp_path, batch(0), batch(2)[:cut])
    for is_active in (True, False):
        offsets, (damage,) = read(path, is_active=is_active)
        assert (offsets, damage.size, damage.is_torn) == ([0], cut, is_active)
    assert "incomplete batch, still being written or cut by a crash" in str(read(path, is_active=True)[1][0])


def test_zeros_that_were_allocated_in_advance_are_torn(tmp_path: Path) -> None:
    """Kafka's log.preallocate: a new segment is a file of zeros."""
    _, (damage,) = read(file_of(tmp_path, batch(0), bytes(4096)), is_active=True)
    assert damage.is_torn
    _, (damage,) = read(file_of(tmp_path, batch(0), bytes(4096) + b"!"), is_active=True)
    assert not damage.is_torn


def test_a_wrong_length_in_the_last_batch_is_no_torn_tail(tmp_path: Path) -> None:
    """The checksum proves that the batch is complete."""
    path = file_of(tmp_path, batch(0), with_length(batch(2), 2**20))
    _, (damage,) = read(path, is_active=True)
    assert not damage.is_torn


def test_a_row_shows_a_bounded_part_of_the_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_scan, "MAX_QUARANTINED_BYTES", 10)
    _, (damage,) = read(file_of(tmp_path, b"?" * 100))
    assert (damage.size, damage.data) == (100, b"?" * 10)
    assert "(100 bytes)" in str(damage)
    assert "the row has the first 10 bytes" in str(damage)


def test_batches_that_are_too_large_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_scan, "MAX_BATCH_BYTES", 200)
    offsets, (damage,) = read(file_of(tmp_path, batch(0), batch(2, 200), batch(4)))
    assert offsets == [0, 4]
    assert "no more than 200 are read" in damage.reason


def test_the_newest_segment_has_the_greatest_offset(tmp_path: Path) -> None:
    names = ["00000000000000000000.log", "00000000000000000100.log"]
    old, new = (file_of(tmp_path, name=name) for name in names)
    file_of(tmp_path, name="00000000000000000200.log.deleted")
    snapshot = file_of(tmp_path, name="00000000000000000300-0000000001.checkpoint")
    assert segments(str(tmp_path)) == [old, new]
    assert (is_newest(old), is_newest(new), is_newest(snapshot)) == (False, True, False)
    assert [base_offset(path) for path in (old, new, snapshot)] == [0, 100, 0]


def test_an_empty_file_has_nothing(tmp_path: Path) -> None:
    assert list(scan(file_of(tmp_path), is_active=True)) == []
    with pytest.raises(FileNotFoundError):
        next(scan(str(tmp_path / "missing"), is_active=True))


@pytest.mark.parametrize("left", [0, 1, HEADER_SIZE, HEADER_SIZE + 1])
@pytest.mark.parametrize("size", [10, 500], ids=["small batches", "batches beyond a chunk"])
def test_a_file_that_is_truncated_meanwhile_ends_there(tmp_path: Path, left: int, size: int) -> None:
    """A follower cuts its log where it departs from that of a new leader (KIP-101)."""
    batches = [batch(2 * number, size) for number in range(6)]
    path = file_of(tmp_path, *batches)
    found = scan(path, is_active=True, chunk_bytes=2 * len(batch(0)))
    first = next(found)
    assert isinstance(first, SoundBatches)
    read_so_far = first.position + first.batches[-1][0] + len(batches[0])
    os.truncate(path, read_so_far + left)
    rest = list(found)
    assert [type(each) for each in rest] == [DamagedBytes] * (left > 0)
    assert all(isinstance(each, DamagedBytes) and each.is_torn and each.size == left for each in rest)


def test_groups_have_consecutive_batches(tmp_path: Path) -> None:
    path = file_of(tmp_path, *(batch(2 * number) for number in range(10)))
    groups = list(scan(path, is_active=False, chunk_bytes=3 * len(batch(0))))
    assert [len(group.batches) for group in groups if isinstance(group, SoundBatches)] == [3, 3, 3, 1]
