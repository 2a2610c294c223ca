"""The quorum's part of the report from the journals of its nodes, as `kraft quorum explain` reads them.

Each journal has its own node's clock. Where the clocks of two nodes contradict each other, a phase has no length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from kraft.story.quorum_timeline import JournalLine, LeaderTerm, leader_terms
from kraft.story.report.model import (
    Candidacy,
    ClusterNode,
    ClusterReport,
    ElectionHistory,
    Failover,
    FailoverPhase,
    NotableEvent,
    QuorumHistory,
    VoteCast,
)


def journal_report(lines: Sequence[JournalLine], cluster_id: str) -> ClusterReport:
    """Return a report of the quorum that the journals describe. ``lines`` are those of all journals, merged.

    Raises ValueError if there are no lines, so there is no time to report on.
    """
    if not lines:
        raise ValueError("the journals are empty")
    history = quorum_history(lines)
    return ClusterReport(
        cluster_id,
        min(line.ms for line in lines),
        max(line.ms for line in lines),
        nodes=[ClusterNode(node, ("controller",)) for node in sorted({line.node for line in lines})],
        quorum=history,
        failovers=failovers(history),
        events=list(_events(lines)),
    )


def quorum_history(lines: Sequence[JournalLine]) -> QuorumHistory:
    """Return the leaders' terms and the elections that the lines show."""
    candidacies: dict[int, list[Candidacy]] = {}
    votes: dict[int, list[VoteCast]] = {}
    for line in lines:
        epoch = line.sought_epoch
        if line.kind == "transition" and line.after in ("Prospective", "Candidate"):
            pre_vote = line.after == "Prospective"
            candidacies.setdefault(epoch, []).append(Candidacy(line.ms, line.node, epoch, pre_vote, line.why))
        elif line.kind == "verdict" and line.fields.get("request") == "Vote" and line.epoch >= 0:
            peer, granted = line.fields.get("peer"), line.fields.get("granted") is True
            if type(peer) is int:
                pre_vote = line.fields.get("preVote") is True
                vote = VoteCast(line.ms, line.node, peer, epoch, granted, pre_vote, line.why)
                votes.setdefault(epoch, []).append(vote)
    elections = [
        ElectionHistory(epoch, candidacies.get(epoch, ()), votes.get(epoch, ()))
        for epoch in sorted(candidacies.keys() | votes.keys())
    ]
    return QuorumHistory(leader_terms(lines), elections)


def failovers(history: QuorumHistory) -> list[Failover]:
    """Return the changes of leader of which the journals date the end of the old term and the start of the new one."""
    found = []
    led = [term for term in history.terms if term.leader is not None]
    for before, after in pairwise(led):
        if before.end_ms is None or after.leader is None or before.end_ms > after.start_ms:
            continue
        epochs = range(before.epoch + 1, after.epoch + 1)
        elections = [election for election in history.elections if election.epoch in epochs]
        phases = _phases(elections, after, before.end_ms)
        found.append(Failover(after.epoch, before.leader, after.leader, phases))
    return found


def _phases(elections: Iterable[ElectionHistory], term: LeaderTerm, former_ended_ms: int) -> list[FailoverPhase]:
    """Return the phases between the end of the former term and the start of ``term``."""
    candidacies = [each for election in elections for each in election.candidacies]
    began_ms = min((each.ms for each in candidacies), default=former_ended_ms)
    won = (
        each.ms for each in candidacies if (each.epoch, each.node, each.pre_vote) == (term.epoch, term.leader, False)
    )
    bounds = [former_ended_ms]
    for ms in (began_ms, max(won, default=began_ms), term.start_ms):
        bounds.append(min(max(ms, bounds[-1]), term.start_ms))
    names = ("nobody stood for election", "pre-votes and lost elections", "the election that was won")
    return [FailoverPhase(name, start, end) for name, (start, end) in zip(names, pairwise(bounds), strict=True)]


def _events(lines: Iterable[JournalLine]) -> Iterator[NotableEvent]:
    """Yield the stops and starts of nodes. A node that starts without a stop before was killed or crashed."""
    last: dict[int, str] = {}
    for line in lines:
        if line.kind == "fatal":
            yield NotableEvent(line.ms, f"node {line.node} gave up: {line.why}", line.node)
        elif line.kind == "stop":
            yield NotableEvent(line.ms, f"node {line.node} stopped", line.node)
        elif line.kind == "start" and line.node in last:
            how = "again" if last[line.node] in ("stop", "fatal") else "again after a kill or crash"
            yield NotableEvent(line.ms, f"node {line.node} started {how}", line.node, disruptive=False)
        last[line.node] = line.kind
