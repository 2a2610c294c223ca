"""Snapshots of the metadata log (KIP-630): whole, minimal, checked on load, and fetched in pieces."""

from __future__ import annotations

import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given

from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.delta import replay
from kraft.metadata.frame import decode_record, encode_record
from kraft.metadata.image import Image
from kraft.metadata.records_of import records_of
from kraft.quorum import snapshots as metadata_snapshots
from kraft.quorum.snapshots import MetadataSnapshots
from kraft.raft.events import StoreChunk
from kraft.raft.messages import SnapshotId
from kraft.simulation.virtual_time import in_this_thread
from kraft.storage.errors import StorageError
from kraft.storage.snapshot import read_snapshot, snapshot_batches, snapshot_name, write_snapshot
from kraft.wire.errors import ErrorCode, KafkaError
from tests.metadata.records import histories

ID = SnapshotId(12, 3)
ORPHAN = PartitionRecord(topic_id=UUID(int=7), partition_id=0, replicas=[1], isr=[1], leader=1)


def topics(count: int) -> Image:
    records = [TopicRecord(name=f"t{number}", topic_id=UUID(int=1000 + number)) for number in range(count)]
    return replay(Image(), records, 11, 3, 99)[0]


@pytest.fixture
def snapshots(tmp_path: Path) -> MetadataSnapshots:
    return MetadataSnapshots(str(tmp_path))


@given(history=histories())
def test_an_image_comes_back_as_it_was(history: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    image, _ = replay(Image(), history, 11, 3, 99)
    snapshots = MetadataSnapshots(str(tmp_path_factory.mktemp("snapshots")))
    assert snapshots.write(image) == ID
    assert snapshots.load(ID) == image


def test_a_snapshot_has_one_record_an_entity(snapshots: MetadataSnapshots) -> None:
    image = topics(3)
    assert [decode_record(value) for value in read_snapshot(snapshots.path(snapshots.write(image)), epoch=3)] == list(
        records_of(image)
    )


def test_a_thread_that_writes_lets_others_run(snapshots: MetadataSnapshots) -> None:
    """Python code on a thread keeps the interpreter's lock for 5 ms, and the event loop waits at each system call."""
    pauses: list[None] = []
    snapshots.write(topics(1_000), lambda: pauses.append(None))
    assert len(pauses) >= 1_000 / 100


def test_an_existing_file_is_not_written_again(snapshots: MetadataSnapshots) -> None:
    snapshots.write(topics(3))
    before = os.stat(snapshots.path(ID))
    assert snapshots.write(topics(3)) == ID
    assert os.stat(snapshots.path(ID)).st_ino == before.st_ino


def test_any_damage_is_found_on_load(snapshots: MetadataSnapshots) -> None:
    snapshots.write(topics(1))
    path = Path(snapshots.path(ID))
    whole = path.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(StorageError, match=path.name):
            snapshots.load(ID)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(StorageError, match=path.name):
            snapshots.load(ID)
    path.write_bytes(whole + b"\0")
    with pytest.raises(StorageError, match=path.name):
        snapshots.load(ID)


def test_a_snapshot_under_another_name_is_refused(snapshots: MetadataSnapshots) -> None:
    """The epoch in the name is that of every batch."""
    os.rename(snapshots.path(snapshots.write(topics(1))), snapshots.path(SnapshotId(12, 4)))
    with pytest.raises(StorageError, match="expected offset 0 in epoch 4"):
        snapshots.load(SnapshotId(12, 4))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"\x01\x7f\x00", "unknown type 127"),
        (b"\x00", "frame version 0"),
        (b"", "malformed"),
        (encode_record(BeginTransactionRecord(), 0), "no metadata record that can be replayed"),
        (encode_record(ORPHAN, 0), "does not exist"),
    ],
)
def test_records_that_make_no_image_are_refused(value: bytes, reason: str, snapshots: MetadataSnapshots) -> None:
    write_snapshot(os.path.dirname(snapshots.path(ID)), ID, [value], timestamp=0)
    with pytest.raises(StorageError, match=reason):
        snapshots.load(ID)


