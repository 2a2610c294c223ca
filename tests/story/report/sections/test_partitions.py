"""The timeline of partition leadership: readable with one and with a thousand partitions, and nothing lost silently."""

from __future__ import annotations

import pytest

from kraft.story.report.marks import marks_of
from kraft.story.report.model import ClusterReport, LeadershipPeriod
from kraft.story.report.palette import Palette
from kraft.story.report.section import Section
from kraft.story.report.sections.partitions import MAX_ROWS, section
from kraft.story.report.sections.summary import node_ids
from tests.support.report_stories import START_MS, large, two_kills


def made(report: ClusterReport) -> Section:
    return section(report, Palette(node_ids(report)), marks_of(report))


def bars(section: Section) -> list[tuple[str, str, int, int]]:
    """Return the bars of the plot: row, look, length in ms and place, sorted by row."""
    (figure,) = section.figures
    labels = figure["layout"]["yaxis"]["ticktext"]
    found = [
        (labels[row], trace["name"], length)
        for trace in figure["data"]
        if trace["type"] == "bar"
        for row, length in zip(trace["y"], trace["x"], strict=True)
    ]
    return [(*each, place) for place, each in enumerate(sorted(found))]


def test_a_partition_that_nobody_led_shows_when() -> None:
    assert [bar[:3] for bar in bars(made(two_kills())) if bar[0] == "audit-0"] == [
        ("audit-0", "nobody", 21_800),
        ("audit-0", "node 2", 16_700),
        ("audit-0", "node 2", 19_000),
    ]


def test_the_sentences_count_the_changes() -> None:
    assert made(two_kills()).sentences == [
        "11 partitions changed their leaders 11 times in all.",
        "At the end, node 3 led most of them: 10.",
    ]


@pytest.mark.parametrize("partitions", [1, 2, MAX_ROWS])
def test_few_partitions_have_a_row_each(partitions: int) -> None:
    led = [LeadershipPeriod("t", number, 1, 0, START_MS) for number in range(partitions)]
    found = made(ClusterReport("c", START_MS, START_MS + 1_000, leadership=led))
    assert [row for row, *_ in bars(found)] == sorted(f"t-{number}" for number in range(partitions))
    assert found.sentences[0].endswith("kept one leader all the time.")


def test_a_thousand_partitions_share_rows_by_their_history() -> None:
    found = made(large(1_000))
    rows = dict.fromkeys(row for row, *_ in bars(found))
    assert len(rows) <= MAX_ROWS
    shown = sum(1 + int(row.partition(" +")[2].replace(",", "") or 0) for row in rows)
    assert shown == 1_001
    assert "Partitions with the same history share a row." in found.notes


def test_a_flapping_partition_has_a_bounded_number_of_bars() -> None:
    """3,000 leaderships in an hour: runs of short ones are one bar, which says how long nobody led."""
    found = made(large(1_000))
    flapping = [bar for bar in bars(found) if bar[0] == "flapping-0"]
    assert {look for _, look, _, _ in flapping} == {"several in turn"}
    assert len(flapping) <= 400
    assert sum(length for _, _, length, _ in flapping) == 3_600_000
    (trace,) = (trace for trace in found.figures[0]["data"] if trace.get("name") == "several in turn")
    assert "nobody led for" in trace["hovertext"][0]


def test_rows_that_are_left_out_are_counted() -> None:
    """Histories of 45 kinds: the longest without a leader come first."""
    led = []
    for number in range(45):
        moved_ms = START_MS + 1_000 * (number + 1)
        led.append(LeadershipPeriod("t", number, 1, 0, START_MS, moved_ms))
        led.append(LeadershipPeriod("t", number, None, 1, moved_ms))
    found = made(ClusterReport("c", START_MS, START_MS + 60_000, leadership=led, partitions=100))
    rows = {row for row, *_ in bars(found)}
    assert len(rows) == MAX_ROWS
    assert rows == {f"t-{number}" for number in range(MAX_ROWS)}
    assert (
        "5 partitions are left out: the plot shows those that had no leader longest or changed it most." in found.notes
    )
    assert "The cluster has 55 more partitions, which are not in this report." in found.notes


def test_partitions_without_a_leader_at_the_end() -> None:
    """A page of a real cluster that had stopped said that node None led most partitions."""
    led = [LeadershipPeriod("t", 0, 1, 0, 0, 5), LeadershipPeriod("t", 0, None, 1, 5)]
    assert made(ClusterReport("c", 0, 10, leadership=led)).sentences == [
        "1 partition changed their leaders 1 time in all.",
        "Nobody led 1 partition at the end.",
    ]


def test_the_table_says_how_many_rows_it_lacks() -> None:
    table = made(large(1_000)).table
    assert table is not None
    assert len(table.rows) == 200
    assert table.left_out > 0


def test_without_leaderships_it_says_so() -> None:
    found = made(ClusterReport("c", 0, 1))
    assert found.sentences == ["No leadership of a partition is known in this time."]
    assert (found.figures, found.table) == ((), None)
