"""The placement of new partitions on brokers.

Leaders go round the racks, and within a rack round its brokers, from a random start. The replicas of one partition go
to as many racks as there are. Each full round moves the followers one further, so that the partitions of one leader do
not all share the same few followers. Fenced brokers get a replica only when too few others exist, and never lead.
A broker whose log directories are all cordoned gets none (KIP-1066).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from kraft.controller.context import Randomness
from kraft.metadata.image import Broker
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

T = TypeVar("T")

_REPLICAS_IN_A_STEP = 10


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
    rings = _rings(active, random)
    spare = [broker.id for broker in registered if not broker.active]
    start = random.randrange(len(active))
    placed = []
    for number in range(partitions):
        placed.append(_replicas(rings, spare, start + number, replication_factor))
        yield 1 + replication_factor // _REPLICAS_IN_A_STEP
    return placed


def _rings(active: list[Broker], random: Randomness) -> list[list[int]]:
    """The brokers of each rack, each list and the racks themselves rotated to a random start."""
    racks: dict[str, list[int]] = {}
    for broker in active:
        racks.setdefault(broker.rack or "", []).append(broker.id)
    rings = [_rotated(ids, random.randrange(len(ids))) for _, ids in sorted(racks.items())]
    return _rotated(rings, random.randrange(len(rings)))


def _rotated(values: list[T], by: int) -> list[T]:
    return values[by:] + values[:by]


def _replicas(rings: list[list[int]], spare: list[int], number: int, count: int) -> tuple[int, ...]:
    """Return the replicas of partition ``number``: the leader, one broker of each other rack, then a second broker of
    each rack, and so on. ``turn`` is how often the leaders have gone through all racks.
    """
    turn, first_rack = divmod(number, len(rings))
    shift = turn // max(map(len, rings))
    chosen: dict[int, None] = {}
    for position in range(max(map(len, rings))):
        for distance in range(len(rings)):
            ring = rings[(first_rack + distance) % len(rings)]
            if position < len(ring):
                follower_shift = shift if distance or position else 0
                # Followers shift but the leader does not: a shift may name the leader's broker twice within its ring.
                chosen[ring[(turn + position + follower_shift) % len(ring)]] = None
                if len(chosen) == count:
                    return tuple(chosen)
    missing = [broker_id for ring in rings for broker_id in ring if broker_id not in chosen]
    return tuple([*chosen, *missing, *spare][:count])
