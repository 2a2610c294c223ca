"""DeleteTopics (20) and CreatePartitions (37)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from kraft.controller.assignment import check_manual, new_partition
from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION, Context, Decision
from kraft.controller.placement import place
from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from kraft.messages.delete_topics_request import DeleteTopicsRequest
from kraft.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.metadata.steps import Steps, counted
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import ZERO_UUID

_DELETION_DISABLED_FROM = 3  # DeleteTopics v3 has an error code of its own for a disabled deletion
_NAMES_BELOW = 6  # DeleteTopics v6 names topics by name or by id


def delete_topics(context: Context, request: DeleteTopicsRequest) -> Steps[Decision]:
    """Remove each topic with its configuration, or refuse it by itself.

    A name or an id that is given twice is refused once, and so is a topic that is given by its name and by its id. An
    entry with both or with neither is refused each time.
    """
    if not context.config.delete_topic_enable:
        supported = context.version >= _DELETION_DISABLED_FROM
        raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED if supported else ErrorCode.INVALID_REQUEST)
    times = yield from counted(_wanted(context, request))
    results: list[DeletableTopicResult] = []
    records: list[Any] = []
    for (name, topic_id), count in times.items():
        yield 1
        result = DeletableTopicResult(name=name, topic_id=topic_id)
        try:
            found = _topic_to_delete(context, name, topic_id, count)
            topic = context.image.topics[found]
            result.name, result.topic_id = topic.name, found
            if name is None and times[topic.name, ZERO_UUID] == 1:
                continue
            if name is not None and (None, found) in times:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The topic is given by its id, too.")
            if len(records) == MAX_RECORDS_PER_USER_OPERATION:
                raise KafkaError(ErrorCode.POLICY_VIOLATION, "Too many topics in one request.")
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        else:
            records.append(RemoveTopicRecord(topic_id=found))
        has_one = (name is None) != (topic_id == ZERO_UUID)
        results += [result] if has_one else [result] * count
    return Decision(tuple(records), DeleteTopicsResponse(responses=results), is_atomic=True)


def _wanted(context: Context, request: DeleteTopicsRequest) -> Iterator[tuple[str | None, UUID]]:
    if context.version < _NAMES_BELOW:
        yield from ((name, ZERO_UUID) for name in request.topic_names)
    else:
        yield from ((topic.name, topic.topic_id) for topic in request.topics)


def _topic_to_delete(context: Context, name: str | None, topic_id: UUID, times: int) -> UUID:
    if name is None and topic_id == ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if name is not None and topic_id != ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if times > 1:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The topic is given more than once.")
    found = topic_id if name is None else context.image.topic_ids.get(name)
    if found is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if found not in context.image.topics:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    return found


def create_partitions(context: Context, request: CreatePartitionsRequest) -> Steps[Decision]:
    """Grow each topic to ``count`` partitions, or refuse it by itself; with ``validate_only`` none grows."""
    times = yield from counted(topic.name for topic in request.topics)
    results: list[CreatePartitionsTopicResult] = []
    records: list[Any] = []
    for topic in request.topics:
        yield 1
        count = times.pop(topic.name, 0)
        if count == 0:
            continue
        result = CreatePartitionsTopicResult(name=topic.name, error_code=ErrorCode.NONE, error_message=None)
        results.append(result)
        try:
            if count > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            records += yield from _new_partitions(context, topic, MAX_RECORDS_PER_USER_OPERATION - len(records))
        except KafkaError as error:
            result.error_code = error.code
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # this error has no message
                result.error_message = error.message
    if request.validate_only:
        records = []
    return Decision(tuple(records), CreatePartitionsResponse(results=results), is_atomic=True)


def _new_partitions(context: Context, request: CreatePartitionsTopic, room: int) -> Steps[list[Any]]:
    topic = context.image.topic(request.name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    existing = len(topic.partitions)
    if request.count == existing:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {existing} partition(s).")
    if request.count < existing:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {existing} partition(s); {request.count} would not be an increase.",
        )
    additional = request.count - existing
    if additional > room:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    replication_factor = len(topic.partitions[min(topic.partitions)].replicas)
    if request.assignments is None:
        brokers = context.image.brokers.values()
        placed = yield from place(brokers, additional, replication_factor, context.random)
    else:
        if len(request.assignments) != additional:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {additional} additional partition(s), but only "
                f"{len(request.assignments)} assignment(s) were specified.",
            )
        for assigned in request.assignments:
            yield 1
            check_manual(context.image.brokers, assigned.broker_ids, replication_factor)
        placed = [tuple(assigned.broker_ids) for assigned in request.assignments]
    records = []
    for index, replicas in enumerate(placed, existing):
        records.append(new_partition(context, topic.id, index, replicas))
        yield 1
    return records
