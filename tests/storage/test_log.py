"""``Log``: appends, reads, rolling, retention, producers: the rules that a plain list of batches cannot express."""

from __future__ import annotations

import errno
import gc
import os
from pathlib import Path
from uuid import UUID

import attrs
import pytest

from kraft.broker.producer_state import ProducerStates
from kraft.records.batch import CorruptBatch, TimestampType, iter_headers, stamp
from kraft.simulation.virtual_network import at_once
from kraft.storage.directory import LastStop
from kraft.storage.flush import Flush
from kraft.storage.log import Log, remove_files
from kraft.storage.segment import SEGMENT_SUFFIXES, AppendedBatch
from kraft.wire.errors import ErrorCode, KafkaError
from tests.storage.logs import EVERYTHING, NAME, append, batch, batches, config, content, files, open_log, values

DAY_MS = 86_400_000


def test_a_new_partition_is_a_directory_with_an_empty_segment(tmp_path: Path) -> None:
    log = open_log(tmp_path, config())
    assert os.listdir(tmp_path / NAME) == ["00000000000000000000.log"]
    assert (log.log_start_offset, log.log_end_offset, log.size) == (0, 0, 0)


def test_a_new_partition_has_nothing_to_remove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of partitions are created at once, and each system call counts."""
    monkeypatch.setattr(os, "unlink", lambda path: pytest.fail(f"{path} was removed"))
    open_log(tmp_path, config())


def test_a_new_segment_removes_the_leftovers_of_its_name(tmp_path: Path) -> None:
    """A crash during a truncation leaves indexes without a log file. Their entries would count for the new segment."""
    log = open_log(tmp_path, config(index_interval_bytes=0))
    append(log, batch([b"a"]))
    for suffix in SEGMENT_SUFFIXES:
        (tmp_path / NAME / f"00000000000000000001{suffix}").write_bytes(bytes(24))
    segment = log.roll()
    assert (segment.index.count, segment.time_index.count, segment.size) == (0, 0, 0)
    assert files(log)["00000000000000000001.log"] == b""
    assert "00000000000000000001.txnindex" not in os.listdir(tmp_path / NAME)


def test_an_append_answers_as_produce_does(tmp_path: Path) -> None:
    log = open_log(tmp_path, config())
    assert append(log, batch([b"a", b"b"])) == (0, 1, -1, 0)
    assert append(log, batch([b"c"]), epoch=4) == (2, 2, -1, 0)
    (first, _), (second, records) = batches(log)
    assert (first.base_offset, first.leader_epoch) == (0, 0)
    assert (second.base_offset, second.leader_epoch, records[0].value) == (2, 4, b"c")


def test_log_append_time_overwrites_timestamps(tmp_path: Path) -> None:
    """``message.timestamp.type=LogAppendTime``: every record gets the broker's time."""
    log = open_log(tmp_path, config(message_timestamp_type="LogAppendTime"))
    assert append(log, batch([b"a"], timestamp=5), now_ms=777).log_append_time_ms == 777
    ((header, records),) = batches(log)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert records[0].timestamp == header.max_timestamp == 777


def test_an_append_larger_than_a_segment_is_refused(tmp_path: Path) -> None:
    """``segment.bytes``: RECORD_LIST_TOO_LARGE."""
    log = open_log(tmp_path, config(segment_bytes=100))
    with pytest.raises(KafkaError) as refused:
        append(log, batch([b"x" * 100]))
    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.log_end_offset == 0


def test_a_follower_keeps_offsets_epochs_and_gaps(tmp_path: Path) -> None:
    log = open_log(tmp_path, config())
    buffer = batch([b"a"], leader_epoch=2)
    later = bytearray(batch([b"b"], leader_epoch=3))
    later[7] = 9
    log.append_as_follower(buffer + later, 0)
    assert [header.base_offset for header, _ in batches(log)] == [0, 9]
    assert log.log_end_offset == 10
    assert log.epochs.entries == [(2, 0), (3, 9)]
    with pytest.raises(KafkaError) as refused:
        log.append_as_follower(buffer, 0)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("stop", [LastStop.CLEAN, LastStop.KILLED, LastStop.POWER_LOST])
