"""Deleted logs of a broker with ZooKeeper: a directory that cannot be renamed is the error of its partition alone."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import attrs
import pytest
import trio

from kraft.messages.stop_replica_request import StopReplicaPartitionState
from kraft.wire.errors import ErrorCode
from tests.replication.commanded import (
    US,
    Broker,
    leader_and_isr,
    stop_replica,
)
from tests.support.held import TOPIC, TOPIC_ID, broker_in
from tests.support.talk import batch

SEVERAL = 5
"""Partitions whose logs a worker thread creates."""


@attrs.define
class FailingDisk:
    """Refuses to rename the directories with these names."""

    refused: set[str]
    _rename: Callable[[str, str], None] = os.rename

    def rename(self, source: str, target: str) -> None:
        if os.path.basename(source) in self.refused:
            raise OSError(errno.EIO, "Input/output error", source)
        self._rename(source, target)


@pytest.fixture
def failing_disk(monkeypatch: pytest.MonkeyPatch) -> FailingDisk:
    disk = FailingDisk({f"{TOPIC}-1"})
    monkeypatch.setattr(os, "rename", disk.rename)
    return disk


async def lead_several(broker: Broker, epoch: int = 0) -> dict[int, int]:
    """Lead SEVERAL partitions; return their errors, without NONE."""
    request = leader_and_isr(epoch=epoch)
    (topic,) = request.topic_states
    topic.partition_states = [topic.partition_states[0].evolve(partition_index=index) for index in range(SEVERAL)]
    response = await broker.commands.lead_and_follow(request)
    return {each.partition_index: each.error_code for each in response.topics[0].partition_errors if each.error_code}


async def delete_several(broker: Broker) -> dict[int, int]:
    """Delete SEVERAL partitions; return their errors, without NONE."""
    request = stop_replica(-2, delete=True)
    request.topic_states[0].partition_states = [StopReplicaPartitionState(index, -2, True) for index in range(SEVERAL)]
    response = await broker.commands.stop_replicas(request)
    assert (response.error_code, len(response.partition_errors)) == (0, SEVERAL)
    return {each.partition_index: each.error_code for each in response.partition_errors if each.error_code}


def logs_in(path: Path) -> list[str]:
    """The directories in ``path`` that a start would open."""
    return sorted(each.name for each in path.iterdir() if each.is_dir() and "." not in each.name)


async def test_a_deletion_is_not_fenced_and_takes_the_directory_away(broker: Broker, tmp_path: Path) -> None:
    """``LeaderAndIsr.EpochDuringDelete``: the deletion of a topic has no leader epoch of its own."""
    await broker.lead(epoch=7)
    assert await broker.stop(6, delete=True) is ErrorCode.FENCED_LEADER_EPOCH
    assert (tmp_path / f"{TOPIC}-0").exists()
    assert await broker.stop(-2, delete=True) is ErrorCode.NONE
    assert TOPIC not in broker.replicas.partitions
    assert not (tmp_path / f"{TOPIC}-0").exists()
    assert broker.coordinators.lost == [f"{TOPIC}-0"]
    assert await broker.stop(-2, delete=True) is ErrorCode.NONE, "a repeated request finds nothing to delete"
    assert await broker.lead(epoch=0, topic_id=UUID(int=8)) is ErrorCode.NONE, "the name is free"


async def test_a_directory_that_cannot_be_renamed_is_one_partitions_error(
    broker: Broker, failing_disk: FailingDisk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """``LogManager.asyncDelete``: "errorHandler The error handler that will be called when a exception for a particular
    topic-partition is raised". ``ReplicaManager.stopReplicas`` puts it into the response of that partition.
    """
    await lead_several(broker)
    roles_changed = broker.replicas.roles_changed
    assert await delete_several(broker) == {1: ErrorCode.KAFKA_STORAGE_ERROR}
    assert logs_in(tmp_path) == [f"{TOPIC}-1"]
    assert len(broker.replicas.retired) == SEVERAL - 1
    assert broker.coordinators.lost == [f"{TOPIC}-{index}" for index in range(SEVERAL)]
    assert roles_changed.is_set()
    assert [each.message for each in caplog.records] == [
        f"{TOPIC}-1: the log cannot be deleted: [Errno 5] Input/output error: '{tmp_path}/{TOPIC}-1'"
    ]


async def test_a_repeated_deletion_tries_the_directory_again(
    broker: Broker, failing_disk: FailingDisk, tmp_path: Path
) -> None:
    """``Replicas.remove``: "Each later call tries these logs again". With no error, the controller would complete the
    deletion of the topic, and the log would be the next topic's of that name.
    """
    await lead_several(broker)
    for _ in range(3):
        assert await delete_several(broker) == {1: ErrorCode.KAFKA_STORAGE_ERROR}
    failing_disk.refused.clear()
    assert await delete_several(broker) == {}
    assert (logs_in(tmp_path), len(broker.replicas.retired)) == ([], SEVERAL)


async def test_a_directory_that_a_person_has_removed_is_deleted(broker: Broker, tmp_path: Path) -> None:
    await lead_several(broker)
    shutil.rmtree(tmp_path / f"{TOPIC}-0")
    assert await delete_several(broker) == {}
    assert (logs_in(tmp_path), len(broker.replicas.retired)) == ([], SEVERAL - 1)
    assert len(broker.coordinators.lost) == SEVERAL


@pytest.mark.parametrize("topic_id", [TOPIC_ID, UUID(int=8)], ids=["same topic", "next topic"])
async def test_a_partition_gets_no_log_until_its_deleted_one_is_renamed(
    broker: Broker, failing_disk: FailingDisk, tmp_path: Path, topic_id: UUID
) -> None:
    """``Replicas.remove``: "Until then ``assign`` raises StorageError for their partitions"."""
    failing_disk.refused = {f"{TOPIC}-0"}
    await broker.lead()
    broker.partition.append(bytearray(batch(b"deleted")), 0)
    assert await broker.stop(-2, delete=True) is ErrorCode.KAFKA_STORAGE_ERROR
    assert await broker.lead(epoch=1, topic_id=topic_id) is ErrorCode.KAFKA_STORAGE_ERROR
    assert not broker.replicas.partitions
    failing_disk.refused.clear()
    assert await broker.stop(-2, delete=True) is ErrorCode.NONE
    assert await broker.lead(epoch=1, topic_id=topic_id) is ErrorCode.NONE
    assert (broker.partition.topic_id, broker.partition.log.log_end_offset) == (topic_id, 0)


async def test_the_other_partitions_get_logs_although_a_deleted_one_is_not_renamed(
    broker: Broker, failing_disk: FailingDisk
) -> None:
    """``Opener.create_ahead``: "It lacks a log that cannot be created. ``create`` then raises the error"."""
    await lead_several(broker)
    await delete_several(broker)
    assert await lead_several(broker, epoch=1) == {1: ErrorCode.KAFKA_STORAGE_ERROR}
    assert sorted(broker.replicas.partitions[TOPIC]) == [0, 2, 3, 4]


async def test_a_start_opens_a_log_that_could_not_be_deleted(
    broker: Broker, failing_disk: FailingDisk, nursery: trio.Nursery, tmp_path: Path
) -> None:
    """The controller asks again after a start: its topic is in deletion until each replica is deleted."""
    await lead_several(broker)
    await delete_several(broker)
    again = Broker(broker_in(tmp_path, US).replicas)
    await again.replicas.load(None)
    nursery.start_soon(again.commands.run)
    assert await delete_several(again) == {1: ErrorCode.KAFKA_STORAGE_ERROR}
    failing_disk.refused.clear()
    assert await delete_several(again) == {}
    assert logs_in(tmp_path) == []
