"""Random worlds of coordinators keep their guarantees, and a core with a planted bug breaks the one that it should."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.coordinator.campaign import WORLDS, class_of, run_world
from tests.coordinator.groups import planted as groups
from tests.coordinator.groups.share import planted as share_groups
from tests.coordinator.planted import PlantedBug
from tests.coordinator.share import planted as share
from tests.coordinator.transactions import planted as transactions
from tests.coordinator.transactions import planted_offsets as offsets
from tests.coordinator.transactions import planted_reads as reads

PLANTED = [
    *transactions.PLANTED,
    *offsets.PLANTED,
    *reads.PLANTED,
    *groups.PLANTED,
    *share_groups.PLANTED,
    *share.PLANTED,
]
SEEDS = 40
HUNTED_SEEDS = 400


def run_seeds(world: str, seeds: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in range(seeds):
        run = WORLDS[world](seed)
        run.run()
        counts += run.counts
    return counts


@pytest.mark.parametrize("world", WORLDS)
def test_a_world_keeps_its_guarantees(world: str) -> None:
    """:attr:`CoordinatedWorld.INVARIANTS` has their sources. The runs are of interest: they reach what they should."""
    counts = run_seeds(world, SEEDS)
    assert not [what for what in class_of(world).REACHED if not counts[what]]


@pytest.mark.parametrize("world", WORLDS)
def test_a_seed_repeats_its_run(world: str) -> None:
    """A failure is of use only if it can be repeated."""
    runs = []
    for _ in range(2):
        run = WORLDS[world](3)
        run.run()
        runs.append([" ".join(map(str, event)) for event in run.trace])
    assert runs[0] == runs[1]
    assert len(runs[0]) > 10


@pytest.mark.no_cover
@pytest.mark.parametrize("bug", PLANTED, ids=str)
def test_a_planted_bug_is_found(bug: PlantedBug, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the seeds breaks the invariant. Others may break more."""
    bug.plant(monkeypatch)
    expected = bug.invariant or "AssertionError"
    assert any(run_world(bug.world, seed).invariant == expected for seed in range(HUNTED_SEEDS))
