"""The pauses of elections: random, growing, bounded, and never 0 (KIP-595)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kraft.raft.timing import Timing

chances = st.floats(0, 1, exclude_max=True)
#: ``controller.quorum.election.backoff.max.ms`` from 1 ms to an hour.
bounds = st.floats(0.001, 3600.0)


@given(bounds, st.integers(0, 10_000), chances)
@example(1.0, 0, 0.0)
@example(0.001, 0, 0.0)
def test_the_pause_after_a_lost_election_is_neither_nothing_nor_beyond_its_bound(
    bound: float, retries: int, jitter: float
) -> None:
    """KIP-595: ``controller.quorum.election.backoff.max.ms`` is the maximum of the binary exponential back-off.

    A deadline that is not in the future when it is set would not let the voter wait at all.
    """
    pause = Timing(backoff_max_s=bound).election_backoff(retries, jitter)
    assert 0.0 < pause <= bound


def test_the_pause_doubles_until_its_bound() -> None:
    """Kafka's ``binaryExponentialElectionBackoffMs``: 100 ms, twice as much with each election that is lost."""
    timing = Timing(backoff_max_s=1.0)
    longest = [timing.election_backoff(retries, 0.9999999) for retries in range(7)]
    assert longest == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0], rel=1e-6)
    halves = [timing.election_backoff(retries, 0.5) for retries in range(5)]
    assert halves == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.5])


def test_without_a_back_off_the_deadline_still_moves() -> None:
    """The setting allows 0: then a lost election is followed by the next at once. A deadline of now would not move."""
    assert 0.0 < Timing(backoff_max_s=0.0).election_backoff(3, 0.7) <= 0.000_001


@given(bounds, st.integers(1, 2_000), st.data())
def test_the_pause_of_a_successor_is_within_the_same_bound(bound: float, successors: int, data: st.DataObject) -> None:
    """Kafka's ``strictExponentialElectionBackoffMs``: the first stands at once, every other waits, none for longer."""
    timing = Timing(backoff_max_s=bound)
    rank = data.draw(st.integers(1, successors))
    assert timing.succession_delay(0, successors) == 0.0
    assert 0.0 < timing.succession_delay(rank, successors) <= bound
    assert timing.succession_delay(rank, successors) <= timing.succession_delay(successors, successors) == bound
