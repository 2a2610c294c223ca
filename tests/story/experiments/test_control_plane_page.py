"""The page of the experiment on KIP-291, and its tables."""

from __future__ import annotations

import json
import sys

import pytest

from kraft.story.experiments.control_plane import ControlPlaneResult
from kraft.story.experiments.control_plane_page import figures, markdown, render, sections
from kraft.story.report.page import PlotlyMissing
from tests.story.experiments.results import cell, measured


def test_each_software_has_a_plot_of_times_and_one_of_intervals() -> None:
    found = figures(measured())
    assert list(found) == ["times-kraft", "times-apache", "intervals-kraft", "intervals-apache"]
    names = [trace["name"] for trace in found["times-kraft"]["data"]]
    assert names == [
        "shared plane, idle",
        "shared plane, saturated",
        "dedicated plane, idle",
        "dedicated plane, saturated",
    ]
    json.dumps(found, allow_nan=False)


def test_a_line_rises_to_all_requests() -> None:
    """A reader sees p50 and p99 as the times at which the line crosses these shares."""
    shared = figures(measured())["times-kraft"]["data"][1]
    assert (shared["x"], shared["y"]) == ([800.0] * 4, [0.25, 0.5, 0.75, 1.0])


def test_the_tables_have_every_cell_and_the_goals() -> None:
    text = markdown(measured())
    assert "| kraft | shared | saturated | 4 | 400.0 | 400.0 | 400.0 | 800.0 | 800.0 | 800.0 |" in text
    assert "| Apache Kafka 3.9 | dedicated | saturated | 1,234 | 5,000 | 3 | 0 |" in text
    assert "| kraft | shared | saturated | 1 | 800.0 / 800.0 |" in text
    assert "| 800.0 / 800.0 | 805.0 / 805.0 | 810.0 / 810.0 |" in text
    assert "| kraft | dedicated | idle | 10 | 1.0 | 4.0 | 5.0 | 0.9 | 2.0 | 2.5 |" in text
    assert "kraft: p99 of the dedicated plane under load within 2× of an idle broker's: met (1.5×)" in text


def test_a_result_of_apache_alone_has_no_rounds() -> None:
    rounds = sections(ControlPlaneResult([], [cell("Apache Kafka 3.9")]))[-1]
    assert rounds.table is None
    assert rounds.sentences == ["No broker of this run has an event loop that was watched."]


@pytest.mark.usefixtures("_plotly")
def test_the_page_is_one_file_with_all_plots() -> None:
    page = render(measured())
    assert page.count('class="plot"') == 4
    assert "machine: 2 CPUs" in page


def test_without_plotly_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(PlotlyMissing):
        render(measured())
