"""The campaign of the worlds reports each seed that breaks a guarantee, with the invariant and its trace."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.coordinator.campaign import WORLDS, WorldResult, described, run_campaign, run_world
from tests.coordinator.transactions.world import TransactionalWorld


@pytest.mark.parametrize("world", WORLDS)
def test_a_seed_without_faults_of_the_core_breaks_nothing(world: str) -> None:
    result = run_world(world, 3)
    assert (result.world, result.seed, result.invariant, result.trace) == (world, 3, None, [])


def test_a_broken_guarantee_is_the_result_of_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(world: TransactionalWorld) -> None:
        world.note("the last event")
        world.require(False, "Atomicity", "a transaction is both committed and aborted")

    monkeypatch.setattr(TransactionalWorld, "check", broken)
    result = run_world("transactions-2", 3)
    assert (result.invariant, result.detail) == ("Atomicity", "Atomicity: a transaction is both committed and aborted")
    assert result.trace[-1].endswith("the last event")


def test_an_error_of_a_core_is_the_result_of_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(world: TransactionalWorld) -> None:
        raise KeyError("a member")

    monkeypatch.setattr(TransactionalWorld, "check", failing)
    result = run_world("transactions", 3)
    assert result.invariant == "KeyError"
    assert result.detail.endswith("KeyError: 'a member'\n")


def test_a_campaign_without_rare_events_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few worlds reach too little to show anything."""
    monkeypatch.setattr(TransactionalWorld, "REACHED", ("committed", "nothing"))
    assert run_campaign(["transactions", "transactions-2"], range(4), jobs=1) == 1
    printed = capsys.readouterr().out
    assert "8 worlds, 0 failed" in printed
    assert "never reached: transactions: nothing, transactions-2: nothing" in printed


def test_a_failed_seed_is_described_with_its_invariant_and_trace() -> None:
    result = WorldResult("groups", 7, Counter(), "OneOwner", "OneOwner: t-0", ["a", "b"])
    assert described(result) == "groups, seed 7 breaks OneOwner\na\nb\nOneOwner: t-0"
