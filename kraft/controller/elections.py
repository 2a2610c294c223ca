"""Elections that nobody asked for: brokers go and come, leadership drifts, and topics come to allow unclean leaders.

None looks at more than ``partitions_at_once`` partitions in one decision.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import attrs

from kraft.controller.context import Context
from kraft.controller.departures import Departure, Goal
from kraft.controller.partition_change import Election, Target, partition_change
from kraft.controller.walk import Found, Walk
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import Broker
from kraft.metadata.index import LEADERLESS
from kraft.metadata.partitions import NO_LEADER

_YES = 1


def depart(
    context: Context, broker: Broker, goal: Goal, directories: frozenset[UUID] = frozenset()
) -> tuple[list[Any], Departure]:
    """Begin to take a broker out of ISRs and leadership: the records of the first partitions.

    If the departure's walk is finished with them, the caller says what becomes of the broker; else Timeouts go on.
    """
    departure = context.departures.begin(context.image, broker, goal, directories)
    brokers = context.departures.foreseen(context.image.brokers)
    active = context.active - {broker.id} if context.departures.is_leaving(broker.id) else context.active
    context = attrs.evolve(context, image=attrs.evolve(context.image, brokers=brokers), active=active)
    return take_out(context, departure), departure


def take_out(context: Context, departure: Departure) -> list[Any]:
    """The records of the next partitions."""
    records: list[Any] = []
    broker_id, lost = departure.broker.id, departure.directories
    for topic, index, partition in departure.walk.some(context.image, context.config.partitions_at_once):
        if broker_id not in partition.isr or (lost and partition.directory(broker_id) not in lost):
            continue
        departure.led |= partition.leader == broker_id
        target = Target.of(partition, isr=[replica for replica in partition.isr if replica != broker_id])
        record = partition_change(context, topic, index, target, Election.CONFIGURED)
        if record is not None:
            records.append(record)
    if departure.walk.finished:
        context.departures.end(departure)
    return records


def departed(context: Context, departure: Departure, offset: int) -> list[BrokerRegistrationChangeRecord]:
    """What a departure that is finished says of its broker, at ``offset``.

    Who gave up what it led in controlled shutdown stays until the others know; who led nothing is fenced at once.
    """
    broker = departure.broker
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    if departure.fences:
        context.sessions.fence(broker.id)
        change.fenced = _YES
    elif departure.goal is Goal.WITHOUT_DIRECTORIES:
        change.log_dirs = list(departure.directories_left)
    elif broker.in_controlled_shutdown:
        context.sessions.begin_shutdown(broker.id, offset - 1)
        return []
    else:
        context.sessions.begin_shutdown(broker.id, offset)
        change.in_controlled_shutdown = _YES
    return [change]


def preferred(context: Context, found: Found) -> PartitionChangeRecord | None:
    """The record that gives leadership back to the preferred replica, if that can take it."""
    topic, index, partition = found
    first = partition.replicas[0]
    if partition.leader == first or first not in partition.isr or first not in context.active:
        return None
    return partition_change(context, topic, index, Target.of(partition), Election.PREFERRED)


def led_again(context: Context, found: Found) -> PartitionChangeRecord | None:
    """The record that gives a partition without a leader one, if there is who may lead it."""
    topic, index, partition = found
    if partition.leader != NO_LEADER:
        return None
    return partition_change(context, topic, index, Target.of(partition), Election.CONFIGURED)


def led_with(context: Context, broker: Broker) -> list[PartitionChangeRecord]:
    """The records that give the first partitions without a leader one, with a broker as it is from now on.

    Upkeep looks at the others.
    """
    brokers = context.image.brokers.set(broker.id, broker)
    active = context.active | {broker.id} if broker.active else context.active
    context = attrs.evolve(context, image=attrs.evolve(context.image, brokers=brokers), active=active)
    found = Walk(context.image, LEADERLESS).some(context.image, context.config.partitions_at_once)
    return [record for each in found if (record := led_again(context, each)) is not None]
