"""Journals of a quorum for the tests of the room `story`: nodes write them as real ones do, on one clock."""

from __future__ import annotations

from pathlib import Path

import attrs

from kraft.quorum.journal import QuorumJournal
from kraft.raft.events import Effects, Reason, Transition, Verdict
from kraft.raft.messages import BeginQuorumEpochRequest, Request, VoteRequest

START_MS = 1_795_270_800_000


@attrs.define
class Journals:
    """Nodes that write journals as real ones do, on one clock."""

    root: Path
    now_ms: int = START_MS
    journals: dict[int, QuorumJournal] = attrs.Factory(dict)

    def directory(self, node: int) -> Path:
        directory = self.root / str(node)
        directory.mkdir(exist_ok=True)
        return directory

    def start(self, *nodes: int, wrote_ms: int | None = None) -> None:
        for node in nodes:
            self.journals[node] = QuorumJournal(self.directory(node), node, lambda: self.now_ms)
            self.journals[node].start(wrote_ms)

    def moves(self, node: int, before: str, after: str, epoch: int, why: str) -> None:
        self.journals[node].note(Effects(transitions=[Transition(before, after, epoch, why)]))
        self.now_ms += 10

    def judges(self, node: int, request: Request, peer: int, reason: Reason, *, granted: bool = False) -> None:
        self.journals[node].note(Effects(verdicts=[Verdict(request, peer, granted, reason)]))
        self.now_ms += 10

    def elects(self, node: int, epoch: int, voter: int, before: str = "Follower", why: str = "no leader") -> None:
        """``node`` wins with the vote of ``voter``."""
        self.moves(node, before, "Prospective", epoch - 1, why)
        self.judges(voter, VoteRequest(epoch - 1, node, 5, 0, pre_vote=True), node, Reason.GRANTED, granted=True)
        self.moves(node, "Prospective", "Candidate", epoch, f"{node} and {voter} would grant their votes")
        self.judges(voter, VoteRequest(epoch, node, 5, 0), node, Reason.GRANTED, granted=True)
        self.moves(node, "Candidate", "Leader", epoch, f"{node} and {voter} granted their votes")
        self.moves(voter, "Unattached", "Follower", epoch, f"{node} sent BeginQuorumEpoch")
        self.judges(voter, BeginQuorumEpochRequest(epoch, node), node, Reason.FROM_LEADER, granted=True)