def test_the_first_batch_of_a_new_replica_may_be_far_from_its_start(tmp_path: Path, stop: LastStop) -> None:
    """Compaction moves no log start. ``LogSegment.shouldRoll``: an offset that the index cannot hold begins a segment,
    also after an empty one.
    """
    log = open_log(tmp_path, config(index_interval_bytes=0))
    offsets = [2**31 + 7, 2**31 + 8, 2**33]
    for offset in offsets:
        buffer = batch([b"%d" % offset])
        stamp(buffer, 0, offset, 0)
        log.append_as_follower(buffer, 0)
    log.roll()
    log.close() if stop is LastStop.CLEAN else log.abandon()
    log = open_log(tmp_path, config(index_interval_bytes=0), last_stop=stop)
    assert (log.log_start_offset, log.log_end_offset) == (0, 2**33 + 1)
    assert [header.base_offset for header, _ in batches(log)] == offsets
    assert log.read(2**31 + 8, EVERYTHING, log.log_end_offset).length


def test_checked_batches_are_appended_like_unchecked_ones(tmp_path: Path) -> None:
    """The files are the same, whether the log parses the headers or the caller has done it."""
    logs = []
    for name in ("parsed", "checked"):
        (tmp_path / name).mkdir()
        logs.append(open_log(tmp_path / name, config(segment_bytes=1000, index_interval_bytes=100)))
    parsed, checked = logs
    for number in range(20):
        epoch, start = number // 4, 3 * number
        buffer = batch([b"a" * number, b"b"], timestamp=900 + number % 7, leader_epoch=epoch)
        second = batch([b"c"], timestamp=1000 + number, leader_epoch=epoch)
        stamp(buffer, 0, start, epoch)
        stamp(second, 0, start + 2, epoch)
        places = [AppendedBatch(0, start + 1, 900 + number % 7), AppendedBatch(len(buffer), start + 2, 1000 + number)]
        parsed.append_as_follower(buffer + second, 0)
        checked.append_checked(buffer + second, places, [(epoch, start)], 0)
    assert files(checked) == files(parsed)
    assert len(files(checked)) > 6
    assert checked.epochs.entries == parsed.epochs.entries == [(epoch, 12 * epoch) for epoch in range(5)]
    assert (checked.log_end_offset, values(checked)) == (parsed.log_end_offset, values(parsed))


def test_reads_outside_of_the_log_are_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path, config())
    append(log, batch([b"a", b"b"]))
    log.delete_records(1)
    for offset in (0, 3):
        with pytest.raises(KafkaError) as refused:
            log.read(offset, 100, 2)
        assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.read(2, 100, 2).length == 0
    with pytest.raises(KafkaError):
        log.delete_records(3)


def test_a_read_at_the_end_touches_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(tmp_path, config())
    for number in range(3000):
        append(log, batch([b"%d" % number]))

    def refuse(*_: object) -> bytes:
        raise AssertionError("pread")

    monkeypatch.setattr(os, "pread", refuse)
    assert log.read(2990, 1 << 20, 3000).length > 0
    assert log.read(2990, 1 << 20, 2995).length > 0


def test_a_slice_outlives_its_segment(tmp_path: Path) -> None:
    """Neither a deletion nor a close may break a response that is being sent, or send another file."""
    log = open_log(tmp_path, config(segment_bytes=200))
    for number in range(10):
        append(log, batch([b"value %d" % number]))
    piece = log.read(0, EVERYTHING, log.log_end_offset)
    before = content(piece)
    log.delete_records(9)
    remove_files(log.delete_old_segments(0, 10))
    log.abandon()
    del log
    gc.collect()
    assert content(piece) == before


