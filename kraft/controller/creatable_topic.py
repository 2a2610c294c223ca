"""One topic of a CreateTopics request: its checks and its settings, with a quorum and with ZooKeeper."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from kraft.config.describe import ConfigSource, Layer
from kraft.config.setting import ConfigError, to_text
from kraft.config.topic import TOPIC_CONFIGS, in_topic_units, validate_topic_configs
from kraft.controller.assignment import check_manual
from kraft.controller.topic_name import check_topic_name
from kraft.messages.create_topics_request import CreatableTopic
from kraft.messages.create_topics_response import CreatableTopicConfigs, CreatableTopicResult
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC

DEFAULT = -1
"""Instead of a number of partitions or a replication factor: that of the cluster (KIP-464)."""
_SETTINGS_AT_ONCE = 50


def refused(name: str, error: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name, error_code=error.code, error_message=error.message, topic_config_error_code=ErrorCode.NONE
    )


def check_name(name: str) -> None:
    """Raise KafkaError INVALID_REQUEST or INVALID_TOPIC_EXCEPTION if no client may create a topic with this name."""
    if name == CLUSTER_METADATA_TOPIC:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited."
        )
    check_topic_name(name)


def checked_settings(topic: CreatableTopic, broker_values: Mapping[str, str]) -> Steps[dict[str, str]]:
    """The topic's own configuration; the last value of a repeated key counts. Raises KafkaError INVALID_CONFIG."""
    overrides: dict[str, str] = {}
    for number, config in enumerate(topic.configs, 1):
        if not number % _SETTINGS_AT_ONCE:
            yield 1
        if config.value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {config.name}")
        overrides[config.name] = config.value
    try:
        validate_topic_configs(overrides, broker_values)
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
    return overrides


def check_counts(topic: CreatableTopic) -> None:
    """Check the number of partitions and the replication factor, or that both are unset beside assignments.

    Raises KafkaError INVALID_REQUEST, INVALID_PARTITIONS or INVALID_REPLICATION_FACTOR.
    """
    if topic.assignments:
        if topic.replication_factor != DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "A manual partition assignment was specified, but replication factor was not set to -1.",
            )
        if topic.num_partitions != DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "A manual partition assignment was specified, but numPartitions was not set to -1.",
            )
        return
    if topic.replication_factor == 0 or topic.replication_factor < DEFAULT:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions == 0 or topic.num_partitions < DEFAULT:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0, or -1 to use the default value."
        )


def manual_assignment(topic: CreatableTopic, brokers: Container[int]) -> Steps[list[tuple[int, ...]]]:
    """The replicas that the request assigns to partitions 0, 1, 2 and so on.

    Raises KafkaError INVALID_REPLICA_ASSIGNMENT unless they are ``brokers``, and as many for each partition.
    """
    manual: dict[int, tuple[int, ...]] = {}
    replicas_each: int | None = None
    for assigned in topic.assignments:
        yield 1
        index = assigned.partition_index
        if index in manual:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {index}",
            )
        check_manual(brokers, assigned.broker_ids, replicas_each)
        replicas_each = len(assigned.broker_ids)
        manual[index] = tuple(assigned.broker_ids)
    if sorted(manual) != list(range(len(manual))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    return [replicas for _, replicas in sorted(manual.items())]


def effective_settings(overrides: Mapping[str, str], layers: Sequence[Layer]) -> list[CreatableTopicConfigs]:
    """Every setting of a topic: its own, else that of the strongest layer of broker settings, else the default."""
    configs = []
    for name, key in sorted(TOPIC_CONFIGS.items()):
        value, source = to_text(key.default), ConfigSource.DEFAULT_CONFIG
        if name in overrides:
            value, source = overrides[name], ConfigSource.DYNAMIC_TOPIC_CONFIG
        else:
            found = next(((s, v, n) for n, v in layers for s in key.synonyms if s.name in v), None)
            if found is not None:
                synonym, values, source = found
                value = in_topic_units(synonym, values[synonym.name])
        configs.append(
            CreatableTopicConfigs(
                name=name, value=value, read_only=False, config_source=source, is_sensitive=key.sensitive
            )
        )
    return configs
