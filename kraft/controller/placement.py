"""The placement of new partitions on brokers.

Leaders go round the racks, and within a rack round its brokers, from a random start. The replicas of one partition go
to as many racks as there are. Each full round moves the followers one further, so that the partitions of one leader do
not all share the same few followers. Fenced brokers never lead, and get a replica only when their rack has no other
broker left: as in Kafka's StripedReplicaPlacer the spread over the racks comes first, and lasts when they are back. A
broker whose log directories are all cordoned gets none (KIP-1066).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import attrs

from kraft.controller.context import Randomness
from kraft.metadata.image import Broker
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

T = TypeVar("T")

_REPLICAS_IN_A_STEP = 10


@attrs.define
class _Rack:
    """The ids of the brokers of a rack."""

    active: list[int] = attrs.Factory(list)
    fenced: list[int] = attrs.Factory(list)


def place(
    brokers: Iterable[Broker], partitions: int, replication_factor: int, random: Randomness
) -> Steps[list[tuple[int, ...]]]:
    """Return the replicas of each partition, preferred leader first.

    Raises KafkaError INVALID_REPLICATION_FACTOR if there are too few brokers, or none that is active.
    """
    registered = sorted((broker for broker in brokers if broker.takes_replicas), key=lambda broker: broker.id)
    active = [broker for broker in registered if broker.active]
    if not active:
        message = "All brokers are currently fenced, or have all their log directories cordoned."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    if replication_factor > len(registered):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(registered)} broker(s) are registered.",
        )
    racks = _racks(registered, random)
    leading = [number for number, rack in enumerate(racks) if rack.active]
    start = random.randrange(len(active))
    placed = []
    for number in range(partitions):
        placed.append(_replicas(racks, leading, start + number, replication_factor))
        yield 1 + replication_factor // _REPLICAS_IN_A_STEP
    return placed


def _racks(registered: list[Broker], random: Randomness) -> list[_Rack]:
    """The racks, each with its active brokers, rotated to a random start, as the racks themselves."""
    found: dict[str, _Rack] = {}
    for broker in registered:
        rack = found.setdefault(broker.rack or "", _Rack())
        (rack.active if broker.active else rack.fenced).append(broker.id)
    racks = [rack for _, rack in sorted(found.items())]
    for rack in racks:
        if rack.active:
            rack.active = _rotated(rack.active, random.randrange(len(rack.active)))
    return _rotated(racks, random.randrange(len(racks)))


def _rotated(values: list[T], by: int) -> list[T]:
    return values[by:] + values[:by]


def _replicas(racks: list[_Rack], leading: list[int], number: int, count: int) -> tuple[int, ...]:
    """Return the replicas of partition ``number``: the leader, one broker of each other rack, then a second broker of
    each rack, and so on. ``turn`` is how often the leaders have gone through the racks that lead.
    """
    turn, which = divmod(number, len(leading))
    shift = turn // max(len(rack.active) for rack in racks)
    chosen: dict[int, None] = {}
    for position in range(max(len(rack.active) + len(rack.fenced) for rack in racks)):
        for distance in range(len(racks)):
            rack = racks[(leading[which] + distance) % len(racks)]
            if position < len(rack.active):
                follower_shift = shift if distance or position else 0
                # Followers shift but the leader does not: a shift may name the leader's broker twice within its rack.
                chosen[rack.active[(turn + position + follower_shift) % len(rack.active)]] = None
            elif position < len(rack.active) + len(rack.fenced):
                fenced = _rotated(rack.fenced, turn % len(rack.fenced))
                chosen[next(broker_id for broker_id in (*rack.active, *fenced) if broker_id not in chosen)] = None
            if len(chosen) == count:
                return tuple(chosen)
    missing = [broker_id for rack in racks for broker_id in (*rack.active, *rack.fenced) if broker_id not in chosen]
    return tuple([*chosen, *missing][:count])
