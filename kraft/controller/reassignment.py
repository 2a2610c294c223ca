"""AlterPartitionReassignments (45) and ListPartitionReassignments (46), KIP-455: partitions move to other brokers.

The new replicas are added to the old ones at once. The old ones go when all new ones are in sync
(:mod:`kraft.controller.partition_change`). A reassignment that replaces another drops those that only that one added. A
cancelled reassignment restores the former replicas.

AlterPartitionReassignments v1 can forbid a change of the replication factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kraft.controller.assignment import check_manual
from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION, Context, Decision
from kraft.controller.partition_change import Election, Target, partition_change
from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
)
from kraft.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kraft.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kraft.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import Topic
from kraft.metadata.index import REASSIGNED
from kraft.metadata.partitions import Partition
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

_NO_PARTITION = -1


def alter_partition_reassignments(context: Context, request: AlterPartitionReassignmentsRequest) -> Steps[Decision]:
    """Begin, change or (without replicas) cancel the reassignment of each partition, or refuse it by itself."""
    records: dict[tuple[str, int], PartitionChangeRecord] = {}
    answer: list[ReassignableTopicResponse] = []
    for topic in request.topics:
        yield 1
        results: list[ReassignablePartitionResponse] = []
        for wanted in topic.partitions:
            yield 2
            index = wanted.partition_index
            result = ReassignablePartitionResponse(partition_index=index, error_code=ErrorCode.NONE, error_message=None)
            results.append(result)
            try:
                if (topic.name, index) in records:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition is named more than once.")
                record = _altered(context, topic.name, wanted, request.allow_replication_factor_change)
                if len(records) == MAX_RECORDS_PER_USER_OPERATION:
                    raise KafkaError(ErrorCode.POLICY_VIOLATION, "Too many partitions in one request.")
            except KafkaError as error:
                result.error_code = error.code
                if error.code is not ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:  # this error has no message
                    result.error_message = error.message
                continue
            if record is not None:
                records[topic.name, index] = record
        answer.append(ReassignableTopicResponse(name=topic.name, partitions=results))
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=ErrorCode.NONE,
        error_message=None,
        responses=answer,
    )
    return Decision(tuple(records.values()), response, is_atomic=True)


def _altered(
    context: Context, name: str, wanted: ReassignablePartition, any_factor: bool
) -> PartitionChangeRecord | None:
    topic = context.image.topic(name)
    partition = None if topic is None else topic.partitions.get(wanted.partition_index)
    if topic is None or partition is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {name}-{wanted.partition_index}."
        )
    if wanted.replicas is None:
        return _cancelled(context, topic, wanted.partition_index, partition)
    check_manual(context.image.brokers, wanted.replicas, None)
    original = _original(partition)
    if not any_factor and len(wanted.replicas) != len(_target(partition)):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor would change from {len(_target(partition))} to {len(wanted.replicas)}.",
        )
    kept = {*original, *wanted.replicas}
    if kept.isdisjoint(partition.isr):  # what the former reassignment added has all records, and nothing else has
        kept.update(partition.isr)
    removing = sorted(kept & set(partition.replicas) - set(wanted.replicas))
    target = Target.of(
        partition,
        isr=[replica for replica in partition.isr if replica in kept],
        replicas=[*wanted.replicas, *removing],
        removing=removing,
        adding=sorted(set(wanted.replicas) - set(original)),
    )
    return partition_change(context, topic, wanted.partition_index, target, Election.ONLINE)


def _cancelled(context: Context, topic: Topic, index: int, partition: Partition) -> PartitionChangeRecord | None:
    if not partition.is_reassigned:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    replicas = _original(partition)
    if not replicas:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "There are no replicas to go back to.")
    isr = [replica for replica in partition.isr if replica in replicas]
    if not isr:
        if not context.allows_unclean(topic.name):
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"None of the former replicas of {topic.name}-{index} is in sync, and the topic allows no unclean "
                "leader.",
            )
        isr = [replicas[0]]
    target = Target.of(partition, isr=isr, replicas=replicas, removing=(), adding=())
    return partition_change(context, topic, index, target, Election.CONFIGURED)


def _original(partition: Partition) -> list[int]:
    """The replicas from before the reassignment, if one is under way."""
    return [replica for replica in partition.replicas if replica not in partition.adding_replicas]


def _target(partition: Partition) -> list[int]:
    """The replicas after the reassignment."""
    return [replica for replica in partition.replicas if replica not in partition.removing_replicas]


def list_partition_reassignments(context: Context, request: ListPartitionReassignmentsRequest) -> Steps[Decision]:
    """The reassignments under way, of all topics or of the named partitions."""
    found = _all_reassigned(context) if request.topics is None else _named(context, request.topics)
    topics: dict[str, dict[int, OngoingPartitionReassignment]] = {}
    for name, index, partition in found:
        yield 1
        if partition is None or not partition.is_reassigned:
            continue
        topics.setdefault(name, {})[index] = OngoingPartitionReassignment(
            partition_index=index,
            replicas=list(partition.replicas),
            adding_replicas=list(partition.adding_replicas),
            removing_replicas=list(partition.removing_replicas),
        )
    response = ListPartitionReassignmentsResponse(
        error_code=ErrorCode.NONE,
        error_message=None,
        topics=[OngoingTopicReassignment(name, list(ongoing.values())) for name, ongoing in topics.items()],
    )
    return Decision((), response)


def _all_reassigned(context: Context) -> Iterator[tuple[str, int, Partition | None]]:
    for topic, index, partition in context.image.partitions_of(REASSIGNED):
        yield topic.name, index, partition


def _named(
    context: Context, topics: Iterable[ListPartitionReassignmentsTopics]
) -> Iterator[tuple[str, int, Partition | None]]:
    """Yield what the request names, also what does not exist: a request may name 100,000 topics or partitions."""
    for wanted in topics:
        topic = context.image.topic(wanted.name)
        for index in wanted.partition_indexes or (_NO_PARTITION,):
            yield wanted.name, index, None if topic is None else topic.partitions.get(index)
