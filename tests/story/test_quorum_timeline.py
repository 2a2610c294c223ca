"""``kraft quorum explain``: journals of several nodes become one timeline, with who led and why each term ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraft.cli.main import cli
from kraft.quorum.journal import FILE_NAME, OLDER_SUFFIX
from kraft.raft.events import Effects, Reason
from kraft.raft.messages import BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest, Request, VoteRequest
from kraft.raft.state import TRANSITIONS
from kraft.story.quorum_timeline import LeaderTerm, leader_terms, merged, read_journal, sentence
from tests.support.journals import START_MS, Journals


@pytest.fixture
def world(tmp_path: Path) -> Journals:
    world = Journals(tmp_path)
    world.start(1, 2, 3)
    world.now_ms += 100
    return world


def explain(world: Journals, *options: str, nodes: tuple[int, ...] = (1, 2, 3)) -> Result:
    directories = [str(world.directory(node)) for node in nodes]
    return CliRunner(catch_exceptions=False).invoke(cli, ["quorum", "explain", *directories, *options])


def terms(world: Journals, nodes: tuple[int, ...] = (1, 2, 3)) -> list[LeaderTerm]:
    return leader_terms(merged(read_journal(str(world.directory(node)))[0] for node in nodes))


def explained_terms(world: Journals, nodes: tuple[int, ...] = (1, 2, 3)) -> list[tuple[int, int | None, str | None]]:
    return [(term.epoch, term.leader, term.why_ended) for term in terms(world, nodes)]


def test_the_timeline_of_an_election(world: Journals) -> None:
    world.elects(1, 1, voter=2, before="Unattached", why="the election timeout expired without a leader")
    result = explain(world)
    assert result.exit_code == 0
    assert result.output == (
        "2026-11-21 (UTC)\n"
        "14:20:00.000   node 1 started\n"
        "14:20:00.000   node 2 started\n"
        "14:20:00.000   node 3 started\n"
        "14:20:00.100   node 1 requests pre-votes for epoch 1: "
        "the election timeout expired without a leader\n"
        "14:20:00.110   node 2 would vote for 1 in epoch 1: its log is at least as long as mine\n"
        "14:20:00.120   node 1 stands for election in epoch 1: 1 and 2 would grant their votes\n"
        "14:20:00.130   node 2 votes for 1 in epoch 1: its log is at least as long as mine\n"
        "14:20:00.140 * node 1 leads epoch 1: 1 and 2 granted their votes\n"
        "14:20:00.150   node 2 follows in epoch 1: 1 sent BeginQuorumEpoch\n"
        "14:20:00.160   node 2 learns from 1 that it leads epoch 1\n"
        "\n"
        "EPOCH  LEADER  SINCE                    LED FOR  UNTIL\n"
        "1      1       2026-11-21 14:20:00.140  -        still leads, as far as is known\n"
    )


def test_a_leader_that_resigns_gives_the_reason(world: Journals) -> None:
    world.elects(1, 1, voter=2)
    world.moves(1, "Leader", "Resigned", 1, "the node is shutting down")
    world.elects(2, 2, voter=3)
    assert explained_terms(world)[0] == (1, 1, "node 1: the node is shutting down")


def test_a_leader_whose_clock_is_ahead_gives_the_reason_too(world: Journals) -> None:
    world.elects(1, 1, voter=2)
    world.now_ms += 80  # the leader's clock
    world.moves(1, "Leader", "Resigned", 1, "the node is shutting down")
    world.now_ms -= 80
    world.elects(2, 2, voter=3, why="1 resigned")
    assert explained_terms(world)[0] == (1, 1, "node 1: the node is shutting down")


def test_no_term_ends_before_it_begins(world: Journals) -> None:
    """The leader's clock is ahead by more than its term."""
    world.now_ms += 10_000
    world.moves(1, "Candidate", "Leader", 1, "1 and 2 granted their votes")
    world.now_ms -= 9_000
    world.elects(2, 2, voter=3, why="1 sent no response within the fetch timeout")
    world.now_ms += 20_000
    world.start(1)
    term = terms(world)[0]
    assert (term.epoch, term.end_ms) == (1, term.start_ms)


def test_a_followers_timeout_dates_the_end_of_a_killed_leader(world: Journals) -> None:
    world.elects(1, 1, voter=2)
    world.now_ms += 2000
    world.elects(2, 2, voter=3, why="1 sent no response within the fetch timeout")
    world.now_ms += 1000
    world.start(1)
    assert explained_terms(world) == [
        (1, 1, "node 2: 1 sent no response within the fetch timeout; node 1 started again 1.1 s later"),
        (2, 2, None),
    ]


