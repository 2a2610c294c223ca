"""The page as text. tests/spark/test_report_page.py opens it in a browser."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser

import pytest

from kraft.story.report.model import ClusterReport
from kraft.story.report.page import PlotlyMissing, render
from tests.story.conftest import PLOTLY
from tests.story.report.sections.test_campaigns import FAILED, report
from tests.support.report_stories import HOSTILE, hostile, large, two_kills


class Tags(HTMLParser):
    """Counts the elements, and keeps their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def test_without_plotly_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(PlotlyMissing, match=r"pip install '\.\[spark\]'"):
        render(two_kills())


@pytest.mark.usefixtures("_plotly")
def test_the_page_holds_plotly_once_and_asks_nobody_for_anything() -> None:
    page = render(two_kills())
    assert page.count(PLOTLY) == 1
    tags = Tags(page)
    assert not [value for name, value in tags.attributes if name in ("src", "href") and not str(value).startswith("#")]
    assert "default-src 'none'" in page
    assert "'unsafe-inline'" not in page.partition("script-src")[2].partition(";")[0]


@pytest.mark.usefixtures("_plotly")
def test_names_of_others_become_no_elements() -> None:
    """Any client of the cluster chooses topic names and client ids."""
    page = render(hostile())
    page.encode()
    tags = Tags(page).tags
    assert {"img", "b"}.isdisjoint(tags)
    assert tags.count("script") == 3
    assert HOSTILE not in page
    figures = page.partition('id="figures">')[2].partition("</script>")[0]
    assert json.loads(figures)
    assert "<" not in figures, "a text in the figures could end their element"


@pytest.mark.usefixtures("_plotly")
def test_every_plot_has_a_table_with_its_figures() -> None:
    page = render(two_kills())
    sections = page.split("<section ")[1:]
    assert len(sections) == 8
    for section in sections:
        assert section.count("<table>") == 1
        assert 'class="plot"' in section or 'id="quarantine"' in section


@pytest.mark.usefixtures("_plotly")
def test_an_empty_report_says_so_for_each_section() -> None:
    page = render(ClusterReport("c", 0, 60_000))
    assert "Nothing to show" in page
    assert page.count("<dd id=") == 8
    assert page.count("<table>") == 0
    assert "No broker was fenced and no controller changed in this time." in page


@pytest.mark.usefixtures("_plotly")
def test_a_page_of_campaigns_does_not_speak_of_a_cluster() -> None:
    page = render(report(FAILED))
    assert "<h1>Simulation campaigns</h1>" in page
    assert "<strong>2,000</strong><span>simulated seeds</span>" in page
    assert "<strong>2</strong><span>of them failed</span>" in page
    assert "No broker was fenced" not in page
    assert "Nothing to show" not in page


@pytest.mark.usefixtures("_plotly")
def test_the_size_of_the_page_is_bounded() -> None:
    """Ten times the partitions make hardly a larger page."""
    assert len(render(large(10_000))) < 1.2 * len(render(large(1_000))) < 1_000_000
