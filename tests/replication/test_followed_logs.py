"""Where a follower's log begins and ends: truncations, starts and their checkpoints."""

from __future__ import annotations

import errno
import shutil
import threading
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
import trio

from kraft.messages.fetch_request import FetchPartition
from kraft.messages.fetch_response import EpochEndOffset, PartitionData
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.records.record import Record, encode_batch
from kraft.replication.checkpoints import FILES, CheckpointFiles, Checkpoints
from kraft.storage.checkpoint import write_offsets
from kraft.storage.directory import LastStop
from kraft.wire.errors import ErrorCode
from tests.replication.following import (
    FOLLOWER,
    HEIR,
    LEADER,
    Leader,
    batches,
    following,
)
from tests.support.eventually import until
from tests.support.held import TOPIC_ID, Broker, broker_in, topic


async def test_a_log_that_parted_from_the_leader_s_is_cut(tmp_path: Path) -> None:
    """KIP-595 adds it to Fetch: the end of the leader's largest epoch at or below the requested one."""
    leader, heir = Leader(), Leader(HEIR)
    leader.say(PartitionData(records=batches(0, b"a", b"b", b"c"), high_watermark=1))
    async with following(tmp_path, leader, heir) as broker:
        await until(lambda: len(broker.values) == 3)
        parted = PartitionData(diverging_epoch=EpochEndOffset(0, 1))
        heir.say(parted, PartitionData(records=batches(1, b"d", epoch=1)))
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))
        await until(lambda: broker.values == [b"a", b"d"])
        asked = [each.topics[0].partitions[0] for each in heir.asked[:2]]
        assert [(each.current_leader_epoch, each.fetch_offset, each.last_fetched_epoch) for each in asked] == [
            (1, 3, 0),
            (1, 1, 0),
        ]
        assert broker.partition.log.cuts == 1


async def test_a_leader_that_was_deposed_before_it_wrote_forgets_its_epoch(tmp_path: Path) -> None:
    leader, heir = Leader(), Leader(HEIR)
    leader.say(PartitionData(records=batches(0, b"a")))
    async with following(tmp_path, leader, heir) as broker:
        await until(lambda: broker.values == [b"a"])
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=FOLLOWER))
        assert broker.partition.is_leader
        assert broker.partition.end_of_epoch(1) == (1, 1)
        heir.say(PartitionData(diverging_epoch=EpochEndOffset(0, 1)), PartitionData(records=batches(1, b"b", epoch=2)))
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))
        await until(lambda: broker.values == [b"a", b"b"])
        assert [each.topics[0].partitions[0].last_fetched_epoch for each in heir.asked[:2]] == [1, 0]


async def test_a_leader_that_ends_before_its_follower(tmp_path: Path) -> None:
    """An unclean election: records that only the follower has are lost. No checkpoint is beyond the new end."""
    leader = Leader(end_offset=1)
    refused = PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    records = PartitionData(records=batches(0, b"a", b"b"), high_watermark=2)
    leader.say(records)
    async with following(tmp_path, leader) as broker:
        await until(lambda: broker.partition.high_watermark == 2)
        broker.partition.log.flush()
        broker.partition.cleaned_offset = 2
        await broker.replicas.checkpoints.write()
        leader.say(refused)
        await until(lambda: broker.partition.log.cuts == 1)
        assert broker.values == [b"a"]
        assert broker.partition.high_watermark == 1
        written = Checkpoints.read(str(tmp_path))
        assert [written.offset(name, ("topic", 0)) for name in FILES] == [1, 0, 1, 1]


async def test_a_leader_that_begins_after_its_follower_ends(tmp_path: Path) -> None:
    """Retention or DeleteRecords: the leader's log has no record of the follower's any more."""
    leader = Leader(start_offset=100, end_offset=102)
    refused = PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    leader.say(PartitionData(records=batches(0, b"a")), refused)
    leader.say(PartitionData(records=batches(100, b"x", b"y"), high_watermark=102, log_start_offset=100))
    async with following(tmp_path, leader) as broker:
        await until(lambda: broker.values == [b"x", b"y"])
        assert (broker.partition.log.log_start_offset, broker.partition.high_watermark) == (100, 102)


