"""Compaction: compared with a naive oracle, and interrupted before every file operation."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraft.config.topic import LogConfig
from kraft.records.batch import HEADER_SIZE, iter_headers
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from kraft.simulation.virtual_time import in_this_thread
from kraft.storage.cleanable import cleanable
from kraft.storage.cleaner import Cleaning, CleaningStopped
from kraft.storage.directory import LastStop
from kraft.storage.log import Log, remove_files
from kraft.storage.opening import RECORDS_PER_SLICE
from kraft.storage.scan import walk
from tests.storage.logs import EVERYTHING, NAME, append, batch, batches, config, content, open_log

Pair = tuple[bytes | None, bytes | None]


def _settings(**more: object) -> LogConfig:
    return config(
        cleanup_policy="compact", segment_bytes=400, index_interval_bytes=100, delete_retention_ms=100, **more
    )


def _produce(log: Log, pairs: list[Pair], **fields: object) -> None:
    records = [Record(number, 1000, key, value) for number, (key, value) in enumerate(pairs)]
    append(log, bytearray(encode_batch(records, **fields)))  # type: ignore[arg-type]


def _compact(log: Log, clean_end: int, now_ms: int) -> int:
    found = cleanable(log.segments, log.config, clean_end, log.log_start_offset, log.log_end_offset, now_ms)
    cleaning = Cleaning.begin(log.segments, found.clean_end, found.dirty_end, log.config, log.producers)
    cleaned = cleaning.run(now_ms)
    remove_files(log.replace_segments(cleaned))
    return cleaned.clean_end


def _content(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for _, records in batches(log) for record in records]


_pairs = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.none() | st.binary(max_size=60)), min_size=1, max_size=4
)


def test_tombstones_stay_for_ever_if_the_setting_says_so(tmp_path: Path) -> None:
    """``delete.retention.ms`` may be any long. ``MemoryRecords.filterTo`` adds it to the time, and a sum that overflows
    is no delete horizon.
    """
    log = open_log(tmp_path, attrs.evolve(_settings(), delete_retention_ms=2**63 - 1))
    _produce(log, [(b"a", b"0"), (b"b", None)])
    log.roll()
    clean_end = _compact(log, 0, now_ms=2000)
    _produce(log, [(b"c", b"1")])
    log.roll()
    _compact(log, clean_end, now_ms=2**62)
    assert _content(log) == [(0, b"a", b"0"), (1, b"b", None), (2, b"c", b"1")]


@settings(max_examples=100, deadline=None)
@given(produced=st.lists(st.tuples(_pairs, st.sampled_from(Compression)), min_size=1, max_size=25), data=st.data())
def test_compaction_keeps_the_last_record_of_each_key(
    produced: list[tuple[list[Pair], Compression]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """``cleanup.policy=compact``: below the dirty end only the last record of a key stays, at its offset."""
    parent = tmp_path_factory.mktemp("log")
    log = open_log(parent, _settings())
    expected: list[tuple[int, bytes | None, bytes | None]] = []
    horizons: dict[int, int] = {}
    clean_end, now_ms = 0, 2000
    for pairs, codec in produced:
        expected += [(log.log_end_offset + number, *pair) for number, pair in enumerate(pairs)]
        _produce(log, pairs, compression=codec)
        if not data.draw(st.booleans()):
            continue
        now_ms += data.draw(st.integers(0, 150))
        dirty_end = log.segments.active.base_offset
        clean_end = _compact(log, clean_end, now_ms)
        assert clean_end == dirty_end
        below = [each for each in expected if each[0] < dirty_end]
        last = {key: offset for offset, key, _ in below}
        found = {record[0] for record in _content(log)}
        for record in list(below):
            offset, key, value = record
            if offset != last[key]:
                expected.remove(record)
            elif value is None:
                # The horizon belongs to the batch, so it is that of the first compaction which saw a tombstone there.
                if offset in horizons and now_ms >= horizons[offset]:
                    expected.remove(record)
                else:
                    assert offset in found
                    horizons.setdefault(offset, now_ms + 100)
        assert _content(log) == expected
    for stop in LastStop:
        if stop is LastStop.CLEAN:
            log.close()
        else:
            log.abandon()
        log = open_log(parent, _settings(), last_stop=stop)
        assert _content(log) == expected


def test_segments_that_shrink_become_one(tmp_path: Path) -> None:
    log = open_log(tmp_path, _settings())
    for number in range(20):
        _produce(log, [(b"k", b"%d" % number * 20)])
    assert len(log.segments) > 5
    end = log.segments.active.base_offset
    before = _content(log)
    assert _compact(log, 0, 2000) == end
    assert log.segments[0].base_offset == 0
    assert _content(log) == before[end - 1 :]
    log.close()


def test_the_last_batch_of_a_producer_stays_empty(tmp_path: Path) -> None:
    """KIP-98: its sequence must still be known when the log is replayed."""
    log = open_log(tmp_path, _settings())
    for sequence in range(2):
        _produce(log, [(b"k", b"v")], producer_id=7, producer_epoch=1, base_sequence=sequence)
    _produce(log, [(b"k", b"w")])
    log.roll()
    _compact(log, 0, 2000)
    headers = [header for header, _ in batches(log)]
    assert [(header.base_offset, header.producer_id, header.count) for header in headers] == [(1, 7, 0), (2, -1, 1)]
    assert headers[0].last_sequence == 1
    log.close()


@pytest.mark.parametrize("transactional", [False, True])
def test_an_emptied_batch_keeps_its_max_timestamp(tmp_path: Path, transactional: bool) -> None:
    """``MemoryRecords.filterTo`` gives ``batch.maxTimestamp`` to ``DefaultRecordBatch.writeEmptyHeader``. Otherwise a
    replica that copies the batch removes its producer after a start, and appends a retry of it again.
    """
    log = open_log(tmp_path, _settings())
    producer = {"producer_id": 7, "producer_epoch": 1, "base_sequence": 0, "transactional": transactional}
    records = [Record(0, 1500, b"k", None), Record(1, 1400, b"j", None)]
    append(log, bytearray(encode_batch(records, compression=Compression.GZIP, **producer)))  # type: ignore[arg-type]
    log.roll()
    _compact(log, 0, 2000)  # gives the batch a delete horizon
    _produce(log, [(b"k", b"v"), (b"j", b"v")])
    log.roll()
    _compact(log, 0, 2010)
    emptied, other = [header for header, _ in batches(log)]
    assert (emptied.count, emptied.max_timestamp, emptied.base_timestamp) == (0, 1500, -1)
    assert (emptied.compression, emptied.delete_horizon_ms) == (Compression.NONE, None)
    assert (emptied.is_transactional, emptied.size, other.count) == (transactional, HEADER_SIZE, 2)
    assert log.segments[0].max_timestamp == 1500
    (tmp_path / "replica").mkdir()
    replica = open_log(tmp_path / "replica", _settings())
    replica.append_as_follower(content(log.read(0, EVERYTHING, log.log_end_offset)), 3000)
    assert replica.producers.entries()[0].last_timestamp_ms == 1500
    log.close()
    replica.close()


def test_cleanable_logs(tmp_path: Path) -> None:
    """``min.cleanable.dirty.ratio``, ``min.compaction.lag.ms``, ``max.compaction.lag.ms``."""
    log = open_log(tmp_path, _settings())
    for timestamp in (1000, 2000, 3000):
        append(log, batch([b"x" * 200], timestamp=timestamp))
    assert [segment.base_offset for segment in log.segments] == [0, 1, 2]

    def judge(checkpoint: int = 0, start: int = 0, end: int = 3, now_ms: int = 9999, **more: object) -> tuple[int, int]:
        found = cleanable(log.segments, _settings(**more), checkpoint, start, end, now_ms)
        return found.clean_end, found.dirty_end

    assert judge() == (0, 2)
    assert judge(checkpoint=1) == (1, 2)
    assert judge(checkpoint=9) == (0, 2)
    assert judge(checkpoint=0, start=1) == (1, 2)
    assert judge(end=1) == (0, 1)
    assert judge(now_ms=2500, min_compaction_lag_ms=1000) == (0, 1)
    # LogCleanerManager.cleanableOffsets: ``if (minCompactionLagMs > 0)``. One client's clock may be ahead.
    assert judge(now_ms=500) == (0, 2)
    found = cleanable(log.segments, _settings(), 1, 0, 3, 9999)
    assert found.dirty_ratio == 0.5
    # LogCleanerManager.grabFilthiestCompactedLog: ``cleanableRatio() > minCleanableRatio``.
    assert not found.is_due(_settings())
    assert found.is_due(_settings(min_cleanable_dirty_ratio=0.49))
    assert found.is_due(_settings(min_cleanable_dirty_ratio=0))
    assert not found.is_due(_settings(min_cleanable_dirty_ratio=0.6))
    overdue = _settings(min_cleanable_dirty_ratio=0.6, max_compaction_lag_ms=7000)
    assert cleanable(log.segments, overdue, 1, 0, 3, 9999).is_due(overdue)
    log.close()


def test_a_full_map_ends_the_round_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.storage.cleaner._MAX_KEYS", 3)
    log = open_log(tmp_path, _settings())
    for number in range(5):
        _produce(log, [(b"%d" % number, b"v")])
        _produce(log, [(b"0", b"w")])
    log.roll()
    end = 0
    for _ in range(10):
        end = _compact(log, end, 2000)
    assert end == log.segments.active.base_offset
    assert [key for _, key, _ in _content(log)] == [b"1", b"2", b"3", b"4", b"0"]
    log.close()


def test_a_tombstone_beyond_a_full_map_outlives_the_values_that_it_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``Cleaner.shouldRetainRecord`` keeps a record beyond the map's latest offset. Else the deleted key is back."""
    monkeypatch.setattr("kraft.storage.cleaner._MAX_KEYS", 2)
    log = open_log(tmp_path, config(cleanup_policy="compact", delete_retention_ms=0))
    _produce(log, [(b"deleted", b"v")])
    log.roll()
    for key in (b"1", b"2", b"3", b"4", b"5"):
        _produce(log, [(key, b"v")])
    _produce(log, [(b"deleted", None)])
    log.roll()
    end = 0
    for now_ms in range(2000, 2010):
        end = _compact(log, end, now_ms)
    assert end == log.segments.active.base_offset
    assert b"deleted" not in [key for _, key, value in _content(log) if value is not None]
    log.close()


