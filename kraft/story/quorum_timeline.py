"""Merge the journals of several nodes into one timeline, and derive from it who led, for how long, and why each term
ended.

Clocks of different machines differ, and a clock may be set back. Lines of one node therefore keep the order in which
the node wrote them, whatever their timestamps are.
"""

from __future__ import annotations

import heapq
import json
import os
from bisect import bisect_right
from collections.abc import Collection, Container, Iterable, Sequence
from typing import Any

import attrs

from kraft.quorum.journal import FILE_NAME, MAX_BYTES, OLDER_SUFFIX
from kraft.storage.creation import open_for_reading
from kraft.storage.errors import StorageError

_NO_EPOCH = -1
_READ_BYTES = 4 * MAX_BYTES
#: The reasons for which a voter refuses the Fetch of a node that seeks the leader.
_SEEKS_LEADER = ("NOT_LEADER", "STALE_EPOCH", "UNKNOWN_EPOCH")
_END_OF_TIME_MS = 253_402_300_800_000  # the first ms of the year 10000, which datetime cannot hold


@attrs.frozen
class JournalLine:
    """One line of a journal. ``fields`` is the whole JSON object. ``ms`` never goes back within a journal."""

    ms: int
    node: int
    kind: str
    fields: dict[str, Any]

    @property
    def epoch(self) -> int:
        epoch = self.fields.get("epoch")
        return epoch if isinstance(epoch, int) else _NO_EPOCH

    @property
    def sought_epoch(self) -> int:
        """The epoch that the line is about. A pre-vote is about the next one, which the node has not entered yet
        (KIP-996).
        """
        return self.epoch + (self.after == "Prospective" or bool(self.fields.get("preVote")))

    @property
    def before(self) -> object:
        return self.fields.get("before")

    @property
    def after(self) -> object:
        return self.fields.get("after")

    @property
    def why(self) -> str:
        return str(self.fields.get("why") or self.fields.get("words") or "")

    @property
    def begins_term(self) -> bool:
        return self.kind == "transition" and self.after == "Leader"

    @property
    def ends_term(self) -> bool:
        return self.kind == "transition" and self.before == "Leader"

    @property
    def seeks_leader(self) -> bool:
        """Whether the node refused a Fetch only because it does not lead. A node that seeks the leader causes many."""
        fields = self.fields
        return self.kind == "verdict" and fields.get("request") == "Fetch" and fields.get("reason") in _SEEKS_LEADER


@attrs.frozen
class LeaderTerm:
    """The term of one leader, or an epoch without a leader (``leader`` and ``end_ms`` are None).

    ``end_ms`` and ``why_ended`` are None while no journal shows the end of the term. With ``at_most`` the term may have
    ended at any time before ``end_ms``: the node whose line dates the end was down itself.
    """

    epoch: int
    leader: int | None
    start_ms: int
    end_ms: int | None = None
    why_ended: str | None = None
    at_most: bool = False

    def lasts_until(self, ms: int) -> bool:
        """Whether the term had not ended before ``ms``. An epoch without a leader counts by its start."""
        if self.leader is None:
            return self.start_ms >= ms
        return self.end_ms is None or self.end_ms >= ms


def read_journal(directory: str) -> tuple[list[JournalLine], int]:
    """Return the lines of a node's journal, oldest first, and the number of unreadable lines.

    ``directory`` is the node's log directory.

    Raises:
        StorageError: the directory has no journal.
        OSError: the journal cannot be read.
    """
    lines: list[JournalLine] = []
    unread = 0
    path = os.path.join(directory, FILE_NAME)
    if not os.path.exists(path):
        raise StorageError(f"{directory}: no {FILE_NAME} is here; name the directory with the node's metadata log")
    for name in (path + OLDER_SUFFIX, path):
        if not os.path.exists(name):
            continue
        with open(name, "rb", opener=open_for_reading) as file:
            texts = file.read(_READ_BYTES).splitlines()
        for text in texts:
            line = _parsed(text, lines[-1].ms if lines else 0)
            if line is None:
                unread += 1
            else:
                lines.append(line)
    return lines, unread


def _parsed(text: bytes, not_before_ms: int) -> JournalLine | None:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    ms, node, kind = fields.get("ms"), fields.get("node"), fields.get("kind")
    if type(ms) is not int or type(node) is not int or not isinstance(kind, str) or not 0 <= ms < _END_OF_TIME_MS:
        return None
    return JournalLine(max(ms, not_before_ms), node, kind, fields)


def merged(journals: Iterable[Sequence[JournalLine]]) -> list[JournalLine]:
    """Return all lines ordered by time; lines of the same time are ordered by node."""
    return list(heapq.merge(*journals, key=lambda line: (line.ms, line.node)))