async def test_a_leader_whose_log_begins_within_a_batch(tmp_path: Path) -> None:
    leader = Leader(start_offset=2, end_offset=3)
    refused = PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    of_three = encode_batch([Record(at, 1000, None, b"%d" % at) for at in range(3)], base_offset=0, leader_epoch=0)
    leader.say(refused, PartitionData(records=of_three, high_watermark=3, log_start_offset=2))
    async with following(tmp_path, leader) as broker:
        await until(lambda: broker.values == [b"2"])
        assert (broker.partition.log.log_start_offset, broker.partition.log.log_end_offset) == (2, 3)
        await until(lambda: leader.last.fetch_offset == 3)
    again = broker_in(tmp_path, FOLLOWER)
    await again.replicas.load(broker.loader.image)
    assert again.values == [b"2"], "after a kill too"


async def test_deleted_records_are_durably_deleted_before_the_next_fetch(tmp_path: Path) -> None:
    """KIP-107: the follower's next Fetch reports the deletion, and then the leader responds to DeleteRecords."""
    leader = Leader(end_offset=3)
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    told: list[tuple[int, str]] = []

    def note(wanted: FetchPartition) -> PartitionData:
        written = checkpoint.read_text() if checkpoint.exists() else ""
        told.append((wanted.log_start_offset, written))
        return PartitionData(high_watermark=3, log_start_offset=2)

    leader.say(PartitionData(records=batches(0, b"a", b"b", b"c"), high_watermark=3), note, note)
    async with following(tmp_path, leader):
        await until(lambda: len(told) == 2)
    assert told == [(0, ""), (2, "0\n1\ntopic 0 2\n")]


async def test_a_log_start_without_a_checkpoint_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-107, as above: a Fetch after a failed write would answer DeleteRecords for records that may come back."""
    leader = Leader(end_offset=3)
    checkpoint = tmp_path / "log-start-offset-checkpoint"
    told: list[tuple[int, bool]] = []
    failures = 0

    def note(wanted: FetchPartition) -> PartitionData:
        told.append((wanted.log_start_offset, checkpoint.exists()))
        return PartitionData(high_watermark=3, log_start_offset=2)

    def fail_once(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
        nonlocal failures
        failures += 1
        if failures == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_offsets(path, offsets)

    monkeypatch.setattr("kraft.replication.checkpoints.write_offsets", fail_once)
    leader.say(PartitionData(records=batches(0, b"a", b"b", b"c"), high_watermark=3), note, note)
    async with following(tmp_path, leader):
        await until(lambda: len(told) == 2)
    assert told == [(0, False), (2, True)]


async def test_a_log_start_that_cannot_be_written_pauses_no_other_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others may be on disks with room. A broker that fetches nothing leaves all ISRs."""
    is_full = True

    def write(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
        if is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_offsets(path, offsets)

    def fetched() -> dict[int, int]:
        last = leader.asked[-1:]
        return {each.partition: each.log_start_offset for request in last for each in request.topics[0].partitions}

    monkeypatch.setattr("kraft.replication.checkpoints.write_offsets", write)
    leader = Leader()
    leader.say(PartitionData(records=batches(0, b"a", b"b", b"c"), high_watermark=3, log_start_offset=2))
    async with following(tmp_path, leader) as broker:
        _, _, second = topic(LEADER, FOLLOWER, HEIR, leader=LEADER, partitions=2)
        await broker.hear(second)
        await until(lambda: fetched() == {1: 0})
        is_full = False
        leader.start_offset, leader.end_offset = 2, 3
        await until(lambda: fetched() == {1: 0, 0: 2})


async def test_a_log_whose_start_stays_costs_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    write = CheckpointFiles.write

    async def counted(self: CheckpointFiles, names: Collection[str]) -> None:
        written.append(broker.partition.log.log_start_offset)
        await write(self, names)

    monkeypatch.setattr(CheckpointFiles, "write", counted)
    leader = Leader(end_offset=3, start_offset=1)
    leader.say(PartitionData(records=batches(0, b"a", b"b", b"c"), high_watermark=3))
    async with following(tmp_path, leader) as broker:
        await until(lambda: len(leader.asked) >= 6)
    assert written == [1]


async def parted_at_1(broker: Broker, leader: Leader, heir: Leader) -> None:
    """The follower has four records, all durable and noted as that, when a leader comes that has one of them."""
    await until(lambda: broker.values == [b"a", b"b", b"c", b"d"])
    broker.partition.log.flush()
    broker.partition.cleaned_offset = 3
    await broker.replicas.checkpoints.write()
    heir.say(
        PartitionData(diverging_epoch=EpochEndOffset(0, 1)),
        PartitionData(records=batches(1, b"x", b"y", b"z", epoch=1), high_watermark=2),
    )
    await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))


