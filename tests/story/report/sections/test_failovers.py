"""Failovers of the active controller, phase by phase."""

from __future__ import annotations

from kraft.story.report.model import ClusterReport, Failover, FailoverPhase
from kraft.story.report.sections.failovers import MAX_FAILOVERS, section
from tests.support.report_stories import two_kills


def test_the_longest_failover_is_told_phase_by_phase() -> None:
    (sentence,) = section(two_kills()).sentences
    head, _, phases = sentence.partition(": ")
    assert head == "1 failover. The longest, from node 1 to node 3, took 2.1 s"
    assert phases == "silent, no election yet 1.6 s, election 260 ms and loading 230 ms."


def test_phases_stand_one_after_the_other() -> None:
    (figure,) = section(two_kills()).figures
    bars = [(trace["name"], trace["base"], trace["x"]) for trace in figure["data"]]
    assert bars == [
        ("silent, no election yet", [0.0], [1.64]),
        ("election", [1.64], [0.26]),
        ("loading", [1.9], [0.23]),
    ]


def test_of_many_failovers_the_longest_are_shown() -> None:
    failovers = [Failover(n, 1, 2, [FailoverPhase("all", n * 1_000, n * 1_000 + n)]) for n in range(50)]
    found = section(ClusterReport("c", 0, 60_000, failovers=failovers))
    labels = found.figures[0]["layout"]["yaxis"]["ticktext"]
    assert len(labels) == MAX_FAILOVERS
    assert labels[-1] == "1 → 2, epoch 49"
    assert "20 failovers are left out: the plot shows the longest ones." in found.notes


def test_without_failovers_it_says_so() -> None:
    report = ClusterReport("c", 0, 1, failovers=[Failover(1, None, 2)])
    assert section(report).sentences == ["No failover of the active controller is known in this time."]
