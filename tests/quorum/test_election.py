"""``quorum-state`` at a start: accepted, accepted with a warning, or a reason to stop."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from kraft.config.topic import LogConfig
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.image import Image
from kraft.quorum.election import ElectionFile
from kraft.quorum.log import MetadataLog
from kraft.raft.state import ElectionState
from kraft.storage.errors import StorageError
from kraft.storage.quorum_state import FILE_NAME, QuorumState, write_quorum_state
from tests.support.metadata_logs import append_records

VOTERS = (1, 2, 3)


@pytest.fixture
def log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[MetadataLog]:
    caplog.set_level(logging.WARNING)
    log = MetadataLog.open(str(tmp_path), LogConfig(), now_ms=0)
    yield log
    log.close()


def append(log: MetadataLog, epoch: int) -> None:
    append_records(log, [TopicRecord(name="t", topic_id=UUID(int=1000))], epoch, 1000)


def stored(log: MetadataLog, state: QuorumState, node_id: int = 1) -> ElectionState:
    write_quorum_state(Path(log.directory) / FILE_NAME, state)
    return ElectionFile(log, node_id, VOTERS).read()


def test_a_new_node_has_no_state_and_sends_no_request(log: MetadataLog, caplog: pytest.LogCaptureFixture) -> None:
    assert ElectionFile(log, 1, VOTERS).read() == ElectionState(0)
    assert not caplog.messages


def test_written_values_are_read_back(log: MetadataLog, caplog: pytest.LogCaptureFixture) -> None:
    append(log, 4)
    file = ElectionFile(log, 1, VOTERS)
    for election in (ElectionState(4, 2, None), ElectionState(5, None, 3), ElectionState(6)):
        file.write(election)
        assert file.read() == election
    assert not caplog.messages


@pytest.mark.parametrize(("node_id", "lines"), [(1, 1), (9, 0)], ids=["voter", "observer"])
def test_a_missing_file_beside_a_log_may_cost_a_vote(
    log: MetadataLog, caplog: pytest.LogCaptureFixture, node_id: int, lines: int
) -> None:
    """As in Kafka the node starts in the epoch of its log. An observer has no vote to forget."""
    append(log, 4)
    assert ElectionFile(log, node_id, VOTERS).read() == ElectionState(4)
    risk = "the last vote of this voter is unknown, so it may vote a second time in one epoch"
    path = Path(log.directory) / FILE_NAME
    assert caplog.messages == [f"{path} is missing beside a log of epoch 4: {risk}"][:lines]


@pytest.mark.parametrize(
    ("state", "what"),
    [(QuorumState(77, 5, -1), "leader"), (QuorumState(-1, 5, 77), "vote")],
    ids=["leader", "vote"],
)
def test_an_unknown_voter_is_named(
    log: MetadataLog, caplog: pytest.LogCaptureFixture, state: QuorumState, what: str
) -> None:
    """A vote stays valid for any candidate: a voter has one vote in an epoch."""
    election = stored(log, state)
    assert election.voted_for == (77 if what == "vote" else None)
    path = Path(log.directory) / FILE_NAME
    assert caplog.messages == [f"{path}: the {what} of epoch 5 is 77; controller.quorum.voters is 1,2,3"]


def test_other_voters_than_before_are_named(log: MetadataLog, caplog: pytest.LogCaptureFixture) -> None:
    assert stored(log, QuorumState(2, 5, -1, current_voters=(1, 2, 4))) == ElectionState(5, 2, None)
    (line,) = caplog.messages
    assert "quorum-state: the voters were 1,2,4, and controller.quorum.voters is 1,2,3; " in line


def test_a_record_of_an_epoch_that_never_was_stops_the_node(log: MetadataLog) -> None:
    append(log, 4)
    with pytest.raises(StorageError, match=r"a record of epoch 4, and quorum-state knows none after 3; "):
        stored(log, QuorumState(2, 3))


def test_a_snapshot_of_another_node_may_be_newer(log: MetadataLog, caplog: pytest.LogCaptureFixture) -> None:
    """The file may replace a lost one, and has its epoch twice."""
    snapshot = log.write_snapshot(Image(offset=41, epoch=4, timestamp_ms=1000))
    log.install(snapshot)
    assert stored(log, QuorumState(2, 3, 2)) == ElectionState(4)
    assert caplog.messages == [
        f"{log.directory}: the log begins with a snapshot of epoch 4, newer than the 3 of quorum-state"
    ]
    append(log, 4)
    with pytest.raises(StorageError):
        stored(log, QuorumState(2, 3))
