"""ElectLeaders (43, KIP-183, KIP-460): elect preferred leaders, or out-of-sync ones where nobody else can lead.

v0 knows preferred leaders only, and has no error code for the whole request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from uuid import UUID

from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION, Context, Decision
from kraft.controller.partition_change import Election, Target, partition_change
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.elect_leaders_response import ElectLeadersResponse, PartitionResult, ReplicaElectionResult
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.index import LEADERLESS, NOT_PREFERRED, partitions_in
from kraft.metadata.partitions import NO_LEADER
from kraft.metadata.steps import Steps, in_order
from kraft.wire.errors import ErrorCode, KafkaError


class ElectionType(IntEnum):
    """The type of an election, as the request numbers it."""

    PREFERRED = 0
    UNCLEAN = 1


def elect_leaders(context: Context, request: ElectLeadersRequest) -> Steps[Decision]:
    """Elect leaders for the named partitions or for all. For all, the response lists only partitions that needed an
    election.
    """
    if request.topic_partitions is not None and not request.topic_partitions:
        return Decision((), ElectLeadersResponse(error_code=ErrorCode.NONE))
    refusal = None
    if request.election_type not in (ElectionType.PREFERRED, ElectionType.UNCLEAN):
        refusal = KafkaError(ErrorCode.INVALID_REQUEST, f"There is no election type {request.election_type}.")
    records: list[PartitionChangeRecord] = []
    results: list[ReplicaElectionResult] = []
    wanted = yield from _wanted(context, request)
    done: dict[tuple[str, int], PartitionResult] = {}
    for name, indexes in wanted:
        yield 1
        topic = ReplicaElectionResult(topic=name)
        results.append(topic)
        for index in indexes:
            yield 1
            result = done.get((name, index))
            if result is not None:  # named again: it has one election, and a result each time
                topic.partition_result.append(result)
                continue
            result = PartitionResult(partition_id=index, error_code=ErrorCode.NONE, error_message=None)
            done[name, index] = result
            topic.partition_result.append(result)
            if refusal is not None:
                result.error_code, result.error_message = refusal.code, refusal.message
                continue
            try:
                if len(records) == MAX_RECORDS_PER_USER_OPERATION:
                    raise KafkaError(ErrorCode.POLICY_VIOLATION, "Too many partitions in one request.")
                records.append(_elect(context, ElectionType(request.election_type), name, index))
            except KafkaError as error:
                result.error_code, result.error_message = error.code, error.message
    code = ErrorCode.NONE if refusal is None else refusal.code
    return Decision(tuple(records), ElectLeadersResponse(error_code=code, replica_election_results=results))


def _wanted(context: Context, request: ElectLeadersRequest) -> Steps[Iterable[tuple[str, Iterable[int]]]]:
    """The topics and partitions to elect for. For all: every topic, with its partitions that lack the wanted leader."""
    if request.topic_partitions is not None:
        return ((named.topic, named.partitions) for named in request.topic_partitions)
    if request.election_type not in (ElectionType.PREFERRED, ElectionType.UNCLEAN):
        return ()
    key = NOT_PREFERRED if request.election_type == ElectionType.PREFERRED else LEADERLESS
    masks: Mapping[UUID, int] = context.image.index.get(key, {})
    topics = yield from in_order(context.image.topic_ids.items())
    return ((name, partitions_in(masks.get(topic_id, 0))) for name, topic_id in topics)


def _elect(context: Context, kind: ElectionType, name: str, index: int) -> PartitionChangeRecord:
    topic = context.image.topic(name)
    partition = None if topic is None else topic.partitions.get(index)
    if topic is None or partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}, or no such partition.")
    preferred = kind is ElectionType.PREFERRED
    if partition.has_preferred_leader if preferred else partition.leader != NO_LEADER:
        raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED)
    election = Election.PREFERRED if preferred else Election.UNCLEAN
    record = partition_change(context, topic, index, Target.of(partition), election)
    if record is None:
        raise KafkaError(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        )
    return record
