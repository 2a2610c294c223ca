"""From the journals of several nodes to one story: what happened in what order, who led, and why that ended.

Clocks of different machines differ a little, and one clock may be set back: lines of one node keep the order in which
they were written, whatever their times say.
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
from kraft.storage.errors import StorageError

_NO_EPOCH = -1
_READ_BYTES = 4 * MAX_BYTES
#: Why a Fetch of a node that looks for the leader is refused.
_ASKED_AROUND = ("NOT_LEADER", "STALE_EPOCH", "UNKNOWN_EPOCH")
_END_OF_TIME_MS = 253_402_300_800_000  # the year 10,000, beyond which no calendar goes


@attrs.frozen
class Line:
    """One line of a journal. ``fields`` is all that it says; ``ms`` never goes back within a journal."""

    ms: int
    node: int
    kind: str
    fields: dict[str, Any]

    @property
    def epoch(self) -> int:
        epoch = self.fields.get("epoch")
        return epoch if isinstance(epoch, int) else _NO_EPOCH

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
    def begins_reign(self) -> bool:
        return self.kind == "transition" and self.after == "Leader"

    @property
    def ends_reign(self) -> bool:
        return self.kind == "transition" and self.before == "Leader"

    @property
    def asks_around(self) -> bool:
        """Whether it only says that a node looked for the leader and came to this one. That happens all the time."""
        fields = self.fields
        return self.kind == "verdict" and fields.get("request") == "Fetch" and fields.get("reason") in _ASKED_AROUND


@attrs.frozen
class Reign:
    """The time in which one node led, or an epoch in which nobody did (``leader`` is None, and ``end_ms``).

    ``end_ms`` and ``why_ended`` are None while nothing says that it ended. With ``at_most`` it may have ended any time
    before ``end_ms``: those who tell of its end had been down themselves.
    """

    epoch: int
    leader: int | None
    start_ms: int
    end_ms: int | None = None
    why_ended: str | None = None
    at_most: bool = False

    def reaches(self, ms: int) -> bool:
        """Whether it was not over before ``ms``."""
        if self.leader is None:
            return self.start_ms >= ms
        return self.end_ms is None or self.end_ms >= ms


def read_journal(directory: str) -> tuple[list[Line], int]:
    """Return the lines of a node's journal, oldest first, and how many could not be read.

    ``directory`` is the node's log directory. Raises StorageError if there is no journal, OSError.
    """
    lines: list[Line] = []
    unread = 0
    path = os.path.join(directory, FILE_NAME)
    if not os.path.exists(path):
        raise StorageError(f"{directory}: no {FILE_NAME} is here; name the directory with the node's metadata log")
    for name in (path + OLDER_SUFFIX, path):
        if not os.path.exists(name):
            continue
        with open(name, "rb") as file:
            texts = file.read(_READ_BYTES).splitlines()
        for text in texts:
            line = _parsed(text, lines[-1].ms if lines else 0)
            if line is None:
                unread += 1
            else:
                lines.append(line)
    return lines, unread


def _parsed(text: bytes, not_before_ms: int) -> Line | None:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    ms, node, kind = fields.get("ms"), fields.get("node"), fields.get("kind")
    if type(ms) is not int or type(node) is not int or not isinstance(kind, str) or not 0 <= ms < _END_OF_TIME_MS:
        return None
    return Line(max(ms, not_before_ms), node, kind, fields)


def merged(journals: Iterable[Sequence[Line]]) -> list[Line]:
    """All lines by time; at the same time, by node."""
    return list(heapq.merge(*journals, key=lambda line: (line.ms, line.node)))


def told(line: Line) -> str:
    """What a line says, as a sentence whose subject is the node."""
    if line.kind == "transition":
        return f"{_changed(line)}: {line.why}"
    if line.kind == "verdict":
        times = line.fields.get("times")
        again = "" if times is None else " (once more)" if times == 1 else f" ({times} times more)"
        return f"{_judged(line)}{again}"
    if line.kind == "omitted":
        return f"judged {line.fields.get('times')} more requests, which are not told one by one"
    if line.kind == "fatal":
        return f"must stop: {line.why}"
    return {"start": "started", "stop": "stopped"}.get(line.kind, line.kind)


def _changed(line: Line) -> str:
    epoch = line.epoch
    match line.after:
        case "Prospective":
            return f"asks for votes in epoch {epoch + 1}, to see whether it could win"
        case "Candidate":
            return f"stands for election in epoch {epoch}"
        case "Leader":
            return f"leads epoch {epoch}"
        case "Resigned":
            return f"gives up epoch {epoch}"
        case "Follower" if line.ends_reign:
            return f"leads no more, and follows in epoch {epoch}"
        case "Follower":
            return f"follows in epoch {epoch}"
        case "Unattached" if line.ends_reign:
            return f"leads no more, and knows no leader in epoch {epoch}"
        case "Unattached":
            return f"knows no leader in epoch {epoch}"
    return f"is now {line.after} in epoch {epoch}"


def _judged(line: Line) -> str:
    peer, epoch, granted = line.fields.get("peer"), line.epoch, line.fields.get("granted") is True
    match line.fields.get("request"), granted:
        case "BeginQuorumEpoch", True:
            return f"hears from {peer} that it leads epoch {epoch}"
        case "EndQuorumEpoch", True:
            return f"hears from {peer} that it gives up epoch {epoch}"
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


def concerned(lines: Sequence[Line], epoch: int) -> list[Line]:
    """The lines about one epoch: how it came about, and how it ended; with what nodes did between."""
    leads: dict[int, int] = {}
    chosen: list[int] = []
    for number, line in enumerate(lines):
        about = {line.epoch + 1 if line.fields.get("preVote") else line.epoch}
        if line.after == "Prospective":
            about.add(line.epoch + 1)
        if line.begins_reign:
            leads[line.node] = line.epoch
        elif line.ends_reign:
            about.add(leads.get(line.node, _NO_EPOCH))
        if epoch in about:
            chosen.append(number)
    between = range(chosen[0], chosen[-1]) if chosen else ()
    chosen += [number for number in between if lines[number].epoch == _NO_EPOCH]
    return [lines[number] for number in sorted(chosen)]


def reigns(lines: Sequence[Line]) -> list[Reign]:
    """Who led from when to when, as far as the lines tell, and the elections that nobody won; oldest first."""
    begun: dict[int, tuple[int, Line]] = {}
    for number, line in enumerate(lines):
        if line.begins_reign or _hears_of_leader(line):
            known = begun.get(line.epoch)
            if known is None or (line.begins_reign and not known[1].begins_reign):
                begun[line.epoch] = number, line
    ends: dict[int, list[int]] = {}
    for number, line in enumerate(lines):
        if line.ends_reign or line.kind in ("start", "stop", "fatal"):
            ends.setdefault(line.node, []).append(number)
    found = _lost_elections(lines, begun)
    starts = [begun[epoch] for epoch in sorted(begun)]
    for place, (number, line) in enumerate(starts, 1):
        leader = line.node if line.begins_reign else int(line.fields["peer"])
        own = ends.get(leader, [])
        own = own[bisect_right(own, number) :][:1]
        following = starts[place][0] if place < len(starts) else None
        found.append(_ended(Reign(line.epoch, leader, line.ms), lines, number, own[0] if own else None, following))
    return sorted(found, key=lambda reign: reign.epoch)


def _lost_elections(lines: Sequence[Line], won: Container[int]) -> list[Reign]:
    """The epochs in which, as far as the lines tell, nobody led: elections that were lost, and what none stood for."""
    first: dict[int, Line] = {}
    stood: dict[int, set[int]] = {}
    led: set[int] = set()
    for line in lines:
        if line.kind != "transition" or line.epoch in won:
            continue
        if line.after in ("Follower", "Resigned"):
            led.add(line.epoch)  # by whom, no journal at hand says
        elif line.after in ("Candidate", "Unattached"):
            first.setdefault(line.epoch, line)
            if line.after == "Candidate":
                stood.setdefault(line.epoch, set()).add(line.node)
    return [
        Reign(epoch, None, line.ms, why_ended=_why_nobody(line, stood.get(epoch, ())))
        for epoch, line in first.items()
        if epoch not in led
    ]


def _why_nobody(first: Line, stood: Collection[int]) -> str:
    return f"{_names(stood)} stood for election, and nobody won" if stood else f"nobody stood; {_reason(first)}"


def _names(nodes: Iterable[int]) -> str:
    return " and ".join(f"node {node}" for node in sorted(nodes))


def _hears_of_leader(line: Line) -> bool:
    return (
        line.kind == "verdict"
        and line.fields.get("request") == "BeginQuorumEpoch"
        and line.fields.get("granted") is True
        and isinstance(line.fields.get("peer"), int)
    )


def _ended(reign: Reign, lines: Sequence[Line], start: int, own_end: int | None, following: int | None) -> Reign:
    """The reign that began with line ``start``, with its end: what its leader says of it, or what others say.

    ``own_end`` is the number of the leader's own line, ``following`` that of the next reign's first.
    """
    own = None if own_end is None else lines[own_end]
    if own is not None and own.kind != "start" and (following is None or own.ms <= lines[following].ms):
        return attrs.evolve(reign, end_ms=own.ms, why_ended=_reason(own))
    # The leader was killed, cut off or paused: the others tell, as long as it had not come back itself.
    limit = min([number for number in (own_end, following) if number is not None], default=None)
    if limit is None:
        return reign
    end = lines[limit]
    why = f"node {reign.leader} ended without a word" if limit == own_end else f"epoch {end.epoch} began"
    missed = _missed(reign, lines, range(start + 1, limit))
    if missed is not None:
        end, why = lines[missed], _reason(lines[missed])
    was_down = any(line.kind == "start" and line.node == end.node for line in lines[start + 1 : missed or start])
    end_ms, at_most = end.ms, end is own or was_down
    wrote_ms = own.fields.get("wrote_ms") if own is not None and own.kind == "start" else None
    if type(wrote_ms) is int and reign.start_ms <= wrote_ms:
        # An active controller writes a record every metadata.max.idle.interval.ms at least: its last is about its end.
        end_ms, at_most = min(end_ms, wrote_ms), False
    if own is not None:
        how = "started again" if own.kind == "start" else "learned of it"
        who = "it" if end is own else f"node {own.node}"
        why += f"; {who} {how}" + (f" {(own.ms - end_ms) / 1000:.1f} s later" if own.ms > end_ms else "")
    return attrs.evolve(reign, end_ms=end_ms, why_ended=why, at_most=at_most)


def _reason(line: Line) -> str:
    return f"node {line.node}: {line.why}" if line.why else f"node {line.node} {told(line)}"


def _missed(reign: Reign, lines: Sequence[Line], numbers: Iterable[int]) -> int | None:
    """The first line with which a follower turned away from the leader of a reign, and did not come back to it."""
    turned: dict[int, int] = {}
    for number in numbers:
        line = lines[number]
        if line.kind != "transition" or line.node == reign.leader:
            continue
        if line.after == "Follower" and line.epoch == reign.epoch:
            turned.pop(line.node, None)
        elif line.before == "Follower" and line.epoch >= reign.epoch:
            turned.setdefault(line.node, number)
    return min(turned.values(), default=None)
