"""Invariants that no planted bug breaks, because another invariant notices first. The tests break them by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from kraft.raft.events import Effects, Timeout, Transition
from kraft.raft.state import ElectionState, Leader, Unattached
from kraft.simulation.faults import schedule
from kraft.simulation.invariants import Violation
from kraft.simulation.node import SimulatedNode
from kraft.simulation.plan import draw_knobs, draw_plan
from kraft.simulation.world import SimulatedWorld


def world_with_a_leader() -> SimulatedWorld:
    """A world without faults, at a time when all nodes follow one leader."""
    world = SimulatedWorld(4, draw_knobs(4))
    world.run()
    assert world.leader() is not None
    return world


def a_disk_names_another_leader(world: SimulatedWorld) -> None:
    leader = world.leader()
    assert leader is not None
    node = next(node for node in world.nodes.values() if node is not leader)
    node.disk.election = ElectionState(leader.core.epoch, leader_id=node.node_id)
    world.monitor.on_election_stored(node)


def a_leader_becomes_a_candidate(world: SimulatedWorld) -> None:
    node = world.leader()
    assert node is not None
    assert isinstance(node.core.state, Leader)
    transition = Transition("Leader", "Candidate", node.core.epoch, "it felt like it")
    world.monitor.after_step(node, node.core.state, Timeout(), Effects(transitions=[transition]))


def a_follower_turns_away(world: SimulatedWorld) -> None:
    leader = world.leader()
    assert leader is not None
    alive = list(world.nodes.values())
    world._check_stability(alive, {leader.core.epoch})
    node = next(node for node in alive if node is not leader)
    node.core._member.state = Unattached(leader.core.epoch, math.inf)
    world._check_stability(alive, {leader.core.epoch})


BY_HAND: dict[str, Callable[[SimulatedWorld], None]] = {
    "SingleLeader": a_disk_names_another_leader,
    "LegalTransitions": a_leader_becomes_a_candidate,
    "StableLeadership": a_follower_turns_away,
}


@pytest.mark.parametrize("invariant", BY_HAND)
def test_it_can_fail(invariant: str) -> None:
    with pytest.raises(Violation, match=invariant):
        BY_HAND[invariant](world_with_a_leader())


def test_only_a_node_in_an_older_epoch_may_truncate_records_of_a_newer_commit() -> None:
    """It may follow an earlier leader that lacks the records. In the epoch of the commit the leader has them, and no
    node truncates them.
    """
    knobs = draw_knobs(4)
    world = SimulatedWorld(4, knobs)
    schedule(world, draw_plan(4, knobs))
    world.run()
    committed, committed_in = world.history.committed, world.history._committed_in
    offset = next(offset for offset, entry in enumerate(committed) if entry.epoch < committed_in(offset))

    def observer(epoch: int) -> SimulatedNode:
        node = SimulatedNode(99, 4, knobs, world.network, world.monitor)
        world.nodes[99] = node
        node.disk.durable.entries.extend(committed[: offset + 1])
        node.disk.election = ElectionState(epoch)
        node.start()
        return node

    world.history.before_truncation(observer(committed_in(offset) - 1), offset)
    with pytest.raises(Violation, match="TruncateBelowHW"):
        world.history.before_truncation(observer(committed_in(offset)), offset)
