"""A few cores in a dictionary: messages wait in a list until a test delivers them, disks are perfect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kraft.raft.core import RaftCore
from kraft.raft.events import (
    Effects,
    ElectionStateWritten,
    Event,
    LeaderChange,
    LogAppended,
    LogFlushed,
    RequestReceived,
    ResponseReceived,
    Send,
)
from kraft.raft.log_view import LogView
from kraft.raft.messages import Request, Response
from kraft.raft.state import ElectionState
from kraft.raft.timing import Timing


def half() -> float:
    return 0.5


def member(
    node_id: int = 1,
    voters: tuple[int, ...] = (1, 2, 3),
    election: ElectionState | None = None,
    log: LogView | None = None,
    jitter: Callable[[], float] = half,
) -> RaftCore:
    return RaftCore(node_id, voters, election or ElectionState(), log or LogView(), 0.0, jitter=jitter, timing=Timing())


def log_of(*runs: tuple[int, int]) -> LogView:
    """A log whose epochs end at these offsets: ``log_of((1, 4), (3, 6))``."""
    starts, start = [], 0
    for epoch, end in runs:
        starts.append((epoch, start))
        start = end
    return LogView(starts, start)


def answer(core: RaftCore, request: Request, now: float = 0.0) -> Any:
    """What a core answers at once; None if it lets the request wait."""
    effects = core.step(now, RequestReceived(7, request))
    replies = [reply.response for reply in effects.replies if reply.request_id == 7]
    return replies[0] if replies else None


def refusal(core: RaftCore, request: Request, now: float = 0.0) -> str:
    """Why a core refused: the name of the reason."""
    effects = core.step(now, RequestReceived(7, request))
    (verdict,) = effects.verdicts
    assert not verdict.granted
    assert verdict.reason.value in str(verdict)
    return verdict.reason.name


def respond(core: RaftCore, send: Send, response: Response, now: float = 0.0) -> Effects:
    return core.step(now, ResponseReceived(send.number, send.to, send.request, response))


class Quorum:
    """Cores and the messages between them. Everything written is durable at once."""

    def __init__(self, *voters: int, observers: tuple[int, ...] = (), election: ElectionState | None = None) -> None:
        self.now = 0.0
        self.received = 0
        self.cores = {node: member(node, voters, election) for node in (*voters, *observers)}
        self.mail: list[tuple[int, int, Any]] = []
        self.requests: dict[int, tuple[int, Send]] = {}
        self.committed = dict.fromkeys(self.cores, 0)
        self.deadlines = dict.fromkeys(self.cores, 0.0)
        self.history: list[str] = []

    def step(self, node: int, event: Event) -> Effects:
        effects = self.cores[node].step(self.now, event)
        assert effects.fatal is None
        self.deadlines[node] = effects.deadline
        self.history += [f"{node}: {transition}" for transition in effects.transitions]
        if effects.election is not None:
            self.step(node, ElectionStateWritten(effects.election))
        core = self.cores[node]
        if isinstance(effects.append, LeaderChange):
            self.step(node, LogAppended(core.log.end_offset + 1, effects.append.epoch))
        if effects.flush:
            self.step(node, LogFlushed(core.log.end_offset, core.log.truncations))
        for reply in effects.replies:
            asker, send = self.requests.pop(reply.request_id)
            self.mail.append((node, asker, ResponseReceived(send.number, node, send.request, reply.response)))
        self.mail += [(node, send.to, send) for send in effects.sends]
        assert core.high_watermark >= self.committed[node]
        self.committed[node] = core.high_watermark
        return effects

    def append(self, node: int) -> None:
        core = self.cores[node]
        self.step(node, LogAppended(core.log.end_offset + 1, core.epoch))

    def deliver(self, number: int = 0) -> None:
        """Deliver one message. A leader without news lets a Fetch wait."""
        source, target, message = self.mail.pop(number)
        if isinstance(message, Send):
            self.received += 1
            self.requests[self.received] = (source, message)
            self.step(target, RequestReceived(self.received, message.request))
        else:
            self.step(target, message)

    def settle(self, *, deaf: frozenset[int] = frozenset(), most: int = 500) -> None:
        """Deliver until only Fetches wait; what concerns ``deaf`` nodes is lost."""
        for _ in range(most):
            if not self.mail:
                return
            if {self.mail[0][0], self.mail[0][1]} & deaf:
                self.mail.pop(0)
            else:
                self.deliver()
        raise AssertionError("the members never come to rest")
