"""The settings that change in ZooKeeper come to the broker (Kafka's ZkNodeChangeNotificationListener).

A change of settings is announced by a sequential znode, which names the entity. One task for all sessions reads the
announcements: it may wait for the broker, and the broker for a new session.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Protocol
from uuid import UUID

import attrs
import trio

from kraft.metadata.image import ResourceType
from kraft.metadata.topic_name import is_valid_topic_name
from kraft.replication.commands import UNKNOWN_FEATURES_EPOCH
from kraft.world.clock import Clock
from kraft.zookeeper.config_store import ConfigStore, perform_reads
from kraft.zookeeper.operations import ChildNames, Children, Create, Delete, Failure, Get, Result, Znode, ZnodeChanged
from kraft.zookeeper.session import SessionLost
from kraft.zookeeper.znodes.cluster import (
    BROKER_ENTITIES,
    DEFAULT_ENTITY,
    FEATURE,
    TOPIC_ENTITIES,
    Entity,
    config_path,
    decode_features,
)
from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.notifications import CONFIG_CHANGES, decode_config_change
from kraft.zookeeper.znodes.topics import TOPICS

logger = logging.getLogger("kraft.zookeeper")

_UNCLEAN = "unclean.leader.election.enable"
EXPIRATION_MS: Final = 15 * 60 * 1000
"""Kafka's changeExpirationMs: each broker deletes the announcements that are older."""


class ConfiguredBroker(Protocol):
    """The broker that takes the settings; ``kraft.replication.commands.ControllerCommands`` is one."""

    features_epoch: int

    @property
    def node_id(self) -> int: ...
    @property
    def topics(self) -> Mapping[str, UUID]: ...
    async def set_config(self, resource_type: ResourceType, name: str, values: Mapping[str, str]) -> None: ...
    async def forget_topics(self, topics: Mapping[str, UUID]) -> None: ...


