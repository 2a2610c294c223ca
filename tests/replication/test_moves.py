"""Replicas that move between directories, while their logs change."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import pytest
import trio
import trio.testing

from kraft.config.properties import from_mapping
from kraft.config.throttle_settings import MOVE_RATE
from kraft.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from kraft.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from kraft.messages.assign_replicas_to_dirs_response import DirectoryData as AssignedDirectory
from kraft.messages.assign_replicas_to_dirs_response import PartitionData as AssignedPartition
from kraft.messages.assign_replicas_to_dirs_response import TopicData as AssignedTopic
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import DIRECTORY_UNASSIGNED
from kraft.metadata.levels import DIRECTORIES
from kraft.metadata.partitions import NO_LEADER
from kraft.records.batch import HEADER_SIZE
from kraft.records.record import Record, encode_batch
from kraft.replication import moves
from kraft.replication.appending import LongAppend, append_produced
from kraft.replication.compaction import Compaction
from kraft.replication.moves import DirectoryMoves
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.replication.throttle import Throttle
from kraft.storage.cleaner import Cleaned, Cleaning
from kraft.storage.directory import LastStop, LogDirectory
from kraft.storage.errors import StorageError
from kraft.storage.log import Log
from kraft.storage.meta_properties import MetaProperties
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import uuid_to_text
from kraft.world.world import Syncable, World, sync_now
from tests.storage.logs import config
from tests.support.held import TOPIC, TOPIC_ID, WITHOUT_THREADS, Broker, registration, topic
from tests.support.talk import batch

LIMIT_S = 30.0
ONE, TWO, NEW = UUID(int=100), UUID(int=200), UUID(int=300)


async def assign(request: Any) -> Any:
    """A controller that never answers."""
    await trio.sleep_forever()


@attrs.define
class Controller:
    """A controller that fails as ``troubles`` say, one for each report, and then takes every one."""

    troubles: list[ErrorCode | KafkaError | AssignReplicasToDirsResponse] = attrs.Factory(list)
    reported: list[tuple[int, UUID, UUID, list[int]]] = attrs.Factory(list)
    times: list[float] = attrs.Factory(list)

    async def assign(self, request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse:
        ((directory, topic),) = [(each, topic) for each in request.directories for topic in each.topics]
        indexes = [each.partition_index for each in topic.partitions]
        self.reported.append((request.broker_epoch, directory.id, topic.topic_id, indexes))
        self.times.append(trio.current_time())
        trouble = self.troubles.pop(0) if self.troubles else ErrorCode.NONE
        if isinstance(trouble, KafkaError):
            raise trouble
        if isinstance(trouble, AssignReplicasToDirsResponse):
            return trouble
        data = [AssignedPartition(index, trouble) for index in indexes]
        answer = AssignedDirectory(directory.id, [AssignedTopic(topic.topic_id, data)])
        return AssignReplicasToDirsResponse(directories=[answer])


@attrs.define
class Moving:
    """A broker that leads one partition in the first of two directories."""

    broker: Broker
    moves: DirectoryMoves
    partition: HostedPartition

    @property
    def replicas(self) -> Replicas:
        return self.broker.replicas

    def know_all_directories(self) -> None:
        """Forget what is not reported yet, as a start does."""
        self.replicas.unreported.clear()
        self.replicas.directory_noted = trio.Event()

    @property
    def target(self) -> str:
        return self.replicas.directories[1].path

    def move(self) -> None:
        self.moves.request(TOPIC, 0, self.target)

    def append(self, *values: bytes) -> None:
        self.partition.append(bytearray(batch(*values)), 0)

    def values(self) -> list[bytes | None]:
        return [record.value for record in self.partition.records()]

    def damage(self, kind: str, number: int) -> str:
        """Damage one of the batches of the log on the disk. Return the path of its file."""
        segment = self.partition.log.segments[0]
        position, header = next(islice(segment.headers(), number, None))
        with open(segment.path, "r+b") as file:
            if kind == "header":
                file.seek(position)
                file.write(bytes(HEADER_SIZE))
            elif kind == "payload":
                file.seek(position + header.size - 1)
                file.write(b"\xff")
            else:
                file.truncate(position)
        return segment.path

    def assert_copy_is_retired(self) -> None:
        """The copy has no name by which the next start would begin the move again."""
        [path] = self.replicas.retired
        assert os.listdir(self.target).count(os.path.basename(path)) == 1
        assert re.fullmatch(r"[^.]+-0\.[0-9a-f]{32}-delete", os.path.basename(path)), "a name that Apache Kafka accepts"

    async def finish(self) -> None:
        """Run the moves until none is left."""
        with trio.fail_after(LIMIT_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.moves.run)
                while self.moves.copies:
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel(reason="done")

    @asynccontextmanager
    async def started_again(
        self,
        controller: Controller,
        *,
        first: UUID = ONE,
        known: UUID = ONE,
        isr: Sequence[int] = (1,),
        leader: int = NO_LEADER,
    ) -> AsyncIterator[Broker]:
        """The next incarnation of the broker, which has registered a minute ago. The id of its first directory is
        ``first``; in the metadata the partition is in ``known``.
        """
        self.partition.log.abandon()
        records = {"replicas": [1, 2], "isr": list(isr), "leader": leader, "directories": [known, TWO]}
        await self.broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, **records))
        paths = [each.path for each in self.replicas.directories]
        directories = [_directory(path, directory_id) for path, directory_id in zip(paths, (first, TWO), strict=True)]
        replicas = Replicas(1, self.replicas.world, directories, {})
        again = Broker(replicas, self.broker.loader)
        moves = DirectoryMoves(replicas, controller.assign, self.moves.throttle)
        await replicas.load(self.broker.loader.image)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(moves.run)
            await trio.sleep(60)
            assert not controller.reported
            await replicas.registered(9)
            await again.hear(registration(1, 9))
            await trio.sleep(60)
            yield again
            nursery.cancel_scope.cancel(reason="done")
        again.partition.log.abandon()


def _directory(path: str, directory_id: UUID) -> LogDirectory:
    return LogDirectory(path, -1, MetaProperties("cluster", 1, directory_id), LastStop.CLEAN)


@asynccontextmanager
async def moving(path: Path, world: World | None = None, level: int = 1) -> AsyncIterator[Moving]:
    directories = []
    for name, directory_id in (("one", ONE), ("two", TWO)):
        (path / name).mkdir()
        directories.append(_directory(str(path / name), directory_id))
    replicas = Replicas(1, world or World(), directories, {})
    broker = Broker(replicas)
    await replicas.registered(5)
    version = FeatureLevelRecord(name="metadata.version", feature_level=level)
    await broker.hear(version, registration(1, 5), *topic(1, leader=1, partitions=1))
    partition = replicas.partitions[TOPIC][0]
    yield Moving(broker, DirectoryMoves(replicas, assign, Throttle(MOVE_RATE, replicas)), partition)
    partition.log.abandon()


@pytest.fixture
async def one(tmp_path: Path) -> AsyncIterator[Moving]:
    async with moving(tmp_path) as it:
        yield it


async def test_the_copy_has_offsets_epochs_and_producers(one: Moving) -> None:
    """KIP-113: the copy is the same log."""
    for number in range(10):
        one.append(f"{number}".encode())
    log = one.partition.log
    before = (log.log_end_offset, log.epochs.entries, log.size, log.topic_id, one.values())
    one.move()
    await one.finish()
    log = one.partition.log
    assert log.directory == f"{one.target}/{TOPIC}-0"
    assert (log.log_end_offset, log.epochs.entries, log.size, log.topic_id, one.values()) == before
    assert one.replicas.opener.hosted_in == {one.replicas.directories[0].path: 0, one.target: 1}


async def test_an_empty_log_moves(one: Moving) -> None:
    one.move()
    await one.finish()
    one.append(b"first")
    assert (one.partition.log.directory, one.values()) == (f"{one.target}/{TOPIC}-0", [b"first"])


@pytest.mark.parametrize(("deleted", "left"), [(1, [b"1", b"2", b"3"]), (3, [b"3"]), (4, [])])
async def test_deleted_records_do_not_come_back(one: Moving, deleted: int, left: list[bytes]) -> None:
    """KIP-107: the log start offset may lie within a batch, which the copy then has as a whole."""
    one.append(b"0", b"1", b"2")
    one.append(b"3")
    one.partition.high_watermark = 4
    one.partition.log.delete_records(deleted)
    one.move()
    await one.finish()
    log = one.partition.log
    assert (log.directory, log.log_start_offset, one.values()) == (f"{one.target}/{TOPIC}-0", deleted, left)
    one.append(b"4")
    assert one.values() == [*left, b"4"]


async def test_a_deletion_behind_the_copy_makes_it_begin_again(one: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """``DirectoryMove.is_outdated``: "its log … begins behind the end of the copy", here within a batch."""
    monkeypatch.setattr(moves, "COPIED_AT_ONCE_BYTES", 1)

    async def after_a_piece() -> None:
        await trio.lowlevel.checkpoint()
        one.partition.log.delete_records(4)

    monkeypatch.setattr(moves, "next_slice", after_a_piece)
    for values in ((b"0", b"1"), (b"2",), (b"3", b"4"), (b"5",)):
        one.append(*values)
    one.partition.high_watermark = 6
    one.move()
    await one.finish()
    log = one.partition.log
    assert log.directory == f"{one.target}/{TOPIC}-0"
    assert (log.segments[0].base_offset, log.log_start_offset, one.values()) == (3, 4, [b"4", b"5"])


@pytest.mark.parametrize("moment", ["copy", "flush"])
async def test_a_truncation_makes_the_copy_begin_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Records that a new leader lacks are in no copy, also if others took their offsets. A worker thread deletes the
    first copy, which may be large.
    """
    deleted: list[str] = []
    monkeypatch.setattr(moves, "remove_files", deleted.extend)

    def truncate() -> None:
        if one.partition.log.cuts == 0:
            one.partition.log.truncate_to(1, 0)
            one.append(b"other")
            one.append(b"others")

    async def after_a_piece() -> None:
        await trio.lowlevel.checkpoint()
        truncate()

    def sync(flush: Syncable) -> None:
        sync_now(flush)
        truncate()

    if moment == "copy":
        monkeypatch.setattr(moves, "next_slice", after_a_piece)
    async with moving(tmp_path, attrs.evolve(WITHOUT_THREADS, sync=sync) if moment == "flush" else None) as one:
        log = one.partition.log
        for value in (b"0", b"1", b"2"):
            one.append(value)
        one.move()
        await one.finish()
        assert one.partition.log is not log
        assert one.values() == [b"0", b"other", b"others"]
    assert f"{0:020}.log.deleted" in map(os.path.basename, deleted)