def sentence(line: JournalLine) -> str:
    """Return the line as a sentence without its subject, the node."""
    if line.kind == "transition":
        return f"{_transition_sentence(line)}: {line.why}"
    if line.kind == "verdict":
        times = line.fields.get("times")
        again = "" if times is None else " (once more)" if times == 1 else f" ({times} times more)"
        return f"{_verdict_sentence(line)}{again}"
    if line.kind == "omitted":
        return f"judged {line.fields.get('times')} more requests, not listed one by one"
    if line.kind == "fatal":
        return f"must stop: {line.why}"
    return {"start": "started", "stop": "stopped"}.get(line.kind, line.kind)


def _transition_sentence(line: JournalLine) -> str:
    epoch = line.epoch
    match line.after:
        case "Prospective":
            return f"requests pre-votes for epoch {epoch + 1}"
        case "Candidate":
            return f"stands for election in epoch {epoch}"
        case "Leader":
            return f"leads epoch {epoch}"
        case "Resigned":
            return f"gives up epoch {epoch}"
        case "Follower" if line.ends_term:
            return f"leads no more, and follows in epoch {epoch}"
        case "Follower":
            return f"follows in epoch {epoch}"
        case "Unattached" if line.ends_term:
            return f"leads no more, and knows no leader in epoch {epoch}"
        case "Unattached":
            return f"knows no leader in epoch {epoch}"
    return f"is now {line.after} in epoch {epoch}"


def _verdict_sentence(line: JournalLine) -> str:
    peer, epoch, granted = line.fields.get("peer"), line.epoch, line.fields.get("granted") is True
    match line.fields.get("request"), granted:
        case "BeginQuorumEpoch", True:
            return f"learns from {peer} that it leads epoch {epoch}"
        case "EndQuorumEpoch", True:
            return f"learns from {peer} that it gives up epoch {epoch}"
        case "Vote", _ if epoch == _NO_EPOCH:
            decided = "refuses Vote"
        case "Vote", _ if line.fields.get("preVote"):
            decided = f"would {'' if granted else 'not '}vote for {peer} in epoch {epoch + 1}"
        case "Vote", _:
            decided = f"{'votes' if granted else 'does not vote'} for {peer} in epoch {epoch}"
        case request, _:
            whose = f" of {peer} in epoch {epoch}" if epoch != _NO_EPOCH else ""
            decided = f"{'grants' if granted else 'refuses'} {request}{whose}"
    return f"{decided}: {line.why}"


def lines_about(lines: Sequence[JournalLine], epoch: int) -> list[JournalLine]:
    """Return the lines about one epoch, from its first election to the end of its term.

    Starts and stops of nodes between these lines, and other lines without an epoch, are included.
    """
    leads: dict[int, int] = {}
    chosen: list[int] = []
    for number, line in enumerate(lines):
        about = {line.sought_epoch}
        if line.after == "Prospective":
            about.add(line.epoch)
        if line.begins_term:
            leads[line.node] = line.epoch
        elif line.ends_term:
            about.add(leads.get(line.node, _NO_EPOCH))
        if epoch in about:
            chosen.append(number)
    between = range(chosen[0], chosen[-1]) if chosen else ()
    chosen += [number for number in between if lines[number].epoch == _NO_EPOCH]
    return [lines[number] for number in sorted(chosen)]


def leader_terms(lines: Sequence[JournalLine]) -> list[LeaderTerm]:
    """Return the leaders' terms and the epochs without a leader that the lines show, ordered by epoch."""
    begun: dict[int, tuple[int, JournalLine]] = {}
    for number, line in enumerate(lines):
        if line.begins_term or _reports_leader(line):
            known = begun.get(line.epoch)
            if known is None or (line.begins_term and not known[1].begins_term):
                begun[line.epoch] = number, line
    ends: dict[int, list[int]] = {}
    for number, line in enumerate(lines):
        if line.ends_term or line.kind in ("start", "stop", "fatal"):
            ends.setdefault(line.node, []).append(number)
    found = _epochs_without_leader(lines, begun)
    starts = [begun[epoch] for epoch in sorted(begun)]
    for place, (number, line) in enumerate(starts, 1):
        leader = line.node if line.begins_term else int(line.fields["peer"])
        own = ends.get(leader, [])
        own = own[bisect_right(own, number) :][:1]
        following = starts[place][0] if place < len(starts) else None
        found.append(_ended(LeaderTerm(line.epoch, leader, line.ms), lines, number, own[0] if own else None, following))
    return sorted(found, key=lambda term: term.epoch)


