"""A log on a disk that is full or damaged: nothing acknowledged is lost, and what makes room goes on."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kraft.records.batch import iter_headers
from kraft.records.control import EndTransactionMarker
from kraft.records.record import Record, encode_batch
from kraft.storage.directory import LastStop
from kraft.storage.log import Log
from tests.storage.logs import append, batch, config, files, open_log, values

DAY_MS = 86_400_000


@contextmanager
def _files_no_larger_than(limit: int) -> Iterator[None]:
    """The kernel itself writes short and then fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    log = open_log(tmp_path, config(index_interval_bytes=0))
    for number in range(3):
        append(log, batch([b"%d" % number]))
    before, end = files(log), log.log_end_offset
    with _files_no_larger_than(log.size + 10), pytest.raises(OSError, match="File too large"):
        append(log, batch([b"too much"]))
    assert files(log) == before
    assert log.log_end_offset == end
    append(log, batch([b"3"]))
    assert values(log) == [b"0", b"1", b"2", b"3"]


def test_an_index_that_cannot_grow_takes_the_batch_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(tmp_path, config(index_interval_bytes=0))
    append(log, batch([b"0"]))
    append(log, batch([b"1"], timestamp=2000))
    before = files(log)

    def full(offset: int, position: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(log.segments.active.index, "append", full)
        with pytest.raises(OSError, match="No space left"):
            append(log, batch([b"2"], timestamp=3000))
    assert files(log) == before
    append(log, batch([b"2"], timestamp=3000))
    assert values(log) == [b"0", b"1", b"2"]


def test_half_an_index_entry_is_taken_back(tmp_path: Path) -> None:
    """A roll completes the time index of the old segment. If that fails, later entries must stay aligned."""
    log = open_log(tmp_path, config())
    append(log, batch([b"0"]))
    time_index = log.segments.active.time_index
    with _files_no_larger_than(5), pytest.raises(OSError, match="File too large"):
        time_index.maybe_append(1000, 0)
    assert os.stat(time_index.path).st_size == 0
    log.roll()
    assert time_index.is_sane()


def test_an_epoch_that_could_not_be_written_is_written_with_the_next_append(tmp_path: Path) -> None:
    log = open_log(tmp_path, config())
    append(log, batch([b"0"]), epoch=1)
    with _files_no_larger_than(0), pytest.raises(OSError, match="File too large"):
        append(log, batch([b"1"]), epoch=2)
    append(log, batch([b"1"]), epoch=2)
    log.abandon()
    assert open_log(tmp_path, config(), last_stop=LastStop.KILLED).epochs.entries == [(1, 0), (2, 1)]


def test_an_append_stands_when_the_snapshot_after_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: str, data: bytes, *, durable: bool) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    log = open_log(tmp_path, config())
    monkeypatch.setattr("kraft.storage.producers._BATCHES_BETWEEN_SNAPSHOTS", 1)
    monkeypatch.setattr("kraft.storage.producers._BATCHES_PER_PRODUCER", 1)
    monkeypatch.setattr("kraft.storage.producers.write_atomically", full)
    append(log, batch([b"0"], producer_id=7, producer_epoch=0, base_sequence=0))
    assert values(log) == [b"0"]


def test_nothing_follows_an_append_that_could_not_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    log = open_log(tmp_path, config())
    append(log, batch([b"0"]))
    with monkeypatch.context() as patch, _files_no_larger_than(log.size + 10):
        patch.setattr("kraft.storage.segment.os.ftruncate", failing)
        with pytest.raises(OSError, match="Input/output error"):
            append(log, batch([b"too much"]))
    with pytest.raises(OSError, match="an earlier write failed"):
        append(log, batch([b"1"]))
    assert values(log) == [b"0"]
    log.abandon()
    assert values(open_log(tmp_path, config(), last_stop=LastStop.KILLED)) == [b"0"]


