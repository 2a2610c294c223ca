"""Leading: commit, answer followers and observers, and resign (KIP-595, KIP-630)."""

from __future__ import annotations

import attrs
import pytest

from kraft.raft.events import (
    ElectionStateWritten,
    LogAppended,
    LogFlushed,
    RequestFailed,
    RequestReceived,
    Resign,
    ShutDown,
    SnapshotCreated,
    Timeout,
)
from kraft.raft.messages import (
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    EpochEnd,
    FetchRequest,
    FetchSnapshotRequest,
    LogSlice,
    SnapshotId,
    VoteResponse,
)
from kraft.raft.state import ElectionState, Leader, Resigned
from kraft.raft.timing import Timing
from kraft.testing.cores import Cores
from kraft.wire.errors import ErrorCode
from tests.raft.quorums import answer, elected, log_of, member, refusal, respond


def leading(appends: int = 0, observers: tuple[int, ...] = ()) -> Cores:
    """Voter 1 leads epoch 1; no other voter has fetched yet."""
    quorum = elected(1, observers=observers)
    for _ in range(appends):
        quorum.append(1)
    quorum.settle()
    return quorum


def fetch(offset: int, last_epoch: int = 1, *, epoch: int = 1, replica: int = 2, wait: float = 0.5) -> FetchRequest:
    return FetchRequest(epoch, replica, offset, last_epoch, wait)


def test_records_below_the_offsets_of_a_majority_are_committed_and_responses_say_so() -> None:
    """KIP-595: the high watermark goes to followers in Fetch responses only."""
    quorum = leading(appends=3)
    assert {node.core.high_watermark for node in quorum.nodes.values()} == {4}


def test_a_new_leader_sends_no_high_watermark_before_its_first_commit() -> None:
    """KIP-595: the high watermark is unknown until the leader has committed in its own epoch. Its old value may be
    lower than its followers', and Apache Kafka's followers stop when a high watermark goes back.
    """
    core = member(log=log_of((1, 5)))
    sends = core.step(2.5, Timeout()).sends
    sends = respond(core, sends[0], VoteResponse(ErrorCode.NONE, 1, None, True), 2.5).sends
    core.step(2.5, ElectionStateWritten(ElectionState(2, None, 1)))
    respond(core, sends[0], VoteResponse(ErrorCode.NONE, 2, None, True), 2.5)
    core.step(2.5, LogAppended(6, 2))
    core.step(2.5, LogFlushed(6, 0))
    assert isinstance(core.state, Leader)
    asked = FetchRequest(2, 2, 5, 1, 0.5, high_watermark=0)
    assert answer(core, asked, 2.6).high_watermark == -1
    assert answer(core, attrs.evolve(asked, fetch_offset=6, last_fetched_epoch=2), 2.6).high_watermark == 6


def test_nothing_is_committed_without_a_majority() -> None:
    quorum = leading()
    quorum.append(1)
    quorum.in_flight.clear()
    assert quorum.nodes[1].core.high_watermark == 1
    assert answer(quorum.nodes[1].core, fetch(2), quorum.now) is None
    assert quorum.nodes[1].core.high_watermark == 2


def test_only_its_fetches_have_the_progress_of_a_follower() -> None:
    """The log of a follower that has only acknowledged the epoch may end anywhere. DescribeQuorum then reports -1."""
    core = member(log=log_of((1, 5)))
    sends = core.step(2.5, Timeout()).sends
    sends = respond(core, sends[0], VoteResponse(ErrorCode.NONE, 1, None, True), 2.5).sends
    core.step(2.5, ElectionStateWritten(ElectionState(2, None, 1)))
    begins = respond(core, sends[0], VoteResponse(ErrorCode.NONE, 2, None, True), 2.5).sends
    respond(core, begins[0], BeginQuorumEpochResponse(ErrorCode.NONE, 2, 1), 2.5)
    assert isinstance(core.state, Leader)
    followers = [core.state.progress[voter] for voter in (2, 3)]
    assert [each.end_offset for each in followers] == [-1, -1]
    assert [each.acknowledged for each in followers] == [True, False]


def test_observers_do_not_count() -> None:
    quorum = leading(observers=(4,))
    quorum.append(1)
    quorum.in_flight.clear()
    answer(quorum.nodes[1].core, fetch(2, replica=4), quorum.now)
    assert quorum.nodes[1].core.high_watermark == 1


def test_records_beyond_the_offset_are_brought_at_once() -> None:
    core = leading(appends=2).nodes[1].core
    response = answer(core, fetch(1), 1.6)
    assert response.records == LogSlice(1, (EpochEnd(1, 3),))
    assert response.high_watermark == 3


