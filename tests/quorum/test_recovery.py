"""The metadata log at a start, after a stop, a crash at any moment, and damage (KIP-630)."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from kraft.raft.events import LeaderChange
from kraft.raft.messages import SnapshotId
from kraft.records.batch import iter_headers
from kraft.storage.directory import LastStop
from kraft.storage.errors import StorageError
from kraft.storage.snapshot import snapshot_name
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION
from tests.support.metadata_logs import (
    Crashes,
    append_records,
    content,
    fetch,
    fetch_snapshot,
    fill,
    flush,
    open_log,
    pair,
    replayed,
    shape,
    snapshot_of,
    topic,
)


def test_the_log_of_a_start_is_durable(tmp_path: Path) -> None:
    """The Fetch or the vote of a member reports its whole log as durable; a killed node's log may be in memory only."""
    log = open_log(tmp_path)
    fill(log, 1, 20)
    assert log.begin_flush().files
    log.abandon()
    assert not open_log(tmp_path).begin_flush().files


@pytest.mark.parametrize("last_stop", LastStop)
def test_a_crash_while_a_snapshot_takes_the_place_of_the_log(tmp_path: Path, last_stop: LastStop) -> None:
    """KIP-630: whatever moment the node dies in, a start finds the old log, or the snapshot and nothing else."""
    leader, follower = pair(tmp_path)
    fill(leader, 2, 20)
    fill(follower, 1, 14)
    old = content(follower)
    old_shape = shape(follower)
    snapshot = snapshot_of(leader, 10)
    crashes = Crashes(follower, tmp_path / "crashes")
    with crashes.recorded():
        assert fetch_snapshot(follower, leader, snapshot)
        follower.install(snapshot)
        flush(follower)
    found = []
    for copy in crashes:
        log = open_log(copy, last_stop=last_stop)
        found.append(shape(log))
        assert found[-1] == old_shape or found[-1] == (10, 2, 10, [], snapshot)
        if log.start_offset:
            assert len(log.load_snapshot(snapshot).topics) == 9
        else:
            assert content(log) == old
        assert not [name for name in os.listdir(log.directory) if name.endswith((".part", ".deleted"))]
        log.close()
        assert shape(open_log(copy)) == found[-1]
    assert len(found) > 15
    assert len({str(each) for each in found}) == 2


@pytest.mark.parametrize("last_stop", LastStop)
def test_a_crash_while_the_log_is_trimmed(tmp_path: Path, last_stop: LastStop) -> None:
    """After a crash at any moment the log and its snapshots together have all records."""
    log = open_log(tmp_path)
    fill(log, 1, 10)
    fill(log, 2, 10)
    whole = replayed(log, 22)
    log.trim(snapshot_of(log, 4))
    newest = [snapshot_of(log, end) for end in (9, 15)][-1]
    crashes = Crashes(log, tmp_path / "crashes")
    with crashes.recorded():
        log.trim(newest)
    after = content(log)
    starts = set()
    for copy in crashes:
        log = open_log(copy, last_stop=last_stop)
        starts.add(log.start_offset)
        assert content(log).endswith(after)
        assert (log.end_offset, log.last_epoch, log.snapshot) == (22, 2, newest)
        earliest = next(each for each in log._snapshots.all())
        assert earliest.end_offset >= log.start_offset
        if log.start_offset:
            assert sorted(replayed(log, 22, log.load_snapshot(earliest)).topic_ids) == sorted(whole.topic_ids)
        expected = shape(log)
        log.close()
        assert shape(open_log(copy)) == expected
    assert starts == {4, 9, 15}


@pytest.mark.parametrize("last_stop", [LastStop.KILLED, LastStop.POWER_LOST])
def test_a_crash_while_the_log_is_cut_and_written_again(tmp_path: Path, last_stop: LastStop) -> None:
    """A start finds a prefix of the old log or of the new one, and epochs that are those of its batches."""
    leader, follower = pair(tmp_path)
    fill(leader, 1, 5)
    fill(follower, 1, 5)
    fill(follower, 2, 15)
    fill(leader, 3, 15)
    old, new = content(follower), content(leader)
    crashes = Crashes(follower, tmp_path / "crashes")
    with crashes.recorded():
        follower.truncate(6)
        fetch(follower, leader, 3)
        flush(follower)
    for copy in crashes:
        log = open_log(copy, last_stop=last_stop)
        found = content(log)
        assert old.startswith(found) or new.startswith(found)
        epochs = {header.leader_epoch for _, header in iter_headers(found)}
        assert {epoch for epoch, _ in log.view().epochs} == epochs
        assert log.end_offset >= 6
        log.abandon()
    assert content(follower) == new


