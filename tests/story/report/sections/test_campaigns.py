"""Campaigns: their speed, the events of their seeds, and the seeds that failed."""

from __future__ import annotations

import attrs

from kraft.story.report.marks import marks_of
from kraft.story.report.model import ClusterReport, EventSpread, FailedSeed, SimulationCampaign
from kraft.story.report.page import sections
from kraft.story.report.palette import NOBODY_COLOUR
from kraft.story.report.section import MAX_ROWS
from kraft.story.report.sections.campaigns import MAX_CAMPAIGNS, failures, section
from tests.support.report_stories import END_MS, HOSTILE, START_MS, two_kills

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PASSED = SimulationCampaign(
    COMMIT, "3.11.7", START_MS, END_MS, 2_000, 0, 1_999, 0, 20, 0, 4_000_000, 240_000, 90e3, 75.0
)
FAILED = attrs.evolve(
    PASSED,
    commit=f"{COMMIT}-dirty-c0ffee",
    end_ms=END_MS + 1,
    failed=2,
    failures=[FailedSeed(4, "swarm", "LogMatching", "two logs"), FailedSeed(9, "leaders", "LogMatching", "of node 3")],
    spread=[EventSpread(40, "swarm", 1_500), EventSpread(42, "leaders", 498), EventSpread(40, "failed", 2)],
)


def report(*campaigns: SimulationCampaign) -> ClusterReport:
    return ClusterReport(None, START_MS, END_MS, campaigns=campaigns)


def test_a_bar_is_the_speed_and_its_colour_the_verdict() -> None:
    speed, _ = section(report(PASSED, FAILED)).figures
    by_name = {trace["name"]: trace for trace in speed["data"]}
    assert by_name["no seed failed"]["x"] == [1_200.0]
    assert by_name["seeds failed"]["text"] == ["2,000 seeds, 2 failed"]
    assert by_name["seeds failed"]["marker"]["color"] == NOBODY_COLOUR
    assert speed["layout"]["yaxis"]["ticktext"] == ["0123456789ab-dirty-c0…", "0123456789ab"]


def test_the_spread_has_a_class_for_each_quarter_of_an_octave() -> None:
    """Quarter 40 begins at 2^10 events. The empty class between two others keeps its place."""
    _, spread = section(report(FAILED)).figures
    assert spread["layout"]["xaxis"]["categoryarray"] == ["1,024", "1,218", "1,448"]
    assert {trace["name"]: (trace["x"], trace["y"]) for trace in spread["data"]} == {
        "leaders": (["1,448"], [498]),
        "swarm": (["1,024"], [1_500]),
        "failed": (["1,024"], [2]),
    }


def test_each_failure_has_the_command_that_repeats_it() -> None:
    found = failures(report(PASSED, FAILED))
    assert found.table is not None
    assert found.sentences == ["2 seeds broke an invariant: LogMatching (2)."]
    assert found.table.rows[0] == [
        "0123456789ab-dirty-c0ffee",
        "4",
        "swarm",
        "LogMatching",
        "two logs",
        "kraft simulate --seed 4 --trace",
    ]


def test_a_campaign_without_failures_says_so() -> None:
    assert failures(report(PASSED)).sentences == ["No seed broke an invariant."]
    assert section(report(PASSED)).sentences == [
        "2,000 seeds ran at 0123456789ab with Python 3.11.7, 0 of them failed; 20 ran again and had the same trace."
    ]


def test_a_seed_with_two_traces_is_in_the_first_sentence() -> None:
    (sentence,) = section(report(attrs.evolve(PASSED, disagreed=1))).sentences
    assert sentence.endswith("0 of them failed, and 1 had another trace when run again.")


def test_what_is_left_out_is_counted() -> None:
    many = [attrs.evolve(PASSED, end_ms=END_MS + place) for place in range(MAX_CAMPAIGNS + 3)]
    assert "3 campaigns are left out: the plot shows the newest ones." in section(report(*many)).notes
    known = [FailedSeed(seed, "swarm", "LogMatching", HOSTILE) for seed in range(MAX_ROWS + 5)]
    found = failures(report(attrs.evolve(FAILED, failed=1_000, failures=known)))
    assert found.table is not None
    assert (len(found.table.rows), found.table.left_out) == (MAX_ROWS, 5)
    assert found.notes == [
        f"{1_000 - MAX_ROWS - 5} failures are left out: the table campaign_verdicts has all of them."
    ]


def test_only_a_report_with_campaigns_has_the_sections() -> None:
    """The page of a cluster is as it was; a page without a cluster has nothing else."""
    cluster = two_kills()
    names = ["campaigns", "failed-seeds"]
    assert not {each.id for each in sections(cluster, marks_of(cluster))}.intersection(names)
    both = attrs.evolve(cluster, campaigns=[FAILED])
    assert [each.id for each in sections(both, marks_of(both))][-2:] == names
    alone = report(PASSED)
    assert [each.id for each in sections(alone, marks_of(alone))] == names
