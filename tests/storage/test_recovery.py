"""Opening the files that a crash, a power cut or a bad disk left behind."""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraft.records.control import EndTransactionMarker
from kraft.storage.creation import create_file
from kraft.storage.directory import LastStop
from kraft.storage.errors import CorruptLog
from kraft.storage.log import Log, remove_files
from tests.storage.logs import NAME, append, batch, config, files, open_log, values

LOG = f"{NAME}/00000000000000000000.log"
UNCLEAN = [LastStop.KILLED, LastStop.POWER_LOST]


def _three_batches(parent: Path, **settings: object) -> Log:
    log = open_log(parent, config(**settings))
    for number in range(3):
        append(log, batch([b"value %d" % number, b"more"], timestamp=number))
    log.abandon()
    return log


@pytest.mark.parametrize("stop", UNCLEAN)
@pytest.mark.parametrize("interval", [0, 4096])
def test_a_torn_tail_is_cut_wherever_it_was_torn(tmp_path: Path, stop: LastStop, interval: int) -> None:
    log = _three_batches(tmp_path, index_interval_bytes=interval)
    path = tmp_path / LOG
    whole = path.read_bytes()
    indexes = {name: data for name, data in files(log).items() if not name.endswith(".log")}
    last = len(whole) * 2 // 3
    for length in range(last, len(whole)):
        path.write_bytes(whole[:length])
        for name, data in indexes.items():
            # The last batch was never indexed: the log is written first.
            entry = 12 if name.endswith(".timeindex") else 8
            (tmp_path / NAME / name).write_bytes(data[: -entry or None])
        log = open_log(tmp_path, config(index_interval_bytes=interval), last_stop=stop)
        assert values(log) == [b"value 0", b"more", b"value 1", b"more"]
        assert log.recovery.torn_bytes == length - last
        assert path.stat().st_size == last
        assert log.log_end_offset == 4
        log.abandon()


