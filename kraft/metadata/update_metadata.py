"""How an image follows UpdateMetadata, the request by which a ZooKeeper-era controller informs the brokers.

The request has all live brokers, and the partitions that changed. It is translated to the records of KIP-631, so that
``replay`` makes every image. The records of an image of this kind have no offsets: its ``offset`` counts requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from kraft.messages.config_record import ConfigRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import BrokerEndpoint as RegisteredEndpoint
from kraft.messages.register_broker_record import RegisterBrokerRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.topic_record import TopicRecord
from kraft.messages.unregister_broker_record import UnregisterBrokerRecord
from kraft.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kraft.metadata.delta import MetadataError
from kraft.metadata.image import Broker, BrokerEndpoint, Image
from kraft.wire.schema import Message
from kraft.wire.uuids import ZERO_UUID

LEADER_DURING_DELETE = -2
"""The leader of all partitions of a topic that is being deleted (``LeaderAndIsr.LeaderDuringDelete``)."""
UNKNOWN_BROKER_EPOCH = -1
"""UpdateMetadata does not name the epochs of the live brokers."""


def records_of(image: Image, request: UpdateMetadataRequest) -> Iterator[Message]:
    """Yield the records that bring ``image`` to the state of ``request``.

    Raises MetadataError if a topic has no id. Controllers before inter.broker.protocol.version 2.8 have none.
    """
    alive = {broker.id for broker in request.live_brokers}
    for broker_id in sorted(image.brokers):
        if broker_id not in alive:
            yield UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=UNKNOWN_BROKER_EPOCH)
    for broker in request.live_brokers:
        if not _is_known(image.brokers.get(broker.id), broker):
            yield _registration(broker)
    ids: dict[str, UUID | None] = {}
    for topic in request.topic_states:
        yield from _topic(image, ids, topic)


def new_topics(image: Image, request: UpdateMetadataRequest) -> list[UpdateMetadataTopicState]:
    """Return the topics that ``image`` does not have, without those that are being deleted."""
    return [
        topic
        for topic in request.topic_states
        if image.topic_ids.get(topic.topic_name) != topic.topic_id and not _is_deleted(topic)
    ]


def config_records(image: Image, resource_type: int, name: str, values: Mapping[str, str]) -> list[ConfigRecord]:
    """Return the records after which a resource has exactly these settings, also if its topic is removed first."""
    removed: dict[str, str | None] = dict.fromkeys(image.config(resource_type, name))
    return [
        ConfigRecord(resource_type=int(resource_type), resource_name=name, name=key, value=value)
        for key, value in sorted({**removed, **values}.items())
    ]


def _endpoints(broker: UpdateMetadataBroker) -> tuple[BrokerEndpoint, ...]:
    return tuple(
        BrokerEndpoint(each.listener, each.host, each.port, each.security_protocol) for each in broker.endpoints
    )


def _is_known(known: Broker | None, broker: UpdateMetadataBroker) -> bool:
    return known is not None and (known.endpoints, known.rack) == (_endpoints(broker), broker.rack)


def _registration(broker: UpdateMetadataBroker) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.id,
        broker_epoch=UNKNOWN_BROKER_EPOCH,
        end_points=[
            RegisteredEndpoint(each.listener, each.host, each.port, each.security_protocol)
            for each in _endpoints(broker)
        ],
        rack=broker.rack,
        fenced=False,
    )


def _is_deleted(topic: UpdateMetadataTopicState) -> bool:
    return any(state.leader == LEADER_DURING_DELETE for state in topic.partition_states)


def _topic(image: Image, ids: dict[str, UUID | None], topic: UpdateMetadataTopicState) -> Iterator[Message]:
    """``ids`` has the ids of topics after the states before this one, None for a removed topic.

    A controller that merges the changes for a slow broker may send a topic and a deleted one of the same name together,
    in any order.
    """
    name = topic.topic_name
    known = ids.get(name, image.topic_ids.get(name))
    if _is_deleted(topic):
        if name in ids and known != topic.topic_id:
            return  # an earlier topic of that name, which is gone
        ids[name] = None
    elif topic.topic_id == ZERO_UUID:
        raise MetadataError(f"UpdateMetadata has no id for the topic {name!r}")
    else:
        ids[name] = topic.topic_id
    if known is not None and known != ids[name]:
        yield RemoveTopicRecord(topic_id=known)
    if ids[name] is None:
        return
    if known != topic.topic_id:
        yield TopicRecord(name, topic.topic_id)
    for state in topic.partition_states:
        yield _partition(topic, state)


def _partition(topic: UpdateMetadataTopicState, state: UpdateMetadataPartitionState) -> PartitionRecord:
    return PartitionRecord(
        partition_id=state.partition_index,
        topic_id=topic.topic_id,
        replicas=state.replicas,
        isr=state.isr,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.zk_version,
    )
