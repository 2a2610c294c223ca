"""docs/simulation.md is up to date, and the pieces of a campaign merge into one."""

from __future__ import annotations

import json

import pytest

from kraft.simulation.campaign import Tally, run_seed
from tests.simulation.page import merge, render


def piece(first: int, last: int) -> dict[str, object]:
    tally = Tally()
    for seed in range(first, last):
        tally.add(run_seed(seed))
    figures = {"from": first, "to": last, "wall_s": 1.25, "cpu_s": 1.0, **tally.figures()}
    as_written: dict[str, object] = json.loads(json.dumps(figures))
    return as_written


def test_the_page_is_up_to_date() -> None:
    """If not, run ``python -m tests.simulation.page``."""
    for page, text in render().items():
        assert page.read_text() == text


def test_pieces_of_a_campaign_are_the_campaign() -> None:
    whole = merge([piece(0, 4)], "c0ffee")
    parts = merge([piece(2, 4), piece(0, 2)], "c0ffee")
    differ = {key for key in whole if whole[key] != parts[key]}
    assert differ <= {"wall_s", "cpu_s", "simulated_s"}
    assert abs(whole["simulated_s"] - parts["simulated_s"]) <= 2


def test_another_python_must_come_to_the_same() -> None:
    other = {**piece(0, 2), "python": "3.99.0"}
    campaign = merge([piece(0, 2), piece(2, 3), other], "c0ffee")
    assert campaign["seeds"] == 3
    assert campaign["same"]["seeds"] == 2
    assert "3.99.0" in campaign["same"]["pythons"]
    longer = merge([piece(0, 3), piece(0, 2), other], "c0ffee")
    assert {key: longer[key] for key in ("seeds", "trace", "same")} == {
        key: campaign[key] for key in ("seeds", "trace", "same")
    }
    with pytest.raises(ValueError, match="other traces"):
        merge([piece(0, 2), piece(2, 3), {**other, "trace": "1"}], "c0ffee")
    with pytest.raises(ValueError, match="same seeds"):
        merge([piece(0, 3), other], "c0ffee")


def test_a_gap_between_pieces_is_noticed() -> None:
    with pytest.raises(ValueError, match="follow each other"):
        merge([piece(0, 1), piece(2, 3)], "c0ffee")
