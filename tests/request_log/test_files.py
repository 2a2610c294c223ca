"""The files of the request log: a reader sees complete files only, and the directory stays within its bounds."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from kraft.request_log import files as request_files
from kraft.request_log.files import FILES_IN_RETENTION, OPEN_SUFFIX, RequestFiles

ROLL_MS = 60_000
RETENTION = 2**20
FILE_BYTES = RETENTION // FILES_IN_RETENTION


@attrs.define
class Clock:
    ms: int = 1_000

    def __call__(self) -> int:
        return self.ms


def made(directory: Path, clock: Clock, start_ms: int = 1_000) -> RequestFiles:
    return RequestFiles(str(directory), start_ms, ROLL_MS, RETENTION, clock)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def files(tmp_path: Path, clock: Clock) -> Iterator[RequestFiles]:
    files = made(tmp_path / "log", clock)
    files.open()
    yield files
    files.close()


def names(directory: Path) -> list[str]:
    return sorted(name for name in os.listdir(directory) if name.startswith("requests-"))


def test_a_file_has_its_name_when_it_is_complete(files: RequestFiles, clock: Clock, tmp_path: Path) -> None:
    """Spark's file source reads a file once, when it first lists it: the file must not grow after that."""
    files.write([b"a", b"b"])
    assert names(tmp_path / "log") == ["requests-1000-00000000.jsonl" + OPEN_SUFFIX]
    clock.ms += ROLL_MS
    files.write([])
    assert names(tmp_path / "log") == ["requests-1000-00000000.jsonl"]
    assert (tmp_path / "log" / "requests-1000-00000000.jsonl").read_bytes() == b"a\nb\n"


def test_a_file_is_rolled_when_the_clock_was_set_back(files: RequestFiles, clock: Clock, tmp_path: Path) -> None:
    files.write([b"a"])
    clock.ms -= 1
    files.write([])
    assert names(tmp_path / "log") == ["requests-1000-00000000.jsonl"]


def test_a_full_file_is_rolled_at_a_line(files: RequestFiles, tmp_path: Path) -> None:
    line = b"x" * 1000
    files.write([line] * 200)
    complete = [name for name in names(tmp_path / "log") if not name.endswith(OPEN_SUFFIX)]
    assert len(complete) == 200 * 1001 // FILE_BYTES
    for name in complete:
        data = (tmp_path / "log" / name).read_bytes()
        assert FILE_BYTES <= len(data) < FILE_BYTES + 1001
        assert set(data.splitlines()) == {line}


def test_the_directory_is_bounded_in_bytes_and_keeps_the_newest(files: RequestFiles, tmp_path: Path) -> None:
    for number in range(3000):
        files.write([b"%07d" % number + b"x" * 992])
    kept = names(tmp_path / "log")
    size = sum((tmp_path / "log" / name).stat().st_size for name in kept)
    assert RETENTION * 0.8 < size <= RETENTION
    lines = b"".join((tmp_path / "log" / name).read_bytes() for name in kept).splitlines()
    assert [int(line[:7]) for line in lines] == list(range(3000 - len(lines), 3000))


def test_the_directory_is_bounded_in_files(
    files: RequestFiles, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quiet node rolls a file of one line every minute."""
    monkeypatch.setattr(request_files, "MAX_FILES", 3)
    for _ in range(10):
        files.write([b"a"])
        clock.ms += ROLL_MS
        files.write([])
    assert names(tmp_path / "log") == [f"requests-1000-{number:08d}.jsonl" for number in (7, 8, 9)]


def test_a_start_whose_clock_was_set_back_deletes_the_files_of_the_earlier_one_first(
    files: RequestFiles, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Delete the oldest complete files": the names have the order in which the files were written."""
    monkeypatch.setattr(request_files, "MAX_FILES", 3)
    for _ in range(2):
        files.write([b"old"])
        files.complete()
    files.write([b"open"])
    files.close()
    again = made(tmp_path / "log", clock, start_ms=400)
    again.open()
    for _ in range(2):
        again.write([b"new"])
        again.complete()
    again.close()
    assert names(tmp_path / "log") == [
        "requests-1000-00000002.jsonl",
        "requests-1001-00000000.jsonl",
        "requests-1001-00000001.jsonl",
    ]


@pytest.mark.parametrize(("left", "kept"), [(b"a\nb\n", b"a\nb\n"), (b'a\nb\n{"ms":1', b"a\nb\n"), (b'{"ms', None)])
def test_a_file_that_a_killed_node_left_open_is_completed(
    tmp_path: Path, clock: Clock, left: bytes, kept: bytes | None
) -> None:
    """A truncated line is not JSON: its reader would put it into quarantine, or fail."""
    (tmp_path / ("requests-7-00000003.jsonl" + OPEN_SUFFIX)).write_bytes(left)
    files = made(tmp_path, clock)
    files.open()
    files.close()
    found = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    assert found == ({} if kept is None else {"requests-7-00000003.jsonl": kept})


def test_other_files_are_left_alone(tmp_path: Path, clock: Clock) -> None:
    others = ["notes.txt", "requests-x.jsonl", "requests-1-2.jsonl.open", "requests-1-00000001.jsonl.bak"]
    for name in others:
        (tmp_path / name).write_bytes(b"x" * RETENTION)
    files = made(tmp_path, clock)
    files.open()
    files.close()
    assert sorted(set(os.listdir(tmp_path)) - {request_files.LOCK}) == sorted(others)


def test_two_nodes_cannot_share_a_directory(files: RequestFiles, tmp_path: Path, clock: Clock) -> None:
    """The second one would complete and delete the files of the first."""
    files.write([b"a"])
    second = made(tmp_path / "log", clock, 2_000)
    with pytest.raises(BlockingIOError):
        second.open()
    second.close()
    assert names(tmp_path / "log") == ["requests-1000-00000000.jsonl" + OPEN_SUFFIX]


def test_a_write_that_fails_in_the_middle_leaves_whole_lines_for_the_next_start(
    files: RequestFiles, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, data: bytes) -> None:
        os.write(fd, data[:-3])
        raise OSError(errno.ENOSPC, "No space left on device")

    files.write([b'{"a":1}'])
    monkeypatch.setattr(request_files, "write_all", full)
    with pytest.raises(OSError, match="No space"):
        files.write([b'{"a":2}', b'{"a":3}'])
    files.close()
    monkeypatch.undo()
    again = made(tmp_path / "log", clock, 2_000)
    again.open()
    again.close()
    (name,) = names(tmp_path / "log")
    assert [json.loads(line) for line in (tmp_path / "log" / name).read_text().splitlines()] == [{"a": 1}, {"a": 2}]