class TestFilesBesideTheSegments:
    """Retention and truncation go on, and the writes of other files fail."""

    @pytest.fixture
    def refusal(self, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
        def refuse(*arguments: object, **options: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("kraft.storage.epochs.write_lines", refuse)
        monkeypatch.setattr(Log, "roll", refuse)
        return monkeypatch

    def log(self, path: Path) -> Log:
        log = open_log(path, config(retention_ms=1))
        for number in range(3):
            sent = batch([b"a"], producer_id=7, producer_epoch=0, base_sequence=number)
            append(log, sent, epoch=number)
            if number < 2:
                log.roll()
        return log

    def test_a_truncation_forgets_the_producer_s_batches(self, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        """Otherwise a later leader acknowledges a batch as a duplicate that no log has."""
        log = self.log(tmp_path)
        request.getfixturevalue("refusal")
        with pytest.raises(OSError, match="No space left"):
            log.truncate_to(1, 1000)
        again = batch([b"a"], producer_id=7, producer_epoch=0, base_sequence=1)
        (_, header) = next(iter_headers(again))
        assert log.producers.check(header) is None
        assert log.log_end_offset == 1

    def test_retention_removes_what_needs_no_room(self, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        log = self.log(tmp_path)
        request.getfixturevalue("refusal")
        assert log.delete_old_segments(now_ms=DAY_MS, high_watermark=3)
        assert (log.log_start_offset, len(log.segments)) == (2, 1)
        with pytest.raises(OSError, match="No space left"):
            log.delete_old_segments(now_ms=DAY_MS, high_watermark=3)

    def test_the_log_start_moves(self, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        """DeleteRecords is how an operator makes room. The next start trims the epochs."""
        log = self.log(tmp_path)
        refusal = request.getfixturevalue("refusal")
        log.delete_records(2)
        assert (log.log_start_offset, log.epochs.entries) == (2, [(0, 0), (1, 1), (2, 2)])
        refusal.undo()
        log.close()
        assert open_log(tmp_path, config(), start=2).epochs.entries == [(2, 2)]


@pytest.mark.parametrize("last_stop", [LastStop.CLEAN, LastStop.KILLED])
def test_a_batch_before_one_that_could_not_be_written_begins_the_segment(tmp_path: Path, last_stop: LastStop) -> None:
    """``LogSegment.append``: the offsets of a segment are not below its base offset. A follower got a batch behind a
    gap of compaction, and began a segment with it. The next leader has a batch in the gap.
    """
    settings = config(segment_bytes=200, index_interval_bytes=0)
    log = open_log(tmp_path, settings)
    log.append_as_follower(at(99, b"x" * 100, sequence=0), 0)
    with _files_no_larger_than(100), pytest.raises(OSError, match="File too large"):
        log.append_as_follower(at(150, b"y" * 100, sequence=2), 0)
    assert (log.log_end_offset, log.segments.active.base_offset) == (100, 150)
    log.append_as_follower(at(120, b"1", sequence=1), 0)
    log.append_as_follower(at(160, b"2", sequence=2), 0)
    assert [each.base_offset for each in log.segments] == [0, 120]
    again = open_log(tmp_path, settings, last_stop=last_stop)
    assert (again.log_end_offset, values(again)) == (161, [b"x" * 100, b"1", b"2"])
    (producer,) = again.producers.entries()
    assert [each.last_sequence for each in producer.batches] == [0, 1, 2], "no snapshot of the dropped segment is read"


def _full_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, flags: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", path)

    monkeypatch.setattr("kraft.storage.open_files.create_file", refuse)


def test_producers_before_a_gap_are_not_those_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk has no room for a segment behind a gap, and the next batches fill the gap. After a kill the producers at
    the end of the gap are those of these batches, too.
    """
    log = open_log(tmp_path, config())
    append(log, batch([b"a"], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True))
    with monkeypatch.context() as patch:
        _full_for_files(patch)
        with pytest.raises(OSError, match="No space left"):
            log.roll(3)
    append(log, EndTransactionMarker(committed=True, coordinator_epoch=0).batch(7, 0, 1000))
    append(log, batch([b"b", b"c"]))
    log.abandon()
    log = open_log(tmp_path, config(), last_stop=LastStop.KILLED)
    assert (log.log_end_offset, log.producers.entries()[0].transaction_first_offset) == (4, None)


@pytest.mark.parametrize("offset", [0, 1, 2, 100])
def test_a_log_that_cannot_start_over_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offset: int) -> None:
    """docs/robustness/files.md: "the log stays unchanged, and the node continues". A follower tries again."""
    log = open_log(tmp_path, config(segment_bytes=100))
    for number in range(3):
        append(log, batch([b"%d" % number], producer_id=7, producer_epoch=0, base_sequence=number))
    before = files(log)
    with monkeypatch.context() as patch:
        _full_for_files(patch)
        with pytest.raises(OSError, match="No space left"):
            log.truncate_fully_and_start_at(offset)
    assert [each.base_offset for each in log.segments] == [0, 1, 2]
    assert (files(log), values(log), len(log.producers)) == (before, [b"0", b"1", b"2"], 1)
    log.flush()
    append(log, batch([b"3"]))
    log.truncate_fully_and_start_at(offset)
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (offset, offset, 1)
    append(log, batch([b"new"]))
    log.close()
    assert values(open_log(tmp_path, config(), start=offset)) == [b"new"]


@pytest.mark.parametrize("is_last", [False, True])
def test_a_segment_whose_file_keeps_its_name_stays_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_last: bool
) -> None:
    """``Segments``: "Never empty once the log is open"."""
    log = open_log(tmp_path, config(segment_bytes=100))
    for number in range(2):
        append(log, batch([b"%d" % number]))
    replace = os.replace

    def refuse(old: str, new: str) -> None:
        if old == log.segments[0 if is_last else 1].path:
            raise OSError(errno.ENOSPC, "No space left on device", old)
        replace(old, new)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(OSError, match="No space left"):
            log.truncate_fully_and_start_at(100)
    assert values(log) == ([b"0"] if is_last else [b"0", b"1"])
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (100, 100, 1)


def at(offset: int, value: bytes, *, sequence: int) -> bytes:
    """A producer's batch at an offset, as a leader sends it."""
    records = [Record(offset, 1000, None, value)]
    return encode_batch(records, base_offset=offset, producer_id=7, producer_epoch=0, base_sequence=sequence)
