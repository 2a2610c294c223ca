"""The network between simulated nodes: it delays, drops, duplicates and reorders messages, and cuts links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from kraft.raft.events import Event, RequestFailed, ResponseReceived
from kraft.raft.messages import Request, VoteRequest
from kraft.simulation.plan import LONGEST_DELAY_S, Knobs
from kraft.simulation.random_stream import RandomStream
from kraft.simulation.timeline import Timeline

_CALM_BATCH_LIMIT = 100


@attrs.frozen
class Caller:
    """The sender of a request. ``number`` is the request's correlation number, ``life`` changes with a restart."""

    node_id: int
    life: int
    number: int
    request: Request


class Host(Protocol):
    """The receiver of messages, while it is ``up``."""

    up: bool

    def receive(self, life: int, event: Event) -> None: ...

    def receive_request(self, caller: Caller) -> None: ...


class Network:
    """Carries messages between ``hosts``. A link is (from, to). A response has at most ``batch_limit`` entries."""

    def __init__(
        self, seed: int, knobs: Knobs, voters: tuple[int, ...], hosts: Mapping[int, Host], timeline: Timeline
    ) -> None:
        self.timeline = timeline
        self._loss = knobs.loss
        self.batch_limit = knobs.batch_limit
        self.cut_from_voters: set[int] = set()
        """The nodes whose messages reach no voter."""
        self._knobs = knobs
        self._voters = voters
        self._hosts = hosts
        self._rng = RandomStream(seed, "network")
        self._cut: dict[tuple[int, int], int] = {}

    def send_request(self, to: int, caller: Caller) -> None:
        """Send a request, or fail it: if the receiver is down, or does not support it."""
        request = caller.request
        receiver = self._hosts[to]
        too_old = self._knobs.old_peers and to == 1 and isinstance(request, VoteRequest) and request.pre_vote
        if too_old or (not receiver.up and self._rng.happens(0.5)):
            failure = RequestFailed(caller.number, to, request, unsupported=too_old)
            self.timeline.call_in(self._knobs.delay_s, self._hosts[caller.node_id].receive, caller.life, failure)
            return
        self._carry(caller.node_id, to, receiver.receive_request, caller)

    def send_response(self, caller: Caller, answer: ResponseReceived) -> None:
        receiver = self._hosts[caller.node_id]
        self._carry(answer.to, caller.node_id, receiver.receive, caller.life, answer)

    def _carry(self, source: int, target: int, deliver: Callable[..., None], *arguments: Any) -> None:
        rng, knobs, calm = self._rng, self._knobs, self.timeline.faults_over
        if (source, target) in self._cut or rng.happens(self._loss):
            return
        copies = 2 if rng.happens(knobs.duplication) and not calm else 1
        for _ in range(copies):
            delay = knobs.delay_s * rng.between(0.5, 1.5)
            if rng.happens(knobs.straggler) and not calm:
                delay += rng.between(0, LONGEST_DELAY_S)
            self.timeline.call_in(delay, self._arrive, source, target, deliver, arguments)

    def _arrive(self, source: int, target: int, deliver: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        is_cut = source in self.cut_from_voters and target in self._voters
        if (source, target) not in self._cut and not is_cut:
            deliver(*arguments)

    def cut(self, links: Sequence[tuple[int, int]], duration: float) -> None:
        """Cut some links for ``duration`` seconds. A link may be cut several times at once."""
        for link in links:
            self._cut[link] = self._cut.get(link, 0) + 1
        self.timeline.call_in(duration, self._mend, links)

    def _mend(self, links: Sequence[tuple[int, int]]) -> None:
        for link in links:
            left = self._cut.get(link, 0) - 1
            if left > 0:
                self._cut[link] = left
            else:
                self._cut.pop(link, None)

    def lose(self, share: float, duration: float) -> None:
        """Drop a share of all messages for ``duration`` seconds."""
        self._loss = share
        self.timeline.call_in(duration, self._lose_as_usual)

    def _lose_as_usual(self) -> None:
        self._loss = 0.0 if self.timeline.faults_over else self._knobs.loss

    def calm(self) -> None:
        """Restore all links, stop losses and raise the batch limit.

        With the smallest batches a follower that lags could be slower than the workload for ever.
        """
        self._cut.clear()
        self._loss = 0.0
        self.batch_limit = _CALM_BATCH_LIMIT
