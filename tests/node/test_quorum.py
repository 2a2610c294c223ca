"""The quorum's driver on real files: what is acknowledged, when, and what a restart finds."""

from __future__ import annotations

import errno
import threading
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio
import trio.testing

from kraft.config.topic import LogConfig
from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.config_record import ConfigRecord
from kraft.messages.end_transaction_record import EndTransactionRecord
from kraft.messages.topic_record import TopicRecord
from kraft.node.clock import Clock
from kraft.node.quorum import METADATA_PARTITION, MetadataFollower, Quorum
from kraft.storage.errors import StorageError
from kraft.storage.flush import Flush
from kraft.storage.log import Log
from kraft.storage.quorum_state import QuorumState, read_quorum_state
from kraft.wire.uuids import METADATA_TOPIC_ID


def open_quorum(path: Path, **options: Any) -> Quorum:
    clock = Clock()
    log = Log.open(path, METADATA_PARTITION, LogConfig(), now_ms=clock.now_ms())
    return Quorum(1, (1,), log, clock, **options)


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=UUID(int=1000 + number))


class SlowDisk:
    """Flushes that return only when they are let through, one by one."""

    def __init__(self) -> None:
        self.open = threading.Semaphore(0)
        self.ends: list[int] = []

    def flush(self, flush: Flush) -> None:
        assert self.open.acquire(timeout=30)
        self.ends.append(flush.end_offset)
        flush.run()

    def let_through(self, count: int = 1) -> None:
        self.open.release(count)


async def test_the_first_record_of_an_epoch_is_committed_before_the_quorum_is_ready(tmp_path: Path) -> None:
    quorum = open_quorum(tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run)
        assert (quorum.leader_id, quorum.epoch, quorum.high_watermark, quorum.end_offset) == (1, 1, 1, 1)
        nursery.cancel_scope.cancel()
    state = read_quorum_state(tmp_path / METADATA_PARTITION / "quorum-state")
    assert state == QuorumState(leader_id=1, leader_epoch=1, current_voters=(1,))
    assert Log.open(tmp_path, METADATA_PARTITION, LogConfig(), now_ms=0).topic_id == METADATA_TOPIC_ID


async def test_nothing_is_committed_before_its_flush_and_one_flush_commits_many(tmp_path: Path) -> None:
    """KIP-595: a leader counts its own copy of a record once that is flushed."""
    disk = SlowDisk()
    disk.let_through()
    quorum = open_quorum(tmp_path, run_flush=disk.flush)
    committed: list[int] = []

    async def wait_for(offset: int) -> None:
        await quorum.committed(offset)
        committed.append(offset)

    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run)
        nursery.start_soon(wait_for, quorum.append([topic(1)]))
        await trio.testing.wait_all_tasks_blocked()  # the flusher waits for the disk with the first record alone
        for number in range(2, 7):
            nursery.start_soon(wait_for, quorum.append([topic(number)]))
        await trio.testing.wait_all_tasks_blocked()
        assert (committed, quorum.high_watermark, quorum.end_offset) == ([], 1, 7)
        disk.let_through()
        await quorum.committed(1)
        await trio.testing.wait_all_tasks_blocked()
        assert (committed, quorum.high_watermark) == ([1], 2)
        disk.let_through()
        await quorum.committed(6)
        assert disk.ends == [1, 2, 7]
        disk.let_through()
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("failing_flush", [1, 2])
async def test_a_failed_fsync_ends_the_quorum(tmp_path: Path, failing_flush: int) -> None:
    """After a failed fsync the kernel may have dropped the data: nothing may be acknowledged any more."""
    flushes = 0
    acknowledged = False

    def fail(flush: Flush) -> None:
        nonlocal flushes
        flushes += 1
        if flushes == failing_flush:
            raise OSError(errno.EIO, "the disk is gone")
        flush.run()

    quorum = open_quorum(tmp_path, run_flush=fail)
    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="the disk is gone"), flatten_subgroups=True):
        async with trio.open_nursery() as nursery:
            await nursery.start(quorum.run)
            await quorum.committed(quorum.append([topic(1)]))
            acknowledged = True
    assert not acknowledged
    assert flushes == failing_flush


async def test_a_restart_finds_everything_in_a_new_epoch(tmp_path: Path) -> None:
    for start in range(3):
        quorum = open_quorum(tmp_path)
        async with trio.open_nursery() as nursery:
            await nursery.start(quorum.run)
            assert quorum.epoch == start + 1
            image = await MetadataFollower(quorum).catch_up(quorum.high_watermark)
            assert sorted(image.topic_ids) == [f"t{number}" for number in range(start)]
            assert (image.offset, image.epoch) == (quorum.high_watermark - 1, quorum.epoch)
            await quorum.committed(quorum.append([topic(start)]))
            nursery.cancel_scope.cancel()


async def test_a_follower_that_is_far_behind_reads_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kraft.node.quorum._BATCHES_IN_MEMORY", 3)
    monkeypatch.setattr("kraft.node.quorum._READ_BYTES", 300)
    quorum = open_quorum(tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run)
        for number in range(40):
            quorum.append(
                [topic(number), ConfigRecord(resource_type=2, resource_name="x", name="k", value=str(number))]
            )
        follower = MetadataFollower(quorum)
        image = await follower.catch_up(quorum.end_offset)
        assert len(image.topics) == 40
        assert image.config(2, "x") == {"k": "39"}
        nursery.cancel_scope.cancel()


async def test_a_follower_sees_a_transaction_as_one_change(tmp_path: Path) -> None:
    quorum = open_quorum(tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run)
        follower = MetadataFollower(quorum)
        await follower.catch_up(quorum.high_watermark)
        await quorum.committed(quorum.append([BeginTransactionRecord(name="x"), topic(1)]))
        await follower.catch_up(quorum.high_watermark)
        assert not follower.image.topics
        quorum.append([topic(2), EndTransactionRecord()])
        image, changes = await follower.next()
        assert sorted(image.topic_ids) == ["t1", "t2"]
        assert len(changes.topics_created) == 2
        nursery.cancel_scope.cancel()


async def test_many_records_are_cut_into_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.node.quorum.MAX_BATCH_RECORDS", 4)
    quorum = open_quorum(tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run)
        last = quorum.append([topic(number) for number in range(10)])
        await quorum.committed(last)
        batches = await quorum.read(1)
        assert [len(batch.records) for batch in batches] == [4, 4, 2]
        assert batches[-1].last_offset == last
        nursery.cancel_scope.cancel()


async def test_a_flipped_bit_is_found_on_load(tmp_path: Path) -> None:
    """Records are checked against the checksum of their batch before they are replayed."""
    quorum = open_quorum(tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run)
        await quorum.committed(quorum.append([topic(1)]))
        nursery.cancel_scope.cancel()
    path = tmp_path / METADATA_PARTITION / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    quorum = open_quorum(tmp_path)
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run)
        with pytest.raises(StorageError, match="damaged behind offset 0"):
            await MetadataFollower(quorum).catch_up(quorum.high_watermark)
        nursery.cancel_scope.cancel()
