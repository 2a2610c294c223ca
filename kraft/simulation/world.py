"""The world of one seed: a clock that jumps from event to event, the network, the faults, and the nodes in it."""

from __future__ import annotations

import hashlib
import heapq
import struct
from collections.abc import Callable, Sequence
from typing import Any

from kraft.raft.events import RequestFailed, ResponseReceived
from kraft.raft.messages import VoteRequest
from kraft.raft.state import Leader, Prospective
from kraft.simulation.chance import Chance
from kraft.simulation.faults import renew, strike
from kraft.simulation.history import History
from kraft.simulation.invariants import Violation
from kraft.simulation.mail import Caller
from kraft.simulation.monitor import Monitor
from kraft.simulation.node import SimulatedNode
from kraft.simulation.plan import LONGEST_DELAY_S, Fault, Knobs

#: The most events of one seed. A world that needs more has a message storm.
MAX_EVENTS = 60_000

#: A quorum without faults commits something new within this time, and then has a leader that stays.
LIVENESS_BOUND_S = 60.0
STABLE_S = 6.0
_MAX_BATCH_LIMIT = 100
#: From this share of the safety phase on, some seeds wait for a bad moment to end it.
_WAIT_FROM_SHARE = 0.7
#: How long those who were ahead then live on, at most.
_LAST_WORDS_S = 2.0