def test_segments_roll_by_size_age_and_index(tmp_path: Path) -> None:
    """``segment.bytes``, ``segment.ms`` (by record timestamps), ``segment.index.bytes``."""
    log = open_log(tmp_path, config(segment_bytes=300))
    for _ in range(8):
        append(log, batch([b"x" * 50]))
    assert all(segment.size <= 300 for segment in log.segments)
    assert len(log.segments) == 4
    log.config = config(segment_ms=1000)
    append(log, batch([b"x"], timestamp=3000))
    assert log.segments.active.base_offset == 8
    log.config = config(segment_index_bytes=8, index_interval_bytes=0)
    append(log, batch([b"y"]))
    assert log.segments.active.base_offset == 9


def test_jitter_rolls_earlier(tmp_path: Path) -> None:
    """``segment.jitter.ms`` is taken off ``segment.ms``."""
    settings = config(segment_ms=1000, segment_jitter_ms=400)
    log = Log.open(tmp_path, NAME, settings, now_ms=0, roll_jitter_ms=300)
    append(log, batch([b"a"], timestamp=0))
    append(log, batch([b"b"], timestamp=700))
    assert len(log.segments) == 1
    append(log, batch([b"b"], timestamp=701))
    assert len(log.segments) == 2


@pytest.mark.parametrize(("policy", "segments"), [("compact", 2), ("compact,delete", 2), ("delete", 1)])
def test_records_that_the_cleaner_must_reach_leave_the_active_segment(
    tmp_path: Path, policy: str, segments: int
) -> None:
    """KIP-354: the cleaner reaches a record after ``max.compaction.lag.ms`` at most. ``UnifiedLog.maybeRoll`` compares
    the age of the active segment with ``LogConfig.maxSegmentMs``."""
    log = open_log(tmp_path, config(cleanup_policy=policy, max_compaction_lag_ms=500, segment_ms=1000))
    append(log, batch([b"a"], timestamp=1000))
    append(log, batch([b"b"], timestamp=1500))
    assert len(log.segments) == 1
    append(log, batch([b"c"], timestamp=1501))
    assert len(log.segments) == segments


def test_a_damaged_first_batch_refuses_no_append(tmp_path: Path) -> None:
    """The first append after a start reads the header of the segment's first batch, for ``segment.ms``. The error
    ended the connection of the producer.
    """
    settings = config(index_interval_bytes=0)
    log = open_log(tmp_path, settings)
    append(log, batch([b"a"]))
    append(log, batch([b"b"]))
    log.close()
    path = Path(log.segments.active.path)
    data = bytearray(path.read_bytes())
    data[16] ^= 0xFF  # its magic
    path.write_bytes(data)
    again = open_log(tmp_path, settings)
    assert append(again, batch([b"c"])).base_offset == 2
    with pytest.raises(KafkaError) as refused:
        again.read(0, EVERYTHING, 3)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


def test_jitter_stays_below_the_age_that_it_shortens(tmp_path: Path) -> None:
    """``LogConfig.randomSegmentJitter``: "abs(nextInt) % min(segmentJitterMs, maxSegmentMs)"."""
    settings = config(cleanup_policy="compact", max_compaction_lag_ms=500, segment_jitter_ms=400)
    log = Log.open(tmp_path, NAME, settings, now_ms=0, roll_jitter_ms=350)
    append(log, batch([b"a"], timestamp=0))
    append(log, batch([b"b"], timestamp=150))
    assert len(log.segments) == 1
    append(log, batch([b"c"], timestamp=151))
    assert len(log.segments) == 2
    log.config = attrs.evolve(settings, max_compaction_lag_ms=200)  # which AlterConfigs may set below the jitter
    append(log, batch([b"d"], timestamp=201))
    assert len(log.segments) == 2
    append(log, batch([b"e"], timestamp=202))
    assert len(log.segments) == 3


