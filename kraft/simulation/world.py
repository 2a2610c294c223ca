"""The world of one seed: its nodes, their workload, and the safety and liveness phases.

``faults.schedule`` adds the faults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kraft.raft.state import Follower, Leader, Prospective
from kraft.simulation.history import History
from kraft.simulation.invariants import Violation
from kraft.simulation.monitor import Monitor
from kraft.simulation.network import Network
from kraft.simulation.node import SimulatedNode
from kraft.simulation.plan import LONGEST_DELAY_S, Knobs
from kraft.simulation.timeline import Timeline

#: A quorum without faults commits new values within this time, and then keeps its leader for ``STABLE_S``.
LIVENESS_BOUND_S = 60.0
STABLE_S = 6.0
#: After this share of the safety phase, a seed with ``bad_moment`` waits for voters that are ahead of the leader.
_WAIT_FROM_SHARE = 0.7
#: The longest time until the voters that are ahead die.
_DIES_WITHIN_S = 2.0


class SimulatedWorld:
    """Nodes 1, 2, 3 and so on, voters first. ``run`` runs both phases and raises Violation if an invariant breaks."""

    def __init__(self, seed: int, knobs: Knobs, trace: Callable[[str], None] | None = None) -> None:
        self.knobs = knobs
        self.voters = tuple(range(1, knobs.voters + 1))
        self.nodes: dict[int, SimulatedNode] = {}
        self.timeline = Timeline(seed, trace)
        self.network = Network(seed, knobs, self.voters, self.nodes, self.timeline)
        self.history = History(self.voters, self.nodes, self.timeline.cover)
        self.monitor = Monitor(self.history, knobs.timing)
        self.minority = knobs.voters - self.history.majority
        for node_id in range(1, knobs.voters + knobs.observers + 1):
            self.nodes[node_id] = SimulatedNode(node_id, seed, knobs, self.network, self.monitor)
        self._values = 1

    # Phases.

    def run(self) -> None:
        """Run both phases.

        - Safety: any fault may strike.
        - Liveness: a minority of the voters is dead for good, no other fault strikes, and the workload continues.
        """
        for node in self.nodes.values():
            self.timeline.call_at(self.timeline.rng.between(0, 1), node.start)
        self.timeline.call_at(self.knobs.append_interval_s, self._work)
        self.timeline.run_until(_WAIT_FROM_SHARE * self.knobs.safety_s)
        self.timeline.run_until(self.knobs.safety_s, self._ahead if self.knobs.bad_moment else None)
        self._check_liveness(self._ahead() if self.knobs.bad_moment else [])

    def _ahead(self) -> list[int]:
        """Return the voters that know a newer epoch than the leader, if a majority remains without them."""
        leader = self.leader()
        if leader is None:
            return []
        ahead = [voter for voter in self.voters if self.nodes[voter].core.epoch > leader.core.epoch]
        return ahead if len({*ahead, *self._lost()}) <= self.minority else []

    def _lost(self) -> list[int]:
        """Return the voters whose disks are lost."""
        return [voter for voter in self.voters if self.nodes[voter].disk.rotten]

    def _work(self) -> None:
        for node in self.nodes.values():
            count = 1 + self.timeline.rng.below(3)
            if node.propose(range(self._values, self._values + count)):
                self._values += count
        self.timeline.call_in(self.knobs.append_interval_s * self.timeline.rng.between(0.5, 1.5), self._work)

    def _check_liveness(self, ahead: Sequence[int]) -> None:
        """Check that the living nodes elect a leader, commit and apply new values, and then keep the leader."""
        self.timeline.faults_over = True
        self.timeline.log("the faults are over")
        self.network.calm()
        dead = self._kill_minority(ahead)
        for node in self.nodes.values():
            node.slow_until, node.fail_next_fsync, node.dies_in_fsync_for = 0.0, False, None
            if node.node_id not in dead:
                if node.stopping:
                    node.kill()
                node.resume()
                node.start()
        alive = [node for node in self.nodes.values() if node.node_id not in dead]
        self.timeline.run_until(self.timeline.now + LONGEST_DELAY_S)  # messages of the safety phase may still arrive
        goal, first_value = len(self.history.committed) + 2, self._values

        def done() -> bool:
            return all(node.machine.applied >= goal for node in alive)

        if not self.timeline.run_until(self.timeline.now + LIVENESS_BOUND_S, done):
            states = {node.node_id: (node.core.state, node.machine.applied) for node in alive}
            text = f"nothing new committed in {LIVENESS_BOUND_S} s without {sorted(dead)}: {states}"
            raise Violation(self._stuck_in(alive), text)
        epochs = {node.core.epoch for node in alive}
        self.timeline.run_until(self.timeline.now + STABLE_S)
        self._check_stability(alive, epochs)
        self.history.at_end(alive, first_value)

    def _check_stability(self, alive: Sequence[SimulatedNode], before: set[int]) -> None:
        """Check that all living nodes follow one leader, in one of the epochs ``before``."""
        after = {node.core.epoch for node in alive}
        if len(after) != 1 or not after <= before:
            raise Violation("StableLeadership", f"without a fault epochs went from {before} to {after}")
        astray = [node.core.state for node in alive if not isinstance(node.core.state, Leader | Follower)]
        if astray:
            raise Violation("StableLeadership", f"without a fault the leader of {after} is lost by {astray}")

    def _stuck_in(self, alive: Sequence[SimulatedNode]) -> str:
        """Return the name of the liveness invariant that does not hold."""
        leaders = [node.core.leader_id for node in alive if node.node_id in self.voters]
        if any(leader is not None and leaders.count(leader) >= self.history.majority for leader in leaders):
            return "ValuesEventuallyAcked"
        seeking = any(isinstance(node.core.state, Prospective) for node in alive)
        return "NotStuckInProspective" if seeking else "EventuallyLeaderElected"

    def _kill_minority(self, ahead: Sequence[int]) -> frozenset[int]:
        """Kill the minority that stays dead: voters with lost disks, voters that are ahead, and random ones.

        A voter that is ahead dies up to ``_DIES_WITHIN_S`` later. Until then observers receive its messages, but no
        voter does. Its epoch must not keep these observers from the log.
        """
        lost = list(dict.fromkeys((*ahead, *self._lost())))
        candidates = [voter for voter in self.voters if voter not in lost]
        while len(lost) < self.minority and self.timeline.rng.happens(0.7):
            lost.append(candidates.pop(self.timeline.rng.below(len(candidates))))
        for voter in lost:
            if voter in ahead:
                self.timeline.cover("those ahead die")
                self.timeline.call_in(self.timeline.rng.between(0, _DIES_WITHIN_S), self.nodes[voter].kill)
            else:
                self.nodes[voter].kill()
        self.network.cut_from_voters.update(ahead)
        for node in self.nodes.values():
            if node.disk.rotten and node.node_id not in self.voters:
                node.renew()
        return frozenset(lost)

    def leader(self) -> SimulatedNode | None:
        """Return the leader of the newest epoch, or None if no node leads."""
        leading = [node for node in self.nodes.values() if node.up and isinstance(node.core.state, Leader)]
        return max(leading, key=lambda node: node.core.epoch, default=None)
