"""One hosted partition: reading its own log, and truncation."""

from __future__ import annotations

import errno
import uuid
from pathlib import Path

import pytest

from kraft.broker.leadership import FollowerFetched, LagChecked, Settled
from kraft.metadata.partitions import Partition
from kraft.records.control import EndTransactionMarker
from kraft.records.record import Record, encode_batch
from kraft.replication.partition import HostedPartition
from kraft.simulation.virtual_network import VirtualClock
from kraft.storage.cleaner import Cleaning
from kraft.storage.directory import LastStop
from kraft.storage.epochs import LeaderEpochs
from kraft.storage.log import Log
from kraft.world.world import World
from tests.storage.logs import append, batch, config
from tests.support.held import broker_in, registration, topic


def test_reading_ends_where_compaction_has_emptied_the_end_of_the_log(tmp_path: Path) -> None:
    """As the group coordinator reads ``__consumer_offsets`` at its start: offsets without records must not keep it
    there for ever.
    """
    log = Log.open(tmp_path, "topic-0", config(cleanup_policy="compact"), now_ms=0)
    append(log, batch([b"a record without a key is never kept"]))
    log.roll()
    cleaning = Cleaning.begin(log.segments, 0, log.log_end_offset, log.config, log.producers)
    log.replace_segments(cleaning.run(0))
    state = Partition(replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0, directories=())
    partition = HostedPartition("topic", uuid.uuid4(), 0, log, state, log.log_end_offset)
    assert (log.log_start_offset, log.log_end_offset) == (0, 1)
    assert list(partition.records()) == []


def test_records_that_take_the_place_of_cut_ones_are_compacted_too(tmp_path: Path) -> None:
    """LogCleanerManager.maybeTruncateCheckpoint: the compacted part ends no later than the log."""
    log = Log.open(tmp_path, "topic-0", config(cleanup_policy="compact"), now_ms=0)
    append(log, batch([b"a"]))
    append(log, batch([b"b"]))
    state = Partition(replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0, directories=())
    partition = HostedPartition("topic", uuid.uuid4(), 0, log, state, 2, cleaned_offset=2)
    partition.truncate_to(1, 0)
    assert (log.log_end_offset, partition.cleaned_offset) == (1, 1)


@pytest.mark.parametrize("is_truncated", [False, True], ids=["start", "truncation"])
def test_a_follower_without_news_knows_which_transactions_have_ended(tmp_path: Path, is_truncated: bool) -> None:
    """``UnifiedLog.initializeHighWatermark`` and ``truncateTo`` set the high watermark by ``updateHighWatermark``,
    which completes the transactions below it (``maybeIncrementFirstUnstableOffset``). The log has just replayed them.
    """
    log = Log.open(tmp_path, "topic-0", config(), now_ms=0)
    append(log, batch([b"a"], producer_id=1, producer_epoch=0, base_sequence=0, transactional=True))
    append(log, EndTransactionMarker(committed=True, coordinator_epoch=0).batch(1, 0, 0))
    append(log, batch([b"b"]))
    log.abandon()
    log = Log.open(tmp_path, "topic-0", config(), now_ms=0, last_stop=LastStop.KILLED)
    state = Partition(replicas=(1, 2), isr=(1, 2), leader=2, leader_epoch=0, partition_epoch=0, directories=())
    partition = HostedPartition("topic", uuid.uuid4(), 0, log, state, 2)
    if is_truncated:
        partition.truncate_to(2, 0)
    partition.learn(2, 0)
    assert (partition.high_watermark, partition.last_stable_offset) == (2, 2)


async def test_the_high_watermark_does_not_wait_for_a_replica_that_lags_by_another_clock(tmp_path: Path) -> None:
    """The timestamps of records come from the system's clock, and may be far from the time of the ISR."""
    now = 0.0
    broker = broker_in(tmp_path, 1, World(clock=VirtualClock(seconds=lambda: now)))
    await broker.replicas.registered(5)
    await broker.hear(registration(1, 5), registration(2, 6), *topic(1, 2, leader=1))
    partition, clock = broker.partition, broker.replicas.world.clock
    partition.fetched(clock.now_s(), FollowerFetched(2, 6, 0, 0))
    now += 60
    partition.append(bytearray(batch([b"a"])), 1000)
    partition.step(clock.now_s(), LagChecked())
    assert partition.leadership is not None
    assert partition.leadership.pending is not None
    partition.step(clock.now_s(), Settled(partition.leadership.pending, (1,), 1))
    partition.append(bytearray(batch([b"b"])), 1000)
    assert partition.high_watermark == 2


class TestFullDisk:
    """After a failed truncation or append, neither the high watermark nor the compacted part is beyond the log end.

    ``UnifiedLog`` lowers its high watermark together with each truncation (``updateHighWatermark``).
    """

    def partition(self, path: Path) -> HostedPartition:
        log = Log.open(path, "topic-0", config(cleanup_policy="compact"), now_ms=0)
        for value in b"a", b"b", b"c":
            append(log, batch([value]))
        state = Partition(replicas=(1, 2), isr=(1, 2), leader=2, leader_epoch=0, partition_epoch=0, directories=())
        return HostedPartition("topic", uuid.uuid4(), 0, log, state, 3, cleaned_offset=3)

    def test_an_append_within_which_the_leader_s_log_begins(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        partition = self.partition(tmp_path)
        partition.restart_at(5)
        partition.cleaned_offset = 5
        monkeypatch.setattr(Log, "append_as_follower", fail)
        fetched = encode_batch([Record(offset, 1000, None, b"c") for offset in range(2, 6)], base_offset=2)
        with pytest.raises(OSError, match="no space"):
            partition.append_fetched(fetched, 0)
        assert (partition.log.log_end_offset, partition.high_watermark, partition.cleaned_offset) == (2, 2, 2)

    def test_a_truncation(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        partition = self.partition(tmp_path)
        monkeypatch.setattr(LeaderEpochs, "truncate_from_end", fail)
        with pytest.raises(OSError, match="no space"):
            partition.truncate_to(1, 0)
        assert (partition.log.log_end_offset, partition.high_watermark, partition.cleaned_offset) == (1, 1, 1)


def fail(*_: object) -> None:
    raise OSError(errno.ENOSPC, "no space")


@pytest.mark.parametrize("count", [0, 2])
def test_an_epoch_without_records_ends_at_the_end_of_the_log(tmp_path: Path, count: int) -> None:
    """``Partition.makeLeader`` enters every leader epoch. A consumer knows an epoch without records from ListOffsets.
    If it were unknown after the next election, librdkafka would report a truncation and reset its position.
    """
    log = Log.open(tmp_path, "topic-0", config(), now_ms=0)
    for _ in range(count):
        append(log, batch([b"a"]), epoch=1)
    state = Partition(replicas=(1,), isr=(1,), leader=1, leader_epoch=4, partition_epoch=0, directories=())
    partition = HostedPartition("topic", uuid.uuid4(), 0, log, state, count)
    assert partition.end_of_epoch(3) == (1 if count else 3, count)
    assert partition.end_of_epoch(4) == (4, count)
    assert partition.end_of_epoch(5) == (-1, -1)