def test_retention_by_time_keeps_unreplicated_records(tmp_path: Path) -> None:
    """``retention.ms``: a segment goes when its newest record is too old and all of it is below the high watermark."""
    log = open_log(tmp_path, config(segment_bytes=200, retention_ms=DAY_MS))
    for number in range(6):
        append(log, batch([b"x" * 60], timestamp=number * DAY_MS))
    ends = [segment.next_offset for segment in log.segments]
    assert ends == [1, 2, 3, 4, 5, 6]
    assert log.delete_old_segments(4 * DAY_MS + 1, ends[1] - 1) != []
    assert log.log_start_offset == 1
    paths = log.delete_old_segments(4 * DAY_MS + 1, 6)
    assert log.log_start_offset == 4
    assert all(path.endswith(".deleted") and os.path.exists(path) for path in paths)
    remove_files(paths)
    remove_files(paths)
    assert log.delete_old_segments(100 * DAY_MS, 6) != []
    assert (log.log_start_offset, log.log_end_offset, len(log.segments)) == (6, 6, 1)
    assert log.delete_old_segments(100 * DAY_MS, 6) == []


def test_retention_by_size_leaves_at_least_the_limit(tmp_path: Path) -> None:
    """``retention.bytes``; compacted topics are not touched by it."""
    log = open_log(tmp_path, config(segment_bytes=200, retention_bytes=300, retention_ms=-1))
    for _ in range(6):
        append(log, batch([b"x" * 60]))
    each = log.segments[0].size
    log.config = attrs.evolve(log.config, cleanup_policy=frozenset({"compact"}))
    assert log.delete_old_segments(0, 6) == []
    log.config = attrs.evolve(log.config, cleanup_policy=frozenset({"delete"}))
    log.delete_old_segments(0, 6)
    assert log.size == 3 * each


def test_left_over_deletions_are_finished_at_the_next_start(tmp_path: Path) -> None:
    log = open_log(tmp_path, config(segment_bytes=200))
    for number in range(4):
        append(log, batch([b"x" * 60], timestamp=number))
    log.delete_records(2)
    assert log.delete_old_segments(0, 4)
    log.close()
    log = open_log(tmp_path, config(segment_bytes=200), start=2)
    assert not [name for name in os.listdir(tmp_path / NAME) if name.endswith(".deleted")]
    assert log.log_start_offset == 2


def test_a_log_that_was_let_go_leaves_nothing_under_its_name(tmp_path: Path) -> None:
    """A new partition may have the name of a deleted one. A holder of the old log must not touch the new files."""
    log = open_log(tmp_path, config())
    append(log, batch([b"0"]))
    log.roll()
    append(log, batch([b"1"]))
    log.abandon()
    os.rename(log.directory, tmp_path / "gone")
    open_log(tmp_path, config())
    with pytest.raises(FileNotFoundError):
        log.begin_flush()
    assert os.listdir(log.directory) == ["00000000000000000000.log"]


def test_after_a_failed_flush_the_log_is_never_closed_as_if_it_were_whole(tmp_path: Path) -> None:
    """A kernel reports lost writes once, so the flush of a controlled stop would succeed."""
    log = open_log(tmp_path, config())
    append(log, batch([b"0"]))
    log.failure = OSError(errno.EIO, "Input/output error")
    with pytest.raises(OSError, match="an earlier write failed"):
        log.close()


@pytest.mark.parametrize("stop", LastStop)
def test_producers_are_known_after_any_stop(tmp_path: Path, stop: LastStop) -> None:
    """KIP-98: a retry after a restart is recognised as a duplicate."""
    log = open_log(tmp_path, config())
    append(log, batch([b"a", b"b"], producer_id=7, producer_epoch=1, base_sequence=0))
    append(log, batch([b"c"], producer_id=7, producer_epoch=1, base_sequence=2))
    if stop is LastStop.CLEAN:
        log.close()
    else:
        log.abandon()
    log = open_log(tmp_path, config(), last_stop=stop)
    retry = batch([b"c"], producer_id=7, producer_epoch=1, base_sequence=2)
    duplicate = log.producers.check(next(iter_headers(retry))[1])
    assert duplicate is not None
    assert duplicate.batch.last_offset == 2