@pytest.mark.parametrize("tail", [bytes(500), random.Random(1).randbytes(5000), b"\x02" * 300])
def test_garbage_up_to_the_end_is_cut(tmp_path: Path, tail: bytes) -> None:
    _three_batches(tmp_path)
    with open(tmp_path / LOG, "ab") as file:
        file.write(tail)
    log = open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST)
    assert log.recovery.torn_bytes == len(tail)
    assert log.recovery.torn_file == str(tmp_path / LOG)
    assert len(values(log)) == 6


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_flipped_bit_in_the_middle_refuses_to_start(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No acknowledged record is dropped silently: the error names the file and the offset."""
    parent = tmp_path_factory.mktemp("log")
    _three_batches(parent)
    path = parent / LOG
    whole = bytearray(path.read_bytes())
    size = len(whole) // 3
    position = data.draw(st.integers(0, 2 * size - 1))
    # Base offset and leader epoch are outside of the checksum.
    if position % size < 8 or 12 <= position % size < 16:
        position += 21
    whole[position] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(whole)
    with pytest.raises(CorruptLog) as refused:
        open_log(parent, config(), last_stop=LastStop.POWER_LOST, recovery_point=6)
    offset = 2 * (position // size)
    assert refused.value.offset == offset
    assert str(path) in str(refused.value)
    assert f"(offset {offset})" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("stop", UNCLEAN)
def test_a_log_without_gaps_is_not_cut_for_any_flipped_bit_but_where_it_may_be_torn(
    tmp_path: Path, stop: LastStop
) -> None:
    """A checksum does not cover offset and epoch. A batch with wrong ones must not hide the batches after it."""
    _three_batches(tmp_path)
    path = tmp_path / LOG
    whole = path.read_bytes()
    size = len(whole) // 3
    for position in range(len(whole)):
        field, is_last = position % size, position >= 2 * size
        damaged = bytearray(whole)
        damaged[position] ^= 4
        path.write_bytes(damaged)
        if is_last and field >= 16 and stop is LastStop.POWER_LOST:
            continue
        with pytest.raises(CorruptLog) as refused:
            open_log(tmp_path, config(), last_stop=stop, strict=True)
        # No file has the expected epoch of the first batch. The next batch has a lower one.
        assert refused.value.offset == (2 if 12 <= position < 16 else 2 * (position // size))
        assert path.read_bytes() == damaged


@pytest.mark.parametrize("field", [8, 16])
def test_a_segment_read_only_for_producers_is_named_too(tmp_path: Path, field: int) -> None:
    """After a kill only the tail is scanned, and all headers for their producers: a length or a magic is wrong."""
    _three_batches(tmp_path, index_interval_bytes=0)
    path = tmp_path / LOG
    damaged = bytearray(path.read_bytes())
    second = len(damaged) // 3
    damaged[second + field] ^= 0x40
    path.write_bytes(damaged)
    with pytest.raises(CorruptLog) as refused:
        open_log(tmp_path, config(index_interval_bytes=0), last_stop=LastStop.KILLED)
    assert (refused.value.path, refused.value.position, refused.value.offset) == (str(path), second, 2)


def test_a_strict_log_names_the_missing_segment(tmp_path: Path) -> None:
    log = _three_batches(tmp_path, segment_bytes=100)
    Path(log.segments[1].path).unlink()
    open_log(tmp_path, config(), last_stop=LastStop.KILLED).abandon()
    with pytest.raises(CorruptLog, match=r"00000000000000000000.log: .*offset 2.*: it ends here, and .*4.log follows"):
        open_log(tmp_path, config(), last_stop=LastStop.KILLED, strict=True)


@pytest.mark.parametrize("stop", UNCLEAN)
@pytest.mark.parametrize("size", [30, 80])
def test_a_torn_tail_of_a_log_without_gaps_is_cut(tmp_path: Path, stop: LastStop, size: int) -> None:
    """A kill leaves the beginning of a batch, a power cut anything."""
    _three_batches(tmp_path)
    path = tmp_path / LOG
    with open(path, "ab") as file:
        file.write(path.read_bytes()[:size] if stop is LastStop.KILLED else bytes(size))
    log = open_log(tmp_path, config(), last_stop=stop, strict=True)
    assert (len(values(log)), log.recovery.torn_bytes) == (6, size)


def test_damage_in_an_older_segment_refuses_to_start(tmp_path: Path) -> None:
    log = _three_batches(tmp_path, segment_bytes=100)
    assert len(log.segments) == 3
    first = Path(log.segments[0].path)
    first.write_bytes(first.read_bytes()[:-1])
    with pytest.raises(CorruptLog, match=first.name):
        open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, recovery_point=1)
    with pytest.raises(CorruptLog, match=first.name):
        open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, strict=True)
    # Below the recovery point nothing is scanned.
    open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, recovery_point=2)


def test_a_power_cut_beyond_the_recovery_point_cuts_at_the_first_damage(tmp_path: Path) -> None:
    """Kafka's recovery: the kernel writes pages beyond the recovery point in any order, so whole batches may follow
    lost ones. Unsynced records are cut, and the recovery reports how many bytes.
    """
    log = _three_batches(tmp_path, segment_bytes=100)
    sizes = [segment.size for segment in log.segments]
    middle = Path(log.segments[1].path)
    middle.write_bytes(bytes(sizes[1]))
    log = open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, recovery_point=2)
    assert (log.log_end_offset, len(values(log))) == (2, 2)
    assert (log.recovery.torn_file, log.recovery.torn_offset) == (str(middle), 2)
    assert log.recovery.torn_bytes == sizes[1] + sizes[2]
    assert f"cut {middle} at position 0 (offset 2)" in str(log.recovery)


def test_a_torn_tail_before_an_empty_segment_is_still_a_tail(tmp_path: Path) -> None:
    """A power cut right after a roll: the new file exists, the end of the old one does not."""
    log = open_log(tmp_path, config())
    append(log, batch([b"a"]))
    append(log, batch([b"b"]))
    log.roll()
    log.abandon()
    path = tmp_path / LOG
    path.write_bytes(path.read_bytes()[:-1])
    log = open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST)
    assert values(log) == [b"a"]
    assert (len(log.segments), log.log_end_offset) == (1, 1)


def test_a_clean_stop_leaves_no_torn_tail(tmp_path: Path) -> None:
    """After a controlled stop a missing byte is damage, not the effect of a crash."""
    log = open_log(tmp_path, config())
    append(log, batch([b"a"]))
    log.close()
    path = tmp_path / LOG
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptLog):
        open_log(tmp_path, config())


def test_after_a_kill_only_the_tail_is_read(tmp_path: Path) -> None:
    """The page cache outlived the process, so recovery does not check batches before the last index entry."""
    log = open_log(tmp_path, config(index_interval_bytes=100))
    for number in range(50):
        append(log, batch([b"value %d" % number]))
    log.abandon()
    path = tmp_path / LOG
    whole = bytearray(path.read_bytes())
    whole[30] ^= 1
    path.write_bytes(whole)
    assert open_log(tmp_path, config(), last_stop=LastStop.KILLED).log_end_offset == 50
    with pytest.raises(CorruptLog):
        open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, recovery_point=50)


@settings(max_examples=40, deadline=None)
@given(
    interval=st.integers(0, 500),
    appended=st.lists(st.tuples(st.integers(0, 300), st.integers(-1, 100)), min_size=1, max_size=30),
)
def test_rebuilt_indexes_equal_the_lost_ones(
    interval: int, appended: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    parent = tmp_path_factory.mktemp("log")
    settings = config(index_interval_bytes=interval, segment_bytes=1500)
    log = open_log(parent, settings)
    for size, timestamp in appended:
        append(log, batch([bytes(size)], timestamp=timestamp))
    log.close()
    before = files(log)
    for name in before:
        if not name.endswith(".log"):
            os.unlink(parent / NAME / name)
    log = open_log(parent, settings)
    log.close()
    assert files(log) == before


@pytest.mark.parametrize("damage", [b"", b"\0" * 80, b"\xff" * 80, b"\x00\x00\x00\x01\x00\x00\x00\x05" * 10, b"abc"])
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_insane_indexes_are_rebuilt(tmp_path: Path, damage: bytes, suffix: str) -> None:
    settings = config(index_interval_bytes=50, segment_bytes=1500)
    log = open_log(tmp_path, settings)
    for number in range(40):
        append(log, batch([b"value %d" % number], timestamp=number))
    log.close()
    before = files(log)
    for name in before:
        if name.endswith(suffix):
            (tmp_path / NAME / name).write_bytes(damage)
    log = open_log(tmp_path, settings)
    assert values(log) == [b"value %d" % number for number in range(40)]
    if damage:
        assert log.recovery.rebuilt_indexes
        log.close()
        assert files(log) == before


def test_a_damaged_epoch_checkpoint_is_rebuilt_from_the_batches(tmp_path: Path) -> None:
    """KIP-101: the epochs are in the batches as well, and not only in the tail that is scanned anyway."""
    log = open_log(tmp_path, config(index_interval_bytes=0))
    for epoch in (0, 0, 3, 5, 5):
        append(log, batch([b"x"]), epoch=epoch)
    entries = log.epochs.entries
    log.close()
    for damage in ("", "garbage", "0\n5\n", "0\n2\n3 2\n1 0\n", "0\n1\nx y\n"):
        (tmp_path / NAME / "leader-epoch-checkpoint").write_text(damage)
        log = open_log(tmp_path, config(index_interval_bytes=0))
        assert log.epochs.entries == entries
        log.abandon()


def test_epochs_that_were_not_yet_written_are_found_in_the_tail(tmp_path: Path) -> None:
    log = open_log(tmp_path, config())
    for epoch in (0, 3):
        append(log, batch([b"x"]), epoch=epoch)
    log.abandon()
    (tmp_path / NAME / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    assert open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST).epochs.entries == [(0, 0), (3, 1)]


@pytest.mark.parametrize("stale", ["3 1", "3 2"])
def test_epochs_that_a_power_cut_brought_back_give_way_to_the_batches(tmp_path: Path, stale: str) -> None:
    """The log was cut at 1 and continued in epoch 2. The file with that entry was not flushed yet. An epoch without a
    batch would let a follower truncate at a wrong offset.
    """
    log = open_log(tmp_path, config())
    for epoch in (1, 2, 2):
        append(log, batch([b"x"]), epoch=epoch)
    log.abandon()
    (tmp_path / NAME / "leader-epoch-checkpoint").write_text(f"0\n2\n1 0\n{stale}\n")
    log = open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, recovery_point=1)
    assert log.epochs.entries == [(1, 0), (2, 1)]


def test_damaged_producer_snapshots_mean_a_longer_replay(tmp_path: Path) -> None:
    log = open_log(tmp_path, config(segment_bytes=200))
    for sequence in range(6):
        append(log, batch([b"x" * 50], producer_id=7, producer_epoch=0, base_sequence=sequence))
    expected = log.producers.entries()[0].batches[-1]
    log.close()
    for name in os.listdir(tmp_path / NAME):
        if name.endswith(".snapshot"):
            (tmp_path / NAME / name).write_bytes(b"garbage")
    log = open_log(tmp_path, config(segment_bytes=200))
    assert log.producers.entries()[0].batches[-1] == expected


def test_a_transaction_whose_marker_was_deleted_is_not_open_after_a_kill(tmp_path: Path) -> None:
    """A snapshot has the open transaction. DeleteRecords passed its marker, which still is in the segment. Else no
    read_committed reader would ever pass the start.
    """
    log = open_log(tmp_path, config())
    append(log, batch([b"x"], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True))
    log.roll()
    append(log, EndTransactionMarker(committed=True, coordinator_epoch=0).batch(7, 0, 1000))
    append(log, batch([b"y"], producer_id=7, producer_epoch=0, base_sequence=1))
    log.delete_records(3)
    append(log, batch([b"z"]))
    expected = log.producers.entries()
    log.abandon()
    log = open_log(tmp_path, config(), last_stop=LastStop.KILLED, start=3)
    log.producers.high_watermark_advanced(log.log_end_offset)
    assert log.producers.last_stable_offset(log.log_end_offset) == 4
    assert [(each.producer_id, each.batches[-1]) for each in log.producers.entries()] == [
        (each.producer_id, each.batches[-1]) for each in expected
    ]
    log.close()


def test_a_producer_snapshot_before_deleted_batches_is_not_used(tmp_path: Path) -> None:
    """``ProducerStateManager.truncateAndReload`` takes no snapshot from below the start. A kill left this one."""
    log = open_log(tmp_path, config())
    append(log, batch([b"x"], producer_id=7, producer_epoch=0, base_sequence=0, transactional=True))
    log.roll()
    append(log, EndTransactionMarker(committed=True, coordinator_epoch=0).batch(7, 0, 1000))
    log.roll()
    append(log, batch([b"y"]))
    log.delete_records(2)
    left = tmp_path / NAME / f"{1:020}.snapshot"
    data = left.read_bytes()
    remove_files(log.delete_old_segments(0, log.log_end_offset))
    log.abandon()
    left.write_bytes(data)
    (tmp_path / NAME / f"{2:020}.snapshot").write_bytes(b"garbage")
    log = open_log(tmp_path, config(), last_stop=LastStop.KILLED, start=2)
    assert not log.producers.entries()
    log.close()


@pytest.mark.parametrize("epochs", ["0\n2\n0 0\n3 2\n", "damaged"])
@pytest.mark.parametrize("settings", [{}, {"segment_bytes": 100}])
def test_a_log_that_a_power_cut_shortened_below_its_start_continues_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, settings: dict[str, int], epochs: str
) -> None:
    """``LogLoader.recoverLog``: "Deleting all segments because logEndOffset … is smaller than logStartOffset". A
    consumer at the start would never see records that got the offsets before it.
    """
    log = open_log(tmp_path, config(**settings))
    for number in range(10):
        sent = batch([b"%d" % number], producer_id=7, producer_epoch=0, base_sequence=number)
        append(log, sent, epoch=0 if number < 2 else 3)
    log.delete_records(10)
    position = next(at for segment in log.segments for at, header in segment.headers() if header.base_offset == 4)
    torn = log.segments.path_of(4)
    log.abandon()
    os.truncate(torn, position + 3)
    (tmp_path / NAME / "leader-epoch-checkpoint").write_text(epochs)
    for _ in range(2):  # a second power cut, before a flush
        log = open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, recovery_point=1, start=10)
        assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (10, 10, 1)
        assert (values(log), log.epochs.entries, len(log.producers), len(log.segments)) == ([], [], 0, 1)
        log.abandon()
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line.startswith(f"{log.directory}: the log ends at offset 4, before its start offset 10")
    log = open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, recovery_point=1, start=10)
    assert append(log, batch([b"new"]), epoch=4).base_offset == 10
    log.flush()
    log.abandon()
    log = open_log(tmp_path, config(), last_stop=LastStop.POWER_LOST, recovery_point=11, start=10)
    assert (values(log), log.epochs.entries) == ([b"new"], [(4, 10)])


@pytest.mark.parametrize("offset", [0, 2, 100])
@pytest.mark.parametrize("strict", [False, True])
def test_a_kill_while_a_log_starts_over_leaves_no_hole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offset: int, strict: bool
) -> None:
    """``Segments.start_over``: "A kill meanwhile leaves the oldest segments, or none, or the new one"."""
    (tmp_path / "now").mkdir()
    log = open_log(tmp_path / "now", config(segment_bytes=100))
    for number in range(3):
        append(log, batch([b"%d" % number], producer_id=7, producer_epoch=0, base_sequence=number))
    kills = itertools.count()

    def before(operation: Callable[..., Any]) -> Callable[..., Any]:
        def killed(*arguments: Any) -> Any:
            shutil.copytree(log.directory, tmp_path / f"{next(kills)}" / NAME)
            return operation(*arguments)

        return killed

    with monkeypatch.context() as patch:
        for name in ("replace", "unlink", "ftruncate"):
            patch.setattr(os, name, before(getattr(os, name)))
        patch.setattr("kraft.storage.open_files.create_file", before(create_file))
        log.truncate_fully_and_start_at(offset)
    found = set()
    for number in range(next(kills)):
        log = open_log(tmp_path / f"{number}", config(), last_stop=LastStop.KILLED, strict=strict)
        assert (log.log_start_offset, log.log_end_offset, values(log)) in (
            *((0, end, [b"0", b"1", b"2"][:end]) for end in range(4)),
            (offset, offset, []),
        )
        assert len(log.producers) == bool(values(log))
        assert not [name for name in os.listdir(log.directory) if name.endswith((".new", ".deleted"))]
        found.add(log.log_end_offset)
        log.abandon()
    assert {0, 1, 2, 3} <= found
