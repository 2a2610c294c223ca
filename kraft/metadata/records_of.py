"""The fewest records that describe an image, as a snapshot has them (KIP-630).

``replay(Image(), records_of(image))`` is ``image`` again, without its offset, epoch and time. The order is the same in
every process: a record comes after those that it refers to, and equal kinds are sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from kraft.config.features import METADATA_VERSION
from kraft.messages.client_quota_record import ClientQuotaRecord, EntityData
from kraft.messages.config_record import ConfigRecord
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.producer_ids_record import ProducerIdsRecord
from kraft.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from kraft.messages.topic_record import TopicRecord
from kraft.messages.zk_migration_state_record import ZkMigrationStateRecord
from kraft.metadata.image import DIRECTORY_MIGRATING, Broker, Image, Topic
from kraft.metadata.levels import MIGRATION_STATE
from kraft.metadata.partitions import Partition


def records_of(image: Image) -> Iterator[object]:
    """Yield the records of a snapshot of ``image``. metadata.version is the first."""
    for name in sorted(image.features, key=lambda name: (name != METADATA_VERSION, name)):
        yield FeatureLevelRecord(name=name, feature_level=image.features[name])
    if image.metadata_version >= MIGRATION_STATE or image.zk_migration_state:
        yield ZkMigrationStateRecord(zk_migration_state=image.zk_migration_state)
    for _, broker in sorted(image.brokers.items()):
        yield broker_record(broker)
    for _, controller in sorted(image.controllers.items()):
        yield controller
    for _, topic_id in sorted(image.topic_ids.items()):
        yield from _topic_records(image.topics[topic_id])
    for (resource_type, resource_name), values in sorted(image.configs.items()):
        for name, value in sorted(values.items()):
            yield ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)
    yield from _quota_records(image)
    if image.next_producer_id:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id)
    for table in (image.acls, image.scram_credentials, image.delegation_tokens):
        for _, record in sorted(table.items()):
            yield record


def broker_record(broker: Broker) -> RegisterBrokerRecord:
    """Return the registration record of ``broker`` in its present state."""
    return RegisterBrokerRecord(
        broker_id=broker.id,
        is_migrating_zk_broker=broker.is_migrating_zk_broker,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=[
            BrokerEndpoint(name=e.listener, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in broker.endpoints
        ],
        features=[
            BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in sorted(broker.features.items())
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_dirs),
        cordoned_log_dirs=None if broker.cordoned_log_dirs is None else list(broker.cordoned_log_dirs),
    )


def partition_record(topic_id: UUID, index: int, partition: Partition) -> PartitionRecord:
    """Return the record of ``partition`` in its present state, without directories that nobody knows."""
    known = any(directory != DIRECTORY_MIGRATING for directory in partition.directories)
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas),
        adding_replicas=list(partition.adding_replicas),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories) if known else [],
    )


def _topic_records(topic: Topic) -> Iterator[object]:
    yield TopicRecord(name=topic.name, topic_id=topic.id)
    for index, partition in topic.partitions.items():
        yield partition_record(topic.id, index, partition)


def _quota_records(image: Image) -> Iterator[ClientQuotaRecord]:
    # None (the default entity) does not compare with names: put it first.
    order = [
        (tuple((kind, name is not None, name or "") for kind, name in entity), entity) for entity in image.client_quotas
    ]
    for _, entity in sorted(order):
        for key, value in sorted(image.client_quotas[entity].items()):
            data = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
            yield ClientQuotaRecord(entity=data, key=key, value=value)