def test_truncation_removes_lost_producer_state(tmp_path: Path) -> None:
    log = open_log(tmp_path, config())
    for sequence in range(3):
        append(log, batch([b"x"], producer_id=7, producer_epoch=0, base_sequence=sequence))
    log.truncate_to(1, 0)
    again = batch([b"x"], producer_id=7, producer_epoch=0, base_sequence=1)
    assert log.producers.check(next(iter_headers(again))[1]) is None


def test_snapshots_between_segments_bound_the_replay(tmp_path: Path) -> None:
    log = open_log(tmp_path, config())
    for sequence in range(9000):
        append(log, batch([b"x"], producer_id=7, producer_epoch=0, base_sequence=sequence))
    names = [name for name in os.listdir(log.directory) if name.endswith(".snapshot")]
    assert sorted(names) == [f"{4096:020d}.snapshot", f"{8192:020d}.snapshot"]
    log.abandon()
    log = open_log(tmp_path, config(), last_stop=LastStop.KILLED)
    assert log.producers.entries()[0].batches[-1].last_offset == 8999


@pytest.mark.parametrize(
    ("before", "offset", "replayed"), [("", 29, 9), ("roll", 34, 4), ("roll", 29, 9), ("kill", 29, 9)]
)
def test_a_truncation_replays_few_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, offset: int, replayed: int
) -> None:
    """A follower truncates in the event loop, and its leader may lack any of the newest batches. A replay of all small
    batches of a segment took two seconds.
    """
    monkeypatch.setattr("kraft.storage.producers._BATCHES_BETWEEN_SNAPSHOTS", 10)
    log = open_log(tmp_path, config())
    for sequence in range(35):
        append(log, batch([b"x"], producer_id=7, producer_epoch=0, base_sequence=sequence))
    if before == "roll":
        log.roll()
    elif before == "kill":
        log.abandon()
        log = open_log(tmp_path, config(), last_stop=LastStop.KILLED)
    counted = []
    replay = ProducerStates.replay
    monkeypatch.setattr(ProducerStates, "replay", lambda *arguments: (counted.append(1), replay(*arguments))[1])
    log.truncate_to(offset, 1000)
    assert len(counted) == replayed
    assert log.producers.entries()[0].batches[-1].last_offset == offset - 1


def test_a_long_index_interval_is_cut_short(tmp_path: Path) -> None:
    """A read walks the batches from the last entry before its offset, and holds the event loop meanwhile."""
    log = open_log(tmp_path, config(index_interval_bytes=2**31 - 1))
    for _ in range(10):
        append(log, batch([b"x" * 100_000]))
    assert log.segments.active.index.count == 3
    assert log.segments.active.index.position_of(9) > 0


async def test_the_newest_record_is_found(tmp_path: Path) -> None:
    """ListOffsets -3 (KIP-734): offset and timestamp of the record with the largest timestamp."""
    log = open_log(tmp_path, config(segment_bytes=200))
    assert await log.newest_record(at_once) is None
    for timestamp in (5, 30, 30, 20):
        append(log, batch([b"x" * 60], timestamp=timestamp))
    newest = await log.newest_record(at_once)
    assert newest is not None
    assert (newest.timestamp, newest.offset) == (30, 1)


def test_starting_over_at_an_offset(tmp_path: Path) -> None:
    log = open_log(tmp_path, config(segment_bytes=200))
    for _ in range(3):
        append(log, batch([b"x" * 60], producer_id=7, producer_epoch=0, base_sequence=0))
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, len(log.producers)) == (100, 100, 0)
    assert log.recovery_point == 0, "a power cut may bring the old segments back until the next flush"
    assert append(log, batch([b"a"])).base_offset == 100
    log.close()
    log = open_log(tmp_path, config(), start=100)
    assert values(log) == [b"a"]