def test_a_damaged_snapshot_does_not_take_the_place_of_the_log(tmp_path: Path) -> None:
    leader, follower = pair(tmp_path)
    fill(leader, 1, 20)
    fill(follower, 1, 5)
    old = shape(follower)
    snapshot = snapshot_of(leader, 15)
    assert fetch_snapshot(follower, leader, snapshot)
    follower.abandon()
    path = Path(follower.directory, snapshot_name(snapshot))
    damaged = path.read_bytes().replace(b"t7", b"t8")
    path.write_bytes(damaged)
    with pytest.raises(StorageError, match=r"checksum .* delete it if"):
        open_log(tmp_path / "follower")
    path.unlink()
    assert shape(open_log(tmp_path / "follower")) == old


@pytest.mark.parametrize("last_stop", LastStop)
def test_a_damaged_file_of_epochs_does_not_cost_the_log(tmp_path: Path, last_stop: LastStop) -> None:
    """KIP-630: only a snapshot that is ahead of the log replaces it. The records after this one were acknowledged."""
    log = open_log(tmp_path)
    fill(log, 1, 20)
    snapshot_of(log, 15)
    expected = shape(log)
    log.abandon()
    path = tmp_path / CLUSTER_METADATA_PARTITION / "leader-epoch-checkpoint"
    sound = path.read_text()
    path.write_text(sound.replace("1 0", "3 0"))
    assert shape(open_log(tmp_path, last_stop=last_stop)) == expected
    assert path.read_text() == sound


def test_a_snapshot_that_parts_from_the_log_does_not_take_its_place_unless_it_is_newer(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 2, 20)
    snapshot = snapshot_of(log, 15)
    log.abandon()
    os.rename(
        tmp_path / CLUSTER_METADATA_PARTITION / snapshot_name(snapshot),
        tmp_path / CLUSTER_METADATA_PARTITION / snapshot_name(snapshot._replace(epoch=1)),
    )
    with pytest.raises(
        StorageError, match=r"epoch 2 ends at offset 21, and diverges from .*end_offset=15, epoch=1"
    ) as damage:
        open_log(tmp_path)
    assert "\n" not in str(damage.value)


def _left_by_a_kill(tmp_path: Path, tail: int, behind: int = 20) -> SnapshotId:
    """The directory of a follower that was killed when a snapshot had its name and the log was not yet dropped.

    The follower has ``tail`` records of epoch 3 that were never committed; its leader, of epoch 4, has ``behind``
    records of epoch 2 in their place, and all of them in its snapshot.
    """
    leader, follower = pair(tmp_path)
    fill(leader, 1, 3)
    fill(follower, 1, 3)
    follower.append_leader_change(LeaderChange(3, 3, (1, 2, 3), (3, 1)), 1000)
    append_records(follower, [topic(number) for number in range(100, 99 + tail)], 3, 1000)
    fill(leader, 2, behind)
    snapshot = snapshot_of(leader, leader.end_offset)
    fill(leader, 4, 1)
    assert fetch_snapshot(follower, leader, snapshot)
    follower.abandon()
    return snapshot


@pytest.mark.parametrize("last_stop", LastStop)
def test_a_snapshot_beyond_the_log_is_installed_for_any_epoch_of_the_log(
    tmp_path: Path, last_stop: LastStop, caplog: pytest.LogCaptureFixture
) -> None:
    """Raft, figure 7: a follower may have records of a newer epoch than the committed ones; they never become
    committed.

    KIP-630: after the snapshot is stored "the follower truncates its log"; a kill may come between the two.
    """
    snapshot = _left_by_a_kill(tmp_path, tail=5)
    with caplog.at_level(logging.WARNING):
        log = open_log(tmp_path / "follower", last_stop=last_stop)
    assert shape(log) == (25, 2, 25, [], snapshot)
    assert [name for name in os.listdir(log.directory) if name.endswith(".deleted")] == []
    assert len(log.load_snapshot(snapshot).topics) == 23
    (line,) = caplog.messages
    assert line.endswith(f"{snapshot} replaces the log from offset 0 to 9, whose last epoch is 3")
    log.close()
    caplog.clear()
    assert shape(open_log(tmp_path / "follower")) == (25, 2, 25, [], snapshot)
    assert not caplog.messages


