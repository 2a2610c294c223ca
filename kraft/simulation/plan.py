"""The meaning of a seed: the size and settings of a world (Knobs), and the faults of that world (a plan).

A plan is an explicit list, so that a failing one can be shrunk, stored and replayed. Half of all seeds omit some kinds
of fault (swarm testing): a state that is rare among all faults is common among some of them. The other seeds have every
kind of fault, or concentrate on leaders or elections.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import attrs

from kraft.raft.timing import Timing
from kraft.simulation.random_stream import RandomStream

#: The target of a fault that strikes the current leader.
LEADER = 0
#: The longest duration of one fsync on a slow disk, and the longest extra delay of a message.
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


#: The effect of each kind of fault.
FAULTS: Mapping[FaultKind, str] = {
    FaultKind.CRASH: "power off: some unsynced writes are lost, one of them perhaps in part",
    FaultKind.CRASH_IN_FSYNC: "power off during the next fsync, of the log or of a vote",
    FaultKind.BLACKOUT: "power off for every node at once; they restart one by one",
    FaultKind.RESTART: "an orderly stop and a start",
    FaultKind.PAUSE: "the process is suspended, its peers run on",
    FaultKind.ISOLATE: "no message to or from the node",
    FaultKind.DEAF: "no message to the node",
    FaultKind.MUTE: "no message from the node",
    FaultKind.SPLIT: "two random groups of nodes exchange no messages",
    FaultKind.LOSS: "the network drops two of five messages",
    FaultKind.SLOW_DISK: "each fsync takes a hundred times as long, at most 3 s",
    FaultKind.FAILED_FSYNC: "the next fsync fails: its writes are lost, and the node stops",
    FaultKind.ROT: "a bit of the durable data flips: the node may not start with that disk, and gets a new one or none",
    FaultKind.WIPE: "the node restarts with an empty disk",
    FaultKind.RESIGN: "the node resigns if it leads",
}


class Profile(StrEnum):
    SWARM = "swarm"
    EVERYTHING = "everything"
    LEADERS = "leaders"
    ELECTIONS = "elections"


#: The faults of each profile.
PROFILES: Mapping[Profile, str] = {
    Profile.SWARM: "some kinds of fault, each omitted with a probability of 0.4",
    Profile.EVERYTHING: "every kind of fault",
    Profile.LEADERS: "every kind of fault, four of five at the current leader",
    Profile.ELECTIONS: "many elections: short logs and timeouts, late and duplicated messages, few kinds of fault",
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
    """The settings of one world. Times are in seconds.

    A message takes 0.5 to 1.5 times ``delay_s``. With the probability ``straggler`` it takes up to 3 s more. ``loss``
    and ``duplication`` are the probabilities that it arrives never or twice.

    An fsync takes 0.5 to 2 times ``fsync_s``. With the probability ``stall`` it takes a hundred times as long. With the
    probability ``idle_flush`` another fsync follows although nothing was written.

    A follower checks a fetched snapshot for an fsync and up to ``check_s`` more. ``fault_spans`` are durations of
    faults, varied by half. With ``bad_moment`` the faults may end early, when a few voters are ahead. Those voters then
    stay dead.
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
#: Of eight seeds, on average four omit kinds of fault, two have all kinds, one targets leaders, one targets elections.
_MIX = (*(Profile.SWARM,) * 4, *(Profile.EVERYTHING,) * 2, Profile.LEADERS, Profile.ELECTIONS)


def draw_knobs(seed: int) -> Knobs:
    """Draw the settings of a seed's world."""
    rng = RandomStream(seed, "knobs")
    profile = rng.pick(_MIX)
    return _draw_elections(rng) if profile is Profile.ELECTIONS else _draw_mixed(rng, profile)


def _draw_mixed(rng: RandomStream, profile: Profile) -> Knobs:
    kinds = tuple(FaultKind)
    if profile is Profile.SWARM:
        kinds = tuple(kind for kind in kinds if not rng.happens(_SKIP_PROBABILITY))
    return Knobs(
        profile=profile,
        voters=rng.pick((1, 3, 3, 3, 3, 3, 5, 5)),
        observers=rng.pick((0, 0, 1, 2)),
        safety_s=rng.between(20, 60),
        delay_s=rng.pick((0.001, 0.005, 0.02, 0.1)),
        straggler=rng.pick((0.0, 0.01, 0.1)),
        loss=rng.pick((0.0, 0.0, 0.01, 0.05)),
        duplication=rng.pick((0.0, 0.01, 0.1)),
        fsync_s=rng.pick((0.0005, 0.005, 0.05)),
        stall=rng.pick((0.0, 0.0, 0.02)),
        idle_flush=rng.pick((0.0, 0.3)),
        append_interval_s=rng.pick((0.2, 0.5, 1.0, 3.0)),
        snapshot_interval=rng.pick((5, 10, 30, 1000)),
        batch_limit=rng.pick((1, 3, 100)),
        clock_skew=rng.pick((0.0, 0.01, 0.1)),
        old_peers=rng.happens(0.15),
        knows_high_watermark=rng.happens(0.5),
        kinds=kinds,
        fault_interval_s=rng.pick((0.7, 2.0, 5.0)),
        fault_spans=(0.05, 0.5, 2.0, 6.0),
        aim_at_leader=0.8 if profile is Profile.LEADERS else 0.3,
        timing=Timing(retry_backoff_s=0.1),
        bad_moment=rng.happens(0.5),
        check_s=rng.pick((0.0, 0.0, 1.0, 8.0)),
    )