@pytest.mark.parametrize("batch_size", [1, 4 * RECORDS_PER_SLICE])
def test_a_compaction_lets_go_of_the_interpreter_after_each_slice(tmp_path: Path, batch_size: int) -> None:
    """Otherwise each system call of the event loop waits 5 ms for the cleaner's thread."""
    log = open_log(tmp_path, config(cleanup_policy="compact"))
    count = 4 * RECORDS_PER_SLICE
    for _ in range(count // batch_size):
        _produce(log, [(b"key", b"")] * batch_size)
    log.roll()
    let_go = 0

    def count_it() -> None:
        nonlocal let_go
        let_go += 1

    cleaning = Cleaning.begin(log.segments, 0, log.log_end_offset, log.config, log.producers)
    cleaning.run(5000, let_go=count_it).discard()
    passes = 4  # each record is decoded twice, entered into the map, and compared with it
    assert let_go >= passes * count // RECORDS_PER_SLICE


def test_a_stopped_cleaning_leaves_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path, _settings())
    for _ in range(10):
        _produce(log, [(b"k", b"x" * 50)])
    before = sorted(os.listdir(log.directory))
    calls = iter([False] * 12 + [True])
    cleaning = Cleaning.begin(log.segments, 0, log.segments.active.base_offset, log.config, log.producers)
    with pytest.raises(CleaningStopped):
        cleaning.run(0, lambda: next(calls))
    assert sorted(os.listdir(log.directory)) == before
    log.close()


