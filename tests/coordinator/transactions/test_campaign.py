"""The campaign of transactions reports each seed that breaks a guarantee."""

from __future__ import annotations

import pytest

from tests.coordinator.transactions import campaign
from tests.coordinator.transactions.campaign import run_campaign, run_world
from tests.coordinator.transactions.world import TransactionalWorld


def test_a_broken_guarantee_is_the_result_of_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_world(3, 2).broken is None

    def broken(world: TransactionalWorld) -> None:
        raise AssertionError("a transaction hangs")

    monkeypatch.setattr(TransactionalWorld, "check", broken)
    result = run_world(3, 2)
    assert (result.seed, result.version) == (3, 2)
    assert result.broken is not None
    assert result.broken.endswith("AssertionError: a transaction hangs\n")


def test_a_campaign_without_rare_events_fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One world reaches too little to show anything."""
    monkeypatch.setattr(campaign, "REACHED", ("committed", "nothing"))
    assert run_campaign(range(4), jobs=1) == 1
    printed = capsys.readouterr().out
    assert "8 worlds, 0 failed" in printed
    assert "never reached: nothing" in printed