def test_the_topic_id_is_kept(tmp_path: Path) -> None:
    """KIP-516: ``partition.metadata``."""
    log = open_log(tmp_path, config())
    assert log.topic_id is None
    log.assign_topic_id(UUID(int=1))
    assert Path(log.directory, "partition.metadata").read_text() == "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
    log.close()
    assert open_log(tmp_path, config()).topic_id == UUID(int=1)


def test_a_flush_may_be_overtaken_by_a_truncation(tmp_path: Path) -> None:
    log = open_log(tmp_path, config(segment_bytes=200))
    for _ in range(4):
        append(log, batch([b"x" * 60]))
    flush = log.begin_flush()
    log.truncate_to(2, 0)
    flush.run()
    log.flushed(flush)
    assert log.recovery_point <= log.log_end_offset == 2
    log.flush()
    assert log.recovery_point == 2


def test_a_flush_after_a_truncation_makes_sure_that_dropped_segments_stay_away(tmp_path: Path) -> None:
    log = open_log(tmp_path, config(segment_bytes=200))
    for _ in range(4):
        append(log, batch([b"x" * 60]))
    log.flush()
    assert not log.begin_flush().directories
    log.truncate_to(1, 0)
    append(log, batch([b"y"]), epoch=1)
    assert log.directory in log.begin_flush().directories


def test_flush_messages(tmp_path: Path) -> None:
    """``flush.messages``: a flush is due once so many records were appended since the last one."""
    log = open_log(tmp_path, config(flush_messages=3))
    append(log, batch([b"a", b"b"]))
    assert not log.must_flush
    append(log, batch([b"c"]))
    assert log.must_flush
    log.flush_at_once()
    assert (log.must_flush, log.recovery_point) == (False, 3)


def test_a_flush_before_a_truncation_does_not_cover_later_appends(tmp_path: Path) -> None:
    """The recovery point is where everything below is durable; the flush had synced other records at those offsets."""
    log = open_log(tmp_path, config())
    for _ in range(4):
        append(log, batch([b"old"]))
    flush = log.begin_flush()
    flush.run()
    log.truncate_to(2, 0)
    for _ in range(2):
        append(log, batch([b"new"]), epoch=1)
    log.flushed(flush)
    assert log.recovery_point <= 2
    log.flush()
    assert log.recovery_point == 4


def test_a_log_that_was_let_go_takes_no_append(tmp_path: Path) -> None:
    """The path may belong to a new topic's log by then."""
    log = open_log(tmp_path, config())
    append(log, batch([b"0"]))
    log.abandon()
    os.rename(log.directory, tmp_path / "gone")
    successor = open_log(tmp_path, config())
    with pytest.raises(FileNotFoundError):
        append(log, batch([b"1"]))
    assert os.stat(successor.segments.active.path).st_size == 0


def test_a_truncation_that_finds_damage_changes_nothing(tmp_path: Path) -> None:
    """Otherwise the log would assume an end that its segments do not reach, and append after a gap."""
    log = open_log(tmp_path, config(segment_bytes=300))
    for number in range(4):
        append(log, batch([b"%d" % number + b"x" * 60]))
    first = Path(log.segments[0].path)
    whole = first.read_bytes()
    first.write_bytes(b"\xff" * len(whole))
    with pytest.raises(CorruptBatch):
        log.truncate_to(1, 0)
    first.write_bytes(whole)
    assert (log.log_end_offset, len(values(log))) == (4, 4)


