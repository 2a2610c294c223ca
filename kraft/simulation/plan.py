"""What a seed stands for: the size and habits of a world (Knobs), and the faults that will strike it (a plan).

A plan is an explicit list, so a failing one can be made smaller, kept and replayed. Half of all seeds leave some kinds
of fault out altogether (swarm testing): what is rare among all faults is common in some of them. The others suffer
every kind, or are all about one thing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import attrs

from kraft.raft.timing import Timing
from kraft.simulation.chance import Chance

#: The target of a fault that strikes whoever leads at the time.
LEADER = 0
#: How long one fsync of a slow disk, or one message, may take.
LONGEST_DELAY_S = 3.0


class FaultKind(StrEnum):
    CRASH = "crash"
    CRASH_IN_FSYNC = "crash in fsync"
    BLACKOUT = "blackout"
    RESTART = "restart"
    PAUSE = "pause"
    ISOLATE = "isolate"
    DEAF = "deaf"
    MUTE = "mute"
    SPLIT = "split"
    LOSS = "loss"
    SLOW_DISK = "slow disk"
    FAILED_FSYNC = "failed fsync"
    ROT = "rot"
    WIPE = "wipe"
    RESIGN = "resign"


#: What each does to the node that it strikes.
FAULTS: Mapping[FaultKind, str] = {
    FaultKind.CRASH: "power off: unsynced writes are lost, the last of them perhaps in part",
    FaultKind.CRASH_IN_FSYNC: "the same while the next fsync is under way, of the log or of a vote",
    FaultKind.BLACKOUT: "power off for every node at once; they come back one by one",
    FaultKind.RESTART: "an orderly stop, and a start",
    FaultKind.PAUSE: "the process stands still, its peers do not",
    FaultKind.ISOLATE: "no message to or from the node",
    FaultKind.DEAF: "no message to the node",
    FaultKind.MUTE: "no message from the node",
    FaultKind.SPLIT: "the nodes fall into two groups at random",
    FaultKind.LOSS: "two of five messages are lost, everywhere",
    FaultKind.SLOW_DISK: "each fsync takes a hundred times as long, at most 3 s",
    FaultKind.FAILED_FSYNC: "the next fsync fails: what it covered is gone, and the node stops",
    FaultKind.ROT: "a bit flips in what was durable: the node may not start with it, and gets a new disk or none",
    FaultKind.WIPE: "the node comes back with an empty disk",
    FaultKind.RESIGN: "the controller gives its epoch up",
}


class Profile(StrEnum):
    SWARM = "swarm"
    EVERYTHING = "everything"
    LEADERS = "leaders"
    ELECTIONS = "elections"


#: What each kind of seed is about.
PROFILES: Mapping[Profile, str] = {
    Profile.SWARM: "some kinds of fault, each left out with a probability of 0.4",
    Profile.EVERYTHING: "every kind of fault",
    Profile.LEADERS: "every kind of fault, four of five aimed at whoever leads",
    Profile.ELECTIONS: "short logs and timeouts, late and doubled messages, few kinds of short faults, many elections",
}


@attrs.frozen
class Fault:
    """At ``at`` seconds ``kind`` strikes ``target`` (a node id, or LEADER) for ``duration`` seconds."""

    at: float
    kind: FaultKind
    target: int
    duration: float


@attrs.frozen
class Knobs:
    """The world of one seed. Times are in seconds.

    Per message: ``straggler`` is the probability of up to 3 s on top of a delay of 0.5 to 1.5 times ``delay_s``,
    ``loss`` and ``duplication`` those of none and of two. Per fsync: 0.5 to 2 times ``fsync_s``, a hundred times as
    long with a probability of ``stall``, and followed with that of ``idle_flush`` by one that nobody asked for.
    A snapshot that was fetched is looked through for an fsync and up to ``check_s`` more.
    ``fault_spans`` are how long faults last, give or take half. With ``bad_moment`` the faults may end before their
    time, when few voters are ahead of the others, and it is those that die for good.
    """

    profile: Profile
    voters: int
    observers: int
    safety_s: float
    delay_s: float
    straggler: float
    loss: float
    duplication: float
    fsync_s: float
    stall: float
    idle_flush: float
    append_interval_s: float
    snapshot_interval: int
    batch_limit: int
    clock_skew: float
    old_peers: bool
    knows_high_watermark: bool
    kinds: tuple[FaultKind, ...]
    fault_interval_s: float
    fault_spans: tuple[float, ...]
    aim_at_leader: float
    timing: Timing
    bad_moment: bool
    check_s: float


_SKIP_PROBABILITY = 0.4
#: Seeds are of these profiles in equal parts.
_MIX = (*(Profile.SWARM,) * 4, *(Profile.EVERYTHING,) * 2, Profile.LEADERS, Profile.ELECTIONS)


def draw_knobs(seed: int) -> Knobs:
    """What kind of world a seed stands for: of eight, four are swarms, two suffer everything, two hunt something."""
    chance = Chance(seed, "knobs")
    profile = chance.pick(_MIX)
    return _draw_elections(chance) if profile is Profile.ELECTIONS else _draw_mixed(chance, profile)


def _draw_mixed(chance: Chance, profile: Profile) -> Knobs:
    kinds = tuple(FaultKind)
    if profile is Profile.SWARM:
        kinds = tuple(kind for kind in kinds if not chance.happens(_SKIP_PROBABILITY))
    return Knobs(
        profile=profile,
        voters=chance.pick((1, 3, 3, 3, 3, 3, 5, 5)),
        observers=chance.pick((0, 0, 1, 2)),
        safety_s=chance.between(20, 60),
        delay_s=chance.pick((0.001, 0.005, 0.02, 0.1)),
        straggler=chance.pick((0.0, 0.01, 0.1)),
        loss=chance.pick((0.0, 0.0, 0.01, 0.05)),
        duplication=chance.pick((0.0, 0.01, 0.1)),
        fsync_s=chance.pick((0.0005, 0.005, 0.05)),
        stall=chance.pick((0.0, 0.0, 0.02)),
        idle_flush=chance.pick((0.0, 0.3)),
        append_interval_s=chance.pick((0.2, 0.5, 1.0, 3.0)),
        snapshot_interval=chance.pick((5, 10, 30, 1000)),
        batch_limit=chance.pick((1, 3, 100)),
        clock_skew=chance.pick((0.0, 0.01, 0.1)),
        old_peers=chance.happens(0.15),
        knows_high_watermark=chance.happens(0.5),
        kinds=kinds,
        fault_interval_s=chance.pick((0.7, 2.0, 5.0)),
        fault_spans=(0.05, 0.5, 2.0, 6.0),
        aim_at_leader=0.8 if profile is Profile.LEADERS else 0.3,
        timing=Timing(retry_backoff_s=0.1),
        bad_moment=chance.happens(0.5),
        check_s=chance.pick((0.0, 0.0, 1.0, 8.0)),
    )


_CRASHES = (FaultKind.CRASH, FaultKind.CRASH_IN_FSYNC)
_CUTS = (FaultKind.ISOLATE, FaultKind.MUTE, FaultKind.DEAF, FaultKind.SPLIT)
_ELECTION_FAULTS = (
    _CRASHES,
    (*_CRASHES, FaultKind.BLACKOUT),
    (*_CRASHES, FaultKind.ISOLATE, FaultKind.RESIGN),
    (*_CRASHES, *_CUTS, FaultKind.SLOW_DISK),
)


def _draw_elections(chance: Chance) -> Knobs:
    """A fault strikes about once in an election, and messages of one arrive in the next."""
    timeout_s = 0.2
    return Knobs(
        profile=Profile.ELECTIONS,
        voters=chance.pick((3, 3, 5)),
        observers=0,
        safety_s=chance.between(20, 40),
        delay_s=chance.pick((0.005, 0.02, 0.05)),
        straggler=chance.pick((0.05, 0.2, 0.4)),
        loss=chance.pick((0.0, 0.05, 0.2)),
        duplication=chance.pick((0.1, 0.4)),
        fsync_s=chance.pick((0.005, 0.02, 0.05)),
        stall=chance.pick((0.0, 0.05)),
        idle_flush=0.5,
        append_interval_s=chance.pick((0.5, 2.0, 5.0)),
        snapshot_interval=chance.pick((5, 1000, 1000)),
        batch_limit=chance.pick((1, 1, 3)),
        clock_skew=chance.pick((0.0, 0.1)),
        old_peers=chance.happens(0.3),
        knows_high_watermark=chance.happens(0.5),
        kinds=chance.pick(_ELECTION_FAULTS),
        fault_interval_s=chance.pick((0.2, 0.5, 1.0)),
        fault_spans=(0.02, 0.1, 0.4, 1.0),
        aim_at_leader=chance.pick((0.3, 0.8)),
        timing=Timing(
            election_timeout_s=timeout_s,
            fetch_timeout_s=2 * timeout_s,
            backoff_max_s=timeout_s,
            request_timeout_s=2 * timeout_s,
            retry_backoff_s=timeout_s / 4,
            fetch_max_wait_s=timeout_s / 2,
        ),
        bad_moment=chance.happens(0.5),
        check_s=chance.pick((0.0, 8 * timeout_s)),
    )


def draw_plan(seed: int, knobs: Knobs) -> tuple[Fault, ...]:
    """The faults of a seed, in the order in which they strike."""
    chance = Chance(seed, "faults")
    plan: list[Fault] = []
    at = chance.between(0, knobs.fault_interval_s)
    while knobs.kinds and at < knobs.safety_s:
        aimed = chance.happens(knobs.aim_at_leader)
        target = LEADER if aimed else 1 + chance.below(knobs.voters + knobs.observers)
        duration = chance.pick(knobs.fault_spans) * chance.between(0.5, 1.5)
        plan.append(Fault(round(at, 3), chance.pick(knobs.kinds), target, round(duration, 3)))
        at += chance.between(0.05, 2 * knobs.fault_interval_s)
    return tuple(plan)


def plan_to_json(plan: Sequence[Fault]) -> str:
    """A plan as text, one fault a line."""
    rows = [json.dumps([fault.at, fault.kind.value, fault.target, fault.duration]) for fault in plan]
    return "[\n" + ",\n".join(rows) + "\n]"


def plan_from_json(text: str) -> tuple[Fault, ...]:
    """The reverse of plan_to_json. Raises ValueError for what is no plan."""
    rows: Any = json.loads(text)
    return tuple(Fault(float(at), FaultKind(kind), int(target), float(span)) for at, kind, target, span in rows)
