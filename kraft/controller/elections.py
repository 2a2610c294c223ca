"""Who leads a partition, and the record that says so. The only place that chooses leaders.

A leader comes from the ISR and from brokers that are active. If the last member of an ISR goes, it stays in the ISR as
the one that knows everything acknowledged, and the partition has no leader until it is back: unless the topic allows
unclean.leader.election, which trades that knowledge for a leader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from uuid import UUID

from kraft.controller.context import Context
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import NO_LEADER, RECOVERING, Partition


class Election(Enum):
    """How far an election may go."""

    PREFERRED = "the first replica if it can lead"
    ONLINE = "the present leader if it can lead, else the first replica that can"
    UNCLEAN = "as ONLINE, but rather a replica that is out of sync than none"


def partition_change(
    topic_id: UUID,
    index: int,
    partition: Partition,
    isr: tuple[int, ...],
    election: Election,
    able: Callable[[int], bool],
) -> PartitionChangeRecord | None:
    """Return the record that makes ``isr`` the ISR and settles who leads, or None if nothing changes."""
    record = PartitionChangeRecord(topic_id=topic_id, partition_id=index)
    leader = _choose(partition, isr, election, able)
    if leader is None and election is Election.UNCLEAN:
        leader = next(filter(able, partition.replicas), None)
        if leader is not None:
            isr = (leader,)
            record.leader_recovery_state = RECOVERING
    changed = False
    if leader != (None if partition.leader == NO_LEADER else partition.leader):
        record.leader = NO_LEADER if leader is None else leader
        changed = True
    if isr and isr != partition.isr:
        record.isr = list(isr)
        changed = True
    return record if changed else None


def _choose(partition: Partition, isr: tuple[int, ...], election: Election, able: Callable[[int], bool]) -> int | None:
    eligible = [replica for replica in partition.replicas if replica in isr and able(replica)]
    if election is Election.PREFERRED and partition.replicas[0] in eligible:
        return partition.replicas[0]
    if partition.leader in eligible:
        return partition.leader
    return eligible[0] if eligible else None


def without_broker(context: Context, broker_id: int) -> Iterator[PartitionChangeRecord]:
    """The records that take a broker out of every ISR and leadership: it is fenced, shutting down or gone."""

    def able(replica: int) -> bool:
        return replica != broker_id and is_active(context, replica)

    for topic, index, partition in context.image.partitions():
        if broker_id in partition.isr or partition.leader == broker_id:
            isr = tuple(replica for replica in partition.isr if replica != broker_id)
            yield from _change(context, topic.name, topic.id, index, partition, isr, able)


def with_broker(context: Context, broker_id: int) -> Iterator[PartitionChangeRecord]:
    """The records that give leaderless partitions a leader now that a broker is active."""

    def able(replica: int) -> bool:
        return replica == broker_id or is_active(context, replica)

    for topic, index, partition in context.image.partitions():
        if partition.leader == NO_LEADER and broker_id in partition.replicas:
            yield from _change(context, topic.name, topic.id, index, partition, partition.isr, able)


def _change(
    context: Context,
    name: str,
    topic_id: UUID,
    index: int,
    partition: Partition,
    isr: tuple[int, ...],
    able: Callable[[int], bool],
) -> Iterable[PartitionChangeRecord]:
    unclean = not any(map(able, isr)) and context.log_config(name).unclean_leader_election_enable
    election = Election.UNCLEAN if unclean else Election.ONLINE
    record = partition_change(topic_id, index, partition, isr, election, able)
    return () if record is None else (record,)


def is_active(context: Context, broker_id: int) -> bool:
    """Whether a broker may lead and be in an ISR."""
    broker = context.image.brokers.get(broker_id)
    return broker is not None and broker.active


def leads_any(context: Context, broker_id: int) -> bool:
    """Whether a broker leads a partition."""
    return any(
        partition.leader == broker_id
        for topic in context.image.topics.values()
        for partition in topic.partitions.values()
    )
