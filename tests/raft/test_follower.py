"""Following: append, truncate, acknowledge, and replace a log by a snapshot (KIP-595, KIP-630)."""

from __future__ import annotations

import math

import pytest

from kraft.raft.core import RaftCore
from kraft.raft.events import (
    Effects,
    FetchedRecords,
    LogFlushed,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    Send,
    ShutDown,
    SnapshotRejected,
    SnapshotStored,
    StoreChunk,
    Timeout,
)
from kraft.raft.log_view import LogView
from kraft.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    EpochEnd,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    LogSlice,
    SnapshotId,
    VoteRequest,
)
from kraft.raft.state import ElectionState, Follower, Prospective, Unattached
from kraft.raft.timing import Timing
from kraft.wire.errors import ErrorCode
from tests.raft.quorums import answer, log_of, member, refusal, respond


def following(log: LogView | None = None, node_id: int = 1) -> tuple[RaftCore, Send]:
    """A follower of 2 in epoch 5, and the Fetch that it sent."""
    core = member(node_id, log=log)
    effects = core.step(0.0, RequestReceived(1, BeginQuorumEpochRequest(5, 2)))
    assert effects.election == ElectionState(5, leader_id=2)
    (send,) = effects.sends
    return core, send


def fetched(**fields: object) -> FetchResponse:
    return FetchResponse(ErrorCode.NONE, 5, 2, **fields)  # type: ignore[arg-type]


def records(base: int, *runs: tuple[int, int]) -> LogSlice:
    return LogSlice(base, tuple(EpochEnd(*run) for run in runs))


def why_given_up(core: RaftCore, now: float) -> str:
    """Return the reason why a follower seeks votes after its fetch timeout."""
    (transition,) = core.step(now, Timeout()).transitions
    assert isinstance(core.state, Prospective)
    return transition.why


def test_a_follower_fetches_from_the_end_of_its_log() -> None:
    _, send = following(log_of((1, 4), (3, 6)))
    assert send.to == 2
    assert send.request == FetchRequest(5, 1, 6, 3, 0.5, 0)


def test_fetched_records_are_flushed_before_the_next_fetch() -> None:
    """KIP-595: the fetch offset is an acknowledgement, so all records below it are durable."""
    core, send = following()
    effects = respond(core, send, fetched(high_watermark=1, records=records(0, (5, 2))), 0.1)
    assert (effects.append, effects.flush, effects.sends) == (FetchedRecords(records(0, (5, 2))), True, [])
    assert effects.high_watermark == 1
    effects = core.step(0.2, LogFlushed(1, 0))
    assert effects.sends == []
    effects = core.step(0.2, LogFlushed(2, 0))
    assert [sent.request for sent in effects.sends] == [FetchRequest(5, 1, 2, 5, 0.5, 1)]


def test_the_high_watermark_is_no_further_than_the_log() -> None:
    core, send = following()
    respond(core, send, fetched(high_watermark=9, records=records(0, (5, 2))), 0.1)
    assert core.high_watermark == 2


def test_a_log_that_differs_is_cut_before_the_high_watermark_moves() -> None:
    """KAFKA-14704: a follower must not raise its high watermark before it has truncated the diverging records."""
    core, send = following(log_of((1, 4), (3, 6)))
    effects = respond(core, send, fetched(high_watermark=6, diverging=EpochEnd(2, 5)), 0.1)
    assert (effects.truncate, effects.high_watermark) == (4, None)
    assert [sent.request for sent in effects.sends] == [FetchRequest(5, 1, 4, 1, 0.5, 0)]


def test_committed_records_are_never_truncated() -> None:
    core, send = following(log_of((1, 4)))
    send = respond(core, send, fetched(high_watermark=4), 0.1).sends[0]
    effects = respond(core, send, fetched(high_watermark=4, diverging=EpochEnd(1, 2)), 0.2)
    assert effects.fatal is not None
    assert "below the high watermark 4" in effects.fatal
    assert (effects.truncate, core.log.end_offset) == (None, 4)


