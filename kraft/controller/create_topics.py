"""CreateTopics (19): new topics with their configuration and partitions.

v0 to v4 differ only on the wire. v5+ respond with the effective configuration, partition count and replication factor,
v7+ with the topic id. num_partitions and replication_factor of -1 mean the cluster's defaults (KIP-464).
"""

from __future__ import annotations

from typing import Any

from kraft.controller.assignment import new_partition
from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION, Context, Decision
from kraft.controller.creatable_topic import (
    DEFAULT,
    check_counts,
    check_name,
    checked_settings,
    effective_settings,
    manual_assignment,
    refused,
)
from kraft.controller.placement import place
from kraft.controller.topic_name import Collisions
from kraft.messages.config_record import ConfigRecord
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.image import ResourceType
from kraft.metadata.steps import Steps, counted
from kraft.wire.errors import ErrorCode, KafkaError

_COST_OF_TOPIC = 15


def create_topics(context: Context, request: CreateTopicsRequest) -> Steps[Decision]:
    """Create each topic, or refuse it by itself; with ``validate_only`` none is created.

    Raises KafkaError POLICY_VIOLATION for the whole request, if it has too many partitions, also of topics that would
    be refused, or needs too many records (Apache: ``validateTotalNumberOfPartitions``, ``BoundedList``).
    """
    wanted = 0
    for topic in request.topics:
        wanted += _partitions(context, topic)
        yield 1
    if wanted > MAX_RECORDS_PER_USER_OPERATION:
        raise _too_many()
    times = yield from counted(topic.name for topic in request.topics)
    results: list[CreatableTopicResult] = []
    records: list[Any] = []
    collisions = Collisions(context.image.topic_ids)
    for topic in request.topics:
        yield _COST_OF_TOPIC
        count = times.pop(topic.name, 0)
        if count == 0:
            continue
        try:
            if count > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            new_records, result = yield from _create(context, topic, collisions)
        except KafkaError as error:
            results.append(refused(topic.name, error))
            continue
        collisions.add(topic.name)
        records += new_records
        if len(records) > MAX_RECORDS_PER_USER_OPERATION:
            raise _too_many()
        results.append(result)
    if request.validate_only:
        records = []
    return Decision(tuple(records), CreateTopicsResponse(topics=results), is_atomic=True)


def _too_many() -> KafkaError:
    return KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def _partitions(context: Context, topic: CreatableTopic) -> int:
    count = topic.num_partitions if topic.num_partitions != DEFAULT else context.config.num_partitions
    return len(topic.assignments) or max(count, 0)


def _create(
    context: Context, topic: CreatableTopic, collisions: Collisions
) -> Steps[tuple[list[Any], CreatableTopicResult]]:
    """Return the records of one topic, and its part of the response."""
    check_name(topic.name)
    if topic.name in context.image.topic_ids:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    collisions.check(topic.name)
    overrides = yield from checked_settings(topic, context.broker_values())
    check_counts(topic)
    assignment = yield from _assignment(context, topic, _partitions(context, topic))
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
        configs=effective_settings(overrides, context.layers()),
    )
    return records, result


def _assignment(context: Context, topic: CreatableTopic, partitions: int) -> Steps[list[tuple[int, ...]]]:
    """The replicas of partitions 0, 1, 2 and so on."""
    if topic.assignments:
        return (yield from manual_assignment(topic, context.image.brokers))
    replication_factor = topic.replication_factor
    if replication_factor == DEFAULT:
        replication_factor = context.config.default_replication_factor
    return (yield from place(context.image.brokers.values(), partitions, replication_factor, context.random))
