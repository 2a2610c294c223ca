"""The image: the whole metadata at one offset, as a value.

An image never changes. :mod:`kraft.metadata.delta` makes the next one from it, and both share all that did not change:
every table is a persistent map, so a record costs the same in a cluster of ten topics and of a million. A table that no
record changed is the *same object* in both images: ``new.acls is not old.acls`` asks whether it changed.

ACLs, SCRAM credentials, delegation tokens and controllers are kept as their records, which nobody may modify.

Maps are unordered: sort before the order becomes visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from kraft.config.features import METADATA_VERSION
from kraft.messages.access_control_entry_record import AccessControlEntryRecord
from kraft.messages.delegation_token_record import DelegationTokenRecord
from kraft.messages.register_controller_record import RegisterControllerRecord
from kraft.messages.user_scram_credential_record import UserScramCredentialRecord
from kraft.metadata.index import Index, partitions_in
from kraft.metadata.partitions import Partition, Partitions

#: Directory ids that name no directory (KIP-858): from before directory ids, not chosen yet, and failed.
DIRECTORY_MIGRATING = UUID(int=0)
DIRECTORY_UNASSIGNED = UUID(int=1)
DIRECTORY_LOST = UUID(int=2)


class ResourceType(IntEnum):
    """The type of a configuration's resource, as ConfigRecord and the config requests number it."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


#: (resource type, resource name). The name of the cluster-wide broker default is empty.
ConfigResource = tuple[int, str]
#: The entity of a client quota: sorted (entity type, name); None names the default entity.
QuotaEntity = tuple[tuple[str, str | None], ...]


@attrs.frozen
class Topic:
    """A topic and its partitions by number, in the order of their numbers."""

    id: UUID
    name: str
    partitions: Partitions


@attrs.frozen
class BrokerEndpoint:
    """The address of a broker's listener. ``security_protocol`` is Kafka's number (0 is PLAINTEXT)."""

    listener: str
    host: str
    port: int
    security_protocol: int


@attrs.frozen
class Broker:
    """The registration of a broker. ``epoch`` is the offset of its record; a fenced broker leads nothing."""

    id: int
    epoch: int
    incarnation_id: UUID
    endpoints: tuple[BrokerEndpoint, ...]
    features: Mapping[str, tuple[int, int]]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    log_dirs: tuple[UUID, ...]
    is_migrating_zk_broker: bool = False
    cordoned_log_dirs: tuple[UUID, ...] | None = None
    """The directories that take no new replicas (KIP-1066); None until the broker reports them."""

    @property
    def active(self) -> bool:
        """Whether the broker may lead partitions and join an ISR."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def takes_replicas(self) -> bool:
        """Whether new replicas may be placed here: not if it shuts down, or if all directories are cordoned (KIP-1066).

        A broker that has shut down is fenced, and comes back (BrokerHeartbeatManager.UsableBrokerIterator).
        """
        if self.in_controlled_shutdown and not self.fenced:
            return False
        return not self.log_dirs or not set(self.log_dirs) <= set(self.cordoned_log_dirs or ())

    def endpoint(self, listener: str) -> BrokerEndpoint | None:
        return next((endpoint for endpoint in self.endpoints if endpoint.listener == listener), None)

    def has_online(self, directory: UUID) -> bool:
        """Whether a replica in ``directory`` is online (KIP-858).

        A replica that has no directory yet is online. So is every replica of a broker that has not reported its
        directories.
        """
        if directory in self.log_dirs or directory in (DIRECTORY_UNASSIGNED, DIRECTORY_MIGRATING):
            return True
        return not self.log_dirs and directory != DIRECTORY_LOST


_NOTHING: Map[Any, Any] = Map()


@attrs.frozen
class Image:
    """The metadata up to and including ``offset``, whose record has ``epoch`` and ``timestamp_ms``."""

    offset: int = -1
    epoch: int = -1
    timestamp_ms: int = -1
    features: Map[str, int] = _NOTHING
    zk_migration_state: int = 0
    brokers: Map[int, Broker] = _NOTHING
    controllers: Map[int, RegisterControllerRecord] = _NOTHING
    topics: Map[UUID, Topic] = _NOTHING
    topic_ids: Map[str, UUID] = _NOTHING
    index: Index = _NOTHING
    configs: Map[ConfigResource, Mapping[str, str]] = _NOTHING
    client_quotas: Map[QuotaEntity, Mapping[str, float]] = _NOTHING
    next_producer_id: int = 0
    acls: Map[UUID, AccessControlEntryRecord] = _NOTHING
    scram_credentials: Map[tuple[str, int], UserScramCredentialRecord] = _NOTHING
    delegation_tokens: Map[str, DelegationTokenRecord] = _NOTHING

    @property
    def metadata_version(self) -> int:
        """The finalized level of metadata.version, or 0 before its record."""
        return self.features.get(METADATA_VERSION, 0)

    def topic(self, name: str) -> Topic | None:
        topic_id = self.topic_ids.get(name)
        return None if topic_id is None else self.topics[topic_id]

    def partition(self, topic_id: UUID, index: int) -> Partition | None:
        topic = self.topics.get(topic_id)
        return None if topic is None else topic.partitions.get(index)

    def endpoint(self, broker_id: int, listener: str) -> BrokerEndpoint | None:
        """Return the address of a broker on a listener; None if it is not registered, or lacks the listener."""
        broker = self.brokers.get(broker_id)
        return None if broker is None else broker.endpoint(listener)

    def config(self, resource_type: int, name: str) -> Mapping[str, str]:
        """Return the configuration that is set on a resource, without defaults."""
        return self.configs.get((resource_type, name), {})

    def partitions(self) -> Iterator[tuple[Topic, int, Partition]]:
        """Every partition, topics by name and partitions by number: the same order in every process."""
        for _, topic_id in sorted(self.topic_ids.items()):
            topic = self.topics[topic_id]
            for index, partition in topic.partitions.items():
                yield topic, index, partition

    def partitions_of(self, key: int) -> Iterator[tuple[Topic, int, Partition]]:
        """The partitions in whose ISR a broker is, or those under another key of the index, in the same order."""
        found = ((self.topics[topic_id], mask) for topic_id, mask in self.index.get(key, _NOTHING).items())
        for topic, mask in sorted(found, key=lambda pair: pair[0].name):
            for index in partitions_in(mask):
                yield topic, index, topic.partitions[index]