def _epochs_without_leader(lines: Sequence[JournalLine], won: Container[int]) -> list[LeaderTerm]:
    """Return the epochs in which no line shows a leader: lost elections, and epochs for which no node stood."""
    first: dict[int, JournalLine] = {}
    stood: dict[int, set[int]] = {}
    led: set[int] = set()
    for line in lines:
        if line.kind != "transition" or line.epoch in won:
            continue
        if line.after in ("Follower", "Resigned"):
            led.add(line.epoch)  # no journal at hand names the leader
        elif line.after in ("Candidate", "Unattached"):
            first.setdefault(line.epoch, line)
            if line.after == "Candidate":
                stood.setdefault(line.epoch, set()).add(line.node)
    return [
        LeaderTerm(epoch, None, line.ms, why_ended=_why_no_leader(line, stood.get(epoch, ())))
        for epoch, line in first.items()
        if epoch not in led
    ]


def _why_no_leader(first: JournalLine, stood: Collection[int]) -> str:
    if stood:
        return f"{_names(stood)} stood for election, and nobody won"
    return f"nobody stood for election; {_reason(first)}"


def _names(nodes: Iterable[int]) -> str:
    return " and ".join(f"node {node}" for node in sorted(nodes))


def _reports_leader(line: JournalLine) -> bool:
    return (
        line.kind == "verdict"
        and line.fields.get("request") == "BeginQuorumEpoch"
        and line.fields.get("granted") is True
        and isinstance(line.fields.get("peer"), int)
    )


def _ended(
    term: LeaderTerm, lines: Sequence[JournalLine], start: int, own_end: int | None, following: int | None
) -> LeaderTerm:
    """Return the term that began with line ``start``, completed by its end if the lines show one.

    The leader's own line has precedence; otherwise the other nodes' lines date the end. ``own_end`` is the number of
    the leader's own line. ``following`` is the number of the first line of the next term.
    """
    own = None if own_end is None else lines[own_end]
    if own is not None and own.kind != "start" and (following is None or own.ms <= lines[following].ms):
        return attrs.evolve(term, end_ms=own.ms, why_ended=_reason(own))
    # The leader was killed, cut off or paused. Search the other nodes' lines, up to the leader's own next line or the
    # next term.
    limit = min([number for number in (own_end, following) if number is not None], default=None)
    if limit is None:
        return term
    end = lines[limit]
    why = f"epoch {end.epoch} began"
    if limit == own_end:
        why = f"node {term.leader} ended, and its journal does not say why"
    left = _follower_left(term, lines, range(start + 1, limit))
    if left is not None:
        end, why = lines[left], _reason(lines[left])
        if own is not None and own.after == "Resigned" and end.why == f"{term.leader} resigned":
            # Its clock is ahead of theirs. Its own line has the reason.
            return attrs.evolve(term, end_ms=max(end.ms, term.start_ms), why_ended=_reason(own))
    was_down = any(line.kind == "start" and line.node == end.node for line in lines[start + 1 : left or start])
    end_ms, at_most = end.ms, end is own or was_down
    wrote_ms = own.fields.get("wrote_ms") if own is not None and own.kind == "start" else None
    if type(wrote_ms) is int and term.start_ms <= wrote_ms:
        # An active controller appends a record at least every metadata.max.idle.interval.ms, so its last record
        # dates the end of its term.
        end_ms, at_most = min(end_ms, wrote_ms), False
    if own is not None:
        how = "started again" if own.kind == "start" else "learned of it"
        who = "it" if end is own else f"node {own.node}"
        why += f"; {who} {how}" + (f" {(own.ms - end_ms) / 1000:.1f} s later" if own.ms > end_ms else "")
    return attrs.evolve(term, end_ms=max(end_ms, term.start_ms), why_ended=why, at_most=at_most)


def _reason(line: JournalLine) -> str:
    return f"node {line.node}: {line.why}" if line.why else f"node {line.node} {sentence(line)}"


def _follower_left(term: LeaderTerm, lines: Sequence[JournalLine], numbers: Iterable[int]) -> int | None:
    """Return the number of the first line with which a follower left the term's leader for good. None if no follower
    did.
    """
    turned: dict[int, int] = {}
    for number in numbers:
        line = lines[number]
        if line.kind != "transition" or line.node == term.leader:
            continue
        if line.after == "Follower" and line.epoch == term.epoch:
            turned.pop(line.node, None)
        elif line.before == "Follower" and line.epoch >= term.epoch:
            turned.setdefault(line.node, number)
    return min(turned.values(), default=None)