FOUR = PartitionData(records=batches(0, b"a", b"b", b"c", b"d"), high_watermark=4)


async def test_checkpoints_are_lowered_before_a_log_is_cut(tmp_path: Path) -> None:
    """LogManager.truncateTo ends with checkpointRecoveryOffsetsInDir. The order here leaves no time between."""
    leader, heir = Leader(), Leader(HEIR)
    leader.say(FOUR)
    async with following(tmp_path, leader, heir) as broker:
        await parted_at_1(broker, leader, heir)
        await until(lambda: broker.values == [b"a", b"x", b"y", b"z"])
        written = Checkpoints.read(str(tmp_path))
        assert [written.offset(name, ("topic", 0)) for name in FILES] == [1, 0, 1, 1]


async def test_a_power_cut_after_a_truncation_loses_only_unflushed_records(tmp_path: Path) -> None:
    """The disk has the second page after the truncation, but not the first. The statement "all records below the
    recovery point are flushed" must not cover the new records there.
    """
    leader, heir = Leader(), Leader(HEIR)
    path, copied = tmp_path / "data", tmp_path / "copied"
    path.mkdir()
    leader.say(FOUR)
    async with following(path, leader, heir) as broker:
        await parted_at_1(broker, leader, heir)
        await until(lambda: broker.values == [b"a", b"x", b"y", b"z"])
        shutil.copytree(path, copied)
        image = broker.loader.image
    log = copied / "topic-0" / "00000000000000000000.log"
    size = len(batches(0, b"a"))
    log.write_bytes(log.read_bytes()[:size] + bytes(size) + log.read_bytes()[2 * size :])
    restarted = broker_in(copied, FOLLOWER)
    restarted.replicas.directories[0].last_stop = LastStop.POWER_LOST
    await restarted.replicas.load(image)
    assert restarted.values == [b"a"]


async def test_a_log_truncated_below_its_start_keeps_later_records_after_a_kill(tmp_path: Path) -> None:
    """DeleteRecords had moved the start to 3 before an unclean election gave the partition a log that ends at 1."""
    leader, heir = Leader(), Leader(HEIR)
    path, copied = tmp_path / "data", tmp_path / "copied"
    path.mkdir()
    leader.say(FOUR)
    async with following(path, leader, heir) as broker:
        await until(lambda: broker.partition.high_watermark == 4)
        leader.start_offset = 3
        await until(lambda: broker.partition.log.log_start_offset == 3)
        await broker.replicas.checkpoints.write()
        heir.say(
            PartitionData(diverging_epoch=EpochEndOffset(0, 1)),
            PartitionData(records=batches(1, b"w", b"x", b"y", b"z", epoch=1), high_watermark=2),
        )
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))
        await until(lambda: broker.partition.log.log_end_offset == 5)
        shutil.copytree(path, copied)
        image = broker.loader.image
    restarted = broker_in(copied, FOLLOWER)
    await restarted.replicas.load(image)
    assert restarted.values == [b"w", b"x", b"y", b"z"]
    assert restarted.partition.high_watermark <= 2


async def test_a_log_is_not_cut_that_this_broker_leads_by_the_time_the_checkpoints_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, heir = Leader(), Leader(HEIR)
    leader.say(FOUR)
    began, end = trio.Event(), threading.Event()

    def write_slowly(path: str, offsets: Mapping[tuple[str, int], int]) -> None:
        trio.from_thread.run_sync(began.set)
        assert end.wait(10)
        write_offsets(path, offsets)

    async with following(tmp_path, leader, heir) as broker:
        await until(lambda: broker.values == [b"a", b"b", b"c", b"d"])
        heir.say(PartitionData(diverging_epoch=EpochEndOffset(0, 1)))
        monkeypatch.setattr("kraft.replication.checkpoints.write_offsets", write_slowly)
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=HEIR))
        await began.wait()
        await broker.hear(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=FOLLOWER))
        end.set()
        await broker.replicas.checkpoints.write()
        assert broker.values == [b"a", b"b", b"c", b"d"]
        assert broker.partition.log.cuts == 0
