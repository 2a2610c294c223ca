"""The metadata log on real files: appends, reads, truncations and trims."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kraft.config.topic import LogConfig
from kraft.messages.config_record import ConfigRecord
from kraft.messages.leader_change_message import LeaderChangeMessage
from kraft.metadata.steps import finished
from kraft.raft.events import LeaderChange
from kraft.raft.messages import EpochEnd, LogSlice, SnapshotId
from kraft.records.batch import iter_headers
from kraft.records.control import ControlType, control_type
from kraft.records.record import read_records
from kraft.storage import partition_metadata
from kraft.storage.directory import LastStop
from kraft.storage.errors import StorageError
from kraft.storage.snapshot import snapshot_name
from kraft.wire.codec import decode
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION, METADATA_TOPIC_ID
from tests.support.metadata_logs import (
    append_records,
    content,
    fetch,
    fetch_snapshot,
    fill,
    flush,
    open_log,
    pair,
    replayed,
    shape,
    snapshot_of,
    topic,
)


def test_whether_there_is_metadata(tmp_path: Path) -> None:
    """The quorum's own control records are no metadata; a snapshot is."""
    leader, follower = pair(tmp_path)
    assert not leader.has_records
    fill(leader, 1, 0)
    assert not leader.has_records
    fill(leader, 2, 1)
    assert leader.has_records
    snapshot = snapshot_of(leader, 3)
    fetch_snapshot(follower, leader, snapshot)
    follower.install(snapshot)
    assert follower.has_records


def test_a_new_log_is_empty(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert shape(log) == (0, 0, 0, [], None)
    assert log.read(0, 100) == (b"", None)
    assert finished(log.batches(0, 0)) == ()
    assert log.retention_candidate(10**15, log.end_offset) is None
    log.close()
    assert partition_metadata.read_topic_id(log.directory) == METADATA_TOPIC_ID


def test_batches_are_as_apache_writes_them(tmp_path: Path) -> None:
    """Magic 2, no codec, no producer, create time; a LeaderChange is a control batch and the first of its epoch."""
    log = open_log(tmp_path)
    log.append_leader_change(LeaderChange(4, 2, (1, 2, 3), (2, 3)), 77)
    append_records(log, [topic(1), topic(2)], 4, 78)
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


def test_a_batch_beyond_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The length of a batch is the file's word, and up to 2 GiB; those that a leader sends are checked before."""
    log = open_log(tmp_path)
    append_records(log, [topic(0)], 1, 1000)
    append_records(log, [topic(number) for number in range(1, 10)], 1, 1000)
    log.close()
    again = open_log(tmp_path)
    monkeypatch.setattr("kraft.quorum.log.MAX_READ_BATCH_BYTES", 100)
    assert len(finished(again.batches(0, 1))) == 1
    for read in (lambda: finished(again.batches(1, 10)), lambda: again.read(1, 1)):
        with pytest.raises(StorageError, match=r"damaged at offset 1: a batch of .*no more than 100 are read"):
            read()


def test_a_leader_sends_nothing_that_is_damaged(tmp_path: Path) -> None:
    """Followers would refuse it and fetch again, and the leader could commit nothing during its term."""
    log = open_log(tmp_path)
    for number in range(3):
        append_records(log, [topic(number)], 1, 1000)
    path = Path(log.directory) / f"{0:020}.log"
    data = path.read_bytes()
    at, header = list(iter_headers(data))[1]
    for position in (at + header.size - 1, at + 7):  # a record, and the offset, which no checksum covers
        path.write_bytes(data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :])
        with pytest.raises(StorageError, match=f"{path.name}: damaged at offset {header.base_offset}: "):
            log.read(0, 2**20)
    assert log.read(0, at)[1] == LogSlice(0, (EpochEnd(1, header.base_offset),))
    path.write_bytes(data)
    assert log.read(0, 2**20)[0] == data


def test_batches_come_from_memory_and_from_the_file_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.quorum.log._BATCHES_IN_MEMORY", 3)
    monkeypatch.setattr("kraft.quorum.log._READ_BYTES", 300)
    log = open_log(tmp_path)
    fill(log, 1, 20)
    image = replayed(log, log.end_offset)
    assert sorted(image.topic_ids) == sorted(f"t{number}" for number in range(1, 21))
    assert (image.offset, image.epoch, image.timestamp_ms) == (20, 1, 1020)
    from_memory = finished(log.batches(18, 21))
    log.close()
    log = open_log(tmp_path)
    assert [str(finished(log.batches(number, 21))[0]) for number in range(18, 21)] == [
        str(batch) for batch in from_memory
    ]
    assert [batch.base_offset for batch in finished(log.batches(18, 20))] == [18, 19]
    assert finished(log.batches(18, 18)) == ()


