"""The metadata log on real files: what is appended, read, cut and trimmed, and what a start finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kraft.config.topic import LogConfig
from kraft.messages.config_record import ConfigRecord
from kraft.messages.leader_change_message import LeaderChangeMessage
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.image import Image
from kraft.metadata.loader import Loader
from kraft.node.metadata_log import METADATA_PARTITION, MetadataLog
from kraft.raft.events import LeaderChange
from kraft.raft.messages import EpochEnd, LogSlice
from kraft.records.batch import iter_headers
from kraft.records.control import ControlType, control_type
from kraft.records.record import read_records
from kraft.storage.directory import LastStop
from kraft.storage.errors import StorageError
from kraft.wire.codec import decode
from kraft.wire.errors import ErrorCode, KafkaError

SMALL_SEGMENTS = LogConfig(segment_bytes=400, retention_ms=-1, retention_bytes=-1)


def open_log(parent: Path, config: LogConfig = SMALL_SEGMENTS, **options: Any) -> MetadataLog:
    return MetadataLog.open(str(parent), config, now_ms=1000, **options)


def topic(number: int) -> TopicRecord:
    return TopicRecord(name=f"t{number}", topic_id=UUID(int=1000 + number))


def fill(log: MetadataLog, epoch: int, count: int, *, leader: int = 1) -> None:
    """An epoch as its leader writes it: the LeaderChange, then ``count`` batches of one topic each."""
    log.append_leader_change(LeaderChange(epoch, leader, (1, 2, 3), (1, 2)), 1000)
    for _ in range(count):
        log.append_records([topic(log.end_offset)], epoch, 1000 + log.end_offset)


def replayed(log: MetadataLog, limit: int, image: Image | None = None) -> Image:
    """The image up to ``limit``, from ``image`` on."""
    loader = Loader(image)
    while loader.image.offset + 1 < limit:
        for batch in log.batches(loader.image.offset + 1, limit):
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


def test_a_new_log_is_empty(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert shape(log) == (0, 0, 0, [], None)
    assert log.read(0, 100) == (b"", None)
    assert log.batches(0, 0) == ()
    assert log.retention_candidate(10**15) is None
    log.close()
    assert (tmp_path / METADATA_PARTITION / "partition.metadata").read_text() == (
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"
    )


def test_batches_are_as_apache_writes_them(tmp_path: Path) -> None:
    """Magic 2, no codec, no producer, create time; a LeaderChange is a control batch and the first of its epoch."""
    log = open_log(tmp_path)
    log.append_leader_change(LeaderChange(4, 2, (1, 2, 3), (2, 3)), 77)
    log.append_records([topic(1), topic(2)], 4, 78)
    data, records = log.read(0, 2**20)
    assert records == LogSlice(0, (EpochEnd(4, 3),))
    (at, control), (_, batch) = iter_headers(data)
    for header in (control, batch):
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
        assert (header.leader_epoch, header.base_timestamp) == (4, header.max_timestamp)
    assert (control.attributes, batch.attributes) == (0x20, 0)
    (record,) = read_records(data, at, control, max_bytes=1000)
    assert control_type(record) is ControlType.LEADER_CHANGE
    assert record.value is not None
    change, _ = decode(LeaderChangeMessage, 0, record.value)
    assert (change.leader_id, [voter.voter_id for voter in change.granting_voters]) == (2, [2, 3])


def test_batches_come_from_memory_and_from_the_file_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.node.metadata_log._BATCHES_IN_MEMORY", 3)
    monkeypatch.setattr("kraft.node.metadata_log._READ_BYTES", 300)
    log = open_log(tmp_path)
    fill(log, 1, 20)
    image = replayed(log, log.end_offset)
    assert sorted(image.topic_ids) == sorted(f"t{number}" for number in range(1, 21))
    assert (image.offset, image.epoch, image.timestamp_ms) == (20, 1, 1020)
    from_memory = log.batches(18, 21)
    log.close()
    log = open_log(tmp_path)
    assert [str(log.batches(number, 21)[0]) for number in range(18, 21)] == [str(batch) for batch in from_memory]
    assert [batch.base_offset for batch in log.batches(18, 20)] == [18, 19]
    assert log.batches(18, 18) == ()


def test_what_is_in_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.node.metadata_log._BYTES_IN_MEMORY", 300)
    log = open_log(tmp_path)
    fill(log, 1, 20)
    assert sum(batch.size for batch in log._recent) <= 300
    log.append_records([ConfigRecord(resource_type=2, resource_name="x", name="k", value="v" * 1000)], 1, 0)
    assert not log._recent
    assert log.batches(21, 22)[0].records[0].value == "v" * 1000


def test_many_records_are_cut_into_batches_and_written_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.node.metadata_batches.MAX_BATCH_RECORDS", 4)
    log = open_log(tmp_path)
    log.append_records([topic(number) for number in range(10)], 1, 0)
    assert [len(batch.records) for batch in log.batches(0, 10)] == [4, 4, 2]
    assert log.end_offset == 10


def test_a_batch_never_outgrows_what_apache_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.node.metadata_batches.MAX_BATCH_BYTES", 1000)
    log = open_log(tmp_path)
    values = ["v" * size for size in (500, 300, 800, 10, 10, 850)]
    log.append_records(
        [ConfigRecord(resource_type=2, resource_name="x", name="k", value=value) for value in values], 1, 0
    )
    sizes = [header.size for _, header in iter_headers(content(log))]
    assert len(sizes) == 4
    assert max(sizes) <= 1000
    with pytest.raises(KafkaError) as refused:
        log.append_records(
            [topic(1), ConfigRecord(resource_type=2, resource_name="x", name="k", value="v" * 1000)], 1, 0
        )
    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.end_offset == len(values)


def test_a_read_brings_whole_batches_and_at_least_one(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 1, 3)
    fill(log, 2, 3)
    data, records = log.read(1, 1)
    assert records == LogSlice(1, (EpochEnd(1, 2),))
    assert log.read(1, 2**20, 1) == (b"", None)
    data, records = log.read(2, 2**20, 6)
    assert records is not None
    assert records.base_offset == 2
    assert len(data) == sum(header.size for _, header in iter_headers(data))
    with pytest.raises(KafkaError) as refused:
        log.read(9, 100)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_follower_ends_up_with_the_same_bytes(tmp_path: Path) -> None:
    """KIP-595: a follower appends what it fetched, however the fetches are cut."""
    for name in ("leader", "follower"):
        (tmp_path / name).mkdir()
    leader, follower = open_log(tmp_path / "leader"), open_log(tmp_path / "follower")
    fill(leader, 1, 5)
    fill(leader, 3, 5)
    step = 0
    while follower.end_offset < leader.end_offset:
        step += 37
        data, _ = leader.read(follower.end_offset, 500)
        records = follower.check_fetched(memoryview(data)[: step % 400], 3)
        if records is not None:
            follower.append_fetched(memoryview(data)[: step % 400], records, 1000)
    assert content(follower) == content(leader)
    assert shape(follower) == shape(leader) == (0, 0, 12, [(1, 0), (3, 6)], None)
    assert sorted(replayed(follower, 12).topic_ids) == sorted(replayed(leader, 12).topic_ids)


def test_what_parts_from_the_leader_is_cut(tmp_path: Path) -> None:
    """KIP-595: a follower truncates to where the logs part, and fetches on from there."""
    log = open_log(tmp_path)
    fill(log, 1, 5)
    fill(log, 2, 20)
    log.truncate(6)
    assert shape(log) == (0, 0, 6, [(1, 0)], None)
    assert log.last_epoch == 1
    assert [batch.base_offset for batch in log.batches(4, 6)] == [4, 5]
    fill(log, 3, 1)
    log.close()
    assert shape(open_log(tmp_path)) == (0, 0, 8, [(1, 0), (3, 6)], None)


def test_a_cut_inside_of_a_batch_stops_the_node(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.append_records([topic(1), topic(2)], 1, 0)
    with pytest.raises(StorageError, match="cut at 1, and no batch ends there"):
        log.truncate(1)


def test_damage_is_one_clear_line(tmp_path: Path) -> None:
    """Records are checked against the checksum of their batch before they are replayed."""
    log = open_log(tmp_path, LogConfig())
    fill(log, 1, 3)
    log.close()
    path = tmp_path / METADATA_PARTITION / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(StorageError, match="checksum"):
        open_log(tmp_path, LogConfig(), last_stop=LastStop.CLEAN).batches(0, 4)
