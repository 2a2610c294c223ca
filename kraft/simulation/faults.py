"""The effect of each kind of fault on a world, and its end."""

from __future__ import annotations

from collections.abc import Sequence

from kraft.simulation.node import SimulatedNode
from kraft.simulation.plan import LEADER, Fault, FaultKind
from kraft.simulation.world import SimulatedWorld

#: The longest duration of an orderly stop.
_GRACE_S = 0.3


def schedule(world: SimulatedWorld, plan: Sequence[Fault]) -> None:
    """Schedule each fault of a plan."""
    for fault in plan:
        world.timeline.call_at(fault.at, _strike, world, fault)


def _strike(world: SimulatedWorld, fault: Fault) -> None:
    """Apply a fault, unless faults are over, the node is down, or the quorum could not survive the loss of its disk."""
    node = world.leader() if fault.target == LEADER else world.nodes.get(fault.target)
    if world.timeline.faults_over or node is None or not node.up:
        return
    if fault.kind in (FaultKind.WIPE, FaultKind.ROT) and not _bearable(world, node):
        return
    world.timeline.log(f"{fault.kind.value} {node.node_id} for {fault.duration} s")
    world.timeline.cover(f"fault: {fault.kind.value}")
    _STRIKES[fault.kind](world, node, fault.duration)


def _bearable(world: SimulatedWorld, node: SimulatedNode) -> bool:
    """Return whether the quorum survives the loss of the node's disk.

    Without directory ids (KIP-853) the voters cannot distinguish a new disk from the old one. So a majority of the
    others must hold all committed records.
    """
    rotten = sum(world.nodes[voter].disk.rotten for voter in world.voters)
    return world.monitor.may_lose(node) and rotten < world.minority


def _crash(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    node.kill()
    node.restart_later(duration)


def _black_out(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    for each in world.nodes.values():
        each.kill()
        each.restart_later(duration * world.timeline.rng.between(0.1, 1.0))


def _crash_in_fsync(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    node.dies_in_fsync_for = duration


def _restart(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    node.shut_down()
    world.timeline.call_in(_GRACE_S, _end_restart, world, node, node.life, duration)


def _end_restart(world: SimulatedWorld, node: SimulatedNode, life: int, duration: float) -> None:
    if node.life == life and node.up and not world.timeline.faults_over:
        _crash(world, node, duration)


def _pause(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    node.pause()
    world.timeline.call_in(duration, _resume, node, node.life)


def _resume(node: SimulatedNode, life: int) -> None:
    if node.life == life:
        node.resume()


def _isolate(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    _deaf(world, node, duration)
    _mute(world, node, duration)


def _deaf(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    world.network.cut([(other, node.node_id) for other in world.nodes if other != node.node_id], duration)


def _mute(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    world.network.cut([(node.node_id, other) for other in world.nodes if other != node.node_id], duration)


def _split(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    side = {other for other in world.nodes if world.timeline.rng.happens(0.5)} | {node.node_id}
    far = [other for other in world.nodes if other not in side]
    near = sorted(side)
    world.network.cut([(a, b) for a in near for b in far] + [(b, a) for a in near for b in far], duration)


def _lose(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    world.network.lose(0.4, duration)


def _slow_disk(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    node.slow_until = world.timeline.now + duration


def _fail_fsync(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    node.fail_next_fsync = True


def _rot(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    node.kill()
    node.disk.rotten = True
    world.history.on_disk_changed()
    world.timeline.call_in(duration, _replace, world, node)


def _replace(world: SimulatedWorld, node: SimulatedNode) -> None:
    if not world.timeline.faults_over and not node.up and world.monitor.may_lose(node):
        node.renew()
        node.start()


def _wipe(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    node.kill()
    node.renew()
    node.restart_later(duration)


def _resign(world: SimulatedWorld, node: SimulatedNode, duration: float) -> None:
    node.resign()


_STRIKES = {
    FaultKind.CRASH: _crash,
    FaultKind.CRASH_IN_FSYNC: _crash_in_fsync,
    FaultKind.BLACKOUT: _black_out,
    FaultKind.RESTART: _restart,
    FaultKind.PAUSE: _pause,
    FaultKind.ISOLATE: _isolate,
    FaultKind.DEAF: _deaf,
    FaultKind.MUTE: _mute,
    FaultKind.SPLIT: _split,
    FaultKind.LOSS: _lose,
    FaultKind.SLOW_DISK: _slow_disk,
    FaultKind.FAILED_FSYNC: _fail_fsync,
    FaultKind.ROT: _rot,
    FaultKind.WIPE: _wipe,
    FaultKind.RESIGN: _resign,
}
