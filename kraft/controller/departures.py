"""Brokers that are being taken out of the ISRs and from the lead of their partitions, some partitions at a time.

The partitions come first and what is said of the broker last. So the log is valid wherever it ends, and a controller
that takes over need not know what its predecessor had begun: the broker is unfenced, and silent, or asks again.

For every other decision the broker already is what it will be: nobody makes it a leader, or a member of an ISR, any
more. So a departure meets each partition once, and ends. What has begun is finished, even if the broker is heard of
in between: its session was over, others lead in its place, and its next heartbeat takes it back as after any fencing.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from uuid import UUID

import attrs
from immutables import Map

from kraft.controller.walk import Walk
from kraft.metadata.image import Broker, Image


class Goal(IntEnum):
    """What a broker will be. A higher one takes the place of a lower one, and includes it but for directories."""

    WITHOUT_DIRECTORIES = 0
    IN_CONTROLLED_SHUTDOWN = 1
    FENCED = 2


@attrs.define(eq=False)
class Departure:
    """One broker's. ``directories``: those that have failed, if it is only about the replicas there.

    ``led``: whether it led one of the partitions that ``walk`` has passed.
    """

    broker: Broker
    goal: Goal
    walk: Walk
    directories: frozenset[UUID] = frozenset()
    led: bool = False

    @property
    def fences(self) -> bool:
        """Whether the broker is fenced at the end, if ``walk`` is finished."""
        return self.goal is Goal.FENCED or (self.goal is Goal.IN_CONTROLLED_SHUTDOWN and not self.led)

    @property
    def directories_left(self) -> tuple[UUID, ...]:
        return tuple(directory for directory in self.broker.log_dirs if directory not in self.directories)

    @property
    def foreseen(self) -> Broker:
        """The broker as it will be."""
        match self.goal:
            case Goal.FENCED:
                return attrs.evolve(self.broker, fenced=True)
            case Goal.IN_CONTROLLED_SHUTDOWN:
                return attrs.evolve(self.broker, in_controlled_shutdown=True)
            case Goal.WITHOUT_DIRECTORIES:
                return attrs.evolve(self.broker, log_dirs=self.directories_left)


class Departures:
    """Those under way, in the order in which they began; the first is finished before the next goes on."""

    def __init__(self) -> None:
        self._departures: dict[int, Departure] = {}

    def __contains__(self, broker_id: int) -> bool:
        return broker_id in self._departures

    def __iter__(self) -> Iterator[Departure]:
        return iter(self._departures.values())

    def is_leaving(self, broker_id: int) -> bool:
        """Whether a broker is being taken out as a whole."""
        departure = self._departures.get(broker_id)
        return departure is not None and departure.goal is not Goal.WITHOUT_DIRECTORIES

    def begin(self, image: Image, broker: Broker, goal: Goal, directories: frozenset[UUID] = frozenset()) -> Departure:
        """Begin a departure, or give the one that is under way a higher goal, or more directories."""
        known = self._departures.get(broker.id)
        if known is not None and self.is_leaving(broker.id):
            known.goal = max(known.goal, goal)
            return known
        if known is not None:
            broker = known.broker
            directories |= known.directories
        if goal is not Goal.WITHOUT_DIRECTORIES:
            directories = frozenset()
        departure = self._departures[broker.id] = Departure(broker, goal, Walk(image, broker.id), directories)
        return departure

    def end(self, departure: Departure) -> None:
        del self._departures[departure.broker.id]

    def foreseen(self, brokers: Map[int, Broker]) -> Map[int, Broker]:
        """The brokers as they will be."""
        for departure in self:
            brokers = brokers.set(departure.broker.id, departure.foreseen)
        return brokers
