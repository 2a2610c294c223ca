"""Snapshots and the driver of the quorum: fetches, loads and trims of snapshots during other work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import trio

from kraft.control.metadata import Metadata, SnapshotPolicy
from kraft.messages import fetch_response as fetched
from kraft.messages.fetch_snapshot_request import FetchSnapshotRequest
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.image import Image
from kraft.quorum.driver import Quorum
from kraft.quorum.log import MetadataLog
from kraft.quorum.snapshots import MetadataSnapshots
from kraft.raft.messages import BeginQuorumEpochRequest, SnapshotId
from kraft.simulation import virtual_time
from kraft.world.world import World, sync_now
from tests.support.quorums import append, idle, open_quorum, running
from tests.support.scripted_leader import EPOCH, Leader, answer, follower_of, opening, piece, topics

SNAPSHOT = SnapshotId(10, EPOCH)


@attrs.define(eq=False)
class Disk:
    """Worker threads of a follower: those that do ``slow`` work wait until the test opens the gate."""

    slow: Callable[..., Any] | None = None
    gate: trio.Event = attrs.Factory(trio.Event)
    waiting: int = 0

    async def in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        await trio.lowlevel.checkpoint()
        if self.slow is not None and getattr(work, "__func__", work) is self.slow:
            self.waiting += 1
            await self.gate.wait()
        return work(*arguments)


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=UUID(int=1000 + number))


def snapshot_bytes(directory: Path) -> bytes:
    """A snapshot of nothing, which covers ten records."""
    directory.mkdir()
    snapshots = MetadataSnapshots(str(directory))
    written = snapshots.write(attrs.evolve(Image(), offset=SNAPSHOT.end_offset - 1, epoch=EPOCH))
    assert written == SNAPSHOT
    return Path(snapshots.path(written)).read_bytes()


async def _install_during_a_flush(directory: Path) -> None:
    snapshot = snapshot_bytes(directory / "leader")
    offered = answer(snapshot_id=fetched.SnapshotId(*SNAPSHOT), high_watermark=10)
    disk = Disk()

    def parted(_: Any) -> fetched.FetchResponse:
        disk.slow = sync_now
        return answer(diverging_epoch=fetched.EpochEndOffset(EPOCH, 1), high_watermark=1)

    script = [answer(), answer(opening(), high_watermark=1), answer(topics(1, 3), high_watermark=1)]
    leader = Leader([*script, parted, offered, piece(snapshot, SNAPSHOT.end_offset)])
    async with follower_of(leader, directory / "follower", in_thread=disk.in_thread) as quorum:
        with trio.fail_after(20):
            await trio.sleep(5)
            assert (disk.waiting, quorum.log.snapshot) == (1, SNAPSHOT)
            assert (quorum.high_watermark, quorum.end_offset) == (1, 1), "the log does not begin behind it yet"
            disk.gate.set()
            await quorum.committed(SNAPSHOT.end_offset - 1)
            assert (quorum.high_watermark, quorum.start_offset, quorum.end_offset) == (10, 10, 10)


def test_records_of_an_installed_snapshot_are_committed(tmp_path: Path) -> None:
    """Effects are performed in field order: first the log changes, then the high watermark rises. With the other order
    a reader could read uncommitted records in the log that the snapshot replaces.
    """
    (tmp_path / "follower").mkdir()
    virtual_time.run(_install_during_a_flush, tmp_path)


async def _three_snapshots(directory: Path) -> None:
    snapshot = snapshot_bytes(directory / "leader")
    disk = Disk(slow=MetadataLog.complete_snapshot)
    pieces = 0
    is_fetched = trio.Event()

    def answer_of_epoch(message: Any) -> Any:
        nonlocal pieces
        if isinstance(message, FetchSnapshotRequest):
            pieces += 1
            is_fetched.set()
            return piece(snapshot, SNAPSHOT.end_offset, message.topics[0].partitions[0].current_leader_epoch)
        epoch = max(message.topics[0].partitions[0].current_leader_epoch, EPOCH)
        leader = fetched.LeaderIdAndEpoch(1, epoch)
        return answer(snapshot_id=fetched.SnapshotId(*SNAPSHOT), high_watermark=10, current_leader=leader)

    leader = Leader([answer_of_epoch] * 100)
    async with follower_of(leader, directory / "follower", in_thread=disk.in_thread) as quorum:
        with trio.fail_after(20):
            for epoch in range(EPOCH, EPOCH + 4):
                if epoch > EPOCH:
                    await (await quorum.submit(BeginQuorumEpochRequest(epoch, 1))).response()
                await is_fetched.wait()
                is_fetched = trio.Event()
                await trio.sleep(1)
            assert (pieces, disk.waiting) == (4, 1), "each was fetched once, and the first is being looked through"
            disk.gate.set()
            await quorum.committed(SNAPSHOT.end_offset - 1)
    assert sorted(each.name for each in (directory / "follower").rglob("*.part")) == []


def test_snapshots_may_arrive_faster_than_they_are_checked(tmp_path: Path) -> None:
    """With each new epoch the same snapshot is fetched anew; only the newest copy is of use to anyone."""
    (tmp_path / "follower").mkdir()
    virtual_time.run(_three_snapshots, tmp_path)


async def _grow(quorum: Quorum, metadata: Metadata, count: int) -> Image:
    """The image after ``count`` topics more."""
    for _ in range(count):
        number = len(metadata.image.topics)
        await quorum.committed(append(quorum, [topic(number)], quorum.epoch))
        await metadata.replayed(quorum.high_watermark)
    return metadata.image


async def test_a_trim_that_comes_late_changes_nothing(tmp_path: Path) -> None:
    """Between the decision to trim and its turn the log may have come to begin later, by a snapshot of the leader."""
    async with running(tmp_path) as (quorum, metadata):
        older = quorum.log.write_snapshot(await _grow(quorum, metadata, 3))
        newer = quorum.log.write_snapshot(await _grow(quorum, metadata, 3))
        await quorum.trim(newer)
        await quorum.trim(older)
        with trio.fail_after(30):
            await _grow(quorum, metadata, 1)
        assert (quorum.start_offset, quorum.log.snapshot) == (newer.end_offset, newer)


async def test_a_snapshot_that_is_replaced_before_it_is_loaded(tmp_path: Path) -> None:
    """A restart loads the newest snapshot; by the time it is opened there may be a newer one, and only that."""
    async with running(tmp_path) as (quorum, metadata):
        older = quorum.log.write_snapshot(await _grow(quorum, metadata, 3))
        image = await _grow(quorum, metadata, 3)
    disk = Disk(slow=MetadataLog.load_snapshot)
    quorum = open_quorum(tmp_path)
    metadata = Metadata(quorum, World(in_thread=disk.in_thread), SnapshotPolicy())
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run, idle)
        nursery.start_soon(metadata.run)
        with trio.fail_after(30):
            await quorum.committed(image.offset)
            newer = quorum.log.write_snapshot(image)
            await quorum.trim(newer)
            while quorum.start_offset <= older.end_offset:
                await trio.lowlevel.checkpoint()
            disk.gate.set()
            await metadata.replayed(quorum.high_watermark)
        assert (metadata.snapshots_loaded, len(metadata.image.topics)) == (1, 6)
        nursery.cancel_scope.cancel()
