"""Brokers that leave the ISRs and the leadership of their partitions, some partitions at a time.

The partition records come first and the broker's own record last. So the log is valid wherever it ends, and a new
active controller need not know about an unfinished transition: the broker is still unfenced, and either silent or it
asks again.

Every other decision sees the broker in its final state, so nobody makes it a leader or a member of an ISR any more. A
transition therefore meets each partition once, and ends. It is finished even if the broker sends a heartbeat meanwhile:
its session had expired and others lead in its place, and its next heartbeat unfences it as after any fencing.
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
    """The state that a transition gives a broker.

    A higher goal replaces a lower one and implies it, except for ``WITHOUT_DIRECTORIES``.
    """

    WITHOUT_DIRECTORIES = 0
    IN_CONTROLLED_SHUTDOWN = 1
    FENCED = 2


@attrs.define(eq=False)
class BrokerTransition:
    """The transition of one broker. ``directories``: the failed ones, if only the replicas in them are concerned.

    ``led``: whether the broker led one of the partitions that ``walk`` has passed.
    """

    broker: Broker
    goal: Goal
    walk: Walk
    directories: frozenset[UUID] = frozenset()
    led: bool = False

    @property
    def fences(self) -> bool:
        """Whether the broker is fenced at the end, given that ``walk`` is finished."""
        return self.goal is Goal.FENCED or (self.goal is Goal.IN_CONTROLLED_SHUTDOWN and not self.led)

    @property
    def directories_left(self) -> tuple[UUID, ...]:
        return tuple(directory for directory in self.broker.log_dirs if directory not in self.directories)

    def foreseen(self, broker: Broker) -> Broker:
        """The broker in its final state, from its present one."""
        match self.goal:
            case Goal.FENCED:
                return attrs.evolve(broker, fenced=True)
            case Goal.IN_CONTROLLED_SHUTDOWN:
                return attrs.evolve(broker, in_controlled_shutdown=True)
            case Goal.WITHOUT_DIRECTORIES:
                return attrs.evolve(broker, log_dirs=self.directories_left)


class BrokerTransitions:
    """The unfinished transitions, oldest first; each is finished before the next goes on."""

    def __init__(self) -> None:
        self._transitions: dict[int, BrokerTransition] = {}

    def __contains__(self, broker_id: int) -> bool:
        return broker_id in self._transitions

    def __iter__(self) -> Iterator[BrokerTransition]:
        return iter(self._transitions.values())

    def is_leaving(self, broker_id: int) -> bool:
        """Whether a broker leaves all of its partitions."""
        transition = self._transitions.get(broker_id)
        return transition is not None and transition.goal is not Goal.WITHOUT_DIRECTORIES

    def begin(
        self, image: Image, broker: Broker, goal: Goal, directories: frozenset[UUID] = frozenset()
    ) -> BrokerTransition:
        """Begin a transition, or give the unfinished one a higher goal or more directories."""
        known = self._transitions.get(broker.id)
        if known is not None and self.is_leaving(broker.id):
            known.goal = max(known.goal, goal)
            return known
        if known is not None:
            broker = known.broker
            directories |= known.directories
        if goal is not Goal.WITHOUT_DIRECTORIES:
            directories = frozenset()
        transition = self._transitions[broker.id] = BrokerTransition(broker, goal, Walk(image, broker.id), directories)
        return transition

    def end(self, transition: BrokerTransition) -> None:
        del self._transitions[transition.broker.id]

    def foreseen(self, brokers: Map[int, Broker]) -> Map[int, Broker]:
        """The brokers in their final states."""
        for transition in self:
            present = brokers.get(transition.broker.id, transition.broker)
            brokers = brokers.set(present.id, transition.foreseen(present))
        return brokers