@pytest.mark.parametrize("is_flushed", [True, False])
async def test_records_that_are_durable_in_the_log_are_durable_in_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_flushed: bool
) -> None:
    """``flush.messages``: the node has synced a record before the producer gets the response, or syncs it just now. So
    a power cut after the move must not lose it.
    """
    durable: list[tuple[int, int]] = []

    def sync(flush: Syncable) -> None:
        sync_now(flush)
        if one.partition.log.log_end_offset == 1:  # the last flush of the copy
            one.append(b"1")
            if is_flushed:
                one.partition.log.flush_at_once()

    async with moving(tmp_path, attrs.evolve(WITHOUT_THREADS, sync=sync)) as one:
        log = one.partition.log
        log.config = config(flush_messages=1)
        one.append(b"0")
        log.flush_at_once()
        retire = LogDirectory.retire_partition

        def retire_partition(self: LogDirectory, name: str, token: UUID) -> str:
            (future,) = [each.future for each in one.moves.copies.values()]
            assert future is not None
            durable.append((future.recovery_point, future.log_end_offset))
            return retire(self, name, token)

        monkeypatch.setattr(LogDirectory, "retire_partition", retire_partition)
        one.move()
        await one.finish()
        assert (one.partition.log.directory, one.values()) == (f"{one.target}/{TOPIC}-0", [b"0", b"1"])
    assert durable == [(2, 2)]


