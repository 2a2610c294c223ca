"""The quorum's driver on real files: the acknowledged records, their time, and the state after a restart."""

from __future__ import annotations

import errno
import threading
from pathlib import Path
from uuid import UUID

import pytest
import trio
import trio.testing

from kraft.config.topic import LogConfig
from kraft.messages.topic_record import TopicRecord
from kraft.quorum.driver import NotLeader
from kraft.quorum.trace import RoleBegan
from kraft.raft.messages import FetchRequest
from kraft.raft.timing import Timing
from kraft.records.batch import iter_headers
from kraft.storage.errors import StorageError
from kraft.storage.flush import Flush
from kraft.storage.log import Log
from kraft.storage.quorum_state import QuorumState, read_quorum_state, write_quorum_state
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION, METADATA_TOPIC_ID
from tests.support.quorums import append, committed_image, idle, open_quorum, running


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


async def test_an_epoch_begins_with_a_record_of_its_leader(tmp_path: Path) -> None:
    async with running(tmp_path) as (quorum, _):
        assert (quorum.leader_id, quorum.epoch, quorum.high_watermark, quorum.end_offset) == (1, 1, 1, 1)
    state = read_quorum_state(tmp_path / CLUSTER_METADATA_PARTITION / "quorum-state")
    assert state == QuorumState(leader_id=1, leader_epoch=1, current_voters=(1,))
    assert Log.open(tmp_path, CLUSTER_METADATA_PARTITION, LogConfig(), now_ms=0).topic_id == METADATA_TOPIC_ID


async def test_nothing_is_committed_before_its_flush_and_one_flush_commits_many(tmp_path: Path) -> None:
    """KIP-595: a leader counts its own copy of a record once that is flushed."""
    disk = SlowDisk()
    disk.let_through()
    committed: list[int] = []
    async with running(tmp_path, sync=disk.flush) as (quorum, _):

        async def wait_for(offset: int) -> None:
            await quorum.committed(offset)
            committed.append(offset)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_for, append(quorum, [topic(1)], 1))
            await trio.testing.wait_all_tasks_blocked()  # the flusher waits for the disk with the first record alone
            for number in range(2, 7):
                nursery.start_soon(wait_for, append(quorum, [topic(number)], 1))
            await trio.testing.wait_all_tasks_blocked()
            assert (committed, quorum.high_watermark, quorum.end_offset) == ([], 1, 7)
            disk.let_through()
            await quorum.committed(1)
            await trio.testing.wait_all_tasks_blocked()
            assert (committed, quorum.high_watermark) == ([1], 2)
            disk.let_through()
            await quorum.committed(6)
            assert disk.ends == [1, 2, 7]


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

    with pytest.RaisesGroup(pytest.RaisesExc(OSError, match="the disk is gone"), flatten_subgroups=True):
        async with running(tmp_path, sync=fail) as (quorum, _):
            await quorum.committed(append(quorum, [topic(1)], quorum.epoch))
            acknowledged = True
    assert not acknowledged
    assert flushes == failing_flush


async def test_a_restart_finds_everything_in_a_new_epoch(tmp_path: Path) -> None:
    for start in range(3):
        async with running(tmp_path) as (quorum, metadata):
            assert quorum.epoch == start + 1
            image = await committed_image(quorum, metadata)
            assert sorted(image.topic_ids) == [f"t{number}" for number in range(start)]
            assert (image.offset, image.epoch) == (quorum.high_watermark - 1, quorum.epoch)
            await quorum.committed(append(quorum, [topic(start)], quorum.epoch))


async def test_a_cancelled_quorum_leaves_its_log_open_and_a_controlled_stop_closes_it(
    tmp_path: Path,
) -> None:
    """A cancelled node does not shut down: it does not write the files that make the next start quicker."""
    directory = tmp_path / CLUSTER_METADATA_PARTITION
    for is_told in False, True:
        async with running(tmp_path) as (quorum, _):
            await quorum.committed(append(quorum, [topic(quorum.epoch)], quorum.epoch))
            if is_told:
                await quorum.shut_down()
            before = {path.name: path.read_bytes() for path in directory.iterdir()}
        after = {path.name: path.read_bytes() for path in directory.iterdir()}
        assert (after == before) is not is_told


async def test_no_append_succeeds_for_another_epoch(tmp_path: Path) -> None:
    """KAFKA-10527: an (epoch, offset) pair may be written by one leader only."""
    async with running(tmp_path) as (quorum, _):
        with pytest.raises(NotLeader):
            append(quorum, [topic(1)], quorum.epoch - 1)
        assert quorum.end_offset == 1


