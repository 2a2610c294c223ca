"""The objects that a request handler may use: a context for a broker's listeners, for a
broker's with ZooKeeper, and for a controller's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import trio

from kraft.api.handlers import Handlers
from kraft.broker.fetch_session import FetchSessionCache
from kraft.config.broker import NodeConfig
from kraft.control.controller import Controller
from kraft.control.controller_channel import ControllerChannel
from kraft.control.metadata import Metadata
from kraft.coordination.auto_topic_creation import AutoTopicCreation
from kraft.coordination.lazy_coordinators import LazyCoordinators
from kraft.coordination.producer_ids import ProducerIds
from kraft.messages.envelope_response import EnvelopeResponse
from kraft.metadata.image import Image
from kraft.metadata.partitions import NO_LEADER
from kraft.quorum.driver import Quorum
from kraft.replication.moves import DirectoryMoves
from kraft.replication.replicas import Replicas
from kraft.replication.throttle import Throttle
from kraft.wire.schema import Message
from kraft.world.clock import Clock

if TYPE_CHECKING:
    from kraft.coordination.coordinators import BrokerCoordinators
    from kraft.replication.commands import ControllerCommands  # only brokers of the ZooKeeper era have them

_SHOWN_WITHIN_MS = 500
"""Not a Kafka setting. How long the response to a change waits, at most, until this broker shows the change."""


@attrs.frozen(eq=False)
class BrokerContext:
    """The broker role of a node.

    ``catch_up`` returns once the broker has applied metadata up to an offset, and all that it knows to be committed.
    """

    config: NodeConfig
    cluster_id: str
    clock: Clock
    replicas: Replicas
    lazy_coordinators: LazyCoordinators
    channel: ControllerChannel
    catch_up: Callable[[int], Awaitable[None]]
    producer_ids: ProducerIds
    fetch_sessions: FetchSessionCache
    auto_topics: AutoTopicCreation
    moves: DirectoryMoves
    leader_throttle: Throttle

    @property
    def node_id(self) -> int:
        return self.config.node_id

    @property
    def coordinators(self) -> BrokerCoordinators:
        """The coordinators of groups, transactions and share groups."""
        return self.lazy_coordinators.made

    @property
    def image(self) -> Image:
        """The image that this broker has applied."""
        return self.replicas.image

    def shown_controller(self, alive: Collection[int]) -> int:
        """The controller that clients see: any live broker, because each forwards their requests. -1 for none."""
        return self.node_id if self.node_id in alive else min(alive, default=NO_LEADER)

    async def change(self, message: Any, version: int, *, envelope: Message) -> Any:
        """Send ``message`` to the active controller, and return its response once this broker shows the change.

        If another node leads the quorum, its high watermark says which records the broker has to apply first. For
        records that this node does not have yet, the response waits 0.5 s at most, or ``timeout_ms`` of the message if
        that is less: the leader may be gone, and this node far behind. Apache Kafka does not wait at all.

        Raises KafkaError as :meth:`ControllerChannel.request`.
        """
        response = await self.channel.request(message, version, envelope=envelope)
        if isinstance(response, EnvelopeResponse):
            wait_ms = min(_SHOWN_WITHIN_MS, max(0, getattr(message, "timeout_ms", _SHOWN_WITHIN_MS)))
            with trio.move_on_after(wait_ms / 1000):
                await self.catch_up(await self.channel.high_watermark())
        await self.catch_up(0)
        return response


class LegacyControllerPart(Protocol):
    """The part of a broker with ZooKeeper that is the controller, if it is elected.

    ``kraft.zookeeper.controller_driver.LegacyControllerDriver`` is one. A node with a quorum does not import it.
    """

    async def answer(self, message: Any, version: int) -> Any: ...


class EntityConfigs(Protocol):
    """The settings in ZooKeeper, by the type and the name of their entity.

    ``kraft.zookeeper.config_store.ConfigStore`` has them. A node with a quorum does not import it.
    """

    async def read(self, entities: Iterable[tuple[str, str]]) -> dict[tuple[str, str], dict[str, str]]: ...
    async def names(self, parents: Iterable[str]) -> list[tuple[str, ...]]: ...
    async def change(
        self,
        entity: tuple[str, str],
        change: Callable[[Mapping[str, str]], Mapping[str, str]],
        *,
        validate_only: bool = False,
    ) -> None: ...


@attrs.frozen(eq=False, kw_only=True)
class ZkBrokerContext(BrokerContext):
    """A broker with ZooKeeper, whose controller sends it ``commands``."""

    commands: ControllerCommands
    controller: LegacyControllerPart
    configs: EntityConfigs

    def shown_controller(self, alive: Collection[int]) -> int:
        """The controller that clients see: the active one, because no broker forwards. -1 while it is not alive."""
        leader_id = self.commands.leader_id
        return NO_LEADER if leader_id is None or leader_id not in alive else leader_id


@attrs.frozen(eq=False)
class ControllerContext:
    """The controller role of a node, active or on standby."""

    config: NodeConfig
    cluster_id: str
    clock: Clock
    quorum: Quorum
    controller: Controller
    metadata: Metadata
    handlers: Handlers[ControllerContext]

    @property
    def node_id(self) -> int:
        return self.config.node_id

    @property
    def image(self) -> Image:
        """The image that this node has replayed."""
        return self.metadata.image
