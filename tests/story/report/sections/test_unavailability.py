"""How long partitions had no leader, in a sentence and in two plots."""

from __future__ import annotations

import attrs

from kraft.story.report.marks import marks_of
from kraft.story.report.model import ClusterReport, LeadershipPeriod, NotableEvent, Unavailability
from kraft.story.report.palette import Palette
from kraft.story.report.section import Section
from kraft.story.report.sections.summary import node_ids
from kraft.story.report.sections.unavailability import MAX_ROWS, MAX_STEPS, section
from tests.support.report_stories import START_MS, large, two_kills


def made(report: ClusterReport) -> Section:
    return section(report, Palette(node_ids(report)), marks_of(report))


def one_outage(**changes: object) -> ClusterReport:
    outage = attrs.evolve(Unavailability("orders", 0, 2, START_MS + 1_000, START_MS + 3_300), **changes)
    killed = NotableEvent(START_MS + 900, "broker 2 stopped")
    return ClusterReport("c", START_MS, START_MS + 23_000, unavailability=[outage], events=[killed])


def test_an_outage_is_told_with_its_occasion() -> None:
    assert made(one_outage()).sentences == [
        "Nobody led orders-0 for 2.3 s when broker 2 stopped.",
        "Partitions had a leader 90 % of their time.",
    ]


def test_a_reason_has_precedence_over_an_event_near_by() -> None:
    assert made(one_outage(reason="its disk failed")).sentences[0] == "Nobody led orders-0 for 2.3 s: its disk failed."


def test_an_outage_that_lasts_is_told() -> None:
    found = made(one_outage(end_ms=None))
    assert found.sentences[0] == "Nobody led orders-0 for 22.0 s when broker 2 stopped."
    assert found.sentences[-1] == "1 outage had not ended at the end of the report."
    assert found.table is not None
    assert found.table.rows[0][3] == "22.0 s, and longer"


def test_the_number_of_partitions_without_a_leader_over_time() -> None:
    """Four lose their leader with broker 2, and seven are without one after node 1 was killed."""
    trace = made(two_kills()).figures[0]["data"][0]
    assert list(zip((time[14:] for time in trace["x"]), trace["y"], strict=True)) == [
        ("20:00.000", 0),
        ("20:15.000", 4),
        ("20:19.200", 1),
        ("20:30.000", 7),
        ("20:36.200", 1),
        ("20:41.000", 0),
        ("21:00.000", 0),
    ]


def test_the_lower_plot_adds_up_outages_by_the_broker_before() -> None:
    figure = made(two_kills()).figures[1]
    assert figure["layout"]["yaxis"]["ticktext"][:3] == ["audit-0", "orders-1", "payments-1"]
    assert [(trace["name"], trace["x"][:2]) for trace in figure["data"]] == [
        ("node 1", [6.2, 6.2]),
        ("node 2", [26.0, 4.2]),
    ]


def test_many_partitions_with_like_times_share_a_row() -> None:
    found = made(large(1_000))
    labels = found.figures[1]["layout"]["yaxis"]["ticktext"]
    assert len(labels) <= MAX_ROWS
    assert sum(1 + int(label.partition(" +")[2] or 0) for label in labels) == 167
    assert "Partitions with like times share a row, which shows the longest." in found.notes


def test_the_steps_are_bounded_and_keep_the_highest_number() -> None:
    outages = [
        Unavailability("t", number, 1, START_MS + number * 10, START_MS + number * 10 + 5 + 9_000 * (number == 2_500))
        for number in range(5_000)
    ]
    trace = made(ClusterReport("c", START_MS, START_MS + 60_000, unavailability=outages)).figures[0]["data"][0]
    assert len(trace["x"]) <= MAX_STEPS + 2
    assert max(trace["y"]) == 2
    assert trace["y"][-1] == 0


def test_without_outages_it_says_so() -> None:
    found = made(ClusterReport("c", 0, 1))
    assert found.sentences == ["No leadership of a partition is known."]
    assert not found.figures
    led = [LeadershipPeriod("t", 0, 1, 0, 0)]
    assert made(ClusterReport("c", 0, 1, leadership=led)).sentences == ["Each partition had a leader all the time."]
