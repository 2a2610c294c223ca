"""CreateTopics (19): new topics with their configuration and partitions.

v0 to v4 differ only on the wire. v5+ respond with the effective configuration, partition count and replication factor,
v7+ with the topic id. num_partitions and replication_factor of -1 mean the cluster's defaults (KIP-464).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraft.config.setting import ConfigError, to_text
from kraft.config.topic import TOPIC_CONFIGS, in_topic_units, validate_topic_configs
from kraft.controller.assignment import check_manual, new_partition
from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION, Context, Decision
from kraft.controller.placement import place
from kraft.controller.topic_name import Collisions, check_topic_name
from kraft.messages.config_record import ConfigRecord
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicConfigs, CreatableTopicResult, CreateTopicsResponse
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.image import ResourceType
from kraft.metadata.steps import Steps, counted
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC

_DEFAULT = -1
_COST_OF_TOPIC = 15
_SETTINGS_AT_ONCE = 50
# The source of a value, as DescribeConfigs numbers it.
_TOPIC_CONFIG, _DYNAMIC_DEFAULT_BROKER_CONFIG, _STATIC_BROKER_CONFIG, _DEFAULT_CONFIG = 1, 3, 4, 5


def create_topics(context: Context, request: CreateTopicsRequest) -> Steps[Decision]:
    """Create each topic, or refuse it by itself; with ``validate_only`` none is created."""
    times = yield from counted(topic.name for topic in request.topics)
    results: list[CreatableTopicResult] = []
    records: list[Any] = []
    collisions = Collisions(context.image)
    for topic in request.topics:
        yield _COST_OF_TOPIC
        count = times.pop(topic.name, 0)
        if count == 0:
            continue
        try:
            if count > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            room = MAX_RECORDS_PER_USER_OPERATION - len(records)
            new_records, result = yield from _create(context, topic, collisions, room)
        except KafkaError as error:
            results.append(
                CreatableTopicResult(
                    name=topic.name,
                    error_code=error.code,
                    error_message=error.message,
                    topic_config_error_code=ErrorCode.NONE,
                )
            )
            continue
        collisions.add(topic.name)
        records += new_records
        results.append(result)
    if request.validate_only:
        records = []
    return Decision(tuple(records), CreateTopicsResponse(topics=results))


def _create(
    context: Context, topic: CreatableTopic, collisions: Collisions, room: int
) -> Steps[tuple[list[Any], CreatableTopicResult]]:
    """Return the records of one topic, at most ``room`` of them, and its part of the response."""
    if topic.name == CLUSTER_METADATA_TOPIC:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited."
        )
    check_topic_name(topic.name)
    if topic.name in context.image.topic_ids:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    collisions.check(topic.name)
    overrides = yield from _overrides(context, topic)
    _check_counts(topic)
    partitions = topic.num_partitions if topic.num_partitions != _DEFAULT else context.config.num_partitions
    partitions = len(topic.assignments) or partitions
    if 1 + len(overrides) + partitions > room:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    assignment = yield from _assignment(context, topic, partitions)
    topic_id = context.new_uuid()
    records: list[Any] = [TopicRecord(name=topic.name, topic_id=topic_id)]
    for name, value in overrides.items():
        records.append(ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=topic.name, name=name, value=value))
    for index, replicas in enumerate(assignment):
        records.append(new_partition(context, topic_id, index, replicas))
        yield 1
    result = CreatableTopicResult(
        name=topic.name,
        topic_id=topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(assignment),
        replication_factor=len(assignment[0]),
        configs=_effective_configs(context, overrides),
    )
    return records, result


def _overrides(context: Context, topic: CreatableTopic) -> Steps[dict[str, str]]:
    """The topic's own configuration; the last value of a repeated key counts. Raises KafkaError INVALID_CONFIG."""
    overrides: dict[str, str] = {}
    for number, config in enumerate(topic.configs, 1):
        if not number % _SETTINGS_AT_ONCE:
            yield 1
        if config.value is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {config.name}")
        overrides[config.name] = config.value
    try:
        validate_topic_configs(overrides, context.broker_values())
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None
    return overrides


def _check_counts(topic: CreatableTopic) -> None:
    if topic.assignments:
        if topic.replication_factor != _DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "A manual partition assignment was specified, but replication factor was not set to -1.",
            )
        if topic.num_partitions != _DEFAULT:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST,
                "A manual partition assignment was specified, but numPartitions was not set to -1.",
            )
        return
    if topic.replication_factor == 0 or topic.replication_factor < _DEFAULT:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if topic.num_partitions == 0 or topic.num_partitions < _DEFAULT:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0, or -1 to use the default value."
        )


def _assignment(context: Context, topic: CreatableTopic, partitions: int) -> Steps[list[tuple[int, ...]]]:
    """The replicas of partitions 0, 1, 2 and so on."""
    if not topic.assignments:
        replication_factor = topic.replication_factor
        if replication_factor == _DEFAULT:
            replication_factor = context.config.default_replication_factor
        brokers = context.image.brokers.values()
        return (yield from place(brokers, partitions, replication_factor, context.random))
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
        check_manual(context.image, assigned.broker_ids, replicas_each)
        replicas_each = len(assigned.broker_ids)
        manual[index] = tuple(assigned.broker_ids)
    if sorted(manual) != list(range(len(manual))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    return [replicas for _, replicas in sorted(manual.items())]


def _effective_configs(context: Context, overrides: Mapping[str, str]) -> list[CreatableTopicConfigs]:
    cluster_wide = context.image.config(ResourceType.BROKER, "")
    configs = []
    for name, key in sorted(TOPIC_CONFIGS.items()):
        value, source = to_text(key.default), _DEFAULT_CONFIG
        layers = (cluster_wide, _DYNAMIC_DEFAULT_BROKER_CONFIG), (context.config.static_values, _STATIC_BROKER_CONFIG)
        if name in overrides:
            value, source = overrides[name], _TOPIC_CONFIG
        else:
            found = next(((s, v, n) for v, n in layers for s in key.synonyms if s.name in v), None)
            if found is not None:
                synonym, values, source = found
                value = in_topic_units(synonym, values[synonym.name])
        configs.append(
            CreatableTopicConfigs(
                name=name, value=value, read_only=False, config_source=source, is_sensitive=key.sensitive
            )
        )
    return configs