@attrs.define(eq=False)
class ConfigFollower:
    """Follows the settings of all topics, of this broker, and of all brokers by default, and the epoch of the features.

    ``allows_unclean`` gets the znodes of settings that allow unclean leaders, so that the controller elects some.
    """

    store: ConfigStore
    clock: Clock
    broker: ConfiguredBroker
    allows_unclean: Callable[[ZnodeChanged], Awaitable[None]]
    _announced: dict[str, int] = attrs.Factory(dict)
    """The announcements that were read in this session, with the times at which they were made."""
    _feature_node: Znode | None = None
    _reads_all: bool = True
    _stirred: trio.Event = attrs.Factory(trio.Event)

    def session_began(self) -> None:
        """Any settings may have changed since the last session, announcements may be gone, and so may topics."""
        self._reads_all = True
        self._stirred.set()

    def changed(self) -> None:
        """There are announcements, or other features."""
        self._stirred.set()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Apply all settings at the beginning of a session, and then those that are announced, until cancelled.

        ``task_status`` is started when the broker has its settings.

        Error handling: an announcement that is malformed is logged and ignored, as a setting is by ConfigStore.read.
        """
        while self._reads_all:
            await self._next()
        task_status.started()
        while True:
            await self._next()

    async def _next(self) -> None:
        await self._stirred.wait()
        self._stirred = trio.Event()
        try:
            await self._follow()
        except SessionLost:
            self._reads_all = True  # at the beginning of the next session

    async def _follow(self) -> None:
        zookeeper = self.store.zookeeper
        reads_all, self._reads_all = self._reads_all, False
        # The parent exists unless a person deletes it, which the watch reports.
        reads = Children(CONFIG_CHANGES, watch=True), Get(FEATURE, watch=True)
        known = self.broker.topics if reads_all else {}
        listing = (Children(TOPICS),) if known else ()
        written, listed, features, *topics = await perform_reads(zookeeper, (Create(CONFIG_CHANGES), *reads, *listing))
        self._take_features(features if isinstance(features, Znode) else None)
        if known and (written is Failure.NODE_EXISTS or isinstance(written, str)):
            await self._forget_deleted(known, *topics)
        names = sorted(listed.names) if isinstance(listed, ChildNames) else []
        before = {} if reads_all else self._announced
        new = [name for name in names if name not in before]
        nodes = await perform_reads(zookeeper, [Get(_path(name)) for name in new])
        read = {name: node for name, node in zip(new, nodes, strict=True) if isinstance(node, Znode)}
        entities = {**self._all(), **_entities(read)} if reads_all else _entities(read)
        for entity, values in (await self.store.read(filter(self._concerns, entities))).items():
            await self._apply(entity, values)
        created = {**before, **{name: node.created_ms for name, node in read.items()}}
        self._announced = {name: created[name] for name in names if name in created}
        await self._purge()

    async def _forget_deleted(self, known: Mapping[str, UUID], listed: Result) -> None:
        """Forget the topics that are not in ZooKeeper: they were deleted while this broker had no registration, so
        their deletion was not announced to it. A broker of Apache Kafka shows them until it is started again.

        The list is as new as ``known``, because a write went before it: a server that lags answers reads alone.
        """
        existing = set(listed.names) if isinstance(listed, ChildNames) else set(known)
        deleted = {name: known[name] for name in known if name not in existing}
        if deleted:
            logger.info("%d topics were deleted before this session, first %s", len(deleted), next(iter(deleted)))
            await self.broker.forget_topics(deleted)

    def _take_features(self, node: Znode | None) -> None:
        """The epoch of the features is the version of their znode, as for Kafka's FinalizedFeatureChangeListener.

        A broker of Apache Kafka ends if it does not support a feature, or if the znode is malformed.
        """
        if node == self._feature_node:
            return
        self._feature_node, self.broker.features_epoch = node, UNKNOWN_FEATURES_EPOCH
        if node is None:
            return
        try:
            features = decode_features(node.data)
        except MalformedZnode as error:
            logger.error("the features are ignored: %s", error)
            return
        if features.is_enabled and features.levels:
            logger.error("%s has features, and no broker with ZooKeeper supports any: they are ignored", FEATURE)
        elif features.is_enabled:
            self.broker.features_epoch = node.version

    def _all(self) -> dict[Entity, None]:
        brokers = [(BROKER_ENTITIES, DEFAULT_ENTITY), (BROKER_ENTITIES, str(self.broker.node_id))]
        return dict.fromkeys([*brokers, *((TOPIC_ENTITIES, topic) for topic in self.broker.topics)])

    def _concerns(self, entity: Entity) -> bool:
        kind, name = entity
        if kind == TOPIC_ENTITIES:
            return is_valid_topic_name(name)
        return kind == BROKER_ENTITIES and name in (DEFAULT_ENTITY, str(self.broker.node_id))

    async def _apply(self, entity: Entity, values: Mapping[str, str]) -> None:
        kind, name = entity
        if kind == TOPIC_ENTITIES:
            await self.broker.set_config(ResourceType.TOPIC, name, values)
        else:
            await self.broker.set_config(ResourceType.BROKER, "" if name == DEFAULT_ENTITY else name, values)
        if values.get(_UNCLEAN, "").lower() == "true":
            await self.allows_unclean(ZnodeChanged(config_path(*entity)))

    async def _purge(self) -> None:
        oldest = self.clock.now_ms() - EXPIRATION_MS
        old = [name for name, created_ms in self._announced.items() if created_ms < oldest]
        if old:
            await self.store.zookeeper.perform([Delete(_path(name)) for name in old])


def _path(name: str) -> str:
    return f"{CONFIG_CHANGES}/{name}"


def _entities(announcements: Mapping[str, Znode]) -> dict[Entity, None]:
    """Return the entities that are named, each once."""
    entities: dict[Entity, None] = {}
    for name, node in announcements.items():
        try:
            kind, _, entity = decode_config_change(_path(name), node.data).partition("/")
        except MalformedZnode as error:
            logger.error("a change of a configuration is ignored: %s", error)
        else:
            entities[kind, entity] = None
    return entities