def test_a_fetch_waits_for_the_log_to_grow() -> None:
    """KIP-595: a Fetch without new records is parked until the log grows past its offset or its wait is over."""
    quorum = leading()
    core = quorum.nodes[1].core
    assert answer(core, fetch(1), 1.6) is None
    (reply,) = [reply for reply in core.step(1.7, LogAppended(2, 1)).replies if reply.request_id == 7]
    assert reply.response.records == LogSlice(1, (EpochEnd(1, 2),))  # type: ignore[union-attr]


def test_a_parked_fetch_is_answered_empty_when_its_wait_is_over() -> None:
    core = leading().nodes[1].core
    assert answer(core, fetch(1, wait=0.1), 1.6) is None
    replies = core.step(1.71, Timeout()).replies
    assert [reply.response.error for reply in replies if reply.request_id == 7] == [ErrorCode.NONE]
    assert answer(core, fetch(1, wait=0), 1.8).records is None


def test_one_fetch_of_a_replica_is_parked_at_a_time() -> None:
    core = leading().nodes[1].core
    core.step(1.6, RequestReceived(20, fetch(1)))
    replies = core.step(1.6, RequestReceived(21, fetch(1))).replies
    assert [reply.request_id for reply in replies] == [20]


def test_fetches_of_consumers_do_not_disturb_one_another() -> None:
    """Any consumer has replica id -1: any number of them may be parked, and the leader tracks none."""
    core = leading().nodes[1].core
    for number in (20, 21, 22):
        assert core.step(1.6, RequestReceived(number, fetch(1, replica=-1))).replies == []
    assert isinstance(core.state, Leader)
    assert not core.state.observers
    replies = core.step(99.0, LogAppended(2, 1)).replies
    assert [reply.request_id for reply in replies if reply.request_id >= 20] == [20, 21, 22]
    assert not core.state.parked


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (fetch(1, epoch=0, last_epoch=0), ErrorCode.FENCED_LEADER_EPOCH),
        (fetch(1, epoch=2), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (fetch(-1), ErrorCode.INVALID_REQUEST),
        (fetch(1, last_epoch=2), ErrorCode.INVALID_REQUEST),
        (fetch(1, replica=1), ErrorCode.INVALID_REQUEST),
        (FetchSnapshotRequest(1, 2, SnapshotId(1, 1), 0), ErrorCode.SNAPSHOT_NOT_FOUND),
    ],
)
def test_an_unserved_fetch_is_refused_with_the_leader_named(request_: FetchRequest, error: ErrorCode) -> None:
    response = answer(leading().nodes[1].core, request_, 1.6)
    assert (response.error, response.epoch, response.leader_id) == (error, 1, 1)


def test_a_follower_refuses_and_names_the_leader() -> None:
    """KIP-595: NOT_LEADER_OR_FOLLOWER with the current leader is how observers find it."""
    response = answer(leading().nodes[2].core, fetch(1, replica=3), 1.6)
    assert (response.error, response.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 1)


def test_a_diverging_log_gets_the_diverging_epoch() -> None:
    """KIP-595: the end offset of the last fetched epoch, or of the nearest lower one, if the logs diverge."""
    core = leading(appends=2).nodes[1].core
    assert answer(core, fetch(9), 1.6).diverging == EpochEnd(1, 3)
    assert answer(core, fetch(2, last_epoch=0), 1.6).diverging == EpochEnd(0, 0)


def test_a_replica_with_an_old_high_watermark_gets_a_response_at_once() -> None:
    """KIP-1166: a follower reports its high watermark, so that it need not wait for the next record."""
    core = leading(appends=2).nodes[1].core
    lagging = FetchRequest(1, 2, 3, 1, 0.5, high_watermark=1)
    assert answer(core, lagging, 1.6).high_watermark == 3


def test_one_that_begins_from_nothing_gets_the_snapshot() -> None:
    """KIP-630: the leader answers with the id of its snapshot if the log no longer reaches back to the offset."""
    quorum = leading(appends=4)
    core = quorum.nodes[1].core
    assert answer(core, fetch(0, last_epoch=0), 1.6).records is not None
    core.step(1.6, SnapshotCreated(SnapshotId(3, 1)))
    assert answer(core, fetch(0, last_epoch=0), 1.6).snapshot == SnapshotId(3, 1)
    assert answer(core, FetchSnapshotRequest(1, 2, SnapshotId(3, 1), 0), 1.6).error is ErrorCode.NONE


def test_a_leader_that_no_majority_fetches_from_resigns() -> None:
    """KIP-595, KAFKA-15489: after 1.5 times the fetch timeout without fetches from a majority."""
    quorum = leading()
    core = quorum.nodes[1].core
    core.step(4.4, Timeout())
    assert isinstance(core.state, Leader)
    effects = core.step(4.51, Timeout())
    assert isinstance(core.state, Resigned)
    assert [send.request for send in effects.sends] == [EndQuorumEpochRequest(1, 1, (2, 3))] * 2
    assert core.leader_id is None


