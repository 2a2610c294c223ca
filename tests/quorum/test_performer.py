"""The changes of a real log by the effects of a core, and the events that follow from them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft.config.listeners import Voter
from kraft.metadata.steps import finished
from kraft.quorum.batches import leader_change_batch
from kraft.quorum.election import ElectionFile
from kraft.quorum.flusher import Flusher
from kraft.quorum.peer_warnings import PeerWarnings
from kraft.quorum.pending import PendingRequests
from kraft.quorum.performer import Performer
from kraft.quorum.snapshot_check import SnapshotCheck
from kraft.raft.events import (
    Effects,
    ElectionStateWritten,
    FetchedRecords,
    LeaderChange,
    SnapshotRejected,
    StoreChunk,
)
from kraft.raft.messages import SnapshotId
from kraft.raft.state import ElectionState
from kraft.storage.errors import StorageError
from kraft.world.world import World, sync_now
from tests.support.metadata_logs import open_log
from tests.support.quorums import identity
from tests.support.scripted_leader import at_once

SNAPSHOT = SnapshotId(10, 1)
ELECTION = ElectionState(5, leader_id=1)
VOTERS = [Voter(number, "127.0.0.1", number) for number in (1, 2, 3)]


class Bench:
    """A performer on a real log, in a quorum of three without connections."""

    def __init__(self, directory: Path) -> None:
        self.log = open_log(directory)
        self.published: list[int] = []
        self.flusher = Flusher(self.log, self.log.view(), at_once, sync_now)
        check, pending = SnapshotCheck(self.log, at_once), PendingRequests(self.log)
        this = identity(2, *VOTERS)
        warnings = PeerWarnings(this, now=lambda: 0.0)
        self.election_file = ElectionFile(self.log, 2, this.voters)
        world, publish = World(in_thread=at_once), self.published.append
        self.performer = Performer(
            self.log, world, self.election_file, self.flusher, check, pending, {}, warnings, publish
        )

    def fetched(self, change: LeaderChange) -> FetchedRecords:
        """The first batch of a leader's epoch, in the checked form of the driver."""
        batches = finished(self.log.check_fetched(leader_change_batch(change, self.log.end_offset, 0), change.epoch))
        assert batches is not None
        return FetchedRecords(batches.records, batches)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.log.abandon()


async def test_the_events_that_follow_from_the_effects_of_one_step(bench: Bench) -> None:
    """A piece that does not fit is a rejected snapshot. Nothing follows from the next step, which has no effects."""
    effects = Effects(election=ELECTION, store=StoreChunk(SNAPSHOT, 7, False, b"a piece from the middle"))
    assert await bench.performer.perform(effects) == [ElectionStateWritten(ELECTION), SnapshotRejected(SNAPSHOT)]
    assert bench.election_file.read() == ELECTION
    assert await bench.performer.perform(Effects()) == []


def test_a_node_stops_with_the_words_of_the_core(bench: Bench) -> None:
    with pytest.raises(StorageError, match="the logs diverge at offset 3; this node stops to protect its log"):
        bench.performer.stop("the logs diverge at offset 3")


def test_a_leader_change_is_appended_and_not_durable_before_a_flush(bench: Bench) -> None:
    bench.performer.append(LeaderChange(1, 2, (1, 2, 3), (2, 3)))
    assert (bench.log.end_offset, bench.log.last_epoch) == (1, 1)
    assert not bench.flusher.is_due
    bench.performer.flush()
    assert bench.flusher.is_due


def test_the_voters_of_a_new_leader_are_compared_with_those_of_this_node(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    bench.performer.append(bench.fetched(LeaderChange(1, 1, (1, 2, 3), (1, 3))))
    assert caplog.messages == []
    bench.performer.append(bench.fetched(LeaderChange(2, 1, (1, 3, 4), (1, 3))))
    assert bench.log.end_offset == 2
    assert [message.partition(",")[0] for message in caplog.messages] == ["the voters of leader 1 of epoch 2 are 1"]


def test_a_cut_log_is_flushed(bench: Bench) -> None:
    """After a crash the records of a truncation that was not durable might return, behind the leader's new records."""
    for epoch in (1, 2):
        bench.performer.append(LeaderChange(epoch, 2, (1, 2, 3), (2, 3)))
    bench.performer.truncate(1)
    assert bench.log.end_offset == 1
    assert bench.flusher.is_due


def test_a_high_watermark_is_published(bench: Bench) -> None:
    bench.performer.commit(5)
    assert bench.published == [5]