def test_a_flush_that_began_before_a_truncation_covers_nothing() -> None:
    core, send = following(log_of((1, 4)))
    effects = respond(core, send, fetched(diverging=EpochEnd(1, 2)), 0.1)
    respond(core, effects.sends[0], fetched(records=records(2, (5, 4))), 0.2)
    assert core.step(0.3, LogFlushed(4, truncations=0)).sends == []
    assert len(core.step(0.3, LogFlushed(4, truncations=1)).sends) == 1


@pytest.mark.parametrize(
    "bad", [records(3, (5, 4)), records(4, (2, 6)), records(4, (6, 6)), records(4, (3, 4)), LogSlice(4, ())]
)
def test_records_that_do_not_fit_are_not_appended(bad: LogSlice) -> None:
    core, send = following(log_of((3, 4)))
    effects = respond(core, send, fetched(records=bad), 0.1)
    assert (effects.append, core.log.end_offset) == (None, 4)
    assert 0.1 < effects.deadline < 0.2


def test_only_the_answer_that_is_waited_for_counts() -> None:
    core, send = following()
    again = core.step(1.0, RequestFailed(send.number, 2, send.request))
    assert again.sends == []
    second = core.step(1.1, Timeout()).sends[0]
    assert respond(core, send, fetched(records=records(0, (5, 2))), 1.2).append is None
    assert respond(core, second, fetched(records=records(0, (5, 2))), 1.2).append is not None


def test_a_leader_that_does_not_answer_is_given_up() -> None:
    """KIP-595: controller.quorum.fetch.timeout.ms without a successful fetch starts an election."""
    core, _ = following()
    core.step(1.9, Timeout())
    assert isinstance(core.state, Follower)
    assert why_given_up(core, 2.0) == "2 sent no response within the fetch timeout"


@pytest.mark.parametrize(
    "bad",
    [
        FetchResponse(ErrorCode.UNKNOWN_SERVER_ERROR, 5, 2),
        FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, 5, None),
        FetchResponse(ErrorCode.NONE, 4, 2),
        None,
    ],
    ids=["an error", "it does not lead", "an older epoch", "what makes no sense"],
)
def test_a_leader_that_gives_no_good_answer_is_given_up_for_that(bad: FetchResponse | None) -> None:
    """KIP-595: only a successful fetch counts. The reason of the transition shows whether there was any response."""
    core, send = following()
    if bad is None:
        core.step(0.1, RequestFailed(send.number, 2, send.request, answered=True))
    else:
        respond(core, send, bad, 0.1)
    (send,) = core.step(0.2, Timeout()).sends
    core.step(0.3, RequestFailed(send.number, 2, send.request))
    assert why_given_up(core, 2.0) == "2 sent no usable response within the fetch timeout"


def test_a_bad_answer_before_a_good_one_is_forgotten() -> None:
    core, send = following()
    respond(core, send, FetchResponse(ErrorCode.UNKNOWN_SERVER_ERROR, 5, 2), 0.1)
    (send,) = core.step(0.2, Timeout()).sends
    respond(core, send, fetched(), 0.3)
    assert why_given_up(core, 2.3) == "2 sent no response within the fetch timeout"


def test_a_leader_that_sends_unexpected_pieces_is_given_up() -> None:
    core, send = downloading()
    chunk(core, send, 10)
    assert why_given_up(core, 2.1) == "2 sent no usable response within the fetch timeout"


def test_an_unreachable_leader_did_not_respond_badly() -> None:
    """KIP-595: the fetch offset is an acknowledgement, so a follower with a slow disk sends no Fetch."""
    core, send = following()
    respond(core, send, fetched(records=records(0, (5, 2))), 0.1)
    assert why_given_up(core, 2.1) == "the disk flushed too slowly to fetch from 2 within the fetch timeout"


def test_a_leader_that_resigned_is_given_up_for_that() -> None:
    core, _ = following()
    assert answer(core, EndQuorumEpochRequest(5, 2, (1, 3)), 0.1).error is ErrorCode.NONE
    assert why_given_up(core, 0.1) == "2 resigned"