def test_when_the_last_record_was_written(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    found = [log.last_timestamp_ms]
    log.append_leader_change(LeaderChange(4, 2, (1, 2, 3), (2, 3)), 77)
    append_records(log, [topic(1), topic(2)], 4, 78)
    append_records(log, [topic(3), topic(4)], 4, 79)
    found.append(log.last_timestamp_ms)
    log.close()
    log = open_log(tmp_path)
    found.append(log.last_timestamp_ms)
    next(Path(log.directory).glob("*.log")).write_bytes(b"\xff" * 1000)
    found.append(log.last_timestamp_ms)
    log.abandon()
    assert found == [None, 79, 79, None]


def test_the_memory_of_a_load_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.quorum.log._BYTES_IN_MEMORY", 300)
    log = open_log(tmp_path)
    fill(log, 1, 20)
    assert sum(batch.size for batch in log._recent) <= 300
    append_records(log, [ConfigRecord(resource_type=2, resource_name="x", name="k", value="v" * 1000)], 1, 0)
    assert not log._recent
    assert finished(log.batches(21, 22))[0].records[0].value == "v" * 1000


def test_many_records_are_cut_into_batches_and_written_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.quorum.batches.MAX_BATCH_RECORDS", 4)
    log = open_log(tmp_path)
    append_records(log, [topic(number) for number in range(10)], 1, 0)
    assert [len(batch.records) for batch in finished(log.batches(0, 10))] == [4, 4, 2]
    assert log.end_offset == 10


def test_a_batch_is_never_larger_than_apaches_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kraft.quorum.batches.MAX_BATCH_BYTES", 1000)
    log = open_log(tmp_path)
    values = ["v" * size for size in (500, 300, 800, 10, 10, 850)]
    append_records(
        log, [ConfigRecord(resource_type=2, resource_name="x", name="k", value=value) for value in values], 1, 0
    )
    sizes = [header.size for _, header in iter_headers(content(log))]
    assert len(sizes) == 4
    assert max(sizes) <= 1000
    with pytest.raises(KafkaError) as refused:
        append_records(
            log, [topic(1), ConfigRecord(resource_type=2, resource_name="x", name="k", value="v" * 1000)], 1, 0
        )
    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.end_offset == len(values)


def test_a_read_brings_whole_batches_and_at_least_one(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 1, 3)
    fill(log, 2, 3)
    data, records = log.read(1, 1)
    assert records == LogSlice(1, (EpochEnd(1, 2),))
    assert log.read(log.end_offset, 2**20) == (b"", None)
    data, records = log.read(2, 2**20)
    assert records is not None
    assert records.base_offset == 2
    assert len(data) == sum(header.size for _, header in iter_headers(data))
    with pytest.raises(KafkaError) as refused:
        log.read(9, 100)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_read_brings_a_thousand_batches_at_most(tmp_path: Path) -> None:
    """docs/robustness.md: "No request holds the event loop". A replica that was away asks for many small batches."""
    log = open_log(tmp_path, LogConfig())
    for number in range(1_100):
        append_records(log, [topic(number)], 1, 0)
    data, records = log.read(0, 2**20)
    assert records == LogSlice(0, (EpochEnd(1, 1_000),))
    assert len(list(iter_headers(data))) == 1_000
    _, rest = log.read(1_000, 2**20)
    assert rest == LogSlice(1_000, (EpochEnd(1, 1_100),))


def test_the_cached_last_append_equals_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader serves it from memory: the same bytes, and never those of a tail that was cut."""
    monkeypatch.setattr("kraft.quorum.batches.MAX_BATCH_RECORDS", 2)
    log = open_log(tmp_path)
    fill(log, 1, 2)
    for base_offset in (3, 8):
        append_records(log, [topic(base_offset + number) for number in range(5)], 1, 0)
        from_memory = log.read(base_offset, 2**20)
        assert len(list(iter_headers(from_memory[0]))) == 3
        first = next(header.size for _, header in iter_headers(from_memory[0]))
        assert log.read(base_offset, first)[0] == from_memory[0][:first]
        log.begin_flush().run()
        log.abandon()
        log = open_log(tmp_path)
        assert log.read(base_offset, 2**20) == from_memory
    append_records(log, [topic(13)], 1, 0)
    log.truncate(13)
    assert log.read(13, 2**20) == (b"", None)


def test_a_follower_ends_up_with_the_same_bytes(tmp_path: Path) -> None:
    """KIP-595: a follower appends the fetched records for any size of the fetches."""
    for name in ("leader", "follower"):
        (tmp_path / name).mkdir()
    leader, follower = open_log(tmp_path / "leader"), open_log(tmp_path / "follower")
    fill(leader, 1, 5)
    fill(leader, 3, 5)
    step = 0
    while follower.end_offset < leader.end_offset:
        step += 37
        data, _ = leader.read(follower.end_offset, 500)
        fetched = finished(follower.check_fetched(memoryview(data)[: step % 400], 3))
        if fetched is not None:
            follower.append_fetched(fetched, 1000)
    assert content(follower) == content(leader)
    assert shape(follower) == shape(leader) == (0, 0, 12, [(1, 0), (3, 6)], None)
    assert sorted(replayed(follower, 12).topic_ids) == sorted(replayed(leader, 12).topic_ids)


def test_fetched_batches_are_appended_where_they_were_checked_to_belong(tmp_path: Path) -> None:
    """The write does not check the batches again: the results of the first check travel with them."""
    leader, follower = pair(tmp_path)
    fill(leader, 2, 3)
    data, _ = leader.read(0, 2**20)
    fetched = finished(follower.check_fetched(data, 2))
    assert fetched is not None
    other = finished(follower.check_fetched(data[: len(data) // 2], 2))
    assert other is not None, "another proof does not touch the first one"
    follower.append_fetched(fetched, 1000)
    with pytest.raises(StorageError, match="were checked for a log that ends at"):
        follower.append_fetched(fetched, 1000)
    assert content(follower) == content(leader)


def test_a_large_batch_is_read_in_steps(tmp_path: Path) -> None:
    """A standby that replays 10,000 new partitions serves others meanwhile."""
    log = open_log(tmp_path)
    append_records(log, [topic(number) for number in range(2_000)], 1, 1000)
    log.close()
    assert sum(open_log(tmp_path).batches(0, 2_000)) == 2_000


def test_a_batch_encoded_for_another_offset_is_not_appended(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    early = finished(log.encode([topic(1)], 1, 1000))
    append_records(log, [topic(2)], 1, 1000)
    with pytest.raises(AssertionError, match="no longer continues the log"):
        log.append(early)


def test_diverging_records_are_truncated(tmp_path: Path) -> None:
    """KIP-595: a follower truncates its log to the offset where the logs diverge, and fetches from there."""
    log = open_log(tmp_path)
    fill(log, 1, 5)
    fill(log, 2, 20)
    log.truncate(6)
    assert shape(log) == (0, 0, 6, [(1, 0)], None)
    assert log.last_epoch == 1
    assert [batch.base_offset for batch in finished(log.batches(4, 6))] == [4, 5]
    fill(log, 3, 1)
    assert [batch.epoch for batch in finished(log.batches(4, 8))] == [1, 1, 3, 3]
    log.close()
    assert shape(open_log(tmp_path)) == (0, 0, 8, [(1, 0), (3, 6)], None)


def test_a_cut_inside_of_a_batch_stops_the_node(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append_records(log, [topic(1), topic(2)], 1, 0)
    with pytest.raises(StorageError, match="cannot truncate the log at 1, no batch ends there"):
        log.truncate(1)


def test_no_files_of_a_truncated_segment_stay(tmp_path: Path) -> None:
    """``LocalLog.truncateTo``: the files of dropped segments are deleted."""
    log = open_log(tmp_path)
    fill(log, 1, 30)
    log.truncate(2)
    assert [name for name in os.listdir(log.directory) if name.endswith((".log", ".deleted"))] == [f"{0:020}.log"]


@pytest.mark.parametrize(
    ("position", "problem"),
    [(-5, "checksum"), (-1, "checksum"), (7, "begins at offset 3, expected 2"), (0, "begins at")],
)
def test_damage_is_one_clear_line(tmp_path: Path, position: int, problem: str) -> None:
    """Before records are replayed the checksum of their batch is checked, and the offset, which it does not cover."""
    log = open_log(tmp_path, LogConfig())
    fill(log, 1, 3)
    log.abandon()
    log = open_log(tmp_path, LogConfig(), last_stop=LastStop.CLEAN)
    path = tmp_path / CLUSTER_METADATA_PARTITION / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    starts = [start for start, _ in iter_headers(data)]
    data[starts[2] + position if position >= 0 else starts[3] + position] ^= 1
    path.write_bytes(data)
    with pytest.raises(StorageError, match=f"damaged at offset 2: .*{problem}"):
        finished(log.batches(0, 4))


# Snapshots (KIP-630).


def test_a_trimmed_log_begins_where_its_snapshot_ends(tmp_path: Path) -> None:
    """KIP-630: whole segments below the snapshot go; the one that holds its end stays."""
    log = open_log(tmp_path)
    fill(log, 1, 10)
    fill(log, 2, 10)
    image = replayed(log, 15)
    first, second = snapshot_of(log, 5), snapshot_of(log, 15)
    assert (first, second) == (SnapshotId(5, 1), SnapshotId(15, 2))
    log.trim(second)
    expected = (15, 2, 22, [(2, 15)], second)
    assert shape(log) == expected
    names = os.listdir(log.directory)
    assert snapshot_name(first) not in names
    assert min(int(name[:20]) for name in names if name.endswith(".log")) in range(10, 16)
    with pytest.raises(KafkaError) as refused:
        log.read(14, 100)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    log.close()
    log = open_log(tmp_path)
    assert shape(log) == expected
    assert sorted(replayed(log, 22, log.load_snapshot(second)).topic_ids) == sorted(
        {*image.topic_ids, *(f"t{number}" for number in range(15, 22))}
    )


def test_a_log_trimmed_to_its_very_end_goes_on_from_there(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 1, 3)
    fill(log, 2, 3)
    log.trim(snapshot_of(log, 8))
    with pytest.raises(KafkaError) as refused:
        log.read(7, 2**20)  # the last append, too
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    log.close()
    for epoch in (2, 5):
        log = open_log(tmp_path)
        assert shape(log)[:2] == (8, 2)
        assert log.last_epoch == 2 if epoch == 2 else 5
        fill(log, epoch, 1)
        log.close()
    assert shape(open_log(tmp_path)) == (8, 2, 12, [(2, 8), (5, 10)], SnapshotId(8, 2))


def test_a_node_that_is_far_behind_begins_with_the_snapshot_of_a_leader(tmp_path: Path) -> None:
    """KIP-630: the log is replaced by the snapshot, then fetching goes on behind it."""
    leader, follower = pair(tmp_path)
    fill(leader, 1, 20)
    fill(follower, 1, 2)
    snapshot = snapshot_of(leader, 15)
    leader.trim(snapshot)
    assert fetch_snapshot(follower, leader, snapshot)
    follower.install(snapshot)
    assert shape(follower) == (15, 1, 15, [], snapshot)
    assert [name for name in os.listdir(follower.directory) if name.endswith(".deleted")] == []
    assert follower.last_epoch == 1
    fetch(follower, leader, 1)
    assert content(follower) == content(leader)
    expected = (15, 1, 21, [(1, 15)], snapshot)
    assert shape(follower) == expected
    follower.close()
    follower = open_log(tmp_path / "follower")
    assert shape(follower) == expected
    image = replayed(follower, 21, follower.load_snapshot(snapshot))
    assert len(image.topics) == 20


def test_retention_by_size(tmp_path: Path) -> None:
    """metadata.max.retention.bytes: while log and snapshots are larger, the node deletes the oldest snapshots, but
    never the newest.
    """
    log = open_log(tmp_path, LogConfig(segment_bytes=400, retention_bytes=2000, retention_ms=-1))
    fill(log, 1, 4)
    snapshots = [snapshot_of(log, 3)]
    assert log.retention_candidate(0, log.end_offset) is None
    fill(log, 2, 10)
    snapshots += [snapshot_of(log, end) for end in (5, 7, 12)]
    assert log.retention_candidate(0, log.end_offset) is None, "nothing is trimmed that is not durable"
    flush(log)
    assert log.retention_candidate(0, 4) is None, "a leader's snapshot may reach beyond the high watermark"
    trimmed = []
    while (candidate := log.retention_candidate(0, log.end_offset)) is not None:
        log.trim(candidate)
        trimmed.append(candidate)
    assert trimmed == snapshots[1 : 1 + len(trimmed)]
    assert 0 < len(trimmed) <= 3
    assert log.start_offset == trimmed[-1].end_offset


def test_retention_by_age(tmp_path: Path) -> None:
    """metadata.max.retention.ms counts from the last record in a snapshot."""
    log = open_log(tmp_path, LogConfig(segment_bytes=400, retention_bytes=-1, retention_ms=100))
    fill(log, 1, 10)
    snapshots = [snapshot_of(log, end) for end in (3, 6, 9)]
    flush(log)
    assert [log.load_snapshot(each).timestamp_ms for each in snapshots] == [1002, 1005, 1008]
    assert log.retention_candidate(1102, log.end_offset) is None
    assert log.retention_candidate(1103, log.end_offset) == snapshots[1]
    log.trim(snapshots[1])
    assert log.retention_candidate(1105, log.end_offset) is None
    assert log.retention_candidate(10**9, log.end_offset) == snapshots[2]
    log.trim(snapshots[2])
    assert log.retention_candidate(10**9, log.end_offset) is None, "the newest snapshot stays"