async def test_a_resignation_ends_the_scope_of_the_leader_and_begins_a_new_epoch(tmp_path: Path) -> None:
    led: list[tuple[str, int]] = []

    async def lead(epoch: int) -> None:
        led.append(("begins", epoch))
        try:
            await trio.sleep_forever()
        finally:
            led.append(("ends", epoch))

    timing = Timing(election_timeout_s=0.001, fetch_timeout_s=0.001)
    async with running(tmp_path, lead, timing=timing) as (quorum, _):
        await quorum.resign(quorum.epoch)
        with trio.fail_after(30):
            while quorum.epoch < 3 or not quorum.is_leader:
                await quorum.change(quorum.leader_id, quorum.epoch)
        await trio.testing.wait_all_tasks_blocked()
        assert led == [("begins", 1), ("ends", 1), ("begins", 3)]
        with pytest.raises(NotLeader):
            await quorum.committed_as_leader(0, 1)


async def test_roles_are_traced_when_they_begin(tmp_path: Path) -> None:
    """A role is a scope: the next begins when the one before has ended."""
    told: list[str] = []
    quorum = open_quorum(tmp_path, Timing(election_timeout_s=0.001, fetch_timeout_s=0.001))
    quorum.trace.subscribe(RoleBegan, lambda event: told.append(event.role))
    async with trio.open_nursery() as nursery:
        await nursery.start(quorum.run, idle)
        with trio.fail_after(30):
            while not quorum.is_leader:
                await quorum.change(quorum.leader_id, quorum.epoch)
            await quorum.committed(0)
            await quorum.resign(1)
            while quorum.epoch < 3 or not quorum.is_leader:
                await quorum.change(quorum.leader_id, quorum.epoch)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert told[:2] + told[-1:] == ["candidate in epoch 1", "leader in epoch 1", "leader in epoch 3"]
    assert "resigned in epoch 1" in told


async def test_a_flipped_bit_is_found_on_load(tmp_path: Path) -> None:
    """Records are checked against the checksum of their batch before they are replayed; only a torn tail is cut."""
    async with running(tmp_path) as (quorum, _):
        for number in range(3):
            await quorum.committed(append(quorum, [topic(number)], quorum.epoch))
    path = tmp_path / CLUSTER_METADATA_PARTITION / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.RaisesGroup(StorageError, flatten_subgroups=True, allow_unwrapped=True):
        async with running(tmp_path):
            pass


async def test_a_leader_stops_rather_than_send_damaged_records(tmp_path: Path) -> None:
    """As long as its followers fetched it would go on to lead, and nothing would be committed."""
    path = tmp_path / CLUSTER_METADATA_PARTITION / f"{0:020}.log"
    with pytest.RaisesGroup(
        pytest.RaisesExc(StorageError, match=f"{path.name}: damaged at offset 1: checksum "), flatten_subgroups=True
    ):
        async with running(tmp_path) as (quorum, _):
            await quorum.committed(append(quorum, [topic(1)], quorum.epoch))
            rotten_at = path.stat().st_size - 1
            await quorum.committed(append(quorum, [topic(2)], quorum.epoch))  # the newest comes from memory
            data = bytearray(path.read_bytes())
            data[rotten_at] ^= 1
            path.write_bytes(data)
            with trio.fail_after(30):
                await (await quorum.submit(FetchRequest(quorum.epoch, 9, 1, quorum.epoch, 0.0))).response()


@pytest.mark.parametrize("damaged", ["log", "quorum-state"])
async def test_a_record_of_an_epoch_that_never_was_stops_the_node(tmp_path: Path, damaged: str) -> None:
    """An election state is durable before its epoch is in the log (KIP-595). Otherwise a voter with a flipped bit in
    the epoch of its last batch would win elections, and the others would truncate committed records.
    """
    async with running(tmp_path):
        pass
    directory = tmp_path / CLUSTER_METADATA_PARTITION
    if damaged == "log":
        path = directory / f"{0:020}.log"
        data = bytearray(path.read_bytes())
        *_, (last, _) = iter_headers(data)
        data[last + 13] ^= 1
        path.write_bytes(data)
    else:
        write_quorum_state(directory / "quorum-state", QuorumState(leader_epoch=0))
    with pytest.raises(StorageError, match=r"a record of epoch \d+, and quorum-state knows none after [01];"):
        async with running(tmp_path):
            pass