def test_a_copy_of_segments_that_retention_took_is_discarded(tmp_path: Path) -> None:
    log = open_log(tmp_path, _settings())
    for number in range(10):
        _produce(log, [(b"k", b"%d" % number * 50)])
    cleaning = Cleaning.begin(log.segments, 0, log.segments.active.base_offset, log.config, log.producers)
    cleaned = cleaning.run(0)
    log.delete_records(5)
    remove_files(log.delete_old_segments(0, 10))
    before = _content(log)
    assert log.replace_segments(attrs.evolve(cleaned, groups=cleaned.groups[:1])) == []
    assert _content(log) == before
    log.abandon()


def test_a_compaction_may_be_cut_off_at_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a crash before any file operation: the next start has exactly the last value of every key."""

    class Crash(BaseException):
        pass

    for steps in range(200):
        parent = tmp_path / str(steps)
        parent.mkdir()
        log = open_log(parent, _settings())
        for number in range(16):
            _produce(log, [(b"k%d" % (number % 3), b"%d" % number * 30)])
        before = _content(log)
        cleaned = Cleaning.begin(log.segments, 0, log.segments.active.base_offset, log.config, log.producers).run(0)
        remaining = steps

        def counted(original: Callable[..., None]) -> Callable[..., None]:
            def run(*arguments: object) -> None:
                nonlocal remaining
                if remaining == 0:
                    raise Crash
                remaining -= 1
                original(*arguments)

            return in_this_thread(run, original)

        finished = True
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", counted(os.replace))
            patch.setattr(os, "unlink", counted(os.unlink))
            try:
                remove_files(log.replace_segments(cleaned))
            except Crash:
                finished = False
        log.abandon()
        log = open_log(parent, _settings(), last_stop=LastStop.KILLED)
        after = _content(log)
        assert set(after) <= set(before)
        assert {key: value for _, key, value in after} == {key: value for _, key, value in before}
        assert (log.log_start_offset, log.log_end_offset) == (0, 16)
        strays = [name for name in os.listdir(parent / NAME) if name.endswith((".swap", ".cleaned", ".deleted"))]
        assert strays == []
        for segment in log.segments:
            file = segment.file
            assert sum(header.size for _, header in walk(file.fileno(), 0, segment.size, verify=True)) == segment.size
        log.abandon()
        if finished:
            return
    raise AssertionError("never finished")


def test_delete_horizons_are_those_of_kip_534(tmp_path: Path) -> None:
    log = open_log(tmp_path, _settings())
    _produce(log, [(b"a", None), (b"b", b"v")])
    log.roll()
    _compact(log, 0, 5000)
    ((header, records),) = batches(log)
    assert header.delete_horizon_ms == 5100
    assert [record.timestamp for record in records] == [1000, 1000]
    _compact(log, 0, 5099)
    assert len(_content(log)) == 2
    _compact(log, 0, 5100)
    assert _content(log) == [(1, b"b", b"v")]
    _, first = next(iter_headers(Path(log.segments[0].path).read_bytes()))
    assert (first.base_offset, first.last_offset) == (0, 1)
    log.close()
