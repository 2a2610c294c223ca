"""The changes of the metadata by client, and the rows in quarantine."""

from __future__ import annotations

from kraft.story.report.marks import marks_of
from kraft.story.report.model import Change, ClusterReport
from kraft.story.report.section import Section
from kraft.story.report.sections.changes import MAX_CHANGES, MAX_PEOPLE, quarantine, section
from tests.support.report_stories import two_kills


def made(report: ClusterReport) -> Section:
    return section(report, marks_of(report))


def test_each_client_has_a_row() -> None:
    found = made(two_kills())
    assert found.sentences == ["admin-1 made 3 changes and deploy-bot made 2 changes."]
    assert found.figures[0]["layout"]["yaxis"]["ticktext"] == ["admin-1", "deploy-bot"]
    assert found.table is not None
    assert found.table.rows[3][1:] == ["deploy-bot", "IncrementalAlterConfigs", "topic orders", "retention.ms=86400000"]


def test_many_clients_and_changes_are_bounded() -> None:
    changes = [Change(n, f"client {n % 40}", f"Kind{n % 12}", "topic t") for n in range(8_000)]
    found = made(ClusterReport("c", 0, 10_000, changes=changes))
    drawn = sum(len(trace["x"]) for trace in found.figures[0]["data"])
    assert drawn == MAX_CHANGES
    assert len(found.figures[0]["layout"]["yaxis"]["ticktext"]) == MAX_PEOPLE
    assert "25 clients are left out: the plot shows those with most changes." in found.notes
    assert "1,000 changes are left out: the plot shows the first ones." in found.notes


def test_quarantined_rows_are_counted_by_reason() -> None:
    found = quarantine(two_kills())
    assert found.sentences == ["1 row could not be decoded. The quarantine table has their bytes."]
    assert found.table is not None
    assert found.table.rows == [["request log of node 2", "the line ends early", "1"]]


def test_without_changes_it_says_so() -> None:
    nothing = ClusterReport("c", 0, 1)
    assert made(nothing).sentences == ["No change of a topic or configuration is known in this time."]
    assert quarantine(nothing).sentences == ["No row is in quarantine."]
