"""The result of the experiment on KIP-291: quantiles, intervals, goals."""

from __future__ import annotations

import math

from kraft.story.experiments.control_plane import (
    DEDICATED,
    IDLE,
    SATURATED,
    SHARED,
    Cell,
    ControlPlaneResult,
    Move,
    Quantiles,
    TimedRequest,
    goals,
)
from tests.story.experiments.results import cell


def test_a_percentile_is_a_value_that_occurred() -> None:
    assert Quantiles.of([3.0, 1.0, 2.0]) == Quantiles(3, 2.0, 3.0, 3.0)
    assert Quantiles.of(float(value) for value in range(1, 201)) == Quantiles(200, 100.0, 198.0, 200.0)
    assert math.isnan(Quantiles.of([]).p99)


def moved(*requests: TimedRequest) -> Cell:
    move = Move(7, old=1, new=2, asked_ms=1000.0, acknowledged_ms=1900.0, known_ms=1500.0)
    return Cell("kraft", SHARED, SATURATED, requests, [move], 1.0, 0, 0, 0)


def test_intervals_end_with_the_first_request_after_the_election() -> None:
    """KIP-291: "In this case, before the LeaderAndISR is processed, the partition is effectively unavailable"."""
    found = moved(
        TimedRequest(2, "LeaderAndIsr", "C", 1004.0, 0.0, 6.0),  # it arrived before the election
        TimedRequest(2, "LeaderAndIsr", "C", 1300.0, 280.0, 290.0),
        TimedRequest(2, "LeaderAndIsr", "C", 1800.0, 0.0, 1.0),  # of a later change
        TimedRequest(1, "LeaderAndIsr", "C", 1200.0, 0.0, 190.0),
        TimedRequest(1, "UpdateMetadata", "C", 1400.0, 0.0, 190.0),
        TimedRequest(2, "UpdateMetadata", "C", 1350.0, 0.0, 40.0),
    )
    assert (found.leaderless.max, found.usurped.max, found.stale.max) == (300.0, 200.0, 400.0)
    assert (found.unavailable.max, found.unknown.max) == (900.0, 500.0)
    assert found.queue.count == 6


def test_a_move_without_its_request_counts_for_no_interval() -> None:
    assert moved(TimedRequest(1, "StopReplica", "C", 1300.0, 0.0, 1.0)).leaderless.count == 0


def test_goals_compare_the_dedicated_plane_with_an_idle_and_with_a_shared_one() -> None:
    cells = [
        cell(plane=DEDICATED, load=IDLE, total_ms=2.0),
        cell(plane=DEDICATED, load=SATURATED, total_ms=5.0),
        cell(plane=SHARED, load=SATURATED, total_ms=500.0),
        cell("other", plane=SHARED, load=SATURATED, total_ms=500.0),
    ]
    beside_idle, below_shared = goals(ControlPlaneResult([], cells))
    assert (beside_idle.factor, beside_idle.is_met) == (2.5, False)
    assert (below_shared.factor, below_shared.is_met) == (100.0, True)
