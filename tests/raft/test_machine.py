"""A quorum under Hypothesis: messages are late, duplicated or lost, disks are slow, and power fails.

At the end of each run all faults but those of a minority end, and the voters must elect a leader.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kraft.raft.events import Resign
from kraft.raft.state import Leader
from kraft.testing.driven import DrivenCore, InFlight
from tests.raft.watched import WatchedCores, require
from tests.simulation.mutants import MUTANTS

numbers = st.integers(0, 1000)
#: The index of a node; a negative one means the leader, if there is one.
nodes = st.integers(-4, 5)


class QuorumMachine(RuleBasedStateMachine):
    """The rules are the faults of network, disks and power, and the work of a controller."""

    quorum: WatchedCores | None = None

    @initialize(size=st.sampled_from([2, 3, 3, 5]), observers=st.integers(0, 1), pre_vote=st.booleans())
    def begin(self, size: int, observers: int, pre_vote: bool) -> None:
        self.quorum = WatchedCores(size, observers)
        if not pre_vote:
            self.quorum.old.update(self.quorum.voters)
        self.quorum.run(3)

    @property
    def cores(self) -> WatchedCores:
        assert self.quorum is not None
        return self.quorum

    def node(self, number: int) -> DrivenCore:
        every = list(self.cores.nodes.values())
        leaders = [node for node in every if node.up and isinstance(node.core.state, Leader)]
        if number < 0 and leaders:
            return max(leaders, key=lambda node: node.core.epoch)
        return every[number % len(every)]

    def in_flight(self) -> list[InFlight]:
        return [in_flight for in_flight in self.cores.in_flight if self.cores.may_arrive(in_flight)]

    # Time.

    @rule(node=nodes, late=st.floats(0.0, 3.0))
    def a_timer_fires(self, node: int, late: float) -> None:
        chosen = self.node(node)
        if chosen.free and chosen.deadline < math.inf:
            self.cores.now = max(self.cores.now, chosen.deadline) + late
            self.cores.fire(chosen.node_id)

    @rule(first=nodes, second=nodes)
    def two_lose_patience(self, first: int, second: int) -> None:
        for chosen in (self.node(first), self.node(second)):
            if chosen.free and chosen.node_id in self.cores.voters and chosen.deadline < math.inf:
                self.cores.time_out(chosen.node_id)

    @rule(seconds=st.floats(0.0, 6.0))
    def time_passes(self, seconds: float) -> None:
        self.cores.run(seconds)

    @rule()
    def everything_is_mended(self) -> None:
        self.mend(self.cores.nodes)

    def mend(self, living: Iterable[int]) -> None:
        for node_id in living:
            node = self.cores.nodes[node_id]
            if not node.up:
                node.start()
            node.held = False
            node.work()
        self.cores.cut()
        self.cores.run(8)

    # The network.

    @rule(count=st.integers(1, 12))
    def deliver_in_order(self, count: int) -> None:
        for _ in range(count):
            for in_flight in self.in_flight()[:1]:
                self.cores.deliver(in_flight)

    @precondition(lambda self: self.in_flight())
    @rule(number=numbers, again=st.booleans())
    def deliver_out_of_order(self, number: int, again: bool) -> None:
        in_flight = self.in_flight()
        self.cores.deliver(in_flight[number % len(in_flight)], keep=again)

    @precondition(lambda self: self.cores.in_flight)
    @rule(number=numbers, noticed=st.booleans())
    def lose(self, number: int, noticed: bool) -> None:
        in_flight = self.cores.in_flight[number % len(self.cores.in_flight)]
        if noticed:
            self.cores.fail(in_flight)
        else:
            self.cores.in_flight.remove(in_flight)

    @rule(node=nodes)
    def cut_off(self, node: int) -> None:
        alone = self.node(node).node_id
        self.cores.cut([alone], set(self.cores.nodes) - {alone})

    @rule(sides=st.integers(1, 62))
    def cut_in_two(self, sides: int) -> None:
        side = {node_id for node_id in self.cores.nodes if sides >> node_id - 1 & 1}
        self.cores.cut(side, set(self.cores.nodes) - side)

    # Disks and power.

    @rule(node=nodes)
    def hold_a_disk(self, node: int) -> None:
        self.node(node).held = True

    @rule(node=nodes)
    def a_held_disk_finishes_something(self, node: int) -> None:
        chosen = self.node(node)
        if chosen.writing is not None:
            chosen.finish_writing()
        elif chosen.unfinished:
            chosen.finish_flush()

    @rule(node=nodes, kept=numbers, written=st.booleans(), restarts=st.booleans())
    def the_power_goes(self, node: int, kept: int, written: bool, restarts: bool) -> None:
        """A write in progress has reached the disk or not."""
        chosen = self.node(node)
        if chosen.up:
            if chosen.writing is not None and written:
                chosen.disk.election = chosen.writing
            chosen.crash(kept=kept % (len(chosen.disk.unsynced) + 1))
        if restarts:
            chosen.start()

    # The controller.

    @rule(node=st.integers(-4, 1), count=st.integers(1, 3), held=st.booleans(), heard=st.integers(0, 8))
    def append(self, node: int, count: int, held: bool, heard: int) -> None:
        chosen = self.node(node)
        chosen.held = held
        if self.cores.append(chosen.node_id, count):
            self.deliver_in_order(heard)

    @rule(node=nodes)
    def resign(self, node: int) -> None:
        chosen = self.node(node)
        if chosen.free:
            chosen.step(Resign(chosen.core.epoch))

    @rule(node=nodes, trims=st.booleans())
    def write_a_snapshot(self, node: int, trims: bool) -> None:
        chosen = self.node(node)
        if chosen.free:
            chosen.create_snapshot()
            if trims:
                chosen.trim()

    @rule(away=nodes, count=st.integers(1, 3))
    def one_falls_behind(self, away: int, count: int) -> None:
        """While one node is cut off, the leader appends, and deletes the records that the node will need."""
        self.cut_off(away)
        self.append(-1, count, held=False, heard=12)
        self.write_a_snapshot(-1, trims=True)

    # Invariants.

    @invariant()
    def the_same_place_has_the_same_record(self) -> None:
        if self.quorum is not None:
            self.quorum.check_log_matching()

    @invariant()
    def what_is_committed_is_the_same_everywhere(self) -> None:
        if self.quorum is not None:
            self.quorum.check_committed_data()

    @invariant()
    def what_is_committed_is_safe(self) -> None:
        if self.quorum is not None:
            self.quorum.check_durability()
            self.quorum.check_snapshot_at_log_start()

    def teardown(self) -> None:
        """EventuallyLeaderElected, ValuesEventuallyAcked: a majority that works is enough, and comes to agree."""
        if self.quorum is None:
            return
        quorum, voters = self.quorum, self.quorum.voters
        dead = voters[: (len(voters) - 1) // 2]
        for node_id in dead:
            quorum.nodes[node_id].crash()
        self.mend(set(quorum.nodes) - set(dead))
        quorum.run(30)
        leaders = [node for node in quorum.nodes.values() if node.up and isinstance(node.core.state, Leader)]
        require(len(leaders) == 1, "EventuallyLeaderElected", f"{len(leaders)} lead")
        quorum.append(leaders[0].node_id)
        quorum.run(5)
        for node in quorum.nodes.values():
            same = not node.up or node.core.high_watermark == leaders[0].disk.log.end
            require(same, "ValuesEventuallyAcked", f"{node.node_id} is at {node.core.high_watermark}")


TestQuorumMachine: Any = pytest.mark.no_cover(QuorumMachine.TestCase)
TestQuorumMachine.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)

#: Planted bugs that it takes this machine a few runs to find, or a few dozen.
FOUND_SOON = [
    "does not write its vote",
    "stands in the same epoch",
    "an observer stands",
    "commits with one too few",
    "fetches before the flush",
    "publishes what it lacks",
    "never gives a leader up",
    "sends no snapshot",
    "keeps the log under a snapshot",
    "moves the high watermark back",
    "forgets the epoch before the log",
]


@pytest.mark.no_cover
@pytest.mark.parametrize("name", FOUND_SOON)
def test_the_machine_finds_a_planted_bug(name: str) -> None:
    search = settings(
        TestQuorumMachine.settings,
        max_examples=400,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )
    with MUTANTS[name].planted(), pytest.raises((AssertionError, ValueError)):
        run_state_machine_as_test(QuorumMachine, settings=search)
