"""Elections without a request: after a broker left or returned, to restore preferred leaders, or once a topic allows
unclean ones.

No decision examines more than ``partitions_at_once`` partitions.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import attrs

from kraft.controller.broker_transitions import BrokerTransition, Goal
from kraft.controller.context import Context
from kraft.controller.partition_change import Election, Target, partition_change
from kraft.controller.walk import Found, Walk
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import Broker
from kraft.metadata.index import LEADERLESS
from kraft.metadata.partitions import NO_LEADER

_YES = 1


def begin_transition(
    context: Context, broker: Broker, goal: Goal, directories: frozenset[UUID] = frozenset()
) -> tuple[list[Any], BrokerTransition]:
    """Begin to take a broker out of ISRs and leadership; return the records of the first partitions.

    If they finish the transition's walk, the caller appends the broker's own record; otherwise each DeadlineReached
    continues the walk.
    """
    transition = context.transitions.begin(context.image, broker, goal, directories)
    brokers = context.transitions.foreseen(context.image.brokers)
    active = context.active - {broker.id} if context.transitions.is_leaving(broker.id) else context.active
    context = attrs.evolve(context, image=attrs.evolve(context.image, brokers=brokers), active=active)
    return next_records(context, transition), transition


def next_records(context: Context, transition: BrokerTransition) -> list[Any]:
    """The records of the next partitions."""
    records: list[Any] = []
    broker_id, lost = transition.broker.id, transition.directories
    for topic, index, partition in transition.walk.some(context.image, context.config.partitions_at_once):
        if broker_id not in partition.isr or (lost and partition.directory(broker_id) not in lost):
            continue
        transition.led |= partition.leader == broker_id
        target = Target.of(partition, isr=[replica for replica in partition.isr if replica != broker_id])
        record = partition_change(context, topic, index, target, Election.CONFIGURED)
        if record is not None:
            records.append(record)
    if transition.walk.finished:
        context.transitions.end(transition)
    return records


def final_records(context: Context, transition: BrokerTransition, offset: int) -> list[BrokerRegistrationChangeRecord]:
    """The broker's own records at the end of a transition, at ``offset``.

    A broker in controlled shutdown that gave up leaderships stays until the other brokers know; one without is fenced
    at once.
    """
    broker = transition.broker
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    if transition.fences:
        context.sessions.fence(broker.id)
        change.fenced = _YES
    elif transition.goal is Goal.WITHOUT_DIRECTORIES:
        change.log_dirs = list(transition.directories_left)
    elif broker.in_controlled_shutdown:
        context.sessions.begin_shutdown(broker.id, offset - 1)
        return []
    else:
        context.sessions.begin_shutdown(broker.id, offset)
        change.in_controlled_shutdown = _YES
    return [change]


def preferred(context: Context, found: Found) -> PartitionChangeRecord | None:
    """The record that gives leadership back to the preferred replica, if that replica can lead."""
    topic, index, partition = found
    first = partition.replicas[0]
    if partition.leader == first or first not in partition.isr or first not in context.active:
        return None
    return partition_change(context, topic, index, Target.of(partition), Election.PREFERRED)


def led_again(context: Context, found: Found) -> PartitionChangeRecord | None:
    """The record that gives a partition without a leader one, if a replica can lead."""
    topic, index, partition = found
    if partition.leader != NO_LEADER:
        return None
    return partition_change(context, topic, index, Target.of(partition), Election.CONFIGURED)


def led_with(context: Context, broker: Broker) -> list[PartitionChangeRecord]:
    """The records that give the first partitions without a leader one, given the new state of a broker.

    :mod:`kraft.controller.upkeep` examines the others.
    """
    brokers = context.image.brokers.set(broker.id, broker)
    active = context.active | {broker.id} if broker.active else context.active
    context = attrs.evolve(context, image=attrs.evolve(context.image, brokers=brokers), active=active)
    found = Walk(context.image, LEADERLESS).some(context.image, context.config.partitions_at_once)
    return [record for each in found if (record := led_again(context, each)) is not None]