async def test_a_flush_that_a_move_overtook_is_no_failure(tmp_path: Path) -> None:
    """The move has made the copy durable, and the old log has another name."""

    def sync(flush: Syncable) -> None:
        one.partition.log = copy
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    async with moving(tmp_path, attrs.evolve(WITHOUT_THREADS, sync=sync)) as one:
        log, copy = one.partition.log, Log.open(one.target, f"{TOPIC}-0", config(), now_ms=0)
        log.config = config(flush_messages=1)
        one.append(b"0")
        await one.replicas.flush_due([one.partition])
        assert (log.failure, copy.failure) == (None, None)


async def test_a_move_back_ends_the_move(one: Moving) -> None:
    """Partition.futureReplicaDirChanged: a request for the present directory drops the copy."""
    log = one.partition.log
    one.append(b"0")
    one.move()
    one.moves.request(TOPIC, 0, one.replicas.directories[0].path)
    assert not one.moves.copies
    await one.finish()
    assert one.partition.log is log


async def test_a_move_back_ends_the_move_for_the_next_start_too(one: Moving) -> None:
    """LogManager.asyncDelete renames the copy at once."""
    one.append(b"0")
    one.move()
    move = one.moves.copies[one.partition]
    move.is_wanted = False
    await one.finish()
    one.assert_copy_is_retired()