def test_an_observer_without_its_leader_fetches_from_the_voters() -> None:
    core, _ = following(node_id=9)
    (send,) = core.step(2.0, Timeout()).sends
    assert isinstance(core.state, Unattached)
    assert send.to in (1, 2, 3)
    respond(core, send, FetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, 5, 3), 2.1)
    assert core.leader_id == 3


def test_an_observer_takes_no_epoch_without_a_leader() -> None:
    """A voter brings other voters into its epoch by its Vote requests. An observer cannot, and would never leave the
    epoch.
    """
    core, send = following(node_id=9)
    effects = respond(core, send, FetchResponse(ErrorCode.FENCED_LEADER_EPOCH, 8, None), 0.1)
    assert (core.epoch, core.leader_id, effects.election) == (5, 2, None)
    (send,) = core.step(0.2, Timeout()).sends
    respond(core, send, FetchResponse(ErrorCode.FENCED_LEADER_EPOCH, 8, 3), 0.3)
    assert (core.epoch, core.leader_id) == (8, 3)


def test_an_error_that_names_a_newer_leader_is_followed() -> None:
    core, send = following()
    (send,) = respond(core, send, FetchResponse(ErrorCode.FENCED_LEADER_EPOCH, 8, 3), 0.1).sends
    assert (core.epoch, core.leader_id, send.to) == (8, 3, 3)


def test_a_leader_that_is_only_known_by_its_end_is_followed() -> None:
    """As with Apache Kafka: its epoch has no vote left, and the order of the successors sets the time of the
    election.
    """
    core = member()
    assert answer(core, EndQuorumEpochRequest(7, 3, (2, 1)), 0.1) == EndQuorumEpochResponse(ErrorCode.NONE, 7, 3)
    assert (core.epoch, core.leader_id) == (7, 3)
    assert not answer(core, VoteRequest(7, 2, 9, 6), 0.1).granted
    core = member(election=ElectionState(7, voted_for=3))
    assert answer(core, EndQuorumEpochRequest(7, 3, (2, 1)), 0.1) == EndQuorumEpochResponse(ErrorCode.NONE, 7, 3)


def test_a_second_leader_of_an_epoch_is_refused() -> None:
    core, _ = following()
    assert refusal(core, BeginQuorumEpochRequest(5, 3)) == "OTHER_LEADER"
    assert refusal(core, BeginQuorumEpochRequest(4, 3)) == "STALE_EPOCH"
    assert refusal(core, BeginQuorumEpochRequest(4, 9)) == "STALE_EPOCH"
    assert refusal(core, BeginQuorumEpochRequest(6, 9)) == "NOT_A_VOTER"
    assert answer(core, BeginQuorumEpochRequest(6, 9)).error is ErrorCode.INCONSISTENT_VOTER_SET
    assert answer(core, EndQuorumEpochRequest(6, 9, (1,))).error is ErrorCode.INCONSISTENT_VOTER_SET
    assert core.epoch == 5
    assert answer(core, BeginQuorumEpochRequest(6, -1)).error is ErrorCode.INVALID_REQUEST
    assert answer(core, BeginQuorumEpochRequest(5, 2)).error is ErrorCode.NONE


def test_a_restarted_follower_goes_on_following() -> None:
    core = member(election=ElectionState(5, leader_id=2))
    effects = core.step(0.0, Timeout())
    assert [send.to for send in effects.sends] == [2]
    assert effects.election is None


SNAPSHOT = SnapshotId(7, 4)


def chunk(core: RaftCore, send: Send, position: int, size: int = 20) -> Effects:
    response = FetchSnapshotResponse(ErrorCode.NONE, 5, 2, position, 10, size)
    return respond(core, send, response, 0.2)


