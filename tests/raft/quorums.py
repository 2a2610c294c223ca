"""Helpers: one core with its requests and responses, and a quorum with an elected leader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kraft.raft.core import RaftCore
from kraft.raft.events import Effects, RequestReceived, ResponseReceived, Send, Timeout
from kraft.raft.log_view import LogView
from kraft.raft.messages import Request, Response
from kraft.raft.state import ElectionState
from kraft.raft.timing import Timing
from kraft.testing.cores import Cores


def half() -> float:
    return 0.5


def member(
    node_id: int = 1,
    voters: tuple[int, ...] = (1, 2, 3),
    election: ElectionState | None = None,
    log: LogView | None = None,
    jitter: Callable[[], float] = half,
    timing: Timing | None = None,
) -> RaftCore:
    return RaftCore(node_id, voters, election or ElectionState(), log or LogView(), 0.0, jitter=jitter, timing=timing)


def log_of(*runs: tuple[int, int]) -> LogView:
    """A log whose epochs end at these offsets: ``log_of((1, 4), (3, 6))``."""
    starts, start = [], 0
    for epoch, end in runs:
        starts.append((epoch, start))
        start = end
    return LogView(starts, start)


def answer(core: RaftCore, request: Request, now: float = 0.0) -> Any:
    """The response of a core in the same step; None if it parks the request."""
    effects = core.step(now, RequestReceived(7, request))
    replies = [reply.response for reply in effects.replies if reply.request_id == 7]
    return replies[0] if replies else None


def refusal(core: RaftCore, request: Request, now: float = 0.0) -> str:
    """The name of the reason for which a core refused a request."""
    effects = core.step(now, RequestReceived(7, request))
    (verdict,) = effects.verdicts
    assert not verdict.granted
    assert verdict.reason.value in str(verdict)
    return verdict.reason.name


def respond(core: RaftCore, send: Send, response: Response, now: float = 0.0) -> Effects:
    return core.step(now, ResponseReceived(send.number, send.to, send.request, response))


def elected(node_id: int, voters: tuple[int, ...] = (1, 2, 3), observers: tuple[int, ...] = ()) -> Cores:
    """Cores that elected one of them after 1.5 s, and that all follow it."""
    quorum = Cores(voters, observers)
    quorum.now = 1.5
    quorum.nodes[node_id].step(Timeout())
    quorum.settle()
    return quorum