def an_outage(world: Journals, *back: int, wrote_ms: int | None) -> None:
    """1 leads epoch 1 for a second, then all are down for 25 minutes. Epoch 2 has no leader, and 3 leads epoch 3."""
    world.elects(1, 1, voter=2)
    world.now_ms = START_MS + 140 + 1000 + 1_500_000
    world.start(*back, wrote_ms=wrote_ms)
    world.now_ms += 100
    if 1 in back:
        world.moves(1, "Resigned", "Unattached", 2, "the election timeout expired without a new leader")
    world.moves(3, "Follower", "Unattached", 2, "1 responded with a newer epoch")
    world.elects(3, 3, voter=2, before="Unattached", why="the election timeout expired without a leader")


def test_an_outage_of_all_nodes_counts_for_no_leader(world: Journals) -> None:
    """A killed leader's last record dates the end of its term; lines of others after their own restart do not."""
    an_outage(world, 1, 2, 3, wrote_ms=START_MS + 140 + 900)
    assert explained_terms(world) == [
        (1, 1, "node 1 ended, and its journal does not say why; it started again 1500.1 s later"),
        (2, None, "nobody stood for election; node 1: the election timeout expired without a new leader"),
        (3, 3, None),
    ]
    table = explain(world).output.splitlines()[-3:]
    assert "  0.9 s  " in table[0]
    assert table[1].startswith("2      nobody  2026-11-21 14:45:01.240  -        nobody stood for election; ")


def test_without_a_last_record_an_outage_bounds_the_term(world: Journals) -> None:
    an_outage(world, 1, 2, 3, wrote_ms=None)
    assert explained_terms(world)[0] == (1, 1, "node 1 ended, and its journal does not say why; it started again")
    assert "  at most 1501.0 s  " in explain(world).output


def test_a_leader_that_is_not_back_after_an_outage(world: Journals) -> None:
    """A follower that was down itself has no line about the end of its leader's term."""
    an_outage(world, 2, 3, wrote_ms=None)
    assert explained_terms(world)[0] == (1, 1, "node 3: 1 responded with a newer epoch")
    assert "  at most 1501.1 s  " in explain(world).output


def test_a_leader_that_was_killed_while_it_was_asleep(world: Journals) -> None:
    world.elects(1, 1, voter=2)
    wrote_ms = world.now_ms
    world.now_ms += 2000
    world.elects(2, 2, voter=3, why="1 sent no response within the fetch timeout")
    world.now_ms += 1000
    world.start(1, wrote_ms=wrote_ms)
    assert explained_terms(world)[0] == (
        1,
        1,
        "node 2: 1 sent no response within the fetch timeout; node 1 started again 3.1 s later",
    )


def test_an_epoch_with_an_unknown_leader_is_left_out(world: Journals) -> None:
    world.moves(3, "Unattached", "Unattached", 4, "2 responded with a newer epoch")
    world.moves(3, "Unattached", "Follower", 4, "2 named 1 as the leader")
    assert explained_terms(world) == []


def test_a_paused_leader_learns_of_it_later(world: Journals) -> None:
    world.elects(1, 1, voter=2)
    world.elects(2, 2, voter=3, why="1 sent no response within the fetch timeout")
    world.now_ms += 3000
    world.moves(1, "Leader", "Resigned", 1, "no majority fetched within the check-quorum timeout")
    assert explained_terms(world)[0] == (
        1,
        1,
        "node 2: 1 sent no response within the fetch timeout; node 1 learned of it 3.1 s later",
    )


def test_a_follower_that_came_back_is_not_why_it_ended(world: Journals) -> None:
    world.elects(1, 1, voter=2)
    world.moves(3, "Follower", "Prospective", 1, "I was asleep")
    world.moves(3, "Prospective", "Follower", 1, "1 and 2 would refuse their votes")
    world.now_ms += 5000
    world.elects(2, 2, voter=3, why="1 sent no response within the fetch timeout")
    assert explained_terms(world)[0] == (1, 1, "node 2: 1 sent no response within the fetch timeout")


def test_an_election_without_a_winner(world: Journals) -> None:
    for node, other in ((1, 2), (2, 1)):
        world.moves(node, "Prospective", "Candidate", 1, "")
        world.judges(other, VoteRequest(1, node, 0, 0), node, Reason.VOTED_FOR_MYSELF)
    world.elects(1, 2, voter=2, before="Candidate")
    assert explained_terms(world)[0] == (1, None, "node 1 and node 2 stood for election, and nobody won")
    assert "1      nobody  " in explain(world).output


