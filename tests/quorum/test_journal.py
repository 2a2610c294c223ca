"""The journal of the quorum: why the controller changed, bounded, and never in the quorum's way."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from kraft.quorum import journal as quorum_journal
from kraft.quorum.journal import FILE_NAME, MAX_KINDS, OLDER_SUFFIX, REPEAT_MS, QuorumJournal
from kraft.quorum.refusals import Refusal, RefusalReason, RequestSummary
from kraft.raft.events import Effects, Reason, Transition, Verdict
from kraft.raft.messages import BeginQuorumEpochRequest, VoteRequest

STOOD = Transition("Follower", "Prospective", 4, "1 sent no response within the fetch timeout")


def vote(peer: int, *, epoch: int = 5, pre_vote: bool = False, granted: bool = False) -> Verdict:
    reason = Reason.GRANTED if granted else Reason.SHORTER_LOG
    return Verdict(VoteRequest(epoch, peer, 10, 4, pre_vote), peer, granted, reason)


@attrs.define
class Clock:
    now_ms: int = 1_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def journal(tmp_path: Path, clock: Clock) -> Iterator[QuorumJournal]:
    journal = QuorumJournal(tmp_path, 2, clock)
    journal.start(990)
    yield journal
    journal.close()


def lines(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / FILE_NAME).read_text().splitlines()]


def test_a_change_of_state_is_a_line_with_its_reason(journal: QuorumJournal, tmp_path: Path) -> None:
    journal.note(Effects(transitions=[STOOD]))
    assert lines(tmp_path) == [
        {"ms": 1000, "node": 2, "kind": "start", "wrote_ms": 990},
        {
            "ms": 1000,
            "node": 2,
            "kind": "transition",
            "before": "Follower",
            "after": "Prospective",
            "epoch": 4,
            "why": "1 sent no response within the fetch timeout",
        },
    ]


def test_a_verdict_is_a_line_with_the_name_and_the_text_of_its_reason(journal: QuorumJournal, tmp_path: Path) -> None:
    journal.note(Effects(verdicts=[vote(3, pre_vote=True)]))
    assert lines(tmp_path)[1] == {
        "ms": 1000,
        "node": 2,
        "kind": "verdict",
        "epoch": 5,
        "request": "Vote",
        "preVote": True,
        "peer": 3,
        "granted": False,
        "reason": "SHORTER_LOG",
        "words": "its log is shorter than mine",
    }


def test_a_refusal_before_the_core_is_such_a_line_too(journal: QuorumJournal, tmp_path: Path) -> None:
    for _ in range(3):
        journal.note_refusal(Refusal(RequestSummary("Vote", 3, 5, True), RefusalReason.OTHER_CLUSTER))
        journal.note(Effects(transitions=[STOOD]))
    journal.stop()
    first, *changes, again, _ = lines(tmp_path)[1:]
    assert [line["kind"] for line in changes] == ["transition"] * 3, "a voter that finds nobody has many"
    told = {"kind": "verdict", "epoch": 5, "request": "Vote", "preVote": True, "peer": 3, "granted": False}
    assert first.items() >= {**told, "reason": "OTHER_CLUSTER", "words": "it is for another cluster"}.items()
    assert again["times"] == 2


def test_effects_without_news_write_nothing(journal: QuorumJournal, tmp_path: Path) -> None:
    journal.note(Effects(high_watermark=7))
    assert len(lines(tmp_path)) == 1


def test_why_the_core_gave_up_is_written(journal: QuorumJournal, tmp_path: Path) -> None:
    journal.note(Effects(fatal="the logs diverge below the high watermark"))
    assert lines(tmp_path)[-1]["words"] == "the logs diverge below the high watermark"


def test_repeated_requests_of_a_peer_are_counted(journal: QuorumJournal, tmp_path: Path, clock: Clock) -> None:
    for asked in range(40):
        journal.note(Effects(verdicts=[vote(3, epoch=5 + asked), vote(1, granted=True)]))
        clock.now_ms += 50
    assert [line["peer"] for line in lines(tmp_path)[1:]] == [3, 1]
    clock.now_ms += REPEAT_MS
    journal.note(Effects(verdicts=[vote(3, epoch=50)]))
    again = lines(tmp_path)[-1]
    assert (again["peer"], again["times"], again["epoch"], again["ms"]) == (3, 40, 50, clock.now_ms)


def test_a_repetition_is_written_when_the_clock_was_set_back(
    journal: QuorumJournal, tmp_path: Path, clock: Clock
) -> None:
    journal.note(Effects(verdicts=[vote(3)]))
    clock.now_ms -= 1
    journal.note(Effects(verdicts=[vote(3)]))
    assert [line.get("times") for line in lines(tmp_path)[1:]] == [None, 1]


def test_a_change_of_state_ends_the_counting(journal: QuorumJournal, tmp_path: Path) -> None:
    for _ in range(3):
        journal.note(Effects(verdicts=[vote(3)]))
    journal.note(Effects(transitions=[STOOD], verdicts=[vote(3)]))
    told = [(line["kind"], line.get("times")) for line in lines(tmp_path)[1:]]
    assert told == [("verdict", None), ("verdict", 2), ("transition", None), ("verdict", None)]


def test_a_flood_of_different_verdicts_is_counted_too(journal: QuorumJournal, tmp_path: Path) -> None:
    for peer in range(MAX_KINDS + 30):
        journal.note(Effects(verdicts=[Verdict(BeginQuorumEpochRequest(9, peer), peer, False, Reason.NOT_A_VOTER)]))
    assert len(lines(tmp_path)) == 1 + MAX_KINDS
    journal.stop()
    assert [(line["kind"], line.get("times")) for line in lines(tmp_path)[-2:]] == [("omitted", 30), ("stop", None)]


def test_the_journal_is_bounded(journal: QuorumJournal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum_journal, "MAX_BYTES", 1000)
    for epoch in range(100):
        journal.note(Effects(transitions=[attrs.evolve(STOOD, epoch=epoch)]))
    current, older = tmp_path / FILE_NAME, tmp_path / (FILE_NAME + OLDER_SUFFIX)
    assert sorted(tmp_path.iterdir()) == [current, older]
    assert current.stat().st_size <= 1000
    assert older.stat().st_size <= 1000
    kept = [json.loads(line)["epoch"] for path in (older, current) for line in path.read_text().splitlines()]
    assert kept == list(range(kept[0], 100))


def test_a_restart_continues_after_the_truncation_of_a_torn_tail(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / FILE_NAME).write_bytes(b'{"ms":1,"node":2,"kind":"start"}\n{"ms":2,"no')
    again = QuorumJournal(tmp_path, 2, clock)
    again.start(None)
    again.stop()
    again.close()
    kept = (tmp_path / FILE_NAME).read_text().splitlines()
    assert kept[1] == '{"ms":2,"no'
    assert [json.loads(line)["kind"] for line in kept[2:]] == ["start", "stop"]


@pytest.mark.parametrize("obstacle", ["a directory in its place", "a full disk"])
def test_an_error_is_logged_once_and_ends_the_journal(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture, obstacle: str
) -> None:
    if obstacle == "a full disk":
        (tmp_path / FILE_NAME).symlink_to("/dev/full")
    else:
        (tmp_path / FILE_NAME).mkdir()
    with caplog.at_level(logging.WARNING):
        journal = QuorumJournal(tmp_path, 2, clock)
        for _ in range(3):
            journal.note(Effects(transitions=[STOOD]))
        journal.close()
    (said,) = caplog.messages
    assert said.startswith(f"{tmp_path / FILE_NAME}: ")
    assert said.endswith("the journal ends here, the quorum is not affected")
