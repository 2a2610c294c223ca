"""The topics that brokers keep for themselves, and the shape of a topic that is created automatically."""

from __future__ import annotations

from kraft.config.broker import NodeConfig
from kraft.controller.topic_name import check_topic_name
from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig
from kraft.wire.errors import KafkaError

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTION_TOPIC})
BROKER_DEFAULT = -1


def is_internal(topic: str) -> bool:
    return topic in INTERNAL_TOPICS


def is_valid_topic_name(name: str) -> bool:
    try:
        check_topic_name(name)
    except KafkaError:
        return False
    return True


def creatable(config: NodeConfig, name: str) -> CreatableTopic:
    """Describe the automatic creation of ``name``: internal topics by their own settings, others by the broker's
    defaults.
    """
    if name != OFFSETS_TOPIC:
        return CreatableTopic(name=name, num_partitions=BROKER_DEFAULT, replication_factor=BROKER_DEFAULT)
    settings = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(config.groups.offsets_topic_segment_bytes),
    }
    return CreatableTopic(
        name=name,
        num_partitions=config.groups.offsets_topic_num_partitions,
        replication_factor=config.groups.offsets_topic_replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in settings.items()],
    )