_CRASHES = (FaultKind.CRASH, FaultKind.CRASH_IN_FSYNC)
_CUTS = (FaultKind.ISOLATE, FaultKind.MUTE, FaultKind.DEAF, FaultKind.SPLIT)
_ELECTION_FAULTS = (
    _CRASHES,
    (*_CRASHES, FaultKind.BLACKOUT),
    (*_CRASHES, FaultKind.ISOLATE, FaultKind.RESIGN),
    (*_CRASHES, *_CUTS, FaultKind.SLOW_DISK),
)


def _draw_elections(rng: RandomStream) -> Knobs:
    """Draw a world in which about one fault strikes per election, and messages of one election arrive in the next."""
    timeout_s = 0.2
    return Knobs(
        profile=Profile.ELECTIONS,
        voters=rng.pick((3, 3, 5)),
        observers=0,
        safety_s=rng.between(20, 40),
        delay_s=rng.pick((0.005, 0.02, 0.05)),
        straggler=rng.pick((0.05, 0.2, 0.4)),
        loss=rng.pick((0.0, 0.05, 0.2)),
        duplication=rng.pick((0.1, 0.4)),
        fsync_s=rng.pick((0.005, 0.02, 0.05)),
        stall=rng.pick((0.0, 0.05)),
        idle_flush=0.5,
        append_interval_s=rng.pick((0.5, 2.0, 5.0)),
        snapshot_interval=rng.pick((5, 1000, 1000)),
        batch_limit=rng.pick((1, 1, 3)),
        clock_skew=rng.pick((0.0, 0.1)),
        old_peers=rng.happens(0.3),
        knows_high_watermark=rng.happens(0.5),
        kinds=rng.pick(_ELECTION_FAULTS),
        fault_interval_s=rng.pick((0.2, 0.5, 1.0)),
        fault_spans=(0.02, 0.1, 0.4, 1.0),
        aim_at_leader=rng.pick((0.3, 0.8)),
        timing=Timing(
            election_timeout_s=timeout_s,
            fetch_timeout_s=2 * timeout_s,
            backoff_max_s=timeout_s,
            request_timeout_s=2 * timeout_s,
            retry_backoff_s=timeout_s / 4,
            fetch_max_wait_s=timeout_s / 2,
        ),
        bad_moment=rng.happens(0.5),
        check_s=rng.pick((0.0, 8 * timeout_s)),
    )


def draw_plan(seed: int, knobs: Knobs) -> tuple[Fault, ...]:
    """Draw the faults of a seed, in time order."""
    rng = RandomStream(seed, "faults")
    plan: list[Fault] = []
    at = rng.between(0, knobs.fault_interval_s)
    while knobs.kinds and at < knobs.safety_s:
        aimed = rng.happens(knobs.aim_at_leader)
        target = LEADER if aimed else 1 + rng.below(knobs.voters + knobs.observers)
        duration = rng.pick(knobs.fault_spans) * rng.between(0.5, 1.5)
        plan.append(Fault(round(at, 3), rng.pick(knobs.kinds), target, round(duration, 3)))
        at += rng.between(0.05, 2 * knobs.fault_interval_s)
    return tuple(plan)


def plan_to_json(plan: Sequence[Fault]) -> str:
    """Return a plan as JSON text, one fault a line."""
    rows = [json.dumps([fault.at, fault.kind.value, fault.target, fault.duration]) for fault in plan]
    return "[\n" + ",\n".join(rows) + "\n]"


def plan_from_json(text: str) -> tuple[Fault, ...]:
    """Parse the text of plan_to_json. Raises ValueError if it is not a plan."""
    rows: Any = json.loads(text)
    return tuple(Fault(float(at), FaultKind(kind), int(target), float(span)) for at, kind, target, span in rows)
