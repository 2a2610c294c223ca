"""What a seed stands for: the size and habits of a world (Knobs), and the faults that will strike it (a plan).

A plan is an explicit list, so a failing one can be made smaller, kept and replayed. Each seed leaves some kinds of
fault out altogether (swarm testing): what is rare among all faults is common in some seeds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import attrs

from kraft.raft.timing import Timing
from kraft.simulation.chance import Chance

#: The target of a fault that strikes whoever leads at the time.
LEADER = 0


class FaultKind(StrEnum):
    CRASH = "crash"  # power off; unsynced writes are lost or torn
    CRASH_IN_FSYNC = "crash in fsync"  # the same, at the worst of times
    RESTART = "restart"  # an orderly stop, and a start
    PAUSE = "pause"  # the process stands still, its peers do not
    ISOLATE = "isolate"  # no message to or from the node
    DEAF = "deaf"  # no message to the node
    MUTE = "mute"  # no message from the node
    SPLIT = "split"  # the voters fall into two halves
    LOSS = "loss"  # many messages are lost, everywhere
    SLOW_DISK = "slow disk"  # each fsync takes long
    FAILED_FSYNC = "failed fsync"  # the next one fails, and the node stops
    ROT = "rot"  # a bit flips in what was durable; the node may not start with it
    WIPE = "wipe"  # the node comes back with an empty disk
    RESIGN = "resign"  # the controller gives its epoch up


@attrs.frozen
class Fault:
    """At ``at`` seconds ``kind`` strikes ``target`` (a node id, or LEADER) for ``duration`` seconds."""

    at: float
    kind: FaultKind
    target: int
    duration: float


@attrs.frozen
class Knobs:
    """The world of one seed. Times are in seconds, probabilities per message or per crash."""

    voters: int
    observers: int
    safety_s: float
    delay_s: float
    straggler: float
    loss: float
    duplication: float
    fsync_s: float
    append_interval_s: float
    snapshot_interval: int
    batch_limit: int
    clock_skew: float
    old_peers: bool
    knows_high_watermark: bool
    kinds: tuple[FaultKind, ...]
    fault_interval_s: float
    aim_at_leader: float
    timing: Timing


#: Only a seed's first nodes are voters; a wipe or rot is skipped where even Kafka's rules would not survive it.
SKIP_PROBABILITY = 0.4


def draw_knobs(seed: int) -> Knobs:
    """What kind of world a seed stands for: half are swarms, a quarter have every fault, a quarter hunt leaders."""
    chance = Chance(seed, "knobs")
    profile = chance.below(4)
    everything = tuple(FaultKind)
    kinds = everything if profile >= 2 else tuple(kind for kind in everything if not chance.happens(SKIP_PROBABILITY))
    return Knobs(
        voters=chance.pick((1, 3, 3, 3, 3, 3, 5, 5)),
        observers=chance.pick((0, 0, 1, 2)),
        safety_s=chance.between(20, 60),
        delay_s=chance.pick((0.001, 0.005, 0.02, 0.1)),
        straggler=chance.pick((0.0, 0.01, 0.1)),
        loss=chance.pick((0.0, 0.0, 0.01, 0.05)),
        duplication=chance.pick((0.0, 0.01, 0.1)),
        fsync_s=chance.pick((0.0005, 0.005, 0.05)),
        append_interval_s=chance.pick((0.2, 0.5, 1.0, 3.0)),
        snapshot_interval=chance.pick((5, 10, 30, 1000)),
        batch_limit=chance.pick((1, 3, 100)),
        clock_skew=chance.pick((0.0, 0.01, 0.1)),
        old_peers=chance.happens(0.15),
        knows_high_watermark=chance.happens(0.5),
        kinds=kinds,
        fault_interval_s=chance.pick((0.7, 2.0, 5.0)),
        aim_at_leader=0.8 if profile == 3 else 0.3,
        timing=Timing(retry_backoff_s=0.1),
    )


def draw_plan(seed: int, knobs: Knobs) -> tuple[Fault, ...]:
    """The faults of a seed, in the order in which they strike."""
    chance = Chance(seed, "faults")
    plan: list[Fault] = []
    at = chance.between(0, knobs.fault_interval_s)
    while knobs.kinds and at < knobs.safety_s:
        aimed = chance.happens(knobs.aim_at_leader)
        target = LEADER if aimed else 1 + chance.below(knobs.voters + knobs.observers)
        duration = chance.pick((0.05, 0.5, 2.0, 6.0)) * chance.between(0.5, 1.5)
        plan.append(Fault(round(at, 3), chance.pick(knobs.kinds), target, round(duration, 3)))
        at += chance.between(0.1, 2 * knobs.fault_interval_s)
    return tuple(plan)


def plan_to_json(plan: Sequence[Fault]) -> str:
    """A plan as text, one fault a line."""
    rows = [json.dumps([fault.at, fault.kind.value, fault.target, fault.duration]) for fault in plan]
    return "[\n" + ",\n".join(rows) + "\n]"


def plan_from_json(text: str) -> tuple[Fault, ...]:
    """The reverse of plan_to_json. Raises ValueError for what is no plan."""
    rows: Any = json.loads(text)
    return tuple(Fault(float(at), FaultKind(kind), int(target), float(span)) for at, kind, target, span in rows)
