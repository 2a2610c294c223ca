"""Some worlds of a longer campaign: every invariant holds in each, and they reach every rare state."""

from __future__ import annotations

import functools

import pytest

from kraft.simulation.campaign import RARE_STATES, Tally, run_seed, shrink
from kraft.simulation.plan import (
    FAULTS,
    PROFILES,
    FaultKind,
    Profile,
    draw_knobs,
    draw_plan,
    plan_from_json,
    plan_to_json,
)
from tests.simulation.mutants import MUTANTS
from tests.support.covered import first_covered

SEEDS = 180
_SLICES = 6


@functools.cache
def worlds(part: int) -> Tally:
    """One slice of the campaign. The first test that needs it runs it, once per process."""
    tally = Tally()
    for seed in range(part, SEEDS, _SLICES):
        tally.add(run_seed(seed))
    return tally


@pytest.mark.parametrize("part", first_covered(range(_SLICES)))
def test_every_invariant_holds_in_every_world(part: int) -> None:
    broken = [f"seed {verdict.seed}: {verdict.text}" for verdict in worlds(part).failures]
    assert not broken, "\n".join(broken)


@pytest.mark.no_cover
def test_the_campaign_reaches_every_rare_state() -> None:
    """A campaign that never reached a state would not test it."""
    missing = set(RARE_STATES)
    for part in range(_SLICES):
        missing.intersection_update(worlds(part).never_reached())
        if not missing:
            break
    assert not missing


def test_half_of_the_seeds_are_swarms_a_quarter_is_everything_and_a_quarter_hunts() -> None:
    """No profile alone finds most bugs, so a campaign mixes them."""
    profiles = [draw_knobs(seed).profile for seed in range(4_000)]
    parts = {profile: round(profiles.count(profile) / 500) for profile in Profile}
    assert parts == {Profile.SWARM: 4, Profile.EVERYTHING: 2, Profile.LEADERS: 1, Profile.ELECTIONS: 1}


def test_every_fault_and_profile_is_explained() -> None:
    assert set(FAULTS) == set(FaultKind)
    assert set(PROFILES) == set(Profile)


def test_that_profile_causes_elections() -> None:
    """Bugs in elections show only in worlds with many elections."""
    seeds = [seed for seed in range(60) if draw_knobs(seed).profile is Profile.ELECTIONS]
    elections = [run_seed(seed).coverage["Candidate -> Leader"] for seed in seeds[:5]]
    assert sum(elections) > 40


def test_a_plan_survives_being_written_down() -> None:
    plan = draw_plan(11, draw_knobs(11))
    assert plan_from_json(plan_to_json(plan)) == plan
    assert len(plan) > 3


def test_a_failing_plan_is_made_smaller_and_still_fails() -> None:
    mutant = MUTANTS["votes for a shorter log"]
    with mutant.planted():
        seed = next(seed for seed in range(50) if run_seed(seed).invariant == "LeaderCompleteness")
        plan = draw_plan(seed, draw_knobs(seed))
        small = shrink(plan, lambda less: run_seed(seed, less).invariant == "LeaderCompleteness")
        assert run_seed(seed, small).invariant == "LeaderCompleteness"
    assert len(small) < len(plan)
    assert run_seed(seed, small).invariant is None


def test_tallies_add_up_and_two_machines_compare_one_number() -> None:
    verdicts = [run_seed(seed) for seed in range(4)]
    there, back = Tally(), Tally()
    for verdict in verdicts:
        there.add(verdict)
    for verdict in reversed(verdicts):
        back.add(verdict)
    assert there.figures() == back.figures()
    assert there.seeds == 4
    assert there.events == sum(verdict.events for verdict in verdicts)
    assert there.trace != sum(int(verdict.trace_hash, 16) for verdict in verdicts[:3]) % 2**128