def test_a_snapshot_of_a_newer_epoch_inside_the_log_takes_its_place(tmp_path: Path) -> None:
    """A leader sends one to a log that reaches far enough but is of an epoch older than that leader's log begins in."""
    leader, follower = pair(tmp_path)
    fill(leader, 1, 3)
    fill(follower, 1, 30)
    fill(leader, 2, 10)
    snapshot = snapshot_of(leader, 15)
    assert fetch_snapshot(follower, leader, snapshot)
    follower.abandon()
    assert shape(open_log(tmp_path / "follower")) == (15, 2, 15, [], snapshot)


@pytest.mark.parametrize("tail", [21, 30])
def test_a_log_that_reaches_beyond_a_snapshot_of_an_older_epoch_is_refused(tmp_path: Path, tail: int) -> None:
    """No leader sends that: the follower truncates a diverging log first (KIP-595).

    So the log or the snapshot is damaged. Either may have the only copy of committed records, so both stay.
    """
    _left_by_a_kill(tmp_path, tail)
    found = {path: path.read_bytes() for path in sorted((tmp_path / "follower" / CLUSTER_METADATA_PARTITION).iterdir())}
    with pytest.raises(StorageError, match=r"epoch 3 ends at offset \d+, and diverges from .*=25, epoch=2.* not newer"):
        open_log(tmp_path / "follower")
    assert {path: path.read_bytes() for path in found} == found


def test_a_missing_file_of_epochs_is_made_anew(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 1, 10)
    fill(log, 2, 10)
    expected = shape(log)
    log.close()
    for last_stop in LastStop:
        (tmp_path / CLUSTER_METADATA_PARTITION / "leader-epoch-checkpoint").unlink()
        log = open_log(tmp_path, last_stop=last_stop)
        assert shape(log) == expected
        log.close()


def test_after_a_power_cut_epochs_are_those_of_the_batches(tmp_path: Path) -> None:
    """The file of epochs may be older than a truncation that the log has gone through since."""
    log = open_log(tmp_path)
    fill(log, 1, 2)
    fill(log, 2, 2)
    path = tmp_path / CLUSTER_METADATA_PARTITION / "leader-epoch-checkpoint"
    stale = path.read_bytes()
    log.truncate(3)
    append_records(log, [topic(number) for number in range(9)], 1, 0)
    log.close()
    path.write_bytes(stale)
    assert shape(open_log(tmp_path, last_stop=LastStop.POWER_LOST)) == (0, 0, 12, [(1, 0)], None)


def test_a_log_that_begins_late_without_a_snapshot_is_refused(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 1, 20)
    snapshot = snapshot_of(log, 15)
    log.trim(snapshot)
    log.close()
    (tmp_path / CLUSTER_METADATA_PARTITION / snapshot_name(snapshot)).unlink()
    with pytest.raises(StorageError, match=r"begins at offset 1\d, and no snapshot covers the earlier records"):
        open_log(tmp_path)


def test_the_oldest_snapshot_that_reaches_back_far_enough_is_where_a_log_begins(tmp_path: Path) -> None:
    """As after Apache Kafka: the first segment begins below the snapshot, at an unknown offset."""
    log = open_log(tmp_path)
    fill(log, 1, 20)
    snapshots = [snapshot_of(log, end) for end in (3, 9, 15)]
    log.close()
    directory = tmp_path / CLUSTER_METADATA_PARTITION
    segments = sorted(name for name in os.listdir(directory) if name.endswith(".log"))
    for name in segments[:2]:
        (directory / name).unlink()
    first = int(segments[2][:20])
    assert 3 < first < 9
    (directory / "leader-epoch-checkpoint").unlink()
    log = open_log(tmp_path)
    assert shape(log) == (9, 1, 21, [(1, 9)], snapshots[-1])
    assert log._snapshots.all() == snapshots[1:]


def test_the_snapshot_of_an_empty_log_is_none(tmp_path: Path) -> None:
    """Later Kafkas format a directory with ``00000000000000000000-0000000000.checkpoint`` (KIP-853)."""
    log = open_log(tmp_path)
    log.close()
    name = tmp_path / CLUSTER_METADATA_PARTITION / snapshot_name(SnapshotId(0, 0))
    name.write_bytes(b"anything")
    (tmp_path / CLUSTER_METADATA_PARTITION / "a-foreign.checkpoint").touch()
    log = open_log(tmp_path)
    fill(log, 1, 3)
    assert shape(log) == (0, 0, 4, [(1, 0)], None)