def downloading(log: LogView | None = None, node_id: int = 1) -> tuple[RaftCore, Send]:
    core, send = following(log, node_id)
    (send,) = respond(core, send, fetched(snapshot=SNAPSHOT), 0.1).sends
    assert send.request == FetchSnapshotRequest(5, node_id, SNAPSHOT, 0)
    return core, send


def test_a_payload_is_handed_on_to_the_effect_that_needs_it() -> None:
    """A driver needs only the effects. It does not have to keep the response."""
    core, send = following()
    response = fetched(records=records(0, (5, 2)))
    append = core.step(0.1, ResponseReceived(send.number, 2, send.request, response, b"batches")).append
    assert isinstance(append, FetchedRecords)
    assert append.payload == b"batches"
    core, send = downloading(log_of((1, 3)))
    piece = FetchSnapshotResponse(ErrorCode.NONE, 5, 2, 0, 10, 20)
    store = core.step(0.1, ResponseReceived(send.number, 2, send.request, piece, b"0123456789")).store
    assert store is not None
    assert (store.position, store.payload) == (0, b"0123456789")


def test_a_snapshot_is_fetched_in_chunks_and_replaces_the_log() -> None:
    """KIP-630: after the snapshot is stored the log is truncated, and fetching goes on from its end offset."""
    core, send = downloading(log_of((1, 3)))
    effects = chunk(core, send, 0)
    assert effects.store == StoreChunk(SNAPSHOT, 0, last=False)
    effects = chunk(core, effects.sends[0], 10)
    assert (effects.store, effects.sends) == (StoreChunk(SNAPSHOT, 10, last=True), [])
    effects = core.step(0.3, SnapshotStored(SNAPSHOT))
    assert (effects.install, effects.high_watermark) == (SNAPSHOT, 7)
    assert [sent.request for sent in effects.sends] == [FetchRequest(5, 1, 7, 4, 0.5, 7)]


def test_each_piece_of_a_snapshot_is_a_sign_of_life() -> None:
    """Kafka's handleFetchSnapshotResponse ends with ``resetFetchTimeout``: a transfer may take any time."""
    core, send = downloading()
    timeout_s = Timing().fetch_timeout_s
    now = 0.0
    for position in range(0, 200, 10):
        now += timeout_s - 0.1
        assert core.step(now, Timeout()).transitions == []
        response = FetchSnapshotResponse(ErrorCode.NONE, 5, 2, position, 10, 1_000)
        for sent in respond(core, send, response, now).sends:
            send = sent
        assert send.request == FetchSnapshotRequest(5, 1, SNAPSHOT, position + 10)
        assert refusal(core, VoteRequest(5, 3, 9, 5, pre_vote=True), now) == "LEADER_ALIVE"
    assert now > 10 * timeout_s
    assert core.step(now + timeout_s - 0.01, Timeout()).transitions == []
    assert why_given_up(core, now + timeout_s) == "2 sent no response within the fetch timeout"


def test_a_snapshot_of_an_older_epoch_replaces_a_tail_that_was_never_committed() -> None:
    """Raft, figure 7: the log of a follower may end in an epoch newer than all that is committed."""
    older = SnapshotId(20, 2)
    core, send = following(log_of((1, 3), (3, 5)))
    (send,) = respond(core, send, fetched(snapshot=older), 0.1).sends
    response = FetchSnapshotResponse(ErrorCode.NONE, 5, 2, 0, 10, 10)
    assert respond(core, send, response, 0.2).store == StoreChunk(older, 0, last=True)
    effects = core.step(0.3, SnapshotStored(older))
    assert (effects.install, effects.high_watermark) == (older, 20)
    assert [sent.request for sent in effects.sends] == [FetchRequest(5, 1, 20, 2, 0.5, 20)]


def test_a_damaged_snapshot_is_fetched_again() -> None:
    core, send = downloading()
    chunk(core, send, 0, size=10)
    effects = core.step(0.3, SnapshotRejected(SNAPSHOT))
    (send,) = core.step(effects.deadline, Timeout()).sends
    assert isinstance(send.request, FetchRequest)


