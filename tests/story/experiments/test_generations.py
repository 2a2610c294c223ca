"""The result of the experiment on both generations: intervals, ratios, tables."""

from __future__ import annotations

import json

import pytest

from kraft.story.experiments.generations import (
    QUORUM,
    ZOOKEEPER,
    ControllerLoss,
    GenerationCell,
    GenerationsResult,
    figures,
    markdown,
    render,
)


def cell(mode: str, partitions: int, takeover_ms: float) -> GenerationCell:
    losses = [
        ControllerLoss(1000.0, 3000.0, 3000.0 + takeover_ms),
        ControllerLoss(1000.0, 3500.0, 3600.0 + takeover_ms),
    ]
    return GenerationCell("kraft", mode, partitions, losses)


RESULT = GenerationsResult(
    [("machine", "2 CPUs")],
    [cell(ZOOKEEPER, 1000, 50.0), cell(ZOOKEEPER, 10_000, 900.0), cell(QUORUM, 1000, 40.0), cell(QUORUM, 10_000, 60.0)],
)


def test_the_takeover_begins_with_the_election() -> None:
    """Before it, a timeout passes that has nothing to do with the number of partitions."""
    found = RESULT.cells[0]
    assert (found.detection.p50, found.detection.max) == (2000.0, 2500.0)
    assert (found.takeover.p50, found.takeover.max) == (50.0, 150.0)


def test_the_claim_of_an_order_of_magnitude_is_compared_for_each_size() -> None:
    """The course on KRaft: "recovery time is an order of magnitude faster with KRaft than with ZooKeeper"."""
    assert list(RESULT.ratios()) == [("kraft", 1000, 1.25), ("kraft", 10_000, 15.0)]
    text = markdown(RESULT)
    assert "kraft, 1,000 partitions: a takeover with ZooKeeper takes 1.2× the time, less than an order of" in text
    assert "kraft, 10,000 partitions: a takeover with ZooKeeper takes 15.0× the time, an order of magnitude or" in text
    assert "| kraft | KRaft | 10,000 | 2 | 2,000 | 2,500 | 60 | 160 |" in text


def test_the_plot_has_a_line_for_each_mode() -> None:
    (figure,) = figures(RESULT).values()
    assert [(trace["name"], trace["x"], trace["y"]) for trace in figure["data"]] == [
        ("kraft, ZooKeeper", [1000, 10_000], [50.0, 900.0]),
        ("kraft, KRaft", [1000, 10_000], [40.0, 60.0]),
    ]
    assert "scattermode" not in figure["layout"], "it would move the points along the axis"
    json.dumps(figure, allow_nan=False)


def test_a_mode_alone_is_not_compared() -> None:
    assert list(GenerationsResult([], RESULT.cells[:2]).ratios()) == []


@pytest.mark.usefixtures("_plotly")
def test_the_page_has_the_plot_and_the_ratios() -> None:
    page = render(RESULT)
    assert page.count('class="plot"') == 1
    assert "<strong>15.0×</strong>" in page
