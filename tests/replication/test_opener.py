"""Logs of new partitions: the files are made beside the event loop."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import attrs
import pytest
import trio

from kraft.messages.leader_and_isr_request import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.replication.commands import ControllerCommands
from kraft.replication.opener import CREATED_AT_ONCE
from kraft.replication.replicas import Replicas
from kraft.storage import log
from kraft.storage.directory import LastStop, LogDirectory
from kraft.storage.errors import StorageError
from kraft.storage.meta_properties import MetaProperties
from kraft.storage.partition_metadata import read_topic_id, write_topic_id
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import uuid_to_text
from kraft.world.world import World
from tests.replication.commanded import Coordinators
from tests.support.held import TOPIC, TOPIC_ID, broker_in, leader_in, registration, topic

MANY = 3 * CREATED_AT_ONCE


@attrs.define
class Calls:
    """Counts the calls on the thread of the test, and those on others. Fails those for ``full``."""

    real: Callable[..., object]
    here: int = 0
    elsewhere: int = 0
    full: str = ""
    _thread: int = attrs.Factory(threading.get_ident)

    def __call__(self, path: str, *arguments: object, **options: object) -> object:
        if threading.get_ident() == self._thread:
            self.here += 1
        else:
            self.elsewhere += 1
        if os.path.basename(path) == self.full:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        return self.real(path, *arguments, **options)


@pytest.fixture
def creations(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """The calls that make the directory of a log."""
    calls = Calls(log.create_directory)
    monkeypatch.setattr(log, "create_directory", calls)
    return calls


async def test_a_worker_thread_creates_the_logs_of_many_partitions(tmp_path: Path, creations: Calls) -> None:
    """10,000 new partitions held the event loop for 7 s of 11 s, by their system calls."""
    async with leader_in(tmp_path, MANY) as broker:
        assert (creations.here, creations.elsewhere) == (0, MANY)
        ids = {each.log.topic_id for each in broker.replicas.all()}
        assert (ids, len(broker.replicas.partitions[TOPIC])) == ({TOPIC_ID}, MANY)


async def test_a_few_logs_are_created_at_once(tmp_path: Path, creations: Calls) -> None:
    """Replicas.create_logs: "a change of threads would take longer than it saves"."""
    async with leader_in(tmp_path, 2):
        assert (creations.here, creations.elsewhere) == (2, 0)


@pytest.mark.parametrize(("last_stop", "elsewhere"), [(LastStop.CLEAN, 0), (LastStop.POWER_LOST, 2)])
async def test_a_worker_thread_opens_the_logs_after_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last_stop: LastStop, elsewhere: int
) -> None:
    """The check of a gigabyte would hold the quorum of a node with both roles for seconds."""
    async with leader_in(tmp_path, 2) as former:
        await former.replicas.close()
    opened = Calls(log.Log.open)
    monkeypatch.setattr(log.Log, "open", opened)
    directory = LogDirectory(str(tmp_path), -1, MetaProperties("cluster", 1), last_stop)
    replicas = Replicas(1, World(), [directory], {})
    await replicas.load(former.loader.image)
    assert (opened.here, opened.elsewhere) == (2 - elsewhere, elsewhere)
    for partition in replicas.all():
        partition.log.abandon()


async def test_new_logs_are_spread_evenly(tmp_path: Path) -> None:
    """LogManager.nextLogDirs: "the one with the fewest partitions", also of those that are created together."""
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.mkdir()
    directories = [LogDirectory(str(path), -1, MetaProperties("cluster", 1), LastStop.CLEAN) for path in paths]
    broker = attrs.evolve(broker_in(tmp_path, 1), replicas=Replicas(1, World(), directories, {}))
    await broker.hear(registration(1, 5), *topic(1, leader=1, partitions=MANY))
    assert [len(list(path.iterdir())) for path in paths] == [MANY // 2, MANY // 2]
    for partition in broker.replicas.all():
        partition.log.abandon()


async def test_the_directories_of_many_deleted_partitions_are_renamed_by_a_worker_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with leader_in(tmp_path, MANY) as broker:
        renames = Calls(os.rename)
        monkeypatch.setattr(os, "rename", renames)
        await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
        assert (renames.here, renames.elsewhere) == (0, MANY)
        assert sorted(broker.replicas.retired) == sorted(each.path for each in os.scandir(tmp_path) if each.is_dir())


@pytest.mark.parametrize("partitions", [1, MANY], ids=["at once", "by a worker thread"])
async def test_a_log_of_another_topic_is_not_opened(tmp_path: Path, partitions: int) -> None:
    """``UnifiedLog.initializeTopicId``: "Tried to assign topic ID … but log already contained topic ID …". The records
    of a deleted topic would be those of the next one of its name.
    """
    async with leader_in(tmp_path, 1):
        write_topic_id(tmp_path / f"{TOPIC}-0", UUID(int=8))
    broker = broker_in(tmp_path, 1)
    with pytest.raises(StorageError) as refused:
        await broker.hear(registration(1, 5), *topic(1, leader=1, partitions=partitions))
    ids = [uuid_to_text(each) for each in (UUID(int=8), TOPIC_ID)]
    assert str(refused.value) == (
        f"{tmp_path}/{TOPIC}-0: the log of topic id {ids[0]}, and the topic has {ids[1]}; move the directory away"
    )
    assert not broker.replicas.partitions
    assert read_topic_id(tmp_path / f"{TOPIC}-0") == UUID(int=8)


async def test_a_deleted_log_that_cannot_be_renamed_ends_a_broker_of_a_quorum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``Replicas.apply``: "the node ends, and its next start sets the logs aside". The others are deleted before."""
    async with leader_in(tmp_path, MANY) as broker:
        renames = Calls(os.rename, full=f"{TOPIC}-7")
        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", renames)
            with pytest.raises(OSError, match="No space"):
                await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
        assert (renames.elsewhere, len(broker.replicas.retired)) == (MANY, MANY - 1)
    again = broker_in(tmp_path, 1).replicas
    await again.load(broker.loader.image)
    assert not again.partitions
    assert [name.partition(".")[0] for name in os.listdir(tmp_path) if name.endswith("-stray")] == [f"{TOPIC}-7"]


