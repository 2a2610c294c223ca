"""The place of a broker's coordinators, which exists before their modules are imported.

The coordinators of groups, transactions and share groups are a quarter of all that a node imports. A node without a
partition of theirs can serve clients first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.metadata.image import Image
from kraft.metrics import Registry
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.wire.internal_topics import is_internal
from kraft.world.garbage import import_uncollected
from kraft.world.world import World

if TYPE_CHECKING:
    from kraft.coordination.coordinators import BrokerCoordinators

_MODULE: Final = "kraft.coordination.coordinators"


@attrs.define(eq=False)
class LazyCoordinators:
    """Makes the coordinators once this broker leads a partition of theirs, :meth:`begin` is called, or a request needs
    them. See ``make_coordinators`` for the fields.
    """

    config: NodeConfig
    replicas: Replicas
    world: World
    registry: Registry
    new_producer_id: Callable[[], int]
    create_topics: Callable[[Iterable[str]], object]
    _made: BrokerCoordinators | None = None
    _wanted: trio.Event = attrs.Factory(trio.Event)
    _led: dict[tuple[str, int], HostedPartition] = attrs.Factory(dict)
    """The internal partitions that this broker leads, by topic and index."""
    _deleted: set[str] = attrs.Factory(set)
    """The topics that were deleted since it leads one of them."""

    @property
    def made(self) -> BrokerCoordinators:
        """The coordinators. The first caller makes them."""
        if self._made is None:
            from kraft.coordination.coordinators import make_coordinators

            self._made = make_coordinators(
                self.config, self.replicas, self.world, self.registry, self.new_producer_id, self.create_topics
            )
            led = [each for each in self._led.values() if self._leads(each)]
            self._made.apply(LeaderChanges(led, []), self._deleted)
            self._wanted.set()
        return self._made

    def _leads(self, partition: HostedPartition) -> bool:
        """Whether this broker still leads it: a change of roles may be half applied."""
        return self.replicas.holds(partition) and partition.is_leader

    def coordinates(self, topic: str, index: int) -> bool:
        """Whether this broker has taken over the partition, so that requests do not get NOT_COORDINATOR any more."""
        return (topic, index) in self._led

    def begin(self) -> None:
        """Import them on a worker thread, then make and run them."""
        self._wanted.set()

    def apply(self, led: LeaderChanges, deleted: Iterable[str] = ()) -> None:
        """Resign from lost partitions, take over gained ones, and begin to delete the offsets of ``deleted`` topics."""
        for partition in led.lost:
            self._led.pop((partition.topic, partition.index), None)
        self._led |= {(each.topic, each.index): each for each in led.gained if is_internal(each.topic)}
        if self._made is not None:
            self._made.apply(led, deleted)
        elif self._led:
            self._deleted.update(deleted)
            self._wanted.set()

    async def offsets_deleted(self, image: Image) -> None:
        """Wait until no offsets are left of a deleted topic whose name a topic of ``image`` has."""
        if self._made is not None or self._deleted:
            await self.made.offsets_deleted(image)

    async def run(self) -> None:
        """Run the coordinators, once they are wanted, forever."""
        await self._wanted.wait()
        await self.world.in_thread(import_uncollected, _MODULE)
        await self.made.run()
