"""The election strip: who led, who stood, who voted, and why."""

from __future__ import annotations

from kraft.story.quorum_timeline import LeaderTerm
from kraft.story.report.marks import marks_of
from kraft.story.report.model import Candidacy, ClusterReport, ElectionHistory, QuorumHistory
from kraft.story.report.palette import Palette
from kraft.story.report.section import Section
from kraft.story.report.sections.quorum import MAX_POINTS, section
from kraft.story.report.sections.summary import node_ids
from tests.support.report_stories import START_MS, two_kills, without_failover


def made(report: ClusterReport) -> Section:
    return section(report, Palette(node_ids(report)), marks_of(report))


def hovers(section: Section) -> list[str]:
    return [text for trace in section.figures[0]["data"] for text in trace.get("hovertext", ())]


def test_a_failover_is_told_with_its_occasion() -> None:
    assert made(two_kills()).sentences == [
        "The quorum had 2 leader terms: node 1, then node 3.",
        "Nobody led it for 1.9 s when node 1, the active controller, was killed, until node 3 won epoch 6.",
    ]


def test_every_vote_shows_its_reason() -> None:
    texts = hovers(made(two_kills()))
    assert any("pre-vote refused to node 3 for epoch 6" in each and "my leader answers me" in each for each in texts)
    assert any("node 3 stands for election in epoch 6" in each for each in texts)
    assert any("nobody led for 1.9 s" in each for each in texts)


def test_one_leader_all_the_time() -> None:
    found = made(without_failover())
    assert found.sentences == ["Node 1 led the quorum all the time that is known."]
    assert not any("nobody led" in each for each in hovers(found))


def test_a_lost_election_is_told() -> None:
    history = QuorumHistory(
        [
            LeaderTerm(1, 1, START_MS, START_MS + 1_000, "node 2: 1 did not answer in time"),
            LeaderTerm(2, None, START_MS + 1_500, why_ended="node 2 and node 3 stood for election, and nobody won"),
            LeaderTerm(3, 2, START_MS + 3_000),
        ],
        [ElectionHistory(2, [Candidacy(START_MS + 1_500, each, 2) for each in (2, 3)])],
    )
    found = made(ClusterReport("c", START_MS, START_MS + 5_000, quorum=history))
    assert found.sentences[-1] == "1 epoch had no leader: node 2 and node 3 stood for election, and nobody won."
    assert any("nobody led epoch 2" in each for each in hovers(found))


def test_an_election_storm_is_bounded() -> None:
    storm = [ElectionHistory(n, [Candidacy(START_MS + n, 1, n)]) for n in range(3 * MAX_POINTS)]
    found = made(ClusterReport("c", START_MS, START_MS + 10_000, quorum=QuorumHistory([], storm)))
    assert len(hovers(found)) == MAX_POINTS
    assert "4,000 election events are left out: the plot shows the first ones." in found.notes


def test_without_a_journal_it_says_so() -> None:
    found = made(ClusterReport("c", 0, 1))
    assert found.sentences == ["No leader and no election is known in this time."]
