"""The metrics of the quorum: ``kafka.server:type=raft-metrics`` (KIP-595), and counts of transitions and verdicts.

The node subscribes ``note`` to the trace, which has the effects of every step (CoreStepped). Gauges read the other
values from the quorum on request.
"""

from __future__ import annotations

import math
from collections import deque
from enum import Enum
from typing import Protocol

from kraft.metrics import IdleMeter, Registry
from kraft.metrics.window import Window
from kraft.quorum.refusals import Refusal, kind_of
from kraft.quorum.rpcs import NOBODY
from kraft.raft.events import Effects, FetchedRecords
from kraft.raft.state import Candidate, Follower, Leader, Prospective, Resigned, State, Unattached

_GROUP = ("kafka.server", "raft-metrics")
_OWN_GROUP = "kraft.server"
_APPENDS_WAITING = 1_000

#: Kafka's names of the states. Kafka reports the state as a text; here each state is a gauge with a tag, 1 if current.
STATES: dict[type[State], str] = {
    Unattached: "unattached",
    Prospective: "prospective",
    Candidate: "candidate",
    Leader: "leader",
    Follower: "follower",
    Resigned: "resigned",
}
OBSERVER = "observer"


class _Log(Protocol):
    @property
    def last_epoch(self) -> int: ...


class _Quorum(Protocol):
    """The attributes of a quorum that the metrics read."""

    @property
    def node_id(self) -> int: ...
    @property
    def state(self) -> State: ...
    @property
    def leader_id(self) -> int | None: ...
    @property
    def epoch(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def end_offset(self) -> int: ...
    @property
    def busy_s(self) -> float: ...
    @property
    def log(self) -> _Log: ...


class QuorumMetrics:
    """The Raft metrics of one node. Without ``is_voter`` its state is always ``observer``, whatever the core's is."""

    def __init__(self, registry: Registry, quorum: _Quorum, *, is_voter: bool) -> None:
        self._registry = registry
        self._quorum = quorum
        self._clock = registry.clock
        self._elections = Window(self._clock)
        self._commits = Window(self._clock)
        self._appended = Window(self._clock)
        self._fetched = Window(self._clock)
        self._uncommitted: deque[tuple[int, float]] = deque(maxlen=_APPENDS_WAITING)
        self._end_offset = quorum.end_offset
        self._leader = (quorum.leader_id, quorum.epoch)
        self._leaderless_since = math.nan
        self.new_leaders = 0
        self.idle: IdleMeter = registry.idle_meter(*_GROUP, "poll-idle-ratio-avg")
        self._declare_state(is_voter)
        self._declare_gauges()

    def _declare_state(self, is_voter: bool) -> None:
        def gauge(kind: type[State], name: str) -> None:
            self._registry.gauge(*_GROUP, "current-state", lambda: isinstance(self._quorum.state, kind), state=name)

        for kind, name in STATES.items() if is_voter else ():
            gauge(kind, name)
        if not is_voter:
            self._registry.gauge(*_GROUP, "current-state", lambda: 1, state=OBSERVER)

    def _declare_gauges(self) -> None:
        quorum = self._quorum
        gauges = {
            "current-leader": lambda: NOBODY if quorum.leader_id is None else quorum.leader_id,
            "current-vote": self._vote,
            "current-epoch": lambda: quorum.epoch,
            "high-watermark": lambda: quorum.high_watermark,
            "log-end-offset": lambda: quorum.end_offset,
            "log-end-epoch": lambda: quorum.log.last_epoch,
            "commit-latency-avg": lambda: self._commits.average,
            "commit-latency-max": lambda: self._commits.maximum,
            "election-latency-avg": lambda: self._elections.average,
            "election-latency-max": lambda: self._elections.maximum,
            "append-records-rate": lambda: self._appended.rate,
            "fetch-records-rate": lambda: self._fetched.rate,
        }
        for name, read in gauges.items():
            self._registry.gauge(*_GROUP, name, read)

    def _vote(self) -> int:
        """Return the id that this node voted for in its epoch; a leader voted for itself, as KafkaRaftMetrics says."""
        state = self._quorum.state
        voted_for = self._quorum.node_id if isinstance(state, Leader) else state.voted_for
        return NOBODY if voted_for is None else voted_for

    def note(self, effects: Effects, appended_at: float | None = None) -> None:
        """Count the effects of one step, before or after they are performed.

        ``appended_at`` is the append time of the oldest record that the core learns of in this step, in seconds.
        """
        self.idle.busy_s = self._quorum.busy_s
        self._count_leaders()
        if isinstance(self._quorum.state, Leader):
            self._note_appends(effects.high_watermark, appended_at)
        else:
            self._uncommitted.clear()
            if isinstance(effects.append, FetchedRecords):
                records = effects.append.records
                self._fetched.record(records.end_offset - records.base_offset)
        self._end_offset = self._quorum.end_offset
        for verdict in effects.verdicts:
            self._count_verdict(kind_of(verdict.request), verdict.granted, verdict.reason)
        for change in effects.transitions:
            self._registry.meter(
                _OWN_GROUP, "QuorumTransitions", "TransitionsPerSec", before=change.before, after=change.after
            ).count += 1

    def note_refusal(self, refusal: Refusal) -> None:
        """Count a request that was refused before the core."""
        self._count_verdict(refusal.request.kind, False, refusal.reason)

    def _count_verdict(self, request: str, granted: bool, reason: Enum) -> None:
        self._registry.meter(
            _OWN_GROUP,
            "QuorumVerdicts",
            "VerdictsPerSec",
            request=request,
            granted=str(granted).lower(),
            reason=reason.name,
        ).count += 1

    def _count_leaders(self) -> None:
        """Measure elections. An election lasts from the loss of a leader, or from the start, to the next leader."""
        leader = (self._quorum.leader_id, self._quorum.epoch)
        if leader == self._leader:
            return
        self._leader = leader
        now = self._clock()
        if leader[0] is None:
            if math.isnan(self._leaderless_since):
                self._leaderless_since = now
            return
        self.new_leaders += 1
        if not math.isnan(self._leaderless_since):
            self._elections.record((now - self._leaderless_since) * 1000)
            self._leaderless_since = math.nan

    def _note_appends(self, high_watermark: int | None, appended_at: float | None) -> None:
        """Measure the time from the append of records until their commit, in milliseconds, as Apache Kafka does."""
        end_offset = self._quorum.end_offset
        if appended_at is not None:
            self._appended.record(end_offset - self._end_offset)
            self._uncommitted.append((end_offset, appended_at))
        while high_watermark is not None and self._uncommitted and self._uncommitted[0][0] <= high_watermark:
            _, began_at = self._uncommitted.popleft()
            self._commits.record((self._clock() - began_at) * 1000)