def test_a_voter_that_fetches_a_snapshot_keeps_the_leader() -> None:
    """Kafka's handleFetchSnapshotRequest calls ``updateCheckQuorumForFollowingVoter``."""
    core = leading().nodes[1].core
    snapshot = SnapshotId(1, 1)
    answer(core, fetch(1), 1.6)
    core.step(1.6, SnapshotCreated(snapshot))
    for number in range(10):
        now = 4.0 + 2.5 * number
        core.step(now, Timeout())
        assert isinstance(core.state, Leader)
        piece = answer(core, FetchSnapshotRequest(1, 3, snapshot, 10 * number), now)
        assert (piece.error, piece.position) == (ErrorCode.NONE, 10 * number)
    last = now + 1.5 * Timing().fetch_timeout_s
    for request in (FetchSnapshotRequest(1, 9, snapshot, 0), FetchSnapshotRequest(1, 3, SnapshotId(7, 1), 0)):
        answer(core, request, last - 0.1)  # of an observer, and of a snapshot that there is not
    core.step(last - 0.05, Timeout())
    assert isinstance(core.state, Leader)
    core.step(last, Timeout())
    assert isinstance(core.state, Resigned)


def test_one_voter_of_two_others_is_a_majority() -> None:
    core = leading().nodes[1].core
    answer(core, fetch(1, replica=3), 4.0)
    core.step(4.51, Timeout())
    assert isinstance(core.state, Leader)


def test_the_longest_log_succeeds() -> None:
    """KIP-595: preferred successors are sorted by their progress."""
    quorum = leading(appends=2)
    quorum.append(1)
    answer(quorum.nodes[1].core, fetch(4, replica=3), 1.6)
    (request, _) = [send.request for send in quorum.nodes[1].core.step(1.7, Resign(1)).sends]
    assert request == EndQuorumEpochRequest(1, 1, (3, 2))


def test_a_resignation_of_another_epoch_means_nothing() -> None:
    core = leading().nodes[1].core
    core.step(1.6, Resign(0))
    assert isinstance(core.state, Leader)


def test_a_stopping_leader_sends_until_it_is_acknowledged() -> None:
    core = leading().nodes[1].core
    sends = core.step(1.6, ShutDown()).sends
    respond(core, sends[0], EndQuorumEpochResponse(ErrorCode.NONE, 1, None), 1.7)
    again = core.step(3.7, Timeout()).sends
    assert [send.to for send in again] == [3]
    assert refusal(core, fetch(1), 3.8) == "SHUTTING_DOWN"
    core.step(99.0, Timeout())
    assert isinstance(core.state, Resigned)


def test_a_stopping_leader_does_not_wait_for_unreachable_voters() -> None:
    core = leading().nodes[1].core
    for send in core.step(1.6, ShutDown()).sends:
        core.step(1.7, RequestFailed(send.number, send.to, send.request))
    assert isinstance(core.state, Resigned)
    assert not core.state.unacknowledged


def test_a_failed_end_quorum_epoch_stays_unacknowledged() -> None:
    core = leading().nodes[1].core
    (send, _) = core.step(1.6, Resign(1)).sends
    core.step(1.7, RequestFailed(send.number, send.to, send.request))
    assert isinstance(core.state, Resigned)
    assert core.state.unacknowledged == {2, 3}


def test_parked_fetches_are_refused_when_a_leader_is_deposed() -> None:
    core = leading().nodes[1].core
    assert answer(core, fetch(1), 1.6) is None
    effects = core.step(1.7, Resign(1))
    assert {reply.response.error for reply in effects.replies} == {ErrorCode.NOT_LEADER_OR_FOLLOWER}


def test_any_answer_from_a_newer_epoch_deposes() -> None:
    core = leading().nodes[1].core
    send = core.step(2.6, Timeout()).sends[0]
    respond(core, send, BeginQuorumEpochResponse(ErrorCode.FENCED_LEADER_EPOCH, 7, 3), 2.7)
    assert (core.epoch, core.leader_id) == (7, 3)


def test_the_successors_stand_in_their_order() -> None:
    """KIP-595: the first preferred successor stands at once, the others back off by their rank."""
    voters, successors = (1, 2, 3, 4, 5), (2, 3, 4, 5)
    deadlines = []
    for node_id in successors:
        core = member(node_id, voters, ElectionState(4, leader_id=1))
        deadlines.append(core.step(0, RequestReceived(90, EndQuorumEpochRequest(4, 1, successors))).deadline)
    assert deadlines == [0.0, 0.125, 0.25, 0.5]
