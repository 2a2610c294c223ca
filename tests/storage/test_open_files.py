"""Logs keep no file open that is not in use: the pool of open files."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trio

from kraft.config.topic import LogConfig
from kraft.records.batch import CorruptBatch
from kraft.records.record import Record, encode_batch
from kraft.simulation.virtual_network import at_once
from kraft.storage import open_files
from kraft.storage.cleaner import Cleaning, CleaningStopped
from kraft.storage.log import Log
from kraft.storage.open_files import LazyFile, OpenFiles
from tests.storage.logs import EVERYTHING, append, batch, config, content

CAPACITY = 6
LOGS = 40


@pytest.fixture(autouse=True)
def pool(monkeypatch: pytest.MonkeyPatch) -> OpenFiles:
    """A small pool of this test's own: nodes of other tests may still have files in that of the process."""
    pool = OpenFiles(CAPACITY)
    monkeypatch.setattr(open_files, "OPEN_FILES", pool)
    return pool


def settings() -> LogConfig:
    return config(segment_bytes=400, index_interval_bytes=1)


def many(parent: Path) -> list[Log]:
    return [Log.open(parent, f"topic-{number}", settings(), now_ms=0) for number in range(LOGS)]


def open_below(directory: Path) -> list[str]:
    """The files in a directory that this process has open, by the kernel's word."""
    names = []
    for number in os.listdir("/proc/self/fd"):
        try:
            name = os.readlink(f"/proc/self/fd/{number}")
        except FileNotFoundError:
            continue  # the descriptor that listed the directory
        if name.startswith(f"{directory}/"):
            names.append(name)
    return names


def value(log: int, turn: int) -> bytes:
    return b"log %d turn %d " % (log, turn) * 3


def test_more_logs_than_files_may_be_open(tmp_path: Path) -> None:
    """ "A topic of 2,000 partitions" needs no 2,000 open files: each log is opened when it is used."""
    logs = many(tmp_path)
    for turn in range(12):
        for number, log in enumerate(logs):
            append(log, batch([value(number, turn)]))
            assert len(open_below(tmp_path)) <= CAPACITY
    for number, log in enumerate(logs):
        for turn in range(12):
            assert value(number, turn) in content(log.read(turn, 1, EVERYTHING))
            assert len(open_below(tmp_path)) <= CAPACITY
    for log in logs:
        log.close()
    assert open_below(tmp_path) == []
    for number, log in enumerate(many(tmp_path)):  # the indexes are right, too
        assert not log.recovery
        assert log.log_end_offset == 12
        assert value(number, 7) in content(log.read(7, 1, EVERYTHING))


def test_a_slice_that_is_being_sent_keeps_its_file(tmp_path: Path) -> None:
    """The kernel reuses the number of a closed descriptor at once; sendfile would send another log's bytes."""
    logs = many(tmp_path)
    for number, log in enumerate(logs):
        append(log, batch([value(number, 0)]))
    slices = [log.read(0, 1, EVERYTHING) for log in logs]
    for log in logs:
        log.abandon()
    assert all(value(number, 0) in content(piece) for number, piece in enumerate(slices))
    assert len(open_below(tmp_path)) == LOGS
    del slices
    assert open_below(tmp_path) == []


def test_there_is_no_room_while_readers_hold_all_files(tmp_path: Path, pool: OpenFiles) -> None:
    logs = many(tmp_path)
    for log in logs:
        append(log, batch([b"value"]))
    assert pool.has_room()
    slices = [log.read(0, 1, EVERYTHING) for log in logs[:CAPACITY]]
    assert not pool.has_room()
    append(logs[-1], batch([b"value"]))  # an append holds no file for long, so it goes beyond the capacity
    slices.pop()
    assert pool.has_room()


def test_a_file_that_is_used_again_and_again_stays_open(tmp_path: Path) -> None:
    """Second chance: the pool closes a file that was not used since it was last considered."""
    files = [LazyFile(str(tmp_path / f"{number}")) for number in range(50)]
    often = files[0].create().fileno()
    for file in files[1:]:
        file.create()
        assert files[0].use().fileno() == often
    assert len(open_below(tmp_path)) == CAPACITY