def test_bytes_of_a_snapshot_for_a_follower(snapshots: MetadataSnapshots) -> None:
    """KIP-630: FetchSnapshot brings bytes from a position on, and the size of the whole."""
    snapshots.write(topics(3))
    whole = Path(snapshots.path(ID)).read_bytes()
    assert snapshots.read(ID, 0, 10) == (whole[:10], len(whole))
    assert snapshots.read(ID, 10, 2**20) == (whole[10:], len(whole))
    for position in (-1, len(whole), 2**62):
        with pytest.raises(KafkaError) as refused:
            snapshots.read(ID, position, 10)
        assert refused.value.code is ErrorCode.POSITION_OUT_OF_RANGE
    with pytest.raises(KafkaError) as refused:
        snapshots.read(SnapshotId(12, 4), 0, 10)
    assert refused.value.code is ErrorCode.SNAPSHOT_NOT_FOUND


# Fetched from a leader.

WHOLE = b"".join(snapshot_batches([encode_record(each, 0) for each in records_of(topics(2))], epoch=3, timestamp=99))


def files(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


def test_pieces_become_a_snapshot_once_they_are_looked_through(snapshots: MetadataSnapshots, tmp_path: Path) -> None:
    """KIP-630: pieces need not end where batches do; the snapshot has its name when it is checked and durable."""
    for position in range(0, len(WHOLE), 7):
        last = position + 7 >= len(WHOLE)
        assert snapshots.store(StoreChunk(ID, position, last), memoryview(WHOLE)[position : position + 7])
        assert snapshots.all() == []
    assert snapshots.complete(ID)
    assert files(tmp_path) == [snapshot_name(ID)]
    assert Path(snapshots.path(ID)).read_bytes() == WHOLE
    assert snapshots.all() == [ID]
    assert not snapshots.complete(ID), "it is complete"
    for _ in range(2):
        assert sorted(snapshots.load(ID).topic_ids) == ["t0", "t1"]


def test_a_snapshot_is_looked_through_once_and_durable_before_it_has_its_name(
    snapshots: MetadataSnapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    for name in ("_load", "sync_file", "sync_directory"):
        monkeypatch.setattr(metadata_snapshots, name, noted(done, getattr(metadata_snapshots, name)))
    monkeypatch.setattr(os, "replace", noted(done, os.replace))
    assert snapshots.store(StoreChunk(ID, 0, True), WHOLE)
    assert snapshots.complete(ID)
    assert len(snapshots.load(ID).topics) == 2
    assert done == ["_load", "sync_file", "replace", "sync_directory"]


def noted(done: list[str], function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        done.append(function.__name__)
        return function(*arguments)

    return in_this_thread(call, function)


def test_the_last_of_two_is_looked_through(snapshots: MetadataSnapshots, tmp_path: Path) -> None:
    assert snapshots.store(StoreChunk(ID, 0, True), b"?")
    assert snapshots.store(StoreChunk(ID, 0, True), WHOLE)
    assert len(files(tmp_path)) == 1
    assert snapshots.complete(ID)


def test_a_damaged_snapshot_of_a_leader_is_refused(snapshots: MetadataSnapshots, tmp_path: Path) -> None:
    replaying = [encode_record(ORPHAN, 0)]
    for data in (
        WHOLE[:-1],
        WHOLE[:-1] + b"?",
        WHOLE + WHOLE,
        b"?",
        b"".join(snapshot_batches([], epoch=4, timestamp=0)),
        b"".join(snapshot_batches(replaying, epoch=3, timestamp=0)),
    ):
        assert snapshots.store(StoreChunk(ID, 0, True), data)
        assert not snapshots.complete(ID)
        assert files(tmp_path) == []


def test_only_pieces_that_continue_each_other_are_kept(snapshots: MetadataSnapshots, tmp_path: Path) -> None:
    assert not snapshots.store(StoreChunk(ID, 7, False), b"x")
    for snapshot, position in ((ID, 9), (ID, 11), (ID, 2**40), (SnapshotId(12, 4), 10), (SnapshotId(13, 3), 10)):
        assert snapshots.store(StoreChunk(ID, 0, False), WHOLE[:10])
        assert not snapshots.store(StoreChunk(snapshot, position, True), WHOLE[10:])
        assert not snapshots.store(StoreChunk(ID, 10, True), WHOLE[10:]), "it begins anew"
        assert not snapshots.complete(ID)
        assert files(tmp_path) == []
    assert snapshots.store(StoreChunk(ID, 0, False), b"another")
    assert snapshots.store(StoreChunk(SnapshotId(20, 4), 0, False), b"newer")
    assert len(files(tmp_path)) == 1


def test_a_snapshot_without_end_is_given_up(
    snapshots: MetadataSnapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata_snapshots, "MAX_SNAPSHOT_BYTES", 100)
    assert snapshots.store(StoreChunk(ID, 0, False), bytes(100))
    assert not snapshots.store(StoreChunk(ID, 100, False), bytes(1))
    assert not snapshots.store(StoreChunk(ID, 0, False), bytes(101))
    assert files(tmp_path) == []


def test_a_snapshot_may_be_fetched_anew_while_the_first_is_looked_through(
    snapshots: MetadataSnapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new leader may send the same one before the worker thread is done: the pieces never mix."""
    begun, go_on = threading.Event(), threading.Event()
    load = metadata_snapshots._load

    def slow_load(path: str, snapshot: SnapshotId) -> Image:
        begun.set()
        assert go_on.wait(30)
        return load(path, snapshot)

    monkeypatch.setattr(metadata_snapshots, "_load", slow_load)
    assert snapshots.store(StoreChunk(ID, 0, True), WHOLE)
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(snapshots.complete(ID)))
    thread.start()
    assert begun.wait(30)
    assert snapshots.store(StoreChunk(ID, 0, False), WHOLE[:10])
    go_on.set()
    thread.join(30)
    assert found == [True]
    assert Path(snapshots.path(ID)).read_bytes() == WHOLE
    assert snapshots.store(StoreChunk(ID, 10, True), WHOLE[10:])
    assert snapshots.complete(ID)
    assert files(tmp_path) == [snapshot_name(ID)]


def test_leftovers_of_a_crash_are_deleted_and_foreign_files_are_not(tmp_path: Path) -> None:
    """``.part`` and ``.deleted`` files are left over from this node or Apache Kafka's; the node keeps any other
    name.
    """
    left_over = [
        "00000000000000000012-0000000003.checkpoint.part",
        "00000000000000000012-0000000003-7.checkpoint.part",
        "00000000000000000012-0000000003-1234567890.checkpoint.part",
        "00000000000000000012-0000000003.checkpoint.deleted",
    ]
    foreign = ["12-3.checkpoint", "bootstrap.checkpoint", "leader-epoch-checkpoint", "notes.part", f"{12:020}.snapshot"]
    for name in (*left_over, *foreign):
        (tmp_path / name).touch()
    snapshots = MetadataSnapshots(str(tmp_path))
    assert files(tmp_path) == sorted(foreign)
    assert snapshots.all() == []


def test_a_full_disk_leaves_no_piece_behind(
    snapshots: MetadataSnapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert snapshots.store(StoreChunk(ID, 0, False), WHOLE[:10])
    monkeypatch.setattr(metadata_snapshots, "write_all", no_space)
    with pytest.raises(OSError, match="No space"):
        snapshots.store(StoreChunk(ID, 10, True), WHOLE[10:])
    assert files(tmp_path) == []
    assert not snapshots.complete(ID)


def no_space(fd: int, data: bytes) -> None:
    os.write(fd, data[:3])
    raise OSError(28, "No space left on device")


def test_loading_holds_no_list_of_records(snapshots: MetadataSnapshots) -> None:
    """A load needs at most a little more memory than its result."""
    topic = UUID(int=1)
    records: list[Any] = [TopicRecord(name="t", topic_id=topic)]
    records += [
        PartitionRecord(topic_id=topic, partition_id=number, replicas=[1, 2, 3], isr=[1, 2, 3], leader=1)
        for number in range(4_000)
    ]
    snapshots.write(replay(Image(), records, 11, 3, 99)[0])
    records.clear()
    tracemalloc.start()
    image = snapshots.load(ID)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(image.topics[topic].partitions) == 4_000
    assert peak - kept < 4_000 * 400, "a record takes some 500 bytes"
