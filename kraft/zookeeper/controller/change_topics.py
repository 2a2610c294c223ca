"""DeleteTopics and CreatePartitions: requests that change existing topics in ZooKeeper (Kafka's ZkAdminManager).

A deletion is written to /admin/delete_topics, as a tool writes it, and the watch of that znode begins it.
"""

from __future__ import annotations

from collections import Counter

from kraft.controller.assignment import check_manual
from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION
from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import ZERO_UUID
from kraft.zookeeper.controller.active import MAX_ATTEMPTS, ActiveController
from kraft.zookeeper.controller.cluster import LegacyTopic
from kraft.zookeeper.controller.effects import Steps
from kraft.zookeeper.controller.placement import place
from kraft.zookeeper.controller.topics import add_partitions, fits, topic_changed
from kraft.zookeeper.operations import Create, Failure
from kraft.zookeeper.znodes.admin import delete_topic_path
from kraft.zookeeper.znodes.topics import ReplicaAssignment

_DELETION_DISABLED_FROM = 3  # DeleteTopics v3 has an error code of its own for a disabled deletion


def delete_topics(active: ActiveController, request: DeleteTopicsRequest, version: int) -> Steps[DeleteTopicsResponse]:
    """Ask for the deletion of each topic, or refuse it by itself. A topic that is being deleted is no error."""
    named = _named(request)
    if not active.config.deletes_topics:
        supported = version >= _DELETION_DISABLED_FROM
        return _refused(named, ErrorCode.TOPIC_DELETION_DISABLED if supported else ErrorCode.INVALID_REQUEST)
    if any(each.name is not None and each.topic_id != ZERO_UUID for each in named):
        return _refused(named, ErrorCode.INVALID_REQUEST, "Topic name and topic ID can not both be specified.")
    results = [_found(active, each) for each in named]
    wanted = dict.fromkeys(each.name for each in results if each.error_code == ErrorCode.NONE)
    outcomes = yield from active.write([Create(delete_topic_path(name)) for name in wanted if name is not None])
    failed = {
        name
        for name, outcome in zip(wanted, outcomes, strict=True)
        if isinstance(outcome, Failure) and outcome is not Failure.NODE_EXISTS
    }
    for result in results:
        if result.error_code == ErrorCode.NONE and result.name in failed:
            result.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
    return DeleteTopicsResponse(responses=results)


def deletion_error(request: DeleteTopicsRequest, version: int, code: ErrorCode) -> DeleteTopicsResponse:
    return _refused(_named(request), code)


def create_partitions(
    active: ActiveController, request: CreatePartitionsRequest, version: int
) -> Steps[CreatePartitionsResponse]:
    """Grow each topic to ``count`` partitions, or refuse it by itself; with ``validate_only`` none grows."""
    times = Counter(topic.name for topic in request.topics)
    room = MAX_RECORDS_PER_USER_OPERATION
    results: dict[str, CreatePartitionsTopicResult] = {}
    for topic in request.topics:
        result = CreatePartitionsTopicResult(name=topic.name, error_code=ErrorCode.NONE, error_message=None)
        results[topic.name] = result
        try:
            if times[topic.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")
            room -= yield from _grow(active, topic, room, validates_only=request.validate_only)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
    return CreatePartitionsResponse(results=list(results.values()))


def growth_error(request: CreatePartitionsRequest, version: int, code: ErrorCode) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=name, error_code=code, error_message=None)
            for name in dict.fromkeys(topic.name for topic in request.topics)
        ]
    )


def _named(request: DeleteTopicsRequest) -> list[DeleteTopicState]:
    return request.topics or [DeleteTopicState(name=name) for name in request.topic_names]


def _refused(named: list[DeleteTopicState], code: ErrorCode, text: str | None = None) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[DeletableTopicResult(each.name, each.topic_id, code, text) for each in named],
    )


def _found(active: ActiveController, topic: DeleteTopicState) -> DeletableTopicResult:
    result = DeletableTopicResult(topic.name, topic.topic_id, ErrorCode.NONE, None)
    if topic.topic_id != ZERO_UUID:
        result.name = active.cluster.names.get(topic.topic_id)
        if result.name is None:
            result.error_code = ErrorCode.UNKNOWN_TOPIC_ID
    elif topic.name is None:
        result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified."
    elif topic.name not in active.cluster.topics:
        result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return result


def _grow(active: ActiveController, wanted: CreatePartitionsTopic, room: int, *, validates_only: bool) -> Steps[int]:
    """Add the partitions, at most ``room`` of them, and return their number. Raises KafkaError."""
    for _ in range(MAX_ATTEMPTS):
        topic = active.cluster.topics.get(wanted.name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{wanted.name}' does not exist.")
        if wanted.name in active.cluster.deletions:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion.")
        added = _additional(active, topic, wanted, room)
        if not fits(topic.topic_id, {**topic.partitions, **added}):
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "The topic is larger than ZooKeeper accepts.")
        if validates_only or (yield from add_partitions(active, wanted.name, added)):
            return len(added)
        yield from topic_changed(active, wanted.name)  # Another process has changed it at the same time.
    raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _additional(
    active: ActiveController, topic: LegacyTopic, wanted: CreatePartitionsTopic, room: int
) -> dict[int, ReplicaAssignment]:
    """The assignments of the new partitions. Raises KafkaError."""
    if any(each.is_reassigned for each in topic.partitions.values()):
        raise KafkaError(
            ErrorCode.REASSIGNMENT_IN_PROGRESS,
            f"A partition reassignment is in progress for the topic '{wanted.name}'.",
        )
    existing, count = len(topic.partitions), wanted.count
    if count < existing:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic currently has {existing} partitions, which is higher than the requested {count}.",
        )
    if count == existing:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {existing} partitions.")
    if count - existing > room:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    if 0 not in topic.partitions or not topic.partitions[0].replicas:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The topic has no partition 0, or that one has no replicas.")
    first, racks = topic.partitions[0].replicas, active.cluster.racks()
    if wanted.assignments is None:
        start = next((number for number, each in enumerate(sorted(racks)) if each >= first[0]), 0)
        placed = place(racks, range(existing, count), len(first), start, start)
    else:
        if len(wanted.assignments) != count - existing:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Increasing the number of partitions by {count - existing} but {len(wanted.assignments)} assignments "
                "provided.",
            )
        for assigned in wanted.assignments:
            check_manual(racks, assigned.broker_ids, len(first))
        placed = {index: tuple(each.broker_ids) for index, each in enumerate(wanted.assignments, existing)}
    return {index: ReplicaAssignment(replicas) for index, replicas in placed.items()}
