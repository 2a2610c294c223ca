"""The recurring tasks of a broker, while topics are created and deleted."""

from __future__ import annotations

import errno
import os
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from kraft.config.properties import from_mapping
from kraft.metadata.partitions import Partition
from kraft.replication import compaction
from kraft.replication import maintenance as maintenance_module
from kraft.replication.maintenance import Maintenance
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.storage.log import Log
from kraft.testing.embedded import SETTINGS
from kraft.world.world import World
from tests.storage.logs import append, config
from tests.support.held import WITHOUT_THREADS
from tests.support.steps import steps_of_this_task
from tests.support.talk import batch

OLD = 1000
SHORT_LIVED = config(retention_ms=1, segment_bytes=1 << 20)


def maintenance(**settings: str) -> Maintenance:
    loaded = from_mapping({**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}})
    return Maintenance(loaded.config, World(), Replicas(1, World(), [], {}))


def host(replicas: Replicas, parent: Path, topic: str, **batch_fields: Any) -> HostedPartition:
    """A partition with one record that is in a sealed segment."""
    log = Log.open(parent, f"{topic}-0", SHORT_LIVED, now_ms=0)
    append(log, bytearray(batch(b"value", **batch_fields)))
    log.roll()
    state = Partition(replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0, directories=())
    partition = HostedPartition(topic, uuid.uuid4(), 0, log, state, log.log_end_offset)
    replicas.partitions[topic] = {0: partition}
    return partition


async def test_retention_leaves_a_new_topic_of_an_old_name_alone(tmp_path: Path) -> None:
    """The topic is deleted and made again while retention waits between two partitions."""
    upkeep = maintenance()
    first = host(upkeep.replicas, tmp_path, "first", timestamp=OLD)
    second = host(upkeep.replicas, tmp_path, "second", timestamp=OLD)

    class Replace:
        def set(self) -> None:
            second.log.abandon()
            os.rename(second.log.directory, tmp_path / "retired")
            host(upkeep.replicas, tmp_path, "second")

    first.watch(Replace())  # type: ignore[arg-type]
    await upkeep.delete_old_segments()
    assert first.log.log_start_offset == 1
    assert sorted(name for name in os.listdir(tmp_path / "second-0") if ".log" in name) == [
        "00000000000000000000.log",
        "00000000000000000001.log",
    ]


async def test_removed_segments_wait_without_holding_retention_up(tmp_path: Path, autojump_clock: object) -> None:
    """``file.delete.delay.ms``, here its default of a minute."""
    upkeep = maintenance()
    partition = host(upkeep.replicas, tmp_path, "topic", timestamp=OLD)
    await upkeep.delete_old_segments()
    await upkeep.delete_removed()
    retired = [name for name in os.listdir(partition.log.directory) if name.endswith(".deleted")]
    assert "00000000000000000000.log.deleted" in retired
    await trio.sleep(61)
    await upkeep.delete_removed()
    assert [name for name in os.listdir(partition.log.directory) if name.endswith(".deleted")] == []


@pytest.mark.parametrize("cut", [lambda its: its.truncate_to(0, 0), lambda its: its.restart_at(7)])
async def test_truncated_segments_are_deleted_by_a_worker_thread(
    tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch, cut: Callable[[HostedPartition], None]
) -> None:
    """``LocalLog.truncateTo`` and ``truncateFullyAndStartAt`` rename segments, and delete the files after
    ``file.delete.delay.ms``: a follower that was away for long drops more than a step of the event loop can delete.
    """
    upkeep = maintenance()
    partition = host(upkeep.replicas, tmp_path, "topic")
    loop, directory, unlink = threading.get_ident(), partition.log.directory, os.unlink
    deleted_by: list[int] = []

    def note(path: str) -> None:
        if path.endswith(".log.deleted"):
            deleted_by.append(threading.get_ident())
        unlink(path)

    monkeypatch.setattr(os, "unlink", note)
    cut(partition)
    assert "00000000000000000001.log.deleted" in os.listdir(directory)
    await upkeep.write_checkpoints()
    await upkeep.delete_removed()
    assert deleted_by == []
    await trio.sleep(61)
    await upkeep.delete_removed()
    assert deleted_by
    assert loop not in deleted_by
    assert [name for name in os.listdir(directory) if name.endswith(".deleted")] == []


async def test_a_look_at_all_partitions_lets_other_tasks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 partitions took a step of 5 ms each second."""
    monkeypatch.setattr(maintenance_module, "PARTITIONS_AT_ONCE", 1)
    monkeypatch.setattr(compaction, "PARTITIONS_AT_ONCE", 1)
    upkeep = maintenance()
    for number in range(5):
        host(upkeep.replicas, tmp_path, f"topic-{number}")
    cleaner = compaction.Compaction(upkeep.config, upkeep.world, upkeep.replicas, trio.Event())
    for work in (upkeep.flush_by_time, upkeep.flush_sealed, upkeep.expire, cleaner.clean_one):
        async with steps_of_this_task() as steps:
            await work()
        assert steps.count >= 5


async def test_a_sealed_segment_is_flushed_within_seconds(
    tmp_path: Path, nursery: trio.Nursery, autojump_clock: object
) -> None:
    """``UnifiedLog.roll`` schedules its flush. Until then a power cut can leave a hole before the next segment."""
    upkeep = maintenance()
    upkeep.world = WITHOUT_THREADS
    log = host(upkeep.replicas, tmp_path, "topic").log
    append(log, bytearray(batch(b"active")))
    nursery.start_soon(upkeep.run)
    await trio.sleep(5)
    assert (log.recovery_point, log.log_end_offset) == (1, 2)


async def test_a_log_that_cannot_shrink_keeps_no_other_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk the segments of the others make room."""
    upkeep = maintenance()
    full, other = (host(upkeep.replicas, tmp_path, name, timestamp=OLD) for name in ("full", "other"))

    def refuse(now_ms: int, high_watermark: int) -> list[str]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(full.log, "delete_old_segments", refuse)
    await upkeep.delete_old_segments()
    assert (full.log.log_start_offset, other.log.log_start_offset) == (0, 1)


async def test_a_directory_that_cannot_be_deleted_keeps_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upkeep = maintenance()
    removed: list[str] = []

    def remove(path: str) -> None:
        if path == "damaged" and not removed:
            raise OSError(errno.EIO, "Input/output error")
        removed.append(path)

    monkeypatch.setattr(maintenance_module, "remove_retired", remove)
    upkeep.replicas.retired = ["damaged", "other"]
    await upkeep.remove_deleted()
    assert (removed, upkeep.replicas.retired) == (["other"], ["damaged"])
    await upkeep.remove_deleted()
    assert (removed, upkeep.replicas.retired) == (["other", "damaged"], [])
