"""The quorum's part of the report, from journals that nodes wrote."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraft.cli.main import cli
from kraft.raft.events import Reason
from kraft.raft.messages import VoteRequest
from kraft.story.quorum_timeline import JournalLine, merged, read_journal
from kraft.story.report.journals import failovers, journal_report, quorum_history
from kraft.story.report.model import Candidacy, VoteCast
from tests.support.journals import START_MS, Journals


@pytest.fixture
def journals(tmp_path: Path) -> Journals:
    """1 leads epoch 1 for two seconds and is killed; 2 wins epoch 2, and 3 refuses its first Vote."""
    journals = Journals(tmp_path)
    journals.start(1, 2, 3)
    journals.now_ms += 100
    journals.elects(1, 1, voter=2)
    journals.now_ms += 2_000
    journals.moves(2, "Follower", "Prospective", 1, "1 did not answer in time")
    journals.judges(3, VoteRequest(1, 2, 5, 0, pre_vote=True), 2, Reason.LEADER_ALIVE)
    journals.elects(2, 2, voter=3, before="Prospective", why="once more")
    journals.now_ms += 1_000
    journals.start(1)
    return journals


def lines_of(journals: Journals) -> list[JournalLine]:
    return merged(read_journal(str(journals.directory(node)))[0] for node in (1, 2, 3))


def test_every_candidacy_and_vote_has_its_epoch_and_reason(journals: Journals) -> None:
    """KIP-996: a pre-vote names the epoch in which the node is, and is about the next one."""
    _, second = quorum_history(lines_of(journals)).elections
    assert second.epoch == 2
    assert [(each.node, each.pre_vote, each.reason) for each in second.candidacies] == [
        (2, True, "1 did not answer in time"),
        (2, True, "once more"),
        (2, False, "2 and 3 would grant their votes"),
    ]
    assert [(each.voter, each.candidate, each.granted, each.pre_vote) for each in second.votes] == [
        (3, 2, False, True),
        (3, 2, True, True),
        (3, 2, True, False),
    ]
    assert second.votes[0] == VoteCast(START_MS + 2_180, 3, 2, 2, False, True, Reason.LEADER_ALIVE.value)


def test_a_failover_has_the_times_between_two_terms(journals: Journals) -> None:
    (failover,) = failovers(quorum_history(lines_of(journals)))
    assert (failover.epoch, failover.former, failover.successor) == (2, 1, 2)
    assert [(phase.name, phase.end_ms - phase.start_ms) for phase in failover.phases] == [
        ("nobody stood for election", 0),
        ("pre-votes and lost elections", 40),
        ("the election that was won", 20),
    ]


def test_a_start_without_a_stop_tells_of_a_kill(journals: Journals) -> None:
    report = journal_report(lines_of(journals), "c")
    assert [event.text for event in report.events] == ["node 1 started again after a kill or crash"]
    assert (report.start_ms, report.end_ms) == (START_MS, START_MS + 3_260)
    assert [node.id for node in report.nodes] == [1, 2, 3]


def test_a_controlled_stop_is_no_kill(journals: Journals) -> None:
    journals.journals[3].stop()
    journals.now_ms += 5
    journals.start(3)
    texts = [event.text for event in journal_report(lines_of(journals), "c").events]
    assert texts[1:] == ["node 3 stopped", "node 3 started again"]


def test_clocks_that_contradict_each_other_make_no_negative_phase(journals: Journals) -> None:
    """Lines of one node keep their order; those of another machine may be years apart."""
    lines = lines_of(journals)
    shifted = [
        JournalLine(line.ms - 2_150, line.node, line.kind, line.fields) if line.node == 2 else line for line in lines
    ]
    for failover in failovers(quorum_history(shifted)):
        assert all(phase.start_ms <= phase.end_ms for phase in failover.phases)


def test_odd_lines_of_a_journal_are_no_votes() -> None:
    """A person may have edited the file."""
    odd = {"request": "Vote", "peer": "2", "epoch": 1, "granted": "yes"}
    lines = [JournalLine(1, 1, "verdict", odd), JournalLine(2, 1, "verdict", {**odd, "peer": 2})]
    (election,) = quorum_history(lines).elections
    assert [(vote.candidate, vote.granted) for vote in election.votes] == [(2, False)]
    assert not [each for each in election.candidacies if isinstance(each, Candidacy)]


def explain(journals: Journals, *options: str) -> Result:
    directories = [str(journals.directory(node)) for node in (1, 2, 3)]
    return CliRunner(catch_exceptions=False).invoke(cli, ["quorum", "explain", *directories, *options])


@pytest.mark.usefixtures("_plotly")
def test_quorum_explain_writes_the_page(journals: Journals, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = explain(journals, "--html", str(page))
    assert result.output == f"Wrote {page}\n"
    text = page.read_text(encoding="utf-8")
    assert "The quorum had 2 leader terms: node 1, then node 2." in text
    assert "2026-11-21 14:20:00.000 to 14:20:03.260 UTC" in text


@pytest.mark.usefixtures("_plotly")
def test_the_page_is_about_the_chosen_epoch(journals: Journals, tmp_path: Path) -> None:
    """The whole of the journals still dates the terms: a part of the lines would lose their ends."""
    page = tmp_path / "page.html"
    explain(journals, "--html", str(page), "--epoch", "2")
    text = page.read_text(encoding="utf-8")
    assert "2026-11-21 14:20:02.170 to 14:20:02.250 UTC" in text
    assert "node 2: 1 did not answer in time" in text


def test_without_plotly_explain_says_what_to_install(
    journals: Journals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    result = explain(journals, "--html", str(tmp_path / "page.html"))
    assert result.exit_code == 1
    assert "pip install '.[spark]'" in result.output
    assert not (tmp_path / "page.html").exists()


@pytest.mark.usefixtures("_plotly")
def test_a_page_that_cannot_be_written_is_named(journals: Journals, tmp_path: Path) -> None:
    result = explain(journals, "--html", str(tmp_path / "no" / "page.html"))
    assert result.exit_code == 1
    assert result.output == f"Error: {tmp_path / 'no' / 'page.html'}: No such file or directory\n"


def test_without_lines_there_is_no_report() -> None:
    with pytest.raises(ValueError, match="the journals are empty"):
        journal_report([], "c")
