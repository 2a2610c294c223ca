"""Compaction beside transactions: a read_committed reader sees the same before and after, and markers go at last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kraft.records.control import ControlType, EndTransactionMarker, control_type
from kraft.records.record import Record, encode_batch
from kraft.storage.cleanable import cleanable
from kraft.storage.cleaner import Cleaning
from kraft.storage.directory import LastStop
from kraft.storage.log import Log, remove_files
from tests.storage.logs import EVERYTHING, NAME, append, batches, config, open_log

RETENTION_MS = 100
SETTINGS = config(
    cleanup_policy="compact", segment_bytes=250, index_interval_bytes=100, delete_retention_ms=RETENTION_MS
)


def stable(log: Log) -> int:
    log.producers.high_watermark_advanced(log.log_end_offset)
    return log.producers.last_stable_offset(log.log_end_offset)


def committed(log: Log) -> dict[bytes, bytes | None]:
    """The last value of each key as a read_committed consumer computes it: it drops the batches of a producer from the
    first offset of each named transaction up to the abort marker."""
    upper, view = stable(log), dict[bytes, bytes | None]()
    named = log.segments.aborted_in(log.read(log.log_start_offset, EVERYTHING, EVERYTHING), log.log_start_offset)
    for segment in log.segments[1:]:
        named += (
            log.segments.aborted_in(
                segment.read(segment.base_offset, EVERYTHING, EVERYTHING, min_one_message=True), segment.base_offset
            )
            if segment.size
            else []
        )
    ahead = sorted({(each.first_offset, each.producer_id) for each in named}, reverse=True)
    dropped: set[int] = set()
    for header, records in batches(log):
        if header.base_offset >= upper:
            break
        while ahead and ahead[-1][0] <= header.last_offset:
            dropped.add(ahead.pop()[1])
        if header.is_control:
            if any(control_type(record) is ControlType.ABORT for record in records):
                dropped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in dropped):
            view.update((record.key, record.value) for record in records if record.key is not None)
    return {key: value for key, value in view.items() if value is not None}


def compact(log: Log, clean_end: int, now_ms: int) -> int:
    extent = cleanable(log.segments, log.config, clean_end, log.log_start_offset, stable(log), now_ms)
    cleaning = Cleaning.begin(log.segments, extent.clean_end, extent.dirty_end, log.config, log.producers)
    cleaned = cleaning.run(now_ms)
    remove_files(log.replace_segments(cleaned))
    return cleaned.clean_end


@attrs.define
class Producers:
    """Producers 0 to 2 write to a log, in transactions or without."""

    log: Log
    sequences: dict[int, int] = attrs.Factory(dict)
    epochs: dict[int, int] = attrs.Factory(dict)
    open: dict[int, list[tuple[int, bytes, bytes | None]]] = attrs.Factory(dict)
    visible: list[tuple[int, bytes, bytes | None]] = attrs.Factory(list)

    def write(self, producer_id: int, pairs: list[tuple[bytes, bytes | None]]) -> None:
        sequence = self.sequences.get(producer_id, 0)
        records = [Record(number, 1000, key, value) for number, (key, value) in enumerate(pairs)]
        batch = encode_batch(
            records,
            producer_id=producer_id,
            producer_epoch=self.epochs.get(producer_id, 0),
            base_sequence=sequence,
            transactional=True,
        )
        first = append(self.log, bytearray(batch)).base_offset
        self.sequences[producer_id] = sequence + len(pairs)
        self.open.setdefault(producer_id, []).extend((first + n, *pair) for n, pair in enumerate(pairs))

    def end(self, producer_id: int, committed: bool, *, bump: bool = False) -> None:
        if bump:
            self.epochs[producer_id] = self.epochs.get(producer_id, 0) + 1
            self.sequences[producer_id] = 0
        marker = EndTransactionMarker(committed, 0)
        append(self.log, marker.batch(producer_id, self.epochs.get(producer_id, 0), 1000))
        written = self.open.pop(producer_id, [])
        if committed:
            self.visible += written

    def plain(self, pairs: list[tuple[bytes, bytes | None]]) -> None:
        records = [Record(number, 1000, key, value) for number, (key, value) in enumerate(pairs)]
        first = append(self.log, bytearray(encode_batch(records))).base_offset
        self.visible += [(first + n, *pair) for n, pair in enumerate(pairs)]

    def expected(self) -> dict[bytes, bytes | None]:
        upper = stable(self.log)
        view = {key: value for offset, key, value in sorted(self.visible) if offset < upper}
        return {key: value for key, value in view.items() if value is not None}


_pairs = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c", b"d"]), st.none() | st.binary(max_size=40)), min_size=1, max_size=3
)
_ends = st.tuples(st.booleans(), st.sampled_from([False, False, True]))
_transactions = st.tuples(st.lists(_pairs, min_size=1, max_size=2), _ends)
_steps = st.one_of(
    st.tuples(st.just("transaction"), st.integers(0, 2), _transactions),
    st.tuples(st.just("transaction"), st.integers(0, 2), _transactions),
    st.tuples(st.just("write"), st.integers(0, 2), _pairs),
    st.tuples(st.just("end"), st.integers(0, 2), _ends),
    st.tuples(st.just("plain"), st.just(0), _pairs),
    st.tuples(st.just("compact"), st.integers(0, RETENTION_MS), st.none()),
    st.tuples(st.just("compact"), st.integers(0, RETENTION_MS), st.none()),
)


@pytest.mark.no_cover
@settings(max_examples=100, deadline=None, phases=[Phase.generate])  # a shrunk list of steps is hardly shorter
@given(steps=st.lists(_steps, min_size=15, max_size=60))
def test_a_reader_sees_the_same_before_and_after(
    steps: list[tuple[str, int, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """KIP-98: compaction removes the records of aborted transactions, and never shows one. A start without snapshots
    finds the same producers."""
    parent = tmp_path_factory.mktemp("log")
    log = open_log(parent, SETTINGS)
    producers, clean_end, now_ms = Producers(log), 0, 2000
    for step, number, detail in steps:
        if step == "write":
            producers.write(number, detail)
        elif step == "transaction":
            for pairs in detail[0]:
                producers.write(number, pairs)
            producers.end(number, detail[1][0], bump=detail[1][1])
        elif step == "plain":
            producers.plain(detail)
        elif step == "end":
            producers.end(number, detail[0], bump=detail[1])
        else:
            now_ms += number
            clean_end = compact(log, clean_end, now_ms)
        assert committed(log) == producers.expected()
    known = {
        each.producer_id: (each.epoch, bool(each.batches), each.transaction_first_offset is None)
        for each in log.producers.entries()
    }
    sequences = {each.producer_id: each.batches[-1].last_sequence for each in log.producers.entries() if each.batches}
    log.abandon()
    for snapshot in (parent / NAME).glob("*.snapshot"):
        snapshot.unlink()
    log = open_log(parent, SETTINGS, last_stop=LastStop.KILLED)
    assert committed(log) == producers.expected()
    assert known == {
        each.producer_id: (each.epoch, bool(each.batches), each.transaction_first_offset is None)
        for each in log.producers.entries()
    }
    assert sequences == {
        each.producer_id: each.batches[-1].last_sequence for each in log.producers.entries() if each.batches
    }
    log.abandon()


def test_a_marker_goes_when_its_records_are_gone_and_its_time_has_come(tmp_path: Path) -> None:
    """KIP-534: "the delete horizon" of a marker is set once its transaction has no records, and compaction drops the
    marker ``delete.retention.ms`` later."""
    log = open_log(tmp_path, SETTINGS)
    producers = Producers(log)
    for is_commit in (True, False):
        producers.write(0, [(b"a", b"1")])
        producers.end(0, is_commit)
    producers.write(0, [(b"b", b"2")])
    producers.end(0, True)
    producers.plain([(b"a", b"3")])
    log.roll()

    def left() -> list[tuple[int, bool]]:
        return [(header.base_offset, header.delete_horizon_ms is not None) for header, _ in batches(log)]

    def index() -> list[int]:
        return [each.last_offset for segment in log.segments for each in segment.aborted.from_offset(0)]

    end = compact(log, 0, 2000)
    assert left() == [(1, False), (3, False), (4, False), (5, False), (6, False)]
    assert index() == [3], "a consumer may have read records of the transaction, and needs its end"
    compact(log, 0, 2000)
    assert left() == [(1, True), (3, True), (4, False), (5, False), (6, False)]
    assert index() == []
    compact(log, 0, 2000 + RETENTION_MS - 1)
    assert len(left()) == 5
    compact(log, 0, 2000 + RETENTION_MS)
    assert left() == [(4, False), (5, False), (6, False)]
    assert (end, committed(log)) == (7, {b"a": b"3", b"b": b"2"})


def test_the_last_marker_of_a_producer_without_records_stays(tmp_path: Path) -> None:
    """``LogCleaner``: the marker of the last epoch stays, because it fences earlier ones."""
    log = open_log(tmp_path, SETTINGS)
    producers = Producers(log)
    producers.write(0, [(b"a", b"1")])
    producers.end(0, False, bump=True)
    log.roll()
    for now_ms in (2000, 2000, 9000, 9999):
        compact(log, 0, now_ms)
    ((header, records),) = batches(log)
    assert (header.base_offset, header.producer_epoch, len(records)) == (1, 1, 1)


def test_a_rewritten_batch_stays_in_its_transaction(tmp_path: Path) -> None:
    """A batch that loses records keeps its producer and its transactional bit (``MemoryRecords.filterTo``)."""
    log = open_log(tmp_path, SETTINGS)
    producers = Producers(log)
    producers.write(0, [(b"a", b"1"), (b"b", b"2")])
    producers.end(0, True)
    producers.plain([(b"a", b"3")])
    log.roll()
    compact(log, 0, 2000)
    header, records = batches(log)[0]
    assert (header.is_transactional, header.producer_id, [record.key for record in records]) == (True, 0, [b"b"])


def test_a_map_that_begins_inside_a_segment_knows_which_transactions_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``Cleaner.buildOffsetMap``: "log.collectAbortedTransactions(start, end)". An aborted transaction that ended below
    ``start`` says nothing of its producer's next one, whose tombstone deletes the key."""
    monkeypatch.setattr("kraft.storage.cleaner._MAX_KEYS", 2)
    log = open_log(tmp_path, attrs.evolve(SETTINGS, segment_bytes=2000))
    producers = Producers(log)
    producers.plain([(b"key", b"old")])
    producers.write(0, [(b"aborted", b"1")])
    producers.end(0, False)
    producers.plain([(b"other", b"2")])
    producers.write(0, [(b"key", None)])
    producers.end(0, True)
    log.roll()
    clean_end = compact(log, 0, 2000)
    assert log.segments[0].base_offset < clean_end < log.segments[0].next_offset, "the map was full"
    clean_end = compact(log, clean_end, 2000)
    assert clean_end == log.log_end_offset
    compact(log, 0, 2000 + RETENTION_MS)
    assert committed(log) == {b"other": b"2"}


def test_a_start_of_the_log_inside_a_segment_leaves_ended_transactions_out(tmp_path: Path) -> None:
    """The same after DeleteRecords (KIP-107): the map begins at the log start offset."""
    log = open_log(tmp_path, attrs.evolve(SETTINGS, segment_bytes=2000))
    producers = Producers(log)
    producers.write(0, [(b"aborted", b"1")])
    producers.end(0, False)
    producers.plain([(b"key", b"old")])
    producers.write(0, [(b"key", b"new")])
    producers.end(0, True)
    log.roll()
    log.delete_records(2)
    compact(log, 0, 2000)
    keys = [(header.base_offset, [each.value for each in records]) for header, records in batches(log)]
    assert keys[0] == (3, [b"new"])
