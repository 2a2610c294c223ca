"""ElectLeaders (43, KIP-183, KIP-460): go back to preferred leaders, or lead from out of sync where no one else can."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION, Context, Decision
from kraft.controller.elections import Election, is_active, partition_change
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.elect_leaders_response import ElectLeadersResponse, PartitionResult, ReplicaElectionResult
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import NO_LEADER
from kraft.wire.errors import ErrorCode, KafkaError


class ElectionType(IntEnum):
    """What the request asks for, as it numbers it."""

    PREFERRED = 0
    UNCLEAN = 1


def elect_leaders(context: Context, request: ElectLeadersRequest) -> Decision:
    """Elect for the partitions named, or for all: then only those where something happened are in the answer."""
    if request.election_type not in (ElectionType.PREFERRED, ElectionType.UNCLEAN):
        return Decision((), ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST))
    kind = ElectionType(request.election_type)
    everything = request.topic_partitions is None
    records: list[PartitionChangeRecord] = []
    results: dict[str, list[PartitionResult]] = {}
    for name, index in _wanted(context, request):
        result = PartitionResult(partition_id=index, error_code=ErrorCode.NONE, error_message=None)
        try:
            if len(records) == MAX_RECORDS_PER_USER_OPERATION:
                raise KafkaError(ErrorCode.POLICY_VIOLATION, "Too many partitions in one request.")
            records.append(_elect(context, kind, name, index))
        except KafkaError as error:
            if everything and error.code is ErrorCode.ELECTION_NOT_NEEDED:
                continue
            result.error_code, result.error_message = error.code, error.message
        results.setdefault(name, []).append(result)
    answer = [ReplicaElectionResult(topic=name, partition_result=partitions) for name, partitions in results.items()]
    return Decision(tuple(records), ElectLeadersResponse(error_code=ErrorCode.NONE, replica_election_results=answer))


def _wanted(context: Context, request: ElectLeadersRequest) -> Iterator[tuple[str, int]]:
    if request.topic_partitions is None:
        for topic, index, _ in context.image.partitions():
            yield topic.name, index
    else:
        named = ((topic.topic, index) for topic in request.topic_partitions for index in topic.partitions)
        yield from dict.fromkeys(named)


def _elect(context: Context, kind: ElectionType, name: str, index: int) -> PartitionChangeRecord:
    topic = context.image.topic(name)
    partition = None if topic is None else topic.partitions.get(index)
    if topic is None or partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}, or no such partition.")
    preferred = kind is ElectionType.PREFERRED
    if partition.leader == partition.replicas[0] if preferred else partition.leader != NO_LEADER:
        raise KafkaError(ErrorCode.ELECTION_NOT_NEEDED)
    record = partition_change(
        topic.id,
        index,
        partition,
        partition.isr,
        Election.PREFERRED if preferred else Election.UNCLEAN,
        lambda replica: is_active(context, replica),
    )
    if record is None or (preferred and record.leader != partition.replicas[0]):
        raise KafkaError(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        )
    return record
