"""The contents of a simulated disk after a power cut."""

from __future__ import annotations

from kraft.raft.messages import SnapshotId
from kraft.simulation.disk import Append, Cut, Disk, Entry, Reset
from kraft.simulation.random_stream import RandomStream


def entries(*epochs: int) -> tuple[Entry, ...]:
    return tuple(Entry(epoch, 0) for epoch in epochs)


def test_synced_writes_survive_and_the_rest_is_a_prefix_of_the_writes() -> None:
    ends = set()
    for seed in range(200):
        disk = Disk()
        disk.write(Append(entries(1, 1)))
        disk.sync(disk.written())
        disk.write(Append(entries(1)))
        disk.write(Cut(1))
        disk.write(Append(entries(2, 2, 2)))
        disk.lose_power(RandomStream(seed, "test"))
        found = [entry.epoch for entry in disk.log.entries]
        assert found in ([1, 1], [1, 1, 1], [1], [1, 2], [1, 2, 2], [1, 2, 2, 2])
        ends.add(tuple(found))
    assert len(ends) == 6


def test_a_sync_covers_the_writes_before_its_begin() -> None:
    disk = Disk()
    disk.write(Append(entries(1)))
    began = disk.written()
    disk.write(Append(entries(1)))
    disk.sync(began)
    disk.forget_unsynced()
    assert disk.log.end == 1


def test_a_snapshot_that_the_log_does_not_hold_replaces_it() -> None:
    disk = Disk()
    disk.write(Append(entries(1, 1, 2, 2)))
    disk.sync(disk.written())
    disk.snapshots[SnapshotId(3, 2)] = 7
    assert disk.recover().end_offset == 4
    disk.snapshots[SnapshotId(4, 3)] = 8
    view = disk.recover()
    assert (view.start_offset, view.end_offset, view.last_epoch) == (4, 4, 3)
    disk.write(Reset(SnapshotId(9, 5)))
    assert (disk.log.start, disk.log.end) == (9, 9)


def test_a_snapshot_beyond_the_log_replaces_it_for_any_epoch_of_the_log() -> None:
    """Raft, figure 7: the tail of a former leader's log can have a newer epoch than the committed records."""
    disk = Disk()
    disk.write(Append(entries(1, 1, 3)))
    disk.sync(disk.written())
    disk.snapshots[SnapshotId(20, 2)] = 7
    view = disk.recover()
    assert (view.start_offset, view.end_offset, view.last_epoch, view.snapshot) == (20, 20, 2, SnapshotId(20, 2))