async def test_a_deleted_log_that_a_person_has_removed_ends_no_broker(tmp_path: Path) -> None:
    async with leader_in(tmp_path, 3) as broker:
        shutil.rmtree(tmp_path / f"{TOPIC}-0")
        await broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
        assert len(broker.replicas.retired) == 2


async def test_a_log_that_cannot_be_created_ends_a_broker_of_a_quorum(tmp_path: Path, creations: Calls) -> None:
    """Opener: "It lacks a log that cannot be created. create then raises the error"."""
    creations.full = f"{TOPIC}-7"
    broker = broker_in(tmp_path, 1)
    with pytest.raises(OSError, match="No space"):
        await broker.hear(registration(1, 5), *topic(1, leader=1, partitions=MANY))
    for partition in broker.replicas.all():
        partition.log.abandon()


async def test_a_log_that_cannot_be_created_is_refused_alone(
    tmp_path: Path, creations: Calls, nursery: trio.Nursery
) -> None:
    """ReplicaManager.becomeLeaderOrFollower: KAFKA_STORAGE_ERROR for the partition; the others get their roles."""
    creations.full = f"{TOPIC}-7"
    replicas = broker_in(tmp_path, 1).replicas
    await replicas.load(None)
    commands = ControllerCommands(replicas, Coordinators(), no_configs)
    commands.registered(40)
    states = [
        LeaderAndIsrPartitionState(partition_index=index, leader=1, isr=[1], replicas=[1]) for index in range(MANY)
    ]
    request = LeaderAndIsrRequest(
        controller_epoch=1, broker_epoch=40, topic_states=[LeaderAndIsrTopicState(TOPIC, TOPIC_ID, states)]
    )
    nursery.start_soon(commands.run)
    response = await commands.lead_and_follow(request)
    codes = {each.partition_index: each.error_code for each in response.topics[0].partition_errors}
    assert {index for index, code in codes.items() if code} == {7}
    assert codes[7] == ErrorCode.KAFKA_STORAGE_ERROR
    assert (creations.here, creations.elsewhere) == (1, MANY)
    for partition in replicas.all():
        assert partition.is_leader
        partition.log.abandon()


async def no_configs(names: object) -> dict[str, dict[str, str]]:
    return {}
