"""The figures as data: shared time, text that Plotly cannot mistake for HTML."""

from __future__ import annotations

from kraft.story.report.figure import hover, within
from kraft.story.report.marks import marks_of
from kraft.story.report.model import ClusterReport, LeadershipPeriod, NotableEvent
from kraft.story.report.page import sections
from kraft.story.report.section import Figure
from tests.support.report_stories import BROKER_KILLED_MS, START_MS, two_kills


def timelines(report: ClusterReport) -> list[Figure]:
    figures = [figure for section in sections(report, marks_of(report)) for figure in section.figures]
    return [figure for figure in figures if figure["layout"].get("meta")]


def test_all_timelines_have_one_time_axis_and_all_marks() -> None:
    """One event stands in the same place of each plot, so the eye finds its effects below it."""
    found = timelines(two_kills())
    assert len(found) == 7
    for figure in found:
        layout = figure["layout"]
        assert layout["xaxis"]["range"] == ["2026-11-21 14:20:00.000", "2026-11-21 14:21:00.000"]
        assert (layout["margin"]["l"], layout["margin"]["r"]) == (150, 24)
        lines, heads = figure["data"][-2:]
        assert heads["text"] == ["A", "B", "C", "D", "E", "F"]
        assert lines["x"][:3] == ["2026-11-21 14:20:15.000", "2026-11-21 14:20:15.000", None]


def test_labels_of_close_marks_do_not_overlap() -> None:
    events = [NotableEvent(START_MS + 100 * each, "e") for each in range(3)]
    (figure, *_) = timelines(ClusterReport("c", START_MS, START_MS + 60_000, events=events, leadership=[LED]))
    assert figure["data"][-1]["text"] == ["A–C", "", ""]


LED = LeadershipPeriod("orders", 0, 1, 0, START_MS - 5_000)


def test_an_interval_is_cut_to_the_report() -> None:
    report = ClusterReport("c", START_MS, BROKER_KILLED_MS)
    assert within(report, LED) == (START_MS, BROKER_KILLED_MS)
    assert within(report, LeadershipPeriod("o", 0, 1, 0, START_MS - 9, START_MS - 1)) is None
    assert within(report, LeadershipPeriod("o", 0, 1, 0, BROKER_KILLED_MS, None)) is None


def test_a_hover_text_is_no_html() -> None:
    assert hover("<b>x", "a & b", "y " * 60).startswith("<b>&lt;b&gt;x</b><br>a &amp; b<br>y y ")
    assert hover("t", "y " * 60).count("<br>") == 2
