"""Replay: the effect of each metadata record on an image.

``Delta(image)`` takes records one after the other; ``finish`` returns the next image and the changes. A record that
contradicts the image (a change to a partition that does not exist, say) raises MetadataError. The log and the image
have then diverged, and going on would only spread it.

:mod:`kraft.metadata.loader` handles BeginTransaction, EndTransaction and AbortTransaction.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import attrs

from kraft.config.features import ELIGIBLE_LEADER_REPLICAS, MAX_METADATA_LEVEL, METADATA_VERSION, NAME_OF_LEVEL
from kraft.messages.access_control_entry_record import AccessControlEntryRecord
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.clear_elr_record import ClearElrRecord
from kraft.messages.client_quota_record import ClientQuotaRecord
from kraft.messages.config_record import ConfigRecord
from kraft.messages.delegation_token_record import DelegationTokenRecord
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.fence_broker_record import FenceBrokerRecord
from kraft.messages.no_op_record import NoOpRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.producer_ids_record import ProducerIdsRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord
from kraft.messages.register_controller_record import RegisterControllerRecord
from kraft.messages.remove_access_control_entry_record import RemoveAccessControlEntryRecord
from kraft.messages.remove_delegation_token_record import RemoveDelegationTokenRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.remove_user_scram_credential_record import RemoveUserScramCredentialRecord
from kraft.messages.topic_record import TopicRecord
from kraft.messages.unfence_broker_record import UnfenceBrokerRecord
from kraft.messages.unregister_broker_record import UnregisterBrokerRecord
from kraft.messages.user_scram_credential_record import UserScramCredentialRecord
from kraft.messages.zk_migration_state_record import ZkMigrationStateRecord
from kraft.metadata.image import DIRECTORY_MIGRATING, Broker, BrokerEndpoint, ConfigResource, Image, ResourceType, Topic
from kraft.metadata.index import IndexChange
from kraft.metadata.partitions import MAX_PARTITIONS, Partition, Partitions, shared_partition
from kraft.metadata.steps import Steps, finished
from kraft.metadata.topic_name import topic_name_fault

#: The field values of a PartitionChangeRecord that mean "unchanged".
LEADER_UNCHANGED = -2
RECOVERY_STATE_UNCHANGED = -1

#: The entries of a table that are as much work as the replay of a record.
_AT_ONCE = 10


class MetadataError(ValueError):
    """A metadata record is unknown or malformed, or contradicts an earlier one."""


class UnsupportedMetadata(MetadataError):
    """A metadata record of a later Kafka version. Nothing is damaged."""

    def __init__(self, what: str, known: str) -> None:
        newest = f"metadata.version up to {MAX_METADATA_LEVEL} ({NAME_OF_LEVEL[MAX_METADATA_LEVEL]})"
        known = f"{known}, and {newest}" if known else newest
        super().__init__(f"{what} needs a newer kraft; this one knows {known}")


def require_known_level(record: FeatureLevelRecord) -> None:
    """Raise UnsupportedMetadata if a record sets metadata.version to an unknown level."""
    level = record.feature_level
    if record.name == METADATA_VERSION and level > MAX_METADATA_LEVEL:
        name = f" ({NAME_OF_LEVEL[level]})" if level in NAME_OF_LEVEL else ""
        raise UnsupportedMetadata(f"{METADATA_VERSION} {level}{name}", "")


@attrs.frozen
class Changes:
    """The keys of everything that differs between two images; look the new state up in the image.

    ``topics_deleted`` holds the topics in their last state. ``partitions`` has every new or changed partition of a live
    topic. Tables that are not listed are compared by identity (see :mod:`kraft.metadata.image`).
    """

    topics_created: frozenset[UUID]
    topics_deleted: Mapping[UUID, Topic]
    partitions: Mapping[UUID, frozenset[int]]
    configs: frozenset[ConfigResource]
    brokers: frozenset[int]


@attrs.frozen
class _TopicChange:
    """A topic, its former partitions, and its new or changed ones."""

    name: str
    before: Partitions
    changed: dict[int, Partition]


class Delta:
    """The replay of records onto an image."""

    def __init__(self, image: Image) -> None:
        self._before = image
        self._features = image.features
        self._zk_migration_state = image.zk_migration_state
        self._brokers = image.brokers
        self._controllers = image.controllers
        self._topic_ids = image.topic_ids
        self._client_quotas = image.client_quotas
        self._next_producer_id = image.next_producer_id
        self._acls = image.acls
        self._scram_credentials = image.scram_credentials
        self._delegation_tokens = image.delegation_tokens
        # Tables of tables: ``finish`` writes these changes of inner tables into the outer ones.
        self._topics: dict[UUID, _TopicChange] = {}
        self._configs: dict[ConfigResource, dict[str, str]] = {}
        self._deleted: dict[UUID, Topic] = {}
        self._brokers_changed: set[int] = set()

    def copy(self) -> Delta:
        """Return an independent copy of this delta."""
        twin = copy.copy(self)
        twin._topics = {
            topic_id: attrs.evolve(change, changed=dict(change.changed)) for topic_id, change in self._topics.items()
        }
        twin._configs = {resource: dict(values) for resource, values in self._configs.items()}
        twin._deleted = dict(self._deleted)
        twin._brokers_changed = set(self._brokers_changed)
        return twin

    def replay(self, record: object) -> None:
        """Apply one record. Raises MetadataError; the delta must not be used after that."""
        handler = _HANDLERS.get(type(record))
        if handler is None:
            raise MetadataError(f"{type(record).__name__} is no metadata record that can be replayed")
        handler(self, record)

    def finish(self, offset: int, epoch: int, timestamp_ms: int) -> tuple[Image, Changes]:
        """Return the image after the records, which end at ``offset``, and its changes."""
        return finished(self.finish_in_steps(offset, epoch, timestamp_ms))

    def finish_in_steps(self, offset: int, epoch: int, timestamp_ms: int) -> Steps[tuple[Image, Changes]]:
        """Do the same as :meth:`finish`, in steps. The delta must not be changed in between."""
        topics, index = yield from self._finished_topics()
        configs = yield from self._finished_configs()
        image = Image(
            offset=offset,
            epoch=epoch,
            timestamp_ms=timestamp_ms,
            features=self._features,
            zk_migration_state=self._zk_migration_state,
            brokers=self._brokers,
            controllers=self._controllers,
            topics=topics,
            topic_ids=self._topic_ids,
            index=index,
            configs=configs,
            client_quotas=self._client_quotas,
            next_producer_id=self._next_producer_id,
            acls=self._acls,
            scram_credentials=self._scram_credentials,
            delegation_tokens=self._delegation_tokens,
        )
        created: set[UUID] = set()
        partitions: dict[UUID, frozenset[int]] = {}
        for number, (topic_id, topic) in enumerate(self._topics.items(), 1):
            if not number % _AT_ONCE:
                yield 1
            if topic_id not in self._before.topics:
                created.add(topic_id)
            if topic.changed:
                partitions[topic_id] = frozenset(topic.changed)
        changes = Changes(
            topics_created=frozenset(created),
            topics_deleted=self._deleted,
            partitions=partitions,
            configs=frozenset(self._configs),
            brokers=frozenset(self._brokers_changed),
        )
        return image, changes

    def _finished_topics(self) -> Steps[tuple[Any, Any]]:
        """The table of topics and the index of their partitions."""
        if not self._topics and not self._deleted:
            return self._before.topics, self._before.index
        topics = self._before.topics.mutate()
        index = IndexChange(self._before.index)
        for topic_id, topic in self._deleted.items():
            yield 1
            del topics[topic_id]
            yield from index.topic(topic_id, topic.partitions, ((number, None) for number in topic.partitions))
        for topic_id, change in self._topics.items():
            yield 1
            topics[topic_id] = Topic(topic_id, change.name, change.before.changed(change.changed))
            yield from index.topic(topic_id, change.before, change.changed.items())
        return topics.finish(), index.finish()

    def _finished_configs(self) -> Steps[Any]:
        if not self._configs:
            return self._before.configs
        configs = self._before.configs.mutate()
        for number, (resource, values) in enumerate(self._configs.items(), 1):
            if not number % _AT_ONCE:
                yield 1
            if values:
                configs[resource] = values
            else:
                configs.pop(resource, None)
        return configs.finish()

    # Features and cluster-wide facts.

    def _feature_level(self, record: FeatureLevelRecord) -> None:
        require_known_level(record)
        if record.feature_level == 0:
            self._features = _without(self._features, record.name)
        else:
            self._features = self._features.set(record.name, record.feature_level)

    def _zk_migration(self, record: ZkMigrationStateRecord) -> None:
        self._zk_migration_state = record.zk_migration_state

    def _producer_ids(self, record: ProducerIdsRecord) -> None:
        if record.next_producer_id < self._next_producer_id:
            raise MetadataError(
                f"ProducerIdsRecord goes back from {self._next_producer_id} to {record.next_producer_id}"
            )
        self._next_producer_id = record.next_producer_id

    def _no_op(self, record: NoOpRecord) -> None:
        """A NoOpRecord only moves the offset (KIP-835)."""

    # Brokers and controllers.

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        broker = Broker(
            id=record.broker_id,
            epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            endpoints=tuple(BrokerEndpoint(e.name, e.host, e.port, e.security_protocol) for e in record.end_points),
            features={f.name: (f.min_supported_version, f.max_supported_version) for f in record.features},
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            log_dirs=tuple(record.log_dirs),
            is_migrating_zk_broker=record.is_migrating_zk_broker,
            cordoned_log_dirs=None if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs),
        )
        self._put_broker(broker)

    def _unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self._broker(record, record.broker_id, record.broker_epoch)
        self._brokers = self._brokers.delete(record.broker_id)
        self._brokers_changed.add(record.broker_id)

    def _fence_broker(self, record: FenceBrokerRecord) -> None:
        self._put_broker(attrs.evolve(self._broker(record, record.id, record.epoch), fenced=True))

    def _unfence_broker(self, record: UnfenceBrokerRecord) -> None:
        self._put_broker(attrs.evolve(self._broker(record, record.id, record.epoch), fenced=False))

    def _change_registration(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._broker(record, record.broker_id, record.broker_epoch)
        if record.fenced not in (-1, 0, 1) or record.in_controlled_shutdown not in (0, 1):
            raise MetadataError(f"BrokerRegistrationChangeRecord for broker {broker.id} has an invalid value")
        cordoned = broker.cordoned_log_dirs if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs)
        self._put_broker(
            attrs.evolve(
                broker,
                fenced=broker.fenced if record.fenced == 0 else record.fenced == 1,
                in_controlled_shutdown=broker.in_controlled_shutdown or record.in_controlled_shutdown == 1,
                log_dirs=tuple(record.log_dirs) or broker.log_dirs,
                cordoned_log_dirs=cordoned,
            )
        )

    def _register_controller(self, record: RegisterControllerRecord) -> None:
        self._controllers = self._controllers.set(record.controller_id, record)

    def _broker(self, record: object, broker_id: int, epoch: int) -> Broker:
        broker = self._brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            raise MetadataError(f"{type(record).__name__} names broker {broker_id} epoch {epoch}, not registered")
        return broker

    def _put_broker(self, broker: Broker) -> None:
        self._brokers = self._brokers.set(broker.id, broker)
        self._brokers_changed.add(broker.id)

    # Topics and partitions.

    def _topic(self, record: TopicRecord) -> None:
        fault = topic_name_fault(record.name)
        if fault is not None:
            raise MetadataError(f"TopicRecord has a name that no topic may have: {fault}")
        alive = record.topic_id in self._before.topics and record.topic_id not in self._deleted
        if record.name in self._topic_ids or record.topic_id in self._topics or alive:
            raise MetadataError(f"TopicRecord creates {record.name!r} with id {record.topic_id}, which exists")
        self._topic_ids = self._topic_ids.set(record.name, record.topic_id)
        self._topics[record.topic_id] = _TopicChange(record.name, Partitions(), {})

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        name = self._changing_topic(record, record.topic_id).name
        del self._topics[record.topic_id]
        self._topic_ids = self._topic_ids.delete(name)
        before = self._before.topics.get(record.topic_id)
        if before is not None:
            self._deleted[record.topic_id] = before
        resource = (int(ResourceType.TOPIC), name)
        if resource in self._configs or resource in self._before.configs:
            self._configs[resource] = {}

    def _partition(self, record: PartitionRecord) -> None:
        replicas = tuple(record.replicas)
        if not 0 <= record.partition_id < MAX_PARTITIONS or not replicas:
            raise MetadataError(f"PartitionRecord makes {_named(record)} with replicas {replicas}")
        if record.eligible_leader_replicas or record.last_known_elr:
            raise _has_eligible_leaders(record)
        partition = shared_partition(
            replicas,
            tuple(record.isr),
            record.leader,
            record.leader_epoch,
            record.partition_epoch,
            _directories(record, replicas, record.directories),
            record.leader_recovery_state,
            tuple(record.removing_replicas),
            tuple(record.adding_replicas),
        )
        self._changing_topic(record, record.topic_id).changed[record.partition_id] = partition

    def _change_partition(self, record: PartitionChangeRecord) -> None:
        topic = self._changing_topic(record, record.topic_id)
        old = topic.changed.get(record.partition_id) or topic.before.get(record.partition_id)
        if old is None:
            raise MetadataError(f"PartitionChangeRecord changes {_named(record)}, which does not exist")
        topic.changed[record.partition_id] = changed_partition(old, record)

    def _clear_eligible_leaders(self, record: ClearElrRecord) -> None:
        """Change nothing: no partition of an image has eligible leader replicas. A named topic must exist."""
        if record.topic_name and record.topic_name not in self._topic_ids:
            raise MetadataError(f"ClearElrRecord names topic {record.topic_name!r}, which does not exist")

    def _changing_topic(self, record: object, topic_id: UUID) -> _TopicChange:
        change = self._topics.get(topic_id)
        if change is not None:
            return change
        topic = self._before.topics.get(topic_id)
        if topic is None or topic_id in self._deleted:
            raise MetadataError(f"{type(record).__name__} names topic {topic_id}, which does not exist")
        self._topics[topic_id] = change = _TopicChange(topic.name, topic.partitions, {})
        return change

    # Configurations, quotas, and records that are kept as they are.

    def _config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        values = self._configs.get(resource)
        if values is None:
            values = self._configs[resource] = dict(self._before.configs.get(resource, {}))
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value

    def _client_quota(self, record: ClientQuotaRecord) -> None:
        entity = tuple(sorted(((e.entity_type, e.entity_name) for e in record.entity), key=lambda pair: pair[0]))
        quotas = dict(self._client_quotas.get(entity, {}))
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        self._client_quotas = (
            self._client_quotas.set(entity, quotas) if quotas else _without(self._client_quotas, entity)
        )

    def _access_control_entry(self, record: AccessControlEntryRecord) -> None:
        self._acls = self._acls.set(record.id, record)

    def _remove_access_control_entry(self, record: RemoveAccessControlEntryRecord) -> None:
        self._acls = _existing_removed(self._acls, record.id, record)

    def _scram_credential(self, record: UserScramCredentialRecord) -> None:
        self._scram_credentials = self._scram_credentials.set((record.name, record.mechanism), record)

    def _remove_scram_credential(self, record: RemoveUserScramCredentialRecord) -> None:
        key = (record.name, record.mechanism)
        self._scram_credentials = _existing_removed(self._scram_credentials, key, record)

    def _delegation_token(self, record: DelegationTokenRecord) -> None:
        self._delegation_tokens = self._delegation_tokens.set(record.token_id, record)

    def _remove_delegation_token(self, record: RemoveDelegationTokenRecord) -> None:
        self._delegation_tokens = _existing_removed(self._delegation_tokens, record.token_id, record)


def changed_partition(old: Partition, record: PartitionChangeRecord) -> Partition:
    """Return ``old`` after ``record``. A record that names a leader, even the same one, starts a new leader epoch.

    Raises MetadataError if the record makes no sense for this partition.
    """
    if record.eligible_leader_replicas or record.last_known_elr:
        raise _has_eligible_leaders(record)
    leader_named = record.leader != LEADER_UNCHANGED
    replicas = old.replicas if record.replicas is None else tuple(record.replicas)
    if not replicas:
        raise MetadataError(f"PartitionChangeRecord leaves {_named(record)} without replicas")
    # Directories that the record omits stay, also if other brokers hold the replicas now. Only a cluster below
    # metadata.version 17 omits them when the number of replicas changes.
    directories = old.directories if record.directories is None else record.directories
    recovery_kept = record.leader_recovery_state == RECOVERY_STATE_UNCHANGED
    return shared_partition(
        replicas,
        old.isr if record.isr is None else tuple(record.isr),
        record.leader if leader_named else old.leader,
        old.leader_epoch + leader_named,
        old.partition_epoch + 1,
        _directories(record, replicas, directories),
        old.leader_recovery_state if recovery_kept else record.leader_recovery_state,
        old.removing_replicas if record.removing_replicas is None else tuple(record.removing_replicas),
        old.adding_replicas if record.adding_replicas is None else tuple(record.adding_replicas),
    )


def _directories(record: Any, replicas: tuple[int, ...], directories: Sequence[UUID]) -> tuple[UUID, ...]:
    """The directories of the replicas. The record may leave them out where none of them is known."""
    if len(directories) == len(replicas):
        return tuple(directories)
    if any(directory != DIRECTORY_MIGRATING for directory in directories):
        counts = f"{len(directories)} directories for {len(replicas)} replicas"
        raise MetadataError(f"{type(record).__name__} gives {_named(record)} {counts}")
    return (DIRECTORY_MIGRATING,) * len(replicas)


def _named(record: Any) -> str:
    return f"partition {record.partition_id} of topic {record.topic_id}"


def _has_eligible_leaders(record: Any) -> UnsupportedMetadata:
    what = f"a {type(record).__name__} with eligible leader replicas (KIP-966) of {_named(record)}"
    return UnsupportedMetadata(what, f"{ELIGIBLE_LEADER_REPLICAS} 0")


def replay(
    image: Image, records: Iterable[object], offset: int, epoch: int, timestamp_ms: int
) -> tuple[Image, Changes]:
    """Return the image after ``records``, the last of which is at ``offset``, and its changes."""
    delta = Delta(image)
    for record in records:
        delta.replay(record)
    return delta.finish(offset, epoch, timestamp_ms)


def _without(table: Any, key: Any) -> Any:
    return table.delete(key) if key in table else table


def _existing_removed(table: Any, key: Any, record: object) -> Any:
    if key not in table:
        raise MetadataError(f"{type(record).__name__} removes {key!r}, which does not exist")
    return table.delete(key)


_HANDLERS: dict[type, Callable[[Delta, Any], None]] = {
    RegisterBrokerRecord: Delta._register_broker,
    UnregisterBrokerRecord: Delta._unregister_broker,
    TopicRecord: Delta._topic,
    PartitionRecord: Delta._partition,
    ConfigRecord: Delta._config,
    PartitionChangeRecord: Delta._change_partition,
    FenceBrokerRecord: Delta._fence_broker,
    UnfenceBrokerRecord: Delta._unfence_broker,
    RemoveTopicRecord: Delta._remove_topic,
    DelegationTokenRecord: Delta._delegation_token,
    UserScramCredentialRecord: Delta._scram_credential,
    FeatureLevelRecord: Delta._feature_level,
    ClientQuotaRecord: Delta._client_quota,
    ProducerIdsRecord: Delta._producer_ids,
    BrokerRegistrationChangeRecord: Delta._change_registration,
    AccessControlEntryRecord: Delta._access_control_entry,
    RemoveAccessControlEntryRecord: Delta._remove_access_control_entry,
    NoOpRecord: Delta._no_op,
    ZkMigrationStateRecord: Delta._zk_migration,
    RemoveUserScramCredentialRecord: Delta._remove_scram_credential,
    RemoveDelegationTokenRecord: Delta._remove_delegation_token,
    RegisterControllerRecord: Delta._register_controller,
    ClearElrRecord: Delta._clear_eligible_leaders,
}