def test_an_answer_without_sense_ends_a_download_and_a_broken_connection_does_not() -> None:
    """Apache Kafka 3.9 and 4.3 answer UNKNOWN_SERVER_ERROR for a snapshot that is gone, and if they lead no more."""
    for answered, asked in ((True, FetchRequest), (False, FetchSnapshotRequest)):
        core, send = downloading()
        (send,) = chunk(core, send, 0).sends
        effects = core.step(0.3, RequestFailed(send.number, 2, send.request, answered=answered))
        (send,) = core.step(effects.deadline, Timeout()).sends
        assert isinstance(send.request, asked)


def test_an_unexpected_chunk_begins_the_snapshot_again() -> None:
    core, send = downloading()
    effects = chunk(core, send, 10)
    assert effects.store is None
    assert isinstance(core.step(effects.deadline, Timeout()).sends[0].request, FetchRequest)


@pytest.mark.parametrize("node_id", [1, 9])
def test_a_snapshot_may_be_looked_through_for_longer_than_the_fetch_timeout(node_id: int) -> None:
    """No request is pending meanwhile. Otherwise a large snapshot would be fetched again for ever."""
    core, send = downloading(node_id=node_id)
    chunk(core, send, 0, size=10)
    for now in (2.2, 4.0, 60.0):
        assert core.step(now, Timeout()).transitions == []
    effects = core.step(70.0, SnapshotStored(SNAPSHOT))
    assert effects.install == SNAPSHOT
    assert [sent.request for sent in effects.sends] == [FetchRequest(5, node_id, 7, 4, 0.5, 7)]
    assert core.step(71.9, Timeout()).transitions == []
    assert len(core.step(72.0, Timeout()).transitions) == 1, "the leader has its time again, and no more"


def test_a_damaged_snapshot_gives_the_leader_its_time_again() -> None:
    core, send = downloading()
    chunk(core, send, 0, size=10)
    core.step(60.0, Timeout())
    core.step(70.0, SnapshotRejected(SNAPSHOT))
    assert core.step(71.9, Timeout()).transitions == []
    assert why_given_up(core, 72.0) == "2 sent no usable response within the fetch timeout"


def test_whether_the_leader_lives_is_not_known_while_a_snapshot_is_looked_through() -> None:
    """KIP-996: a follower that fetches from its leader refuses pre-votes. One that does not fetch must grant them."""
    core, send = downloading()
    chunk(core, send, 0, size=10)
    assert refusal(core, VoteRequest(5, 3, 9, 5, pre_vote=True), 2.1) == "LEADER_ALIVE"
    core.step(2.2, Timeout())
    assert answer(core, VoteRequest(5, 3, 9, 5, pre_vote=True), 2.3).granted


def test_a_snapshot_is_useful_under_a_new_leader() -> None:
    """KIP-630: the records of a snapshot are committed."""
    core, send = downloading()
    chunk(core, send, 0, size=10)
    core.step(0.2, RequestReceived(2, BeginQuorumEpochRequest(6, 3)))
    effects = core.step(0.3, SnapshotStored(SNAPSHOT))
    assert effects.install == SNAPSHOT
    assert [sent.request for sent in effects.sends] == [FetchRequest(6, 1, 7, 4, 0.5, 7)]


def test_a_snapshot_that_comes_too_late_is_left_alone() -> None:
    core, send = downloading()
    chunk(core, send, 0, size=10)
    (send,) = core.step(0.2, RequestReceived(2, BeginQuorumEpochRequest(6, 3))).sends
    come = FetchResponse(ErrorCode.NONE, 6, 3, records=records(0, (6, 8)))
    respond(core, send, come, 0.3)
    core.step(0.3, LogFlushed(8, 0))
    assert core.step(0.4, SnapshotStored(SNAPSHOT)).install is None


def checking_for_too_long() -> RaftCore:
    """A follower that still checks its snapshot at its fetch deadline; its log is (1, 3)."""
    core, send = downloading(log_of((1, 3)))
    chunk(core, send, 0, size=10)
    core.step(2.2, Timeout())
    return core


