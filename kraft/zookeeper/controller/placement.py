"""The placement of new partitions on brokers, as Kafka's AdminUtils places them.

The first replicas go round the brokers, and the others follow at a distance that grows with each full round. With
racks, neighbours in the round are in different racks, and a partition goes to as many racks as it has replicas. A
cluster with a quorum places differently (:mod:`kraft.controller.placement`).
"""

from __future__ import annotations

from collections.abc import Mapping

from kraft.wire.errors import ErrorCode, KafkaError


def place(
    racks: Mapping[int, str | None], partitions: range, replication_factor: int, start: int, shift: int
) -> dict[int, tuple[int, ...]]:
    """Return the replicas of each partition, preferred leader first. ``racks`` has the rack of each broker.

    Partition 0 would begin with broker number ``start``; ``shift`` is the first distance of the other replicas.

    Raises KafkaError INVALID_REPLICATION_FACTOR for too few brokers, UNKNOWN_SERVER_ERROR if only some have a rack (as
    in Kafka, whose AdminOperationException has no code).
    """
    if replication_factor > len(racks):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor: {replication_factor} larger than available brokers: {len(racks)}.",
        )
    known = {broker_id: rack for broker_id, rack in racks.items() if rack is not None}
    if known and len(known) < len(racks):
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            "Not all brokers have rack information for replica rack aware assignment.",
        )
    brokers = _alternating(known) if known else sorted(racks)
    placed = {}
    for index in partitions:
        if index > 0 and index % len(brokers) == 0:
            shift += 1
        placed[index] = _replicas(brokers, known, (index + start) % len(brokers), shift, replication_factor)
    return placed


def _replicas(
    brokers: list[int], racks: Mapping[int, str], first: int, shift: int, replication_factor: int
) -> tuple[int, ...]:
    """The broker at ``first``, then others, of racks without a replica as long as there are such racks."""
    number_of_racks = len(set(racks.values()))
    chosen = [brokers[first]]
    used_racks = {racks.get(brokers[first])}
    step = shift * max(number_of_racks, 1)
    while len(chosen) < replication_factor:
        broker_id = brokers[(first + 1 + step % (len(brokers) - 1)) % len(brokers)]
        step += 1
        is_spread = racks.get(broker_id) not in used_racks or len(used_racks) >= number_of_racks
        if is_spread and broker_id not in chosen:
            chosen.append(broker_id)
            used_racks.add(racks.get(broker_id))
    return tuple(chosen)


def _alternating(racks: Mapping[int, str]) -> list[int]:
    """The first broker of each rack, then the second of each, and so on."""
    members: dict[str, list[int]] = {}
    for broker_id in sorted(racks):
        members.setdefault(racks[broker_id], []).append(broker_id)
    order = sorted(members)
    longest = max(map(len, members.values()))
    return [members[rack][turn] for turn in range(longest) for rack in order if turn < len(members[rack])]
