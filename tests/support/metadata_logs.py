"""Small metadata logs, and copies of them as a crash at any moment would leave them."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kraft.config.topic import LogConfig
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.image import Image
from kraft.metadata.loader import Loader
from kraft.metadata.steps import finished
from kraft.quorum.log import MetadataLog
from kraft.raft.events import LeaderChange, StoreChunk
from kraft.raft.messages import SnapshotId
from kraft.simulation.virtual_time import in_this_thread
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION

SMALL_SEGMENTS = LogConfig(segment_bytes=400, retention_ms=-1, retention_bytes=-1)


def append_records(log: MetadataLog, records: Sequence[Any], epoch: int, timestamp_ms: int) -> None:
    """Append as the leader of ``epoch``."""
    log.append(finished(log.encode(records, epoch, timestamp_ms)))


def open_log(parent: Path, config: LogConfig = SMALL_SEGMENTS, **options: Any) -> MetadataLog:
    return MetadataLog.open(str(parent), config, now_ms=1000, **options)


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=UUID(int=1000 + number))


def fill(log: MetadataLog, epoch: int, count: int, *, leader: int = 1) -> None:
    """An epoch as its leader writes it: the LeaderChange, then ``count`` batches of one topic each."""
    log.append_leader_change(LeaderChange(epoch, leader, (1, 2, 3), (1, 2)), 1000)
    for _ in range(count):
        append_records(log, [topic(log.end_offset)], epoch, 1000 + log.end_offset)


def replayed(log: MetadataLog, limit: int, image: Image | None = None) -> Image:
    """The image up to ``limit``, from ``image`` on."""
    loader = Loader(image)
    while loader.image.offset + 1 < limit:
        for batch in finished(log.batches(loader.image.offset + 1, limit)):
            loader.load(batch.records, batch.last_offset, batch.epoch, batch.timestamp_ms)
    return loader.image


def content(log: MetadataLog) -> bytes:
    """Every byte from the start of the log on."""
    data, offset = b"", log.start_offset
    while offset < log.end_offset:
        piece, records = log.read(offset, 2**20)
        assert records is not None
        data, offset = data + piece, records.end_offset
    return data


def shape(log: MetadataLog) -> tuple[object, ...]:
    view = log.view()
    return view.start_offset, view.start_epoch, view.end_offset, view.epochs, view.snapshot


def snapshot_of(log: MetadataLog, limit: int) -> SnapshotId:
    """Write a snapshot of everything below ``limit``."""
    newest = log.snapshot
    return log.write_snapshot(replayed(log, limit, None if newest is None else log.load_snapshot(newest)))


def flush(log: MetadataLog) -> None:
    """Make everything durable."""
    under_way = log.begin_flush()
    under_way.run()
    log.flushed(under_way)


def fetch(follower: MetadataLog, leader: MetadataLog, epoch: int) -> None:
    """Bring the rest of one log to another."""
    while follower.end_offset < leader.end_offset:
        data, records = leader.read(follower.end_offset, 300)
        assert records is not None
        fetched = finished(follower.check_fetched(data, epoch))
        assert fetched is not None
        assert fetched.records == records
        follower.append_fetched(fetched, 1000)


def fetch_snapshot(follower: MetadataLog, leader: MetadataLog, snapshot: SnapshotId, chunk_bytes: int = 100) -> bool:
    """Bring a snapshot from one log to another, chunk by chunk; return whether it was accepted."""
    position = size = 0
    while position < (size or 1):
        data, size = leader.read_snapshot(snapshot, position, chunk_bytes)
        assert follower.store_chunk(StoreChunk(snapshot, position, position + len(data) == size, data))
        position += len(data)
    return follower.complete_snapshot(snapshot)


class Crashes:
    """Copies of a log directory, each as it was before one of the file operations that changed it."""

    def __init__(self, log: MetadataLog, copies: Path) -> None:
        self._directory = log.directory
        self._copies = copies
        self.count = 0

    def _copy(self) -> None:
        shutil.copytree(self._directory, self._copies / str(self.count) / CLUSTER_METADATA_PARTITION)
        self.count += 1

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Record whatever happens to the directory inside of the block, its end included."""
        with pytest.MonkeyPatch.context() as patch:
            for name in ("open", "replace", "unlink", "ftruncate", "write", "fsync", "fdatasync"):
                operation = getattr(os, name)
                patch.setattr(os, name, in_this_thread(self._watched(operation), operation))
            yield
        self._copy()

    def _watched(self, operation: Any) -> Any:
        def watched(*arguments: Any, **keywords: Any) -> Any:
            if operation.__name__ != "open" or arguments[1] & os.O_CREAT:
                self._copy()
            return operation(*arguments, **keywords)

        return watched

    def __iter__(self) -> Iterator[Path]:
        return (self._copies / str(number) for number in range(self.count))


def pair(tmp_path: Path) -> tuple[MetadataLog, MetadataLog]:
    """The empty logs of a leader and of a follower."""
    for name in ("leader", "follower"):
        (tmp_path / name).mkdir()
    return open_log(tmp_path / "leader"), open_log(tmp_path / "follower")