@pytest.mark.parametrize("vote", [VoteRequest(6, 3, 0, 0), VoteRequest(6, 3, 9, 5)])
def test_a_voter_that_loses_its_leader_during_a_snapshot_check_starts_an_election_in_time(vote: VoteRequest) -> None:
    """KIP-595: a voter that granted no vote and knows no leader becomes a candidate after a random election timeout.
    The fetch deadline of the lost leader was infinite.
    """
    core = checking_for_too_long()
    granted = vote.last_offset == 9
    assert answer(core, vote, 3.0).granted is granted
    assert isinstance(core.state, Unattached)
    timing = Timing()
    assert 3.0 + timing.election_timeout_s <= core.state.election_deadline <= 3.0 + 2 * timing.election_timeout_s
    (transition,) = core.step(core.state.election_deadline, Timeout()).transitions
    assert transition.after == "Prospective"


def test_a_newer_epoch_without_a_leader_does_not_make_a_checking_follower_wait_for_ever() -> None:
    """The same, if the epoch comes with the response to an earlier request."""
    core, send = downloading()
    chunk(core, send, 0, size=10)
    core.step(2.2, Timeout())
    respond(core, send, FetchSnapshotResponse(ErrorCode.FENCED_LEADER_EPOCH, 6, None, 0), 3.0)
    assert isinstance(core.state, Unattached)
    assert core.state.election_deadline < math.inf


def test_a_stopping_node_waits_for_no_election() -> None:
    core, send = downloading()
    chunk(core, send, 0, size=10)
    core.step(2.2, Timeout())
    core.step(2.5, ShutDown())
    respond(core, send, FetchSnapshotResponse(ErrorCode.FENCED_LEADER_EPOCH, 6, None, 0), 3.0)
    assert isinstance(core.state, Unattached)
    assert core.state.election_deadline == math.inf


def test_a_snapshot_that_was_stored_without_a_leader_is_of_use_under_the_next() -> None:
    """KIP-630: the records of a snapshot are committed, so the log may begin with it. It is not fetched twice."""
    core = checking_for_too_long()
    answer(core, VoteRequest(6, 3, 0, 0), 3.0)
    effects = core.step(3.1, SnapshotStored(SNAPSHOT))
    assert effects.install is None, "only a follower replaces its log"
    core.step(3.2, SnapshotStored(SnapshotId(5, 4)))
    effects = core.step(3.3, RequestReceived(2, BeginQuorumEpochRequest(6, 3)))
    assert (effects.install, effects.high_watermark) == (SNAPSHOT, 7)
    assert [sent.request for sent in effects.sends] == [FetchRequest(6, 1, 7, 4, 0.5, 7)]
    assert core.step(3.4, RequestReceived(3, BeginQuorumEpochRequest(7, 2))).install is None


def test_a_snapshot_that_holds_less_than_the_log_stays_unused() -> None:
    core, send = downloading(log_of((1, 9)))
    chunk(core, send, 0, size=10)
    core.step(2.2, Timeout())
    answer(core, VoteRequest(6, 3, 0, 0), 3.0)
    core.step(3.1, SnapshotStored(SNAPSHOT))
    effects = core.step(3.3, RequestReceived(2, BeginQuorumEpochRequest(6, 3)))
    assert effects.install is None
    assert [sent.request for sent in effects.sends] == [FetchRequest(6, 1, 9, 1, 0.5, 0)]


def test_a_question_that_may_wait_has_the_time_to_wait_on_top() -> None:
    """controller.quorum.request.timeout.ms is counted from when the leader may no longer hold the Fetch."""
    core, _ = following()
    assert core.step(1.0, Timeout()).deadline == 2.0 == Timing().fetch_timeout_s
    core = member(election=ElectionState(5, leader_id=2), timing=Timing(fetch_timeout_s=30.0))
    core.step(0.0, Timeout())
    assert core.step(2.4, Timeout()).sends == []
    assert len(core.step(2.5, Timeout()).sends) == 1