def test_a_followers_journal_alone_has_the_leader(world: Journals) -> None:
    world.elects(1, 1, voter=2)
    world.elects(3, 2, voter=2)
    assert explained_terms(world, nodes=(2,)) == [(1, 1, "epoch 2 began"), (2, 3, None)]


def test_a_node_alone_that_stops_and_starts(world: Journals) -> None:
    world.moves(1, "Candidate", "Leader", 1, "its own vote is a majority")
    world.journals[1].stop()
    world.start(1)
    world.moves(1, "Candidate", "Leader", 2, "its own vote is a majority")
    assert explained_terms(world, nodes=(1,)) == [(1, 1, "node 1 stopped"), (2, 1, None)]


def test_one_epoch_is_how_it_came_about_and_how_it_ended(world: Journals) -> None:
    world.elects(1, 1, voter=2)
    world.elects(2, 2, voter=3, why="1 sent no response within the fetch timeout")
    world.moves(1, "Leader", "Follower", 2, "2 sent BeginQuorumEpoch")
    world.elects(3, 3, voter=1, why="2 sent no response within the fetch timeout")
    lines = explain(world, "--epoch", "1").output.splitlines()
    assert [line[15:] for line in lines if line.startswith("14:")] == [
        "node 1 requests pre-votes for epoch 1: no leader",
        "node 2 would vote for 1 in epoch 1: its log is at least as long as mine",
        "node 1 stands for election in epoch 1: 1 and 2 would grant their votes",
        "node 2 votes for 1 in epoch 1: its log is at least as long as mine",
        "node 1 leads epoch 1: 1 and 2 granted their votes",
        "node 2 follows in epoch 1: 1 sent BeginQuorumEpoch",
        "node 2 learns from 1 that it leads epoch 1",
        "node 2 requests pre-votes for epoch 2: 1 sent no response within the fetch timeout",
        "node 1 leads no more, and follows in epoch 2: 2 sent BeginQuorumEpoch",
    ]
    assert lines[-1].startswith("1      1       ")


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_epoch_that_no_journal_knows(world: Journals, options: tuple[str, ...]) -> None:
    world.elects(1, 1, voter=2)
    result = explain(world, "--epoch", "99", *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: None of the journals has epoch 99\n"


def test_a_directory_that_is_named_twice_is_read_once(world: Journals) -> None:
    world.elects(1, 1, voter=2)
    link = world.root / "link"
    link.symlink_to(world.directory(1))
    again = ["quorum", "explain", *(str(path) for path in (world.directory(1), link, f"{world.directory(1)}/."))]
    assert CliRunner(catch_exceptions=False).invoke(cli, again).output == explain(world, nodes=(1,)).output


def test_only_recent_values_count(world: Journals) -> None:
    world.moves(1, "Prospective", "Candidate", 0, "")
    world.elects(1, 1, voter=2)
    world.now_ms += 60_000
    world.elects(2, 2, voter=3)
    for since in ("2026-11-21T14:21", "2026-11-21T15:21+01:00"):
        output = explain(world, "--since", since).output
        assert "leads epoch 2" in output
        assert "leads epoch 1" not in output
        assert "nobody" not in output
    assert "leads epoch 1" in explain(world, "--since", "9999d").output


def test_json(world: Journals) -> None:
    world.elects(1, 1, voter=2)
    output = json.loads(explain(world, "--json").output)
    assert output["leader_terms"] == [
        {"epoch": 1, "leader": 1, "start_ms": START_MS + 140, "end_ms": None, "why_ended": None, "at_most": False}
    ]
    assert output["events"][4]["reason"] == "GRANTED"
    assert output["events"][4]["sentence"] == "would vote for 1 in epoch 1: its log is at least as long as mine"


def test_a_clock_that_was_set_back_keeps_the_order_of_a_nodes_lines(world: Journals) -> None:
    world.moves(1, "Unattached", "Prospective", 0, "first")
    world.now_ms -= 50_000
    world.moves(1, "Prospective", "Candidate", 1, "second")
    output = explain(world, nodes=(1,)).output
    assert output.index("first") < output.index("second")


def test_unreadable_lines_are_skipped_and_counted(world: Journals) -> None:
    path = world.directory(1) / FILE_NAME
    with path.open("ab") as file:
        file.write(b'{"ms":1}\n[1]\nnonsense\n{"ms":-5,"node":1,"kind":"start"}\n' + b"[" * 100_000 + b'\n{"ms":2,"no')
    result = explain(world, nodes=(1,))
    assert result.exit_code == 0
    assert result.stderr == "Warning: skipped 6 unreadable lines\n"


def test_the_older_file_comes_first(world: Journals) -> None:
    path = world.directory(1) / FILE_NAME
    path.with_name(FILE_NAME + OLDER_SUFFIX).write_text('{"ms":5,"node":1,"kind":"stop"}\n')
    lines, _ = read_journal(str(world.directory(1)))
    assert [line.kind for line in lines] == ["stop", "start"]


def test_a_refused_fetch_of_a_node_that_seeks_the_leader_needs_all(world: Journals) -> None:
    world.judges(2, FetchRequest(0, 1, 0, 0, 0.5), 1, Reason.NOT_LEADER)
    world.judges(2, FetchRequest(0, 9, 0, 0, 0.5), 9, Reason.FROM_MYSELF)
    strange = "node 2 refuses Fetch of 9 in epoch 0: it has my node id"
    usual = "node 2 refuses Fetch of 1 in epoch 0: I am not the leader"

    def refusals(*options: str) -> list[str]:
        return [line[15:] for line in explain(world, *options).output.splitlines() if "refuses" in line]

    assert refusals() == [strange]
    assert refusals("--all") == [usual, strange]
    events = json.loads(explain(world, "--json").output)["events"]
    assert [event["sentence"] for event in events if "refuses" in event["sentence"]] == [usual[7:], strange[7:]]


def test_a_directory_without_a_journal(world: Journals, tmp_path: Path) -> None:
    result = explain(world, nodes=(1, 7))
    assert result.exit_code == 1
    why = f"no {FILE_NAME} is here; name the directory with the node's metadata log"
    assert result.stderr == f"Error: {tmp_path / '7'}: {why}\n"


def test_the_directory_of_a_configuration(world: Journals, tmp_path: Path) -> None:
    world.elects(1, 1, voter=2)
    config = tmp_path / "server.properties"
    config.write_text(
        "process.roles=controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\nlisteners=CONTROLLER://:9093\n"
        f"controller.quorum.voters=1@localhost:9093\nlog.dirs={tmp_path}/nowhere\nmetadata.log.dir={tmp_path}/1\n"
    )
    result = CliRunner(catch_exceptions=False).invoke(cli, ["quorum", "explain", "--config", str(config)])
    assert "node 1 leads epoch 1" in result.output


def test_the_directory_of_a_node_without_a_configuration(world: Journals, monkeypatch: pytest.MonkeyPatch) -> None:
    world.elects(1, 1, voter=2)
    world.directory(1).rename(world.root / "kraft-data")
    monkeypatch.chdir(world.root)
    result = CliRunner(catch_exceptions=False).invoke(cli, ["quorum", "explain"])
    assert "node 1 leads epoch 1" in result.output


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "or its --config, as in: kraft quorum explain ./kraft-data"),
        (("--since", "yesterday", "1"), "'yesterday' is neither a time like 2026-11-21T14:22 nor a span like 10m"),
    ],
)
def test_wrong_usage(world: Journals, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], why: str) -> None:
    monkeypatch.chdir(world.root)
    arguments = [str(world.directory(1)) if option == "1" else option for option in options]
    result = CliRunner(catch_exceptions=False).invoke(cli, ["quorum", "explain", *arguments])
    assert result.exit_code == 2
    assert why in result.stderr


def test_every_transition_and_verdict_is_a_sentence(world: Journals) -> None:
    for before, after in TRANSITIONS:
        world.moves(1, before.__name__, after.__name__, 4, "so")
    requests: tuple[Request, ...] = (
        VoteRequest(4, 2, 0, 0),
        VoteRequest(4, 2, 0, 0, pre_vote=True),
        BeginQuorumEpochRequest(4, 2),
        EndQuorumEpochRequest(4, 2, ()),
    )
    for request in requests:
        for granted in (True, False):
            world.judges(1, request, 2, Reason.STALE_EPOCH, granted=granted)
            world.judges(1, request, 2, Reason.STALE_EPOCH, granted=granted)
    world.journals[1].note(Effects(fatal="the disk is gone"))
    world.journals[1].stop()
    sentences = {sentence(line) for line in read_journal(str(world.directory(1)))[0]}
    assert "gives up epoch 4: so" in sentences
    assert "refuses EndQuorumEpoch of 2 in epoch 4: its epoch is older than mine (once more)" in sentences
    assert "would not vote for 2 in epoch 5: its epoch is older than mine" in sentences
    assert "must stop: the disk is gone" in sentences
    assert not [text for text in sentences if "is now" in text or "None" in text]