async def test_a_deleted_partition_ends_the_move(one: Moving) -> None:
    one.append(b"0")
    one.move()
    (move,) = one.moves.copies.values()
    del one.replicas.partitions[TOPIC]
    await one.finish()
    assert move.future is not None
    one.assert_copy_is_retired()


async def test_compaction_waits_for_a_move(one: Moving) -> None:
    """``ReplicaManager.alterReplicaLogDirs`` pauses the cleaning. A tombstone that is removed behind the copy would
    leave the record there that it deletes.
    """
    log = one.partition.log
    log.config = config(cleanup_policy="compact", min_cleanable_dirty_ratio=0.01, delete_retention_ms=0)
    for value in (b"secret", None):
        one.partition.append(bytearray(encode_batch([Record(0, 0, b"key", value)])), 0)
        log.roll()
    one.partition.high_watermark = log.log_end_offset
    one.append(b"behind")
    cleaner = Compaction(from_mapping(SETTINGS).config, one.replicas.world, one.replicas, trio.Event())
    held = trio.Event()

    @attrs.define
    class Held:
        """A throttle that stops the copy behind its first piece."""

        is_exceeded: bool = False

        def record(self, count: int) -> None:
            self.is_exceeded = not held.is_set()

        async def rest(self) -> None:
            await held.wait()
            self.is_exceeded = False

    one.moves.throttle = Held()  # type: ignore[assignment]
    one.move()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.moves.run)
        await trio.testing.wait_all_tasks_blocked()
        assert not await cleaner.clean_one()
        held.set()
        with trio.fail_after(LIMIT_S):
            while one.moves.copies:
                await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel(reason="the replica has moved")
    assert one.partition.log.directory == f"{one.target}/{TOPIC}-0"
    assert one.values() == [b"secret", None, b"behind"]
    one.partition.log.config = log.config
    assert await cleaner.clean_one()


async def test_a_cleaning_under_way_is_dropped_for_a_move(one: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    log = one.partition.log
    log.config = config(cleanup_policy="compact", min_cleanable_dirty_ratio=0.01)
    for value in (b"old", b"new"):
        one.partition.append(bytearray(encode_batch([Record(0, 0, b"key", value)])), 0)
        log.roll()
    one.partition.high_watermark = log.log_end_offset
    cleaner = Compaction(from_mapping(SETTINGS).config, one.replicas.world, one.replicas, trio.Event())
    run = Cleaning.run

    def run_while_a_move_begins(cleaning: Cleaning, *arguments: Any) -> Cleaned:
        one.partition.is_moving = True
        return run(cleaning, arguments[0])

    monkeypatch.setattr(Cleaning, "run", run_while_a_move_begins)
    await cleaner.clean_one()
    assert one.values() == [b"old", b"new"]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("header", "message format 0 is not supported"),
        ("payload", "checksum 0x[0-9a-f]+ of the batch is not that of its bytes, 0x[0-9a-f]+"),
        ("absent", "the file ends before the log does|0 bytes left, a batch header needs 61"),
    ],
)
@pytest.mark.parametrize("number", [0, 2])
@pytest.mark.parametrize("is_known", [True, False])
async def test_a_damaged_log_stays_where_it_is(
    one: Moving, caplog: pytest.LogCaptureFixture, kind: str, reason: str, number: int, is_known: bool
) -> None:
    """``UnifiedLog.analyzeAndValidateRecords`` checks each batch of an append to the future log: "Record is corrupt
    (stored crc = ...". Only this partition's move fails."""
    log = one.partition.log
    for value in (b"0", b"1", b"2"):
        one.append(value)
    path = one.damage(kind, number)
    if not is_known:
        log.segments[0].recent.clear()  # as after a start: a read walks the headers
    one.move()
    (move,) = one.moves.copies.values()
    await one.finish()
    assert one.partition.log is log
    assert not log.is_closed
    assert move.future is not None
    one.assert_copy_is_retired()
    (line,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert re.search(
        f"^{TOPIC}-0 stays in {log.directory}: .*{path}: damaged (at|near) offset {number}: ({reason})$", line
    )


async def test_a_log_without_a_name_ends_the_node(one: Moving, monkeypatch: pytest.MonkeyPatch) -> None:
    """``DirectoryMoves.run``: "StorageError if a log cannot be replaced by its copy, so that the node must end"."""

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    one.append(b"0")
    one.move()
    monkeypatch.setattr(os, "rename", fail)
    ended = pytest.RaisesExc(StorageError, match=f"^{TOPIC}-0 cannot move to {one.target}: .*; start the node again$")
    with pytest.RaisesGroup(ended):
        with trio.fail_after(LIMIT_S):
            await one.moves.run()


async def test_small_batches_are_copied_a_few_at_a_time(one: Moving) -> None:
    """``COPIED_AT_ONCE_BYTES``: "a millisecond or two". A batch costs a check and an index entry beside its bytes."""
    counts: list[int] = []

    class Counting:
        is_exceeded = False

        def record(self, count: int) -> None:
            counts.append(count)

    for _ in range(1000):
        one.append(b"")
    one.moves.throttle = Counting()  # type: ignore[assignment]
    one.move()
    await one.finish()
    assert one.partition.log.directory == f"{one.target}/{TOPIC}-0"
    assert sum(counts) == one.partition.log.size
    assert max(counts) <= one.partition.log.size / 5


async def test_the_directory_is_reported_until_the_controller_has_it(tmp_path: Path, autojump_clock: object) -> None:
    """``AssignmentsManager`` repeats an assignment that failed, as a whole or alone, after 0.1 to 10 seconds. Without
    it, the controller elects no replica whose former directory is removed.
    """
    controller = Controller(
        [
            KafkaError(ErrorCode.REQUEST_TIMED_OUT),
            AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH),
            AssignReplicasToDirsResponse(),
            ErrorCode.UNKNOWN_TOPIC_ID,
        ]
    )
    async with moving(tmp_path, WITHOUT_THREADS, DIRECTORIES) as it:
        it.moves.assign = controller.assign
        it.append(b"0")
        it.move()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(it.moves.run)
            await trio.sleep(60)
            nursery.cancel_scope.cancel(reason="done")
    assert controller.reported == [(5, TWO, TOPIC_ID, [0])] * 5
    pauses = [after - before for before, after in pairwise(controller.times)]
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8])


