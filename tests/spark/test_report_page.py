"""The report page in a headless browser: the plots as Plotly drew them, checked for the events of a known story."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraft.story.report.marks import marks_of
from kraft.story.report.model import ClusterReport
from kraft.story.report.page import render, sections
from tests.support.browser import Opened, open_page
from tests.support.report_stories import HOSTILE, hostile, large, two_kills, without_failover

TIMELINES = ("quorum", "brokers", "partitions", "unavailability", "latency", "changes")


def opened(report: ClusterReport, directory: Path, *, dark: bool = False) -> Opened:
    page = directory / "report.html"
    page.write_text(render(report), encoding="utf-8")
    return open_page(page, dark=dark)


def shows_two_kills(page: Opened) -> None:
    """Raise AssertionError unless the plots show what happened in ``two_kills``."""
    assert page.console == []
    assert page.body.attributes["data-failed"] == "0"
    for part in TIMELINES:
        assert page.drawn(part, "broker 2 was killed"), part
        assert page.drawn(part, "node 1, the active controller, was killed"), part
        assert page.drawn(part, "node 3 became active controller (epoch 6)"), part
    assert page.drawn("quorum", "nobody led for 1.9 s")
    assert page.drawn("quorum", "node 3 stands for election in epoch 6; 14:20:31.730; 2 and 3 would grant their votes")
    assert page.drawn("quorum", "node 2: pre-vote refused to node 3 for epoch 6; 14:20:31.680; my leader answers me")
    assert page.drawn("failovers", "election: 260 ms; failover 1 → 3")
    assert page.drawn("brokers", "broker 2 was fenced; from 2026-11-21 14:20:19.200 for 20.9 s; its session timed out")
    assert page.drawn("partitions", "nobody led audit-0; from 2026-11-21 14:20:19.200 for 21.8 s")
    assert len(page.drawn("partitions", "node 3 led")) == 10
    assert len(page.drawn("partitions", "node 2 led")) == 5
    assert page.drawn("unavailability", "audit-0: nobody led for 26.0 s")
    assert page.drawn("latency", "controller: p99 7 ms")
    assert page.drawn("changes", "IncrementalAlterConfigs topic orders; by deploy-bot")


def test_the_plots_show_the_events_of_a_known_story(tmp_path: Path) -> None:
    shows_two_kills(opened(two_kills(), tmp_path))


def test_a_page_without_the_failover_fails_the_check(tmp_path: Path) -> None:
    page = opened(without_failover(), tmp_path)
    assert page.body.attributes["data-failed"] == "0"
    with pytest.raises(AssertionError):
        shows_two_kills(page)


def test_bars_lie_where_the_times_say(tmp_path: Path) -> None:
    """Broker 2 was fenced from 19.2 s to 40.1 s of a minute."""
    page = opened(two_kills(), tmp_path)
    (whole,) = page.drawn("brokers", "broker 3 was unfenced")
    (fenced,) = page.drawn("brokers", "broker 2 was fenced; from")
    left, right = whole.extent
    start, end = fenced.extent
    assert (start - left) / (right - left) == pytest.approx(19.2 / 60, abs=0.002)
    assert (end - left) / (right - left) == pytest.approx(40.1 / 60, abs=0.002)


def test_names_of_others_are_shown_as_they_are(tmp_path: Path) -> None:
    page = opened(hostile(), tmp_path)
    assert page.console == []
    assert page.body.attributes["data-failed"] == "0"
    assert not [element for element in page.elements if element.tag == "img"]
    shown = HOSTILE.replace("\u202e", "\ufffd").replace("\ud800", "\ufffd")
    assert page.drawn("changes", f"{shown} {shown}; by {shown}")
    assert page.texts("partitions", "text")


@pytest.mark.parametrize("partitions", [1, 1_000])
def test_the_number_of_drawn_elements_is_bounded(tmp_path: Path, partitions: int) -> None:
    page = opened(large(partitions), tmp_path)
    assert page.console == []
    assert page.body.attributes["data-drawn"] == ("6" if partitions > 1 else "4")
    assert len(page.elements) < 10_000
    assert page.drawn("partitions", "led events-00-0")


def test_the_dark_page_has_light_ink(tmp_path: Path) -> None:
    page = opened(two_kills(), tmp_path, dark=True)
    (letter, *_) = [each for each in page.elements if each.tag == "text" and "".join(each.text) == "A"]
    assert "rgb(230, 232, 236)" in letter.attributes["style"]
    (event,) = page.drawn("brokers", "A: broker 2 was killed")
    assert "rgb(230, 232, 236)" in event.attributes["style"]


def test_timelines_zoom_together(tmp_path: Path) -> None:
    """The zoom of one timeline is done here by a script, which the page's own policy would forbid."""
    page = render(two_kills())
    policy = page.partition("<meta http-equiv")[2].partition(">")[0]
    script = """<script>
      const plots = [...document.querySelectorAll(".plot")];
      const range = ["2026-11-21 14:20:30", "2026-11-21 14:20:40"];
      const drawn = setInterval(() => {
        if (!document.body.dataset.drawn) return;
        clearInterval(drawn);
        Plotly.relayout(plots[0], {"xaxis.range": range}).then(() => setTimeout(() => {
          const begins = plots.map((plot) => String(plot.layout.xaxis.range[0]));
          document.body.dataset.ranges = begins.filter((begin) => begin.includes("14:20:30")).length;
        }, 500));
      }, 50);
    </script></body>"""
    changed = tmp_path / "report.html"
    changed.write_text(page.replace(f"<meta http-equiv{policy}>", "").replace("</body>", script), encoding="utf-8")
    assert open_page(changed).body.attributes["data-ranges"] == "7"


def test_a_page_that_asks_a_host_shows_in_the_console(tmp_path: Path) -> None:
    """The checks above rest on this: an empty console means that the page asked nobody."""
    page = tmp_path / "page.html"
    page.write_text(
        "<!DOCTYPE html><meta http-equiv='Content-Security-Policy' content=\"img-src 'none'\">"
        "<body><img src='https://example.com/x.png'><script>throw new Error('planted')</script>"
    )
    console = "\n".join(open_page(page).console)
    assert "https://example.com/x.png" in console
    assert "planted" in console


@pytest.mark.parametrize("story", [two_kills, hostile, without_failover])
def test_plotly_knows_every_property_of_the_figures(story: object) -> None:
    """Plotly ignores a misspelt property in the browser; its Python package refuses it."""
    from plotly.graph_objects import Figure

    assert callable(story)
    report = story()
    for section in sections(report, marks_of(report)):
        for figure in section.figures:
            Figure(figure)
