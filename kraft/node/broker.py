"""What a handler may use: the broker's parts in one place."""

from __future__ import annotations

from typing import Any

import attrs

from kraft.broker.fetch_session import FetchSessionCache
from kraft.config.broker import NodeConfig
from kraft.metadata.image import Image
from kraft.node.clock import Clock
from kraft.node.controller_channel import ControllerChannel
from kraft.node.groups import Groups
from kraft.node.partitions.replicas import Replicas
from kraft.node.producer_ids import ProducerIds
from kraft.node.publisher import Publisher
from kraft.wire.schema import Message


@attrs.define(eq=False)
class Broker:
    """The broker role of a node."""

    config: NodeConfig
    cluster_id: str
    clock: Clock
    replicas: Replicas
    groups: Groups
    channel: ControllerChannel
    publisher: Publisher
    producer_ids: ProducerIds
    fetch_sessions: FetchSessionCache

    @property
    def node_id(self) -> int:
        return self.config.node_id

    @property
    def image(self) -> Image:
        """The metadata that this broker acts on."""
        return self.replicas.image

    async def change(self, message: Any, version: int | None = None, *, envelope: Message | None = None) -> Any:
        """Have the controller carry out ``message``; its response, once this broker acts on all that it knows of.

        Raises:
            KafkaError: as :meth:`ControllerChannel.request`.
        """
        response = await self.channel.request(message, version, envelope=envelope)
        await self.publisher.catch_up()
        return response