async def test_the_directory_of_a_deleted_replica_is_not_reported_again(tmp_path: Path, autojump_clock: object) -> None:
    controller = Controller([ErrorCode.UNKNOWN_TOPIC_ID] * 3)
    async with moving(tmp_path, WITHOUT_THREADS, DIRECTORIES) as it:
        it.moves.assign = controller.assign
        it.append(b"0")
        it.move()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(it.moves.run)
            await trio.sleep(0.15)
            del it.replicas.partitions[TOPIC]
            await trio.sleep(60)
            nursery.cancel_scope.cancel(reason="done")
    assert len(controller.reported) == 2


@pytest.mark.parametrize("records", [1, 0])
async def test_a_move_that_was_not_reported_before_a_stop_is_reported_after_the_registration(
    tmp_path: Path, autojump_clock: object, records: int
) -> None:
    """``ReplicaManager.maybeUpdateTopicAssignment`` compares the directory of a log with the metadata."""
    controller = Controller()
    async with moving(tmp_path, WITHOUT_THREADS, DIRECTORIES) as it:
        for number in range(records):
            it.append(b"%d" % number)
        it.move()
        await it.finish()
        async with it.started_again(controller):
            assert controller.reported == [(9, TWO, TOPIC_ID, [0])]


@pytest.mark.parametrize(
    ("change", "reports"),
    [({"isr": [1, 2]}, 0), ({"isr": [2], "leader": 2}, 1), ({"leader": 1}, 1)],
    ids=["still in sync", "no longer in sync", "elected all the same"],
)
async def test_a_new_log_on_a_replaced_disk_is_reported_when_it_may_lead(
    tmp_path: Path, autojump_clock: object, caplog: pytest.LogCaptureFixture, change: dict[str, Any], reports: int
) -> None:
    """``ReplicaManager.maybeUpdateTopicAssignment``: without a report, the controller would not elect the replica even
    after it has caught up. An unclean election has chosen it although it has no records.
    """
    controller = Controller()
    async with moving(tmp_path, WITHOUT_THREADS, DIRECTORIES) as it:
        shutil.rmtree(it.partition.log.directory)
        async with it.started_again(controller, first=NEW) as again:
            assert not controller.reported
            assert f"{TOPIC}-0: empty, but in sync in the missing directory {uuid_to_text(ONE)}" in caplog.text
            await again.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, **change))
            await trio.sleep(60)
            assert controller.reported == [(9, NEW, TOPIC_ID, [0])] * reports


