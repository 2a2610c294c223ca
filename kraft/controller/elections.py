"""Elections that nobody asked for: brokers go and come, leadership drifts, and topics come to allow unclean leaders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from uuid import UUID

from kraft.controller.context import Context
from kraft.controller.partition_change import Election, Target, partition_change
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import Topic
from kraft.metadata.index import LEADERLESS, NOT_PREFERRED
from kraft.metadata.partitions import Partition

#: How many elections one check for imbalance, or for partitions without a leader, makes at a time.
MAX_ELECTIONS = 1000

Found = tuple[Topic, int, Partition]


def without_broker(context: Context, broker_id: int) -> Iterator[PartitionChangeRecord]:
    """The records that take a broker out of every ISR and leadership: it is fenced, shutting down or gone."""
    return _taken_out(context, broker_id, context.image.partitions_of(broker_id))


def without_directories(
    context: Context, broker_id: int, directories: Iterable[UUID]
) -> Iterator[PartitionChangeRecord]:
    """The records that take a broker out of ISR and leadership where its replica is in one of these directories."""
    lost = set(directories)
    found = context.image.partitions_of(broker_id)
    held = (each for each in found if broker_id in each[2].replicas and each[2].directory(broker_id) in lost)
    return _taken_out(context, broker_id, held)


def _taken_out(context: Context, broker_id: int, found: Iterable[Found]) -> Iterator[PartitionChangeRecord]:
    active = context.active - {broker_id}
    for topic, index, partition in found:
        target = Target.of(partition, isr=[replica for replica in partition.isr if replica != broker_id])
        record = partition_change(context, topic, index, target, Election.CONFIGURED, active)
        if record is not None:
            yield record


def with_broker(context: Context, broker_id: int) -> Iterator[PartitionChangeRecord]:
    """The records that give leaderless partitions a leader now that a broker is active."""
    active = context.active | {broker_id}
    for topic, index, partition in context.image.partitions_of(LEADERLESS):
        record = partition_change(context, topic, index, Target.of(partition), Election.CONFIGURED, active)
        if record is not None:
            yield record


def leads_any(context: Context, broker_id: int) -> bool:
    """Whether a broker leads a partition; who leads is in the ISR."""
    return any(partition.leader == broker_id for _, _, partition in context.image.partitions_of(broker_id))


def balanced(context: Context) -> tuple[PartitionChangeRecord, ...]:
    """The records that give leadership back to preferred replicas, MAX_ELECTIONS at most."""
    able = (
        (topic, index, partition)
        for topic, index, partition in context.image.partitions_of(NOT_PREFERRED)
        if partition.replicas[0] in partition.isr and partition.replicas[0] in context.active
    )
    return _elected(context, able, Election.PREFERRED)


def unclean(context: Context) -> tuple[PartitionChangeRecord, ...]:
    """The records that give leaderless partitions a leader where the topic allows any, MAX_ELECTIONS at most."""
    leaderless = context.image.partitions_of(LEADERLESS)
    return _elected(context, (each for each in leaderless if context.allows_unclean(each[0].name)), Election.UNCLEAN)


def _elected(context: Context, found: Iterable[Found], election: Election) -> tuple[PartitionChangeRecord, ...]:
    changes = (
        partition_change(context, topic, index, Target.of(partition), election) for topic, index, partition in found
    )
    return tuple(islice((record for record in changes if record is not None), MAX_ELECTIONS))
