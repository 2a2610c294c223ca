"""Response times by plane: one scale, bounded, and gaps where nothing was logged."""

from __future__ import annotations

from kraft.story.report.marks import marks_of
from kraft.story.report.model import ClusterReport, LatencyWindow
from kraft.story.report.section import Section
from kraft.story.report.sections.latency import MAX_WINDOWS, section
from tests.support.report_stories import START_MS, two_kills


def made(report: ClusterReport) -> Section:
    return section(report, marks_of(report))


def windows(number: int, plane: str = "data", p99_ms: float = 9.0) -> list[LatencyWindow]:
    starts = (START_MS + each * 60_000 for each in range(number))
    return [LatencyWindow(plane, start, 60_000, 10, 1.0, 2.0, p99_ms, 10.0) for start in starts]


def test_each_plane_has_a_plot_on_the_same_scale() -> None:
    found = made(two_kills())
    assert len(found.figures) == 2
    ranges = {tuple(figure["layout"]["yaxis"]["range"]) for figure in found.figures}
    assert len(ranges) == 1
    assert found.sentences[0] == "The data plane had 96,000 requests and a median of 1.3 ms; its worst p99 was 198 ms."


def test_a_time_without_requests_is_a_gap() -> None:
    """A line through the outage would claim response times that nobody measured."""
    data, controller = made(two_kills()).figures
    assert None not in data["data"][0]["y"]
    assert controller["data"][0]["y"][6] is None


def test_many_windows_are_merged_to_the_worst() -> None:
    many = windows(5_000)
    many[1_234] = LatencyWindow("data", many[1_234].start_ms, 60_000, 10, 1.0, 2.0, 777.0, 800.0)
    found = made(ClusterReport("c", START_MS, START_MS + 5_000 * 60_000, latency=many))
    p99 = next(trace for trace in found.figures[0]["data"] if trace["name"] == "p99")
    assert len(p99["y"]) <= MAX_WINDOWS
    assert max(p99["y"]) == 777.0
    assert "Windows are merged; a point is then the worst of its windows." in found.notes


def test_planes_with_few_requests_are_left_out() -> None:
    latency = [window for place in range(6) for window in windows(place + 1, f"plane {place}")]
    found = made(ClusterReport("c", START_MS, START_MS + 600_000, latency=latency))
    assert len(found.figures) == 4
    assert "2 planes are left out: the plots show those with most requests." in found.notes


def test_without_a_request_log_it_says_so() -> None:
    assert made(ClusterReport("c", 0, 1)).sentences == ["No request log covers this time."]