async def test_an_incomplete_copy_does_not_take_the_place_of_a_log_on_a_removed_disk(
    tmp_path: Path, autojump_clock: object, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replicas leave a disk that begins to fail, and it fails before they are complete. The copy of the last replica in
    sync lacks acknowledged records, so it must not lead.
    """
    controller = Controller()
    monkeypatch.setattr(moves, "COPIED_AT_ONCE_BYTES", 1)
    monkeypatch.setattr(moves, "next_slice", trio.sleep_forever)
    async with moving(tmp_path, WITHOUT_THREADS, DIRECTORIES) as it:
        for number in range(3):
            it.append(b"%d" % number)
        it.move()
        (move,) = it.moves.copies.values()
        with trio.move_on_after(1):
            await it.moves.run()
        assert move.lag == 2
        shutil.rmtree(it.partition.log.directory)
        async with it.started_again(controller, first=NEW) as again:
            assert (again.partition.log.log_end_offset, controller.reported) == (0, [])
    (aside,) = (path for path in (tmp_path / "two").iterdir() if path.name.endswith("-stray"))
    assert f"it is renamed to {aside}" in caplog.text


async def test_a_new_log_is_reported_at_the_start_if_it_is_not_in_sync(tmp_path: Path, autojump_clock: object) -> None:
    """The replica catches up before it may lead: with an empty log if the partition has no records."""
    controller = Controller()
    async with moving(tmp_path, WITHOUT_THREADS, DIRECTORIES) as it:
        shutil.rmtree(it.partition.log.directory)
        async with it.started_again(controller, first=NEW, isr=[2], leader=2):
            assert controller.reported == [(9, NEW, TOPIC_ID, [0])]


@pytest.mark.parametrize(("known", "reports"), [(DIRECTORY_UNASSIGNED, 1), (TWO, 0)])
async def test_the_directory_of_a_new_replica_is_reported(
    tmp_path: Path, autojump_clock: object, known: UUID, reports: int
) -> None:
    """KIP-858: a controller leaves the choice to a broker with several directories, which reports it. Otherwise the
    controller would elect a replica that begins anew because its directory is removed.
    """
    controller = Controller()
    async with moving(tmp_path, WITHOUT_THREADS, DIRECTORIES) as it:
        it.know_all_directories()
        it.moves.assign = controller.assign
        other = topic(1, leader=1, partitions=2)[2]
        await it.broker.hear(other.evolve(directories=[known]))  # the second directory has fewer replicas
        async with trio.open_nursery() as nursery:
            nursery.start_soon(it.moves.run)
            await trio.sleep(60)
            nursery.cancel_scope.cancel(reason="done")
    assert controller.reported == [(5, TWO, TOPIC_ID, [1])] * reports


async def test_a_replica_that_was_never_reported_is_reported_at_the_next_start(
    tmp_path: Path, autojump_clock: object
) -> None:
    """Such as those of a node that reported no new replicas. The metadata has DIRECTORY_UNASSIGNED for them, so the
    controller elects them anyway.
    """
    controller = Controller()
    async with moving(tmp_path, WITHOUT_THREADS, DIRECTORIES) as it:
        async with it.started_again(controller, known=DIRECTORY_UNASSIGNED):
            assert controller.reported == [(9, ONE, TOPIC_ID, [0])]


async def test_a_producer_may_retry_its_last_five_batches_after_a_move(one: Moving) -> None:
    """``ProducerStateEntry.NUM_BATCHES_TO_RETAIN``: a retry of any of them gets the offset of the first append."""

    async def send(records: bytes) -> int:
        appended = append_produced(one.partition, records, 9, 0)
        if isinstance(appended, LongAppend):
            appended = await appended.append(one.replicas.world)
        return appended.base_offset

    fields = {"producer_id": 7, "producer_epoch": 0}
    sent = [batch(b"%d" % number, timestamp=0, base_sequence=number, **fields) for number in range(5)]
    assert [await send(each) for each in sent] == [0, 1, 2, 3, 4]
    log = one.partition.log
    one.move()
    await one.finish()
    assert one.partition.log is not log
    assert [await send(each) for each in sent] == [0, 1, 2, 3, 4]
    assert one.partition.log.log_end_offset == 5
