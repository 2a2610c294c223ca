"""Bytes that are written ahead of their append: invisible before it, and gone without it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from kraft.records.batch import iter_headers
from kraft.storage.directory import LastStop
from kraft.storage.log import Log
from kraft.storage.segment import PIECE_BYTES
from tests.storage.logs import NAME, append, batch, config, files, open_log, values
from tests.support.steps import steps_of_this_task

LARGE = 3 * PIECE_BYTES


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = open_log(tmp_path, config(segment_bytes=8 * PIECE_BYTES))
    append(log, batch([b"before"]))
    return log


def large() -> bytearray:
    return batch([b"large" * (LARGE // 5)])


async def write_ahead(log: Log, buffer: bytearray) -> None:
    await log.write_ahead_as_leader(buffer, list(iter_headers(buffer)), 0, 1000)


def size_on_disk(log: Log) -> int:
    return os.stat(log.segments.active.path).st_size


async def until_written(log: Log, pieces: int) -> None:
    while size_on_disk(log) < log.segments.active.size + pieces * PIECE_BYTES:
        await trio.lowlevel.checkpoint()


async def test_a_large_batch_is_written_while_other_tasks_run(tmp_path: Path, log: Log) -> None:
    """64 MB took 150 ms of CPU time, nearly all for the copy into the page cache. The oracle is an append at once."""
    (tmp_path / "other").mkdir()
    oracle = open_log(tmp_path / "other", config(segment_bytes=8 * PIECE_BYTES))
    for buffer in (batch([b"before"]), large(), batch([b"after"])):
        append(oracle, buffer)
    buffer, before = large(), log.size
    async with steps_of_this_task() as steps:
        await write_ahead(log, buffer)
    assert steps.count >= LARGE // PIECE_BYTES
    assert (log.log_end_offset, log.size, values(log)) == (1, before, [b"before"])
    assert size_on_disk(log) == before + len(buffer)
    assert append(log, buffer).base_offset == 1
    append(log, batch([b"after"]))
    assert files(log) == files(oracle)


async def test_an_append_at_once_in_between_comes_first(log: Log) -> None:
    """The bytes ahead had its offset. Their append writes them again, with the next one."""
    buffer = large()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write_ahead, log, buffer)
        await until_written(log, 1)
        append(log, batch([b"small"]))
    append(log, buffer)
    assert [len(each or b"") for each in values(log)] == [6, 5, LARGE // 5 * 5]
    assert size_on_disk(log) == log.size


@pytest.mark.parametrize("epoch", [0, 1])
async def test_bytes_with_another_stamp_are_written_again(log: Log, epoch: int) -> None:
    """The offset and the epoch are in a batch's bytes, and no checksum covers them."""
    buffer = large()
    await write_ahead(log, buffer)
    append(log, buffer, epoch=epoch)
    data = files(log)["00000000000000000000.log"]
    assert [(header.base_offset, header.leader_epoch) for _, header in iter_headers(data)] == [(0, 0), (1, epoch)]


@pytest.mark.parametrize(
    "change",
    [Log.roll, Log.drop_ahead, lambda log: log.truncate_to(0, 0), lambda log: log.truncate_fully_and_start_at(7)],
    ids=["roll", "drop", "truncate", "restart"],
)
async def test_a_change_of_the_end_removes_the_bytes(tmp_path: Path, log: Log, change: Callable[[Log], object]) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write_ahead, log, large())
        await until_written(log, 1)
        change(log)
    assert [os.stat(segment.path).st_size for segment in log.segments] == [segment.size for segment in log.segments]
    append(log, batch([b"after"]))
    expected, end = values(log), log.log_end_offset
    log.close()
    again = open_log(tmp_path, config())
    assert (bool(again.recovery), values(again), again.log_end_offset) == (False, expected, end)


async def test_a_stop_in_between_leaves_a_clean_log(tmp_path: Path, log: Log) -> None:
    """A controlled stop does not wait for the batch, and its writer writes no further byte."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write_ahead, log, large())
        await until_written(log, 1)
        log.close()
    again = open_log(tmp_path, config())
    assert (bool(again.recovery), values(again)) == (False, [b"before"])


async def test_a_kill_in_between_leaves_a_torn_tail(tmp_path: Path, log: Log) -> None:
    """The next start truncates the log after its last whole batch."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(write_ahead, log, large())
        await until_written(log, 2)
        shutil.copytree(log.directory, tmp_path / "killed" / NAME)
    again = open_log(tmp_path / "killed", config(), last_stop=LastStop.KILLED)
    assert again.recovery.torn_bytes in (2 * PIECE_BYTES, 3 * PIECE_BYTES), "of a little more than three"
    assert values(again) == [b"before"]


async def test_a_cancelled_write_leaves_the_log_unchanged(log: Log) -> None:
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(write_ahead, log, large())
            await until_written(log, 1)
            scope.cancel()
    assert size_on_disk(log) == log.size
    append(log, batch([b"after"]))
    assert values(log) == [b"before", b"after"]


async def test_a_full_disk_leaves_the_log_unchanged(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """KAFKA_STORAGE_ERROR, and the node continues."""
    left = PIECE_BYTES + 100
    write = os.write

    def full(fd: int, data: memoryview) -> int:
        nonlocal left
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = write(fd, data[:left])
        left -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            await write_ahead(log, large())
    assert (size_on_disk(log), log.failure) == (log.size, None)
    append(log, batch([b"after"]))
    assert values(log) == [b"before", b"after"]


async def test_a_follower_writes_ahead_what_it_fetched(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = large()
    other = batch([b"other"])
    for number, each in enumerate((fetched, other), 1):
        each[7] = number
    buffer = bytes(fetched + other)
    async with steps_of_this_task() as steps:
        await log.write_ahead_as_follower(buffer, 1000)
    assert steps.count >= LARGE // PIECE_BYTES
    assert values(log) == [b"before"]
    monkeypatch.delattr("kraft.storage.segment.write_all")  # nothing is written again
    log.append_as_follower(buffer, 1000)
    assert [len(each or b"") for each in values(log)] == [6, LARGE // 5 * 5, 5]