class World:
    """Nodes 1, 2, 3 … of which the first are voters. ``run`` goes through both phases and raises Violation."""

    def __init__(
        self, seed: int, knobs: Knobs, plan: Sequence[Fault], trace: Callable[[str], None] | None = None
    ) -> None:
        self.seed = seed
        self.knobs = knobs
        self.plan = plan
        self.now = 0.0
        self.events = 0
        self.coverage: dict[str, int] = {}
        self.voters = tuple(range(1, knobs.voters + 1))
        self.majority = len(self.voters) // 2 + 1
        self.minority = len(self.voters) - self.majority
        self.history = History(self)
        self.monitor = Monitor(self, self.history)
        self.network = Chance(seed, "network")
        self.chance = Chance(seed, "world")
        self.loss = knobs.loss
        self.batch_limit = knobs.batch_limit
        self.cut_links: dict[tuple[int, int], int] = {}
        self.unheard: set[int] = set()
        self.faults_over = False
        self.nodes = {node_id: SimulatedNode(self, node_id) for node_id in range(1, knobs.voters + knobs.observers + 1)}
        self._queue: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._scheduled = 0
        self._trace = trace
        self._hash = hashlib.blake2b(digest_size=16)
        self._values = 1

    # Time.

    def call_at(self, at: float, function: Callable[..., None], *arguments: Any) -> None:
        self._scheduled += 1
        heapq.heappush(self._queue, (at, self._scheduled, function, arguments))

    def _run_until(self, end: float, done: Callable[[], object] | None = None) -> bool:
        """Let events happen until ``end``; return early, and True, once ``done``."""
        queue = self._queue
        while queue and queue[0][0] <= end:
            self.now, _, function, arguments = heapq.heappop(queue)
            self.events += 1
            if self.events > MAX_EVENTS:
                raise Violation("NoMessageStorm", f"more than {MAX_EVENTS} events")
            function(*arguments)
            if done is not None and done():
                return True
        self.now = end
        return False

    @property
    def trace_hash(self) -> str:
        return self._hash.hexdigest()

    def note(self, kind: str, node: SimulatedNode, detail: object = "") -> None:
        """Let something count for the trace."""
        state = node.core.state
        name = type(state).__name__
        numbers = struct.pack(
            "<dqqqq", self.now, node.node_id, state.epoch, node.core.log.end_offset, node.core.high_watermark
        )
        self._hash.update(numbers + kind.encode() + name.encode())
        if self._trace is not None:
            self._trace(f"{self.now:10.4f}  {node.node_id}  {name:11} epoch {state.epoch:3}  {kind}  {detail}")

    def tell(self, text: str) -> None:
        if self._trace is not None:
            self._trace(f"{self.now:10.4f}  -- {text}")

    def cover(self, name: str) -> None:
        """Count that a state worth reaching was reached."""
        self.coverage[name] = self.coverage.get(name, 0) + 1

    # Two phases.

    def run(self) -> None:
        """Safety: anything may fail. Liveness: a minority is dead for good, nothing else fails, and work goes on."""
        for node in self.nodes.values():
            self.call_at(self.chance.between(0, 1), node.start)
        for fault in self.plan:
            self.call_at(fault.at, strike, self, fault)
        self.call_at(self.knobs.append_interval_s, self._work)
        self._run_until(_WAIT_FROM_SHARE * self.knobs.safety_s)
        self._run_until(self.knobs.safety_s, self._ahead if self.knobs.bad_moment else None)
        self._check_liveness(self._ahead() if self.knobs.bad_moment else [])

    def _ahead(self) -> list[int]:
        """The voters that know a newer epoch than the leader, if all of them could die."""
        leader = self.leader()
        if leader is None:
            return []
        ahead = [voter for voter in self.voters if self.nodes[voter].core.epoch > leader.core.epoch]
        return ahead if len({*ahead, *self._lost()}) <= self.minority else []

    def _lost(self) -> list[int]:
        """The voters whose disks are lost."""
        return [voter for voter in self.voters if self.nodes[voter].disk.rotten]

    def _work(self) -> None:
        for node in self.nodes.values():
            count = 1 + self.chance.below(3)
            if node.propose(range(self._values, self._values + count)):
                self._values += count
        self.call_at(self.now + self.knobs.append_interval_s * self.chance.between(0.5, 1.5), self._work)

    def _check_liveness(self, ahead: Sequence[int]) -> None:
        """EventuallyLeaderElected, ValuesEventuallyAcked, and a leader that nothing disturbs stays."""
        self.faults_over = True
        self.tell("the faults are over")
        self.cut_links.clear()
        self.loss = 0.0
        self.batch_limit = _MAX_BATCH_LIMIT  # or new values may come faster than one that lags can ever take them
        dead = self._bury(ahead)
        for node in self.nodes.values():
            node.slow_until, node.fail_next_fsync, node.dies_in_fsync_for = 0.0, False, None
            if node.node_id not in dead:
                if node.stopping:
                    node.kill()
                node.resume()
                node.start()
        alive = [node for node in self.nodes.values() if node.node_id not in dead]
        self._run_until(self.now + LONGEST_DELAY_S)  # what began before may still be under way
        goal, first_value = len(self.history.committed) + 2, self._values

        def done() -> bool:
            return all(node.machine.applied >= goal for node in alive)

        if not self._run_until(self.now + LIVENESS_BOUND_S, done):
            states = {node.node_id: (node.core.state, node.machine.applied) for node in alive}
            text = f"nothing new in {LIVENESS_BOUND_S} s without {sorted(dead)}: {states}"
            raise Violation(self._stuck_in(alive), text)
        epochs = {node.core.epoch for node in alive}
        self._run_until(self.now + STABLE_S)
        after = {node.core.epoch for node in alive}
        if len(after) != 1 or not after <= epochs:
            raise Violation("StableLeadership", f"without a fault epochs went from {epochs} to {after}")
        self.history.at_end(alive, first_value)

    def _stuck_in(self, alive: Sequence[SimulatedNode]) -> str:
        """The name of what did not come about."""
        leaders = [node.core.leader_id for node in alive if node.node_id in self.voters]
        if any(leader is not None and leaders.count(leader) >= self.majority for leader in leaders):
            return "ValuesEventuallyAcked"
        seeking = any(isinstance(node.core.state, Prospective) for node in alive)
        return "NotStuckInProspective" if seeking else "EventuallyLeaderElected"

    def _bury(self, ahead: Sequence[int]) -> frozenset[int]:
        """Choose the minority that stays dead: those whose disks are lost, those who are ahead, and more by chance.

        Who is ahead dies a little later, but no voter hears from it any more. What it tells observers until then must
        not keep them from the log.
        """
        lost = list(dict.fromkeys((*ahead, *self._lost())))
        candidates = [voter for voter in self.voters if voter not in lost]
        while len(lost) < self.minority and self.chance.happens(0.7):
            lost.append(candidates.pop(self.chance.below(len(candidates))))
        for voter in lost:
            if voter in ahead:
                self.cover("those ahead die")
                self.call_at(self.now + self.chance.between(0, _LAST_WORDS_S), self.nodes[voter].kill)
            else:
                self.nodes[voter].kill()
        self.unheard.update(ahead)
        for node in self.nodes.values():
            if node.disk.rotten and node.node_id not in self.voters:
                renew(self, node)
        return frozenset(lost)

    def restart_later(self, node: SimulatedNode, delay: float | None = None) -> None:
        self.call_at(self.now + (delay if delay is not None else self.chance.between(0.1, 3)), self._restart, node)

    def _restart(self, node: SimulatedNode) -> None:
        if not self.faults_over:
            node.start()

    def leader(self) -> SimulatedNode | None:
        """Whoever leads the newest epoch, if anybody does."""
        leading = [node for node in self.nodes.values() if node.up and isinstance(node.core.state, Leader)]
        return max(leading, key=lambda node: node.core.epoch, default=None)

    # The network.

    def send_request(self, sender: SimulatedNode, to: int, caller: Caller) -> None:
        """Let a request travel, or be refused at the door."""
        request = caller.request
        receiver = self.nodes[to]
        too_old = self.knobs.old_peers and to == 1 and isinstance(request, VoteRequest) and request.pre_vote
        if too_old or (not receiver.up and self.network.happens(0.5)):
            failure = RequestFailed(caller.number, to, request, unsupported=too_old)
            self.call_at(self.now + self.knobs.delay_s, sender.receive, caller.life, failure)
            return
        self._carry(sender.node_id, to, receiver.receive_request, caller)

    def send_response(self, sender: SimulatedNode, caller: Caller, answer: ResponseReceived, payload: Any) -> None:
        receiver = self.nodes[caller.node_id]
        self._carry(sender.node_id, caller.node_id, receiver.receive, caller.life, answer, payload)

    def _carry(self, source: int, target: int, deliver: Callable[..., None], *arguments: Any) -> None:
        chance, knobs = self.network, self.knobs
        if (source, target) in self.cut_links or chance.happens(self.loss):
            return
        copies = 2 if chance.happens(knobs.duplication) and not self.faults_over else 1
        for _ in range(copies):
            delay = knobs.delay_s * chance.between(0.5, 1.5)
            if chance.happens(knobs.straggler) and not self.faults_over:
                delay += chance.between(0, LONGEST_DELAY_S)
            self.call_at(self.now + delay, self._arrive, source, target, deliver, arguments)

    def _arrive(self, source: int, target: int, deliver: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        unheard = source in self.unheard and target in self.voters
        if (source, target) not in self.cut_links and not unheard:
            deliver(*arguments)

    def cut(self, links: Sequence[tuple[int, int]], duration: float) -> None:
        """Let nothing through some links for a while. Cuts add up."""
        for link in links:
            self.cut_links[link] = self.cut_links.get(link, 0) + 1
        self.call_at(self.now + duration, self._mend, links)

    def _mend(self, links: Sequence[tuple[int, int]]) -> None:
        for link in links:
            left = self.cut_links.get(link, 0) - 1
            if left > 0:
                self.cut_links[link] = left
            else:
                self.cut_links.pop(link, None)