def test_files_of_a_log_that_was_dropped_are_closed(tmp_path: Path) -> None:
    """A node that is killed in a simulation closes nothing."""
    log = Log.open(tmp_path, "topic-0", settings(), now_ms=0)
    append(log, batch([b"value"]))
    assert open_below(tmp_path)
    del log
    assert open_below(tmp_path) == []


def test_threads_read_their_own_files_while_others_close_them(tmp_path: Path, pool: OpenFiles) -> None:
    """Lookups and compactions run on worker threads, and the pool closes files under their hands."""
    logs = many(tmp_path)
    for turn in range(6):
        for number, log in enumerate(logs):
            append(log, batch([value(number, turn)], timestamp=1000 + turn))
    pool.capacity = 2

    def read(first: int) -> int:
        found = 0
        for number in [*range(first, LOGS), *range(first)]:
            for turn in range(6):
                found += value(number, turn) in content(logs[number].read(turn, 1, EVERYTHING))
                stamped = trio.run(logs[number].offset_for_timestamp, 1000 + turn, at_once)
                found += stamped is not None and stamped.offset == turn
        return found

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, range(0, LOGS, 10))) == [LOGS * 6 * 2] * 4


def keyed(value: bytes) -> bytearray:
    return bytearray(encode_batch([Record(0, 1000, b"key", value)]))


def test_a_compaction_of_many_segments_holds_few_files(tmp_path: Path) -> None:
    """A client chooses ``segment.bytes``, and so the number of segments that one compaction reads."""
    log = Log.open(tmp_path, "topic-0", config(cleanup_policy="compact", segment_bytes=200), now_ms=0)
    for number in range(60):
        append(log, keyed(b"%04d" % number * 20))
    assert len(log.segments) >= 50
    opened: list[int] = []

    def watch() -> bool:
        opened.append(len(open_below(tmp_path)))
        return False

    log.replace_segments(Cleaning.begin(log.segments, 0, log.log_end_offset, log.config, log.producers).run(0, watch))
    assert len(opened) >= 50
    assert max(opened) <= CAPACITY + 1, "one beyond the capacity, which the cleaner reads while another opens"


def test_a_compaction_ends_when_a_segment_is_gone(tmp_path: Path) -> None:
    """Retention took it meanwhile: the log has changed, and the cleaner begins again later."""
    log = Log.open(tmp_path, "topic-0", config(cleanup_policy="compact", segment_bytes=200), now_ms=0)
    for number in range(20):
        append(log, keyed(b"%04d" % number * 20))
    cleaning = Cleaning.begin(log.segments, 0, log.log_end_offset, log.config, log.producers)
    log.delete_records(log.segments[5].base_offset)
    assert log.delete_old_segments(0, log.log_end_offset)
    before = sorted(path.name for path in (tmp_path / "topic-0").iterdir())
    with pytest.raises(CleaningStopped):
        cleaning.run(0)
    assert sorted(path.name for path in (tmp_path / "topic-0").iterdir()) == before


@pytest.mark.parametrize(("is_cut", "error"), [(True, CleaningStopped), (False, CorruptBatch)])
def test_only_a_truncation_excuses_damage(tmp_path: Path, is_cut: bool, error: type[Exception]) -> None:
    """The cleaner never tries a damaged log again, and a truncation under its hands looks like damage."""
    log = Log.open(tmp_path, "topic-0", config(cleanup_policy="compact", segment_bytes=200), now_ms=0)
    for number in range(5):
        append(log, keyed(b"%04d" % number * 20))
    cleaning = Cleaning.begin(log.segments, 0, log.log_end_offset, log.config, log.producers)
    os.truncate(log.segments[2].path, 10)
    answers = iter([False] * 2)  # the truncation comes while the third batch is read
    with pytest.raises(error):
        cleaning.run(0, lambda: is_cut and next(answers, True))