def test_a_snapshot_of_producers_beyond_the_cut_does_not_outlive_it(tmp_path: Path) -> None:
    """ProducerStateManager.truncateAndReload removes them: once the log is that long again it has other batches."""
    log = open_log(tmp_path, config(segment_bytes=200))
    for sequence in range(6):
        append(log, batch([b"x" * 60], producer_id=7, producer_epoch=0, base_sequence=sequence))
    log.truncate_to(1, 0)
    for _ in range(5):
        append(log, batch([b"y" * 60]), epoch=1)
    log.abandon()
    log = open_log(tmp_path, config(segment_bytes=200), last_stop=LastStop.KILLED)
    assert [entry.batches[-1].last_offset for entry in log.producers.entries()] == [0]


@pytest.mark.parametrize("removed", [0, 1, 2])
def test_a_kill_between_the_cut_and_the_removal_of_snapshots(tmp_path: Path, removed: int) -> None:
    """A truncation drops segments, then snapshots: whatever was left of these is ignored at the start."""
    log = open_log(tmp_path, config(segment_bytes=200))
    for sequence in range(6):
        append(log, batch([b"x" * 60], producer_id=7, producer_epoch=0, base_sequence=sequence))
    directory = Path(log.directory)
    snapshots = {path: path.read_bytes() for path in sorted(directory.glob("*.snapshot"))}
    log.truncate_to(1, 0)
    log.abandon()
    for path in list(snapshots)[removed:]:
        path.write_bytes(snapshots[path])
    log = open_log(tmp_path, config(segment_bytes=200), last_stop=LastStop.KILLED)
    assert [entry.batches[-1].last_offset for entry in log.producers.entries()] == [0]
    assert not [path for path in directory.glob("*.snapshot") if int(path.stem) > 1]


def test_a_segment_that_was_cut_is_flushed_though_nothing_follows_in_it(tmp_path: Path) -> None:
    """The next batch does not fit in it and goes to a new segment. If only that came to the disk, the records behind
    the cut would be back after a power cut, below the recovery point."""
    log = open_log(tmp_path, config(segment_bytes=300))
    for number in range(4):
        append(log, batch([b"%d" % number + b"x" * 60]))
    log.flush()
    log.truncate_to(1, 0)
    append(log, batch([b"y" * 200]), epoch=1)
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    assert [file.path for file in log.begin_flush().files] == [segment.path for segment in log.segments]


def test_a_segment_that_was_flushed_before_its_roll_gets_its_indexes_flushed(tmp_path: Path) -> None:
    """``LogSegment.flush`` forces both indexes. Recovery trusts those of a segment below the recovery point, so a time
    index that lost its end would hide the newest records from ListOffsets for ever.
    """
    log = open_log(tmp_path, config(segment_bytes=300, index_interval_bytes=0))
    first = log.segments.active
    for timestamp in range(2):
        append(log, batch([b"x" * 60], timestamp=timestamp))
        log.flush()
    append(log, batch([b"x" * 60]))
    assert log.recovery_point == log.segments.active.base_offset == 2
    flush = log.begin_flush()
    assert {first.index.path, first.time_index.path} <= set(flush.paths)
    flush.run()
    log.flushed(flush)
    append(log, batch([b"x" * 60]))
    assert first.index.path not in log.begin_flush().paths


def test_the_flush_of_a_sealed_segment_includes_the_producers_at_its_end(tmp_path: Path) -> None:
    """``UnifiedLog.roll`` schedules flush-log, which calls flushProducerStateSnapshot before it flushes the segment."""
    log = open_log(tmp_path, config())
    append(log, batch([b"a"], producer_id=7, producer_epoch=0, base_sequence=0))
    log.roll()
    append(log, batch([b"b"], producer_id=7, producer_epoch=0, base_sequence=1))
    flush = log.begin_flush(1)
    assert f"{log.directory}/{1:020}.snapshot" in flush.paths
    assert log.directory in flush.directories
    flush.run()
    log.flushed(flush)
    assert not any(path.endswith(".snapshot") for path in log.begin_flush().paths)
    assert Path(log.directory, f"{1:020}.snapshot").exists()


