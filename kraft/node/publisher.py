"""Applies the committed metadata to the broker, one image at a time."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import trio

from kraft.control.metadata import Metadata, Subscription
from kraft.coordination.lazy_coordinators import LazyCoordinators
from kraft.metadata.image import Image
from kraft.replication.replicas import Replicas


@attrs.define(eq=False)
class Publisher:
    """The only writer of the broker's view of the cluster."""

    metadata: Metadata
    replicas: Replicas
    coordinators: LazyCoordinators
    _subscription: Subscription = attrs.field(init=False)
    _image: Image = attrs.field(init=False)
    _published: trio.Event = attrs.Factory(trio.Event)
    _applying: trio.Lock = attrs.Factory(trio.Lock)
    """Only one change of roles at a time: the coordinators must learn of changes in their order."""

    @property
    def image(self) -> Image:
        """The image that the broker has applied as a whole. ``replicas.image`` may be newer."""
        return self._image

    @property
    def offset(self) -> int:
        """The offset of the last record that the broker has applied."""
        return self._image.offset

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration; -1 before the first."""
        return self.replicas.broker_epoch

    async def load(self) -> None:
        """Take the present image and open the logs. Raises StorageError, OSError."""
        self._subscription = self.metadata.subscribe()
        self._image = self._subscription.image
        await self.replicas.load(self._image)

    async def run(self) -> None:
        """Apply every change, forever. Raises StorageError, MetadataError, OSError."""
        while True:
            image, changes = await self._subscription.next()
            await self.coordinators.offsets_deleted(image)
            async with self._applying:
                led = await self.replicas.apply(image, changes)
                self.coordinators.apply(led, (topic.name for topic in changes.topics_deleted.values()))
                await led.forget()
            self._image = image
            self._published.set()
            self._published = trio.Event()

    async def registered(self, broker_epoch: int) -> None:
        """Use ``broker_epoch`` from now on, and take the roles that the image has for this registration."""
        async with self._applying:
            self.coordinators.apply(await self.replicas.registered(broker_epoch))

    async def catch_up(self, end_offset: int = 0) -> None:
        """Return once the broker has applied all records below ``end_offset``, and all that it knows to be committed.

        The caller limits the wait for records that this node does not have yet.
        """
        target = max(self.metadata.high_watermark, end_offset) - 1
        while self.offset < target:
            await self._published.wait()

    async def until(self, condition: Callable[[Image], bool]) -> None:
        """Return once ``condition`` holds for the broker's image. The caller limits the wait."""
        while not condition(self._image):
            await self._published.wait()
