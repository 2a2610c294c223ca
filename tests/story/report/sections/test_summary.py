"""The figures at the head of the page."""

from __future__ import annotations

from kraft.story.quorum_timeline import LeaderTerm
from kraft.story.report.model import ClusterReport, QuorumHistory
from kraft.story.report.sections.summary import node_ids, tiles
from tests.support.report_stories import START_MS, two_kills


def test_the_head_of_the_page() -> None:
    assert tiles(two_kills()) == [
        ("3", "brokers, 11 partitions"),
        ("1", "change of the active controller"),
        ("1.9 s", "the longest time without an active controller"),
        ("88.51 %", "of the partitions' time had a leader"),
        ("26.0 s", "the longest outage of a partition"),
        ("23.8 s", "the longest time a broker was fenced"),
        ("198 ms", "the worst p99, on the data plane"),
    ]


def test_the_first_leader_of_a_cluster_is_no_change() -> None:
    first = LeaderTerm(1, 1, START_MS + 5)
    report = ClusterReport("c", START_MS, START_MS + 10, quorum=QuorumHistory([first]))
    assert tiles(report) == [("0", "changes of the active controller")]


def test_every_node_that_anything_names_has_a_look() -> None:
    assert node_ids(two_kills()) == {1, 2, 3}
