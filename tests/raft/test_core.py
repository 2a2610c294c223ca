"""A quorum of one, event by event (KIP-595)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.raft.core import RaftCore
from kraft.raft.events import Effects, ElectionStateWritten, LeaderChange, LogAppended, LogFlushed, Timeout
from kraft.raft.log_view import LogView
from kraft.raft.state import Candidate, ElectionState, Leader, Unattached


def core(election: ElectionState | None = None, end_offset: int = 0, last_epoch: int = 0) -> RaftCore:
    epochs = [(last_epoch, 0)] if end_offset else []
    return RaftCore(1, (1,), election or ElectionState(), LogView(epochs, end_offset), 0.0, jitter=float)


def elected(end_offset: int = 0) -> RaftCore:
    quorum = core(end_offset=end_offset)
    vote = quorum.step(0, Timeout())
    assert vote.election is not None
    quorum.step(0, ElectionStateWritten(vote.election))
    return quorum


def test_a_sole_voter_stands_for_election_at_once() -> None:
    quorum = core()
    assert quorum.step(0, LogFlushed(0, 0)).deadline == 0
    assert quorum.step(0, Timeout()) == Effects(election=ElectionState(epoch=1, voted_for=1))
    assert isinstance(quorum.state, Candidate)


def test_its_own_vote_counts_once_it_is_durable() -> None:
    quorum = core()
    quorum.step(0, Timeout())
    assert quorum.leader_id is None
    effects = quorum.step(0, ElectionStateWritten(ElectionState(epoch=1, voted_for=1)))
    assert effects.election == ElectionState(epoch=1, leader_id=1)
    assert effects.append == LeaderChange(epoch=1, leader_id=1, voters=(1,), granting_voters=(1,))
    assert quorum.leader_id == 1


def test_a_vote_of_another_epoch_does_not_count() -> None:
    quorum = core(ElectionState(epoch=4))
    quorum.step(0, Timeout())
    assert quorum.step(0, ElectionStateWritten(ElectionState(epoch=4, voted_for=1))) == Effects()
    assert quorum.leader_id is None


@pytest.mark.parametrize("voters", [(1,), (1, 2, 3)])
def test_a_restart_keeps_the_vote(voters: tuple[int, ...]) -> None:
    """KIP-595: the voted candidate is stored so that a voter cannot vote twice in an epoch, across restarts as well."""
    stored = ElectionState(epoch=4, voted_for=1)
    quorum = RaftCore(1, voters, stored, LogView(), 0.0, jitter=float)
    assert quorum.state.voted_for == 1
    assert quorum.step(0, LogFlushed(0, 0)).election is None


@pytest.mark.parametrize(("stored", "in_log", "new"), [(0, 0, 1), (4, 3, 5), (2, 6, 7)])
def test_no_epoch_is_used_twice(stored: int, in_log: int, new: int) -> None:
    """For any epoch in the state file, a new epoch is above every epoch in the log."""
    quorum = core(ElectionState(epoch=stored, leader_id=1), end_offset=9, last_epoch=in_log)
    quorum.step(0, Timeout())
    assert quorum.epoch == new


def test_appended_records_are_not_committed_before_they_are_flushed() -> None:
    quorum = elected()
    assert quorum.step(0, LogAppended(1, 1)) == Effects(flush=True)
    assert quorum.step(0, LogAppended(5, 1)) == Effects(flush=True)
    assert quorum.high_watermark == 0
    assert quorum.step(0, LogFlushed(1, 0)) == Effects(high_watermark=1)
    assert quorum.step(0, LogFlushed(5, 0)) == Effects(high_watermark=5)


def test_older_epochs_are_committed_by_the_first_record_of_the_new_one() -> None:
    """Raft, figure 8: a leader does not commit what earlier leaders left by counting copies of it."""
    quorum = elected(end_offset=7)
    assert quorum.step(0, LogFlushed(7, 0)) == Effects()
    quorum.step(0, LogAppended(8, 1))
    assert quorum.step(0, LogFlushed(8, 0)) == Effects(high_watermark=8)


def test_an_early_timeout_is_harmless() -> None:
    quorum = RaftCore(1, (1,), ElectionState(), LogView(), 5.0, jitter=float)
    assert quorum.step(4.0, Timeout()) == Effects(deadline=5.0)
    assert isinstance(quorum.state, Unattached)


@given(st.lists(st.tuples(st.sampled_from(["append", "flush", "timeout", "written"]), st.integers(1, 5))))
def test_the_high_watermark_never_passes_the_durable_end_and_never_decreases(script: list[tuple[str, int]]) -> None:
    quorum = core()
    end = durable = watermark = 0
    pending: list[ElectionState] = []
    for kind, number in script:
        event: Any = Timeout()
        if kind == "written" and pending:
            event = ElectionStateWritten(pending.pop(0))
        elif kind == "append" and isinstance(quorum.state, Leader):
            end += number
            event = LogAppended(end, quorum.epoch)
        elif kind == "flush":
            durable = max(durable, min(end, number))
            event = LogFlushed(durable, 0)
        before = type(quorum.state)
        effects = quorum.step(0.0, event)
        assert {before, type(quorum.state)} <= {Unattached, Candidate, Leader}
        if effects.election is not None:
            pending.append(effects.election)
        if effects.append is not None:
            end += 1
            quorum.step(0.0, LogAppended(end, quorum.epoch))
        assert watermark <= quorum.high_watermark <= durable
        assert effects.high_watermark in (None, quorum.high_watermark)
        watermark = quorum.high_watermark
