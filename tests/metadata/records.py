"""Valid histories of metadata records from Hypothesis: each record fits the records before it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from kraft.messages.access_control_entry_record import AccessControlEntryRecord
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.clear_elr_record import ClearElrRecord
from kraft.messages.client_quota_record import ClientQuotaRecord, EntityData
from kraft.messages.config_record import ConfigRecord
from kraft.messages.delegation_token_record import DelegationTokenRecord
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.fence_broker_record import FenceBrokerRecord
from kraft.messages.no_op_record import NoOpRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.producer_ids_record import ProducerIdsRecord
from kraft.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
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
from kraft.metadata.delta import replay
from kraft.metadata.image import Broker, Image

_small = st.integers(0, 4)
_names = st.sampled_from(["a", "b", "c.d", "e_f"])
_uuids = st.integers(100, 2**128 - 1).map(lambda number: UUID(int=number))
_replicas = st.lists(_small, min_size=1, max_size=3, unique=True)


#: A record that fits any image.
_free_records: st.SearchStrategy[Any] = st.one_of(
    st.builds(FeatureLevelRecord, name=st.sampled_from(["metadata.version", "x"]), feature_level=st.integers(0, 3)),
    st.builds(ZkMigrationStateRecord, zk_migration_state=st.integers(0, 4)),
    st.builds(
        RegisterBrokerRecord,
        broker_id=_small,
        is_migrating_zk_broker=st.booleans(),
        incarnation_id=_uuids,
        broker_epoch=st.integers(0, 3),
        end_points=st.lists(st.builds(BrokerEndpoint, name=_names, host=_names, port=_small), max_size=2),
        features=st.lists(
            st.builds(BrokerFeature, name=_names, max_supported_version=_small),
            max_size=2,
            unique_by=lambda f: f.name,
        ),
        rack=st.none() | _names,
        fenced=st.booleans(),
        in_controlled_shutdown=st.booleans(),
        log_dirs=st.lists(_uuids, max_size=2),
        cordoned_log_dirs=st.none() | st.lists(_uuids, max_size=2, unique=True),
    ),
    st.builds(RegisterControllerRecord, controller_id=_small, incarnation_id=_uuids, zk_migration_ready=st.booleans()),
    st.builds(
        ConfigRecord,
        resource_type=st.sampled_from([2, 4]),
        resource_name=_names,
        name=_names,
        value=st.none() | _names,
    ),
    st.builds(
        ClientQuotaRecord,
        entity=st.lists(
            st.builds(EntityData, entity_type=_names, entity_name=st.none() | _names | st.just("")),
            min_size=1,
            max_size=2,
            unique_by=lambda e: e.entity_type,
        ),
        key=_names,
        value=st.floats(0, 10),
        remove=st.booleans(),
    ),
    st.builds(AccessControlEntryRecord, id=_uuids, resource_name=_names, principal=_names),
    st.builds(UserScramCredentialRecord, name=_names, mechanism=st.integers(1, 2), salt=st.binary(max_size=4)),
    st.builds(DelegationTokenRecord, token_id=_names, owner=_names, max_timestamp=_small),
    st.builds(NoOpRecord),
    st.builds(ClearElrRecord),
)


@st.composite
def bound_records(draw: st.DrawFn, image: Image) -> Any:
    """A record that refers to something in ``image``, or adds to it without contradiction."""
    # Strategies are made when drawn: a one_of validates all of its elements, which takes a minute if there are many.
    options: list[Callable[[], st.SearchStrategy[Any]]] = [
        lambda: st.builds(
            ProducerIdsRecord, next_producer_id=st.integers(image.next_producer_id, image.next_producer_id + 5)
        )
    ]
    if free_names := sorted({"a", "b", "c.d", "e_f"} - set(image.topic_ids)):
        new_ids = _uuids.filter(lambda topic_id: topic_id not in image.topics)
        options.append(lambda: st.builds(TopicRecord, name=st.sampled_from(free_names), topic_id=new_ids))
    for broker in image.brokers.values():
        options += [
            partial(st.just, UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch)),
            partial(st.just, FenceBrokerRecord(id=broker.id, epoch=broker.epoch)),
            partial(st.just, UnfenceBrokerRecord(id=broker.id, epoch=broker.epoch)),
            partial(_broker_changes, broker),
        ]
    for topic in image.topics.values():
        options.append(partial(st.just, RemoveTopicRecord(topic_id=topic.id)))
        options.append(partial(_partition_records, topic.id))
        options.append(partial(st.just, ClearElrRecord(topic_name=topic.name)))
        options += [partial(_partition_changes, topic.id, index) for index in topic.partitions]
    options += [partial(st.just, RemoveAccessControlEntryRecord(id=id)) for id in image.acls]
    options += [
        partial(st.just, RemoveUserScramCredentialRecord(name=name, mechanism=mechanism))
        for name, mechanism in image.scram_credentials
    ]
    options += [partial(st.just, RemoveDelegationTokenRecord(token_id=token)) for token in image.delegation_tokens]
    return draw(options[draw(st.integers(0, len(options) - 1))]())


def _broker_changes(broker: Broker) -> st.SearchStrategy[BrokerRegistrationChangeRecord]:
    return st.builds(
        BrokerRegistrationChangeRecord,
        broker_id=st.just(broker.id),
        broker_epoch=st.just(broker.epoch),
        fenced=st.sampled_from([-1, 0, 1]),
        in_controlled_shutdown=st.sampled_from([0, 1]),
        log_dirs=st.lists(_uuids, max_size=1),
        cordoned_log_dirs=st.none() | st.lists(_uuids, max_size=1),
    )


@st.composite
def _partition_records(draw: st.DrawFn, topic_id: UUID) -> PartitionRecord:
    replicas = draw(_replicas)
    return PartitionRecord(
        partition_id=draw(_small),
        topic_id=topic_id,
        replicas=replicas,
        isr=replicas,
        removing_replicas=draw(st.lists(_small, max_size=1)),
        adding_replicas=draw(st.lists(_small, max_size=1)),
        leader=replicas[0],
        leader_recovery_state=draw(st.integers(0, 1)),
        leader_epoch=draw(_small),
        partition_epoch=draw(_small),
        directories=draw(st.lists(_uuids, min_size=len(replicas), max_size=len(replicas))),
    )


@st.composite
def _partition_changes(draw: st.DrawFn, topic_id: UUID, index: int) -> PartitionChangeRecord:
    replicas = draw(st.none() | _replicas)
    directories = None if replicas is None else draw(st.lists(_uuids, min_size=len(replicas), max_size=len(replicas)))
    return PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        isr=draw(st.none() | _replicas),
        leader=draw(st.integers(-2, 4)),
        replicas=replicas,
        removing_replicas=draw(st.none() | st.lists(_small, max_size=1)),
        adding_replicas=draw(st.none() | st.lists(_small, max_size=1)),
        leader_recovery_state=draw(st.integers(-1, 1)),
        directories=directories,
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Any]:
    """A list of records, each of which fits the image of those before it."""
    image = Image()
    records: list[Any] = []
    for _ in range(draw(st.integers(0, 15))):
        record = draw(_free_records if draw(st.booleans()) else bound_records(image))
        records.append(record)
        image, _ = replay(image, [record], len(records) - 1, 0, 0)
    return records