@pytest.mark.parametrize("is_flushed", [False, True])
def test_a_controlled_stop_includes_the_indexes_of_the_active_segment(tmp_path: Path, is_flushed: bool) -> None:
    """``UnifiedLog.flush(forceFlushActiveSegment=true)`` in ``LogManager.shutdown``. The next start reads no batch, so
    a time index that a power cut has emptied would hide records from ListOffsets.
    """
    log = open_log(tmp_path, config(index_interval_bytes=0))
    for timestamp in range(3):
        append(log, batch([b"a"], timestamp=timestamp, producer_id=7, producer_epoch=0, base_sequence=timestamp))
    if is_flushed:
        log.flush()
    flush = log.begin_close()
    active = log.segments.active
    snapshot = f"{log.directory}/{3:020}.snapshot"
    assert {active.index.path, active.time_index.path, snapshot} <= set(flush.paths)
    assert log.directory in flush.directories
    flush.run()
    log.flushed(flush)
    log.abandon()
    assert open_log(tmp_path, config(index_interval_bytes=0), recovery_point=3).begin_close().is_empty


def test_a_flush_includes_one_that_has_not_ended(tmp_path: Path) -> None:
    """``flush.messages`` may flush while maintenance does. Whichever ends first raises the recovery point, so each must
    have synced the new segment's name, and the epochs."""
    log = open_log(tmp_path, config())
    append(log, batch([b"0"]))
    slow = log.begin_flush()
    quick = log.begin_flush()
    assert (quick.paths, quick.directories) == (slow.paths, slow.directories)
    quick.run()
    log.flushed(quick)
    assert log.recovery_point == 1
    assert not log.begin_flush().directories


def test_records_are_not_written_before_their_topic_id_is_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """UnifiedLog.append calls maybeFlushMetadataFile first. A start sets a directory without an id aside, with all of
    its records. A kill before the first append leaves the question open.
    """
    synced = []
    monkeypatch.setattr(Flush, "run", lambda flush: synced.append((path in flush.paths, log.size)))
    path = str(tmp_path / NAME / "partition.metadata")
    log = open_log(tmp_path, config())
    log.assign_topic_id(UUID(int=1))
    log.abandon()
    log = open_log(tmp_path, config())
    for _ in range(2):
        append(log, batch([b"0"]))
    assert synced == [(True, 0)]
    log.abandon()
    log = open_log(tmp_path, config())
    append(log, batch([b"1"]))
    assert len(synced) == 1


def test_nothing_is_written_if_the_topic_id_cannot_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(flush: Flush) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Flush, "run", fail)
    log = open_log(tmp_path, config())
    log.assign_topic_id(UUID(int=1))
    for _ in range(2):
        with pytest.raises(OSError, match=r"Input/output error|an earlier write failed"):
            append(log, batch([b"0"]))
    assert log.size == 0


def test_a_stop_writes_the_producers_only_if_the_log_has_changed(tmp_path: Path) -> None:
    """ProducerStateManager.takeSnapshot. A stop with thousands of idle logs would write a file for each."""
    log = open_log(tmp_path, config())
    log.close()
    assert not list(Path(log.directory).glob("*.snapshot"))
    log = open_log(tmp_path, config())
    append(log, batch([b"a"], producer_id=7, producer_epoch=0, base_sequence=0))
    log.complete()
    append(log, batch([b"b"], producer_id=7, producer_epoch=0, base_sequence=1))
    log.close()
    (snapshot,) = Path(log.directory).glob("*2.snapshot")
    written = snapshot.stat().st_ino
    log = open_log(tmp_path, config())
    log.close()
    assert snapshot.stat().st_ino == written
    log = open_log(tmp_path, config())
    append(log, batch([b"c"], producer_id=7, producer_epoch=0, base_sequence=2))
    log.truncate_to(2, 0)
    log.close()
    assert len(open_log(tmp_path, config()).producers) == 1
