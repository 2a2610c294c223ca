"""AssignReplicasToDirs (73, KIP-858): a broker reports the directories of its replicas.

A replica in a failed directory leaves the ISR.
"""

from __future__ import annotations

from uuid import UUID

from kraft.controller.context import Context, Decision
from kraft.controller.partition_change import Election, Target, partition_change
from kraft.controller.registration import registered
from kraft.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from kraft.messages.assign_replicas_to_dirs_response import (
    AssignReplicasToDirsResponse,
    DirectoryData,
    PartitionData,
    TopicData,
)
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.image import Broker
from kraft.metadata.levels import DIRECTORIES
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError


def assign_replicas_to_dirs(context: Context, request: AssignReplicasToDirsRequest) -> Steps[Decision]:
    """Record the directory of each replica, or refuse it by itself. The last entry of a repeated replica counts."""
    if context.level < DIRECTORIES:
        return Decision((), AssignReplicasToDirsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
    try:
        broker = registered(context, request.broker_id, request.broker_epoch)
    except KafkaError as error:
        return Decision((), AssignReplicasToDirsResponse(error_code=error.code))
    chosen: dict[tuple[UUID, int], UUID] = {}
    answer: list[DirectoryData] = []
    for directory in request.directories:
        topics: list[TopicData] = []
        yield 1
        for topic in directory.topics:
            yield 1
            partitions: list[PartitionData] = []
            for partition in topic.partitions:
                yield 1
                code = _refusal(context, broker, topic.topic_id, partition.partition_index)
                partitions.append(PartitionData(partition_index=partition.partition_index, error_code=code))
                if code is ErrorCode.NONE:
                    chosen[topic.topic_id, partition.partition_index] = directory.id
            topics.append(TopicData(topic_id=topic.topic_id, partitions=partitions))
        answer.append(DirectoryData(id=directory.id, topics=topics))
    records = yield from _changes(context, broker, chosen)
    return Decision(tuple(records), AssignReplicasToDirsResponse(error_code=ErrorCode.NONE, directories=answer))


def _refusal(context: Context, broker: Broker, topic_id: UUID, index: int) -> ErrorCode:
    topic = context.image.topics.get(topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    partition = topic.partitions.get(index)
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if broker.id in partition.replicas else ErrorCode.NOT_LEADER_OR_FOLLOWER


def _changes(
    context: Context, broker: Broker, chosen: dict[tuple[UUID, int], UUID]
) -> Steps[list[PartitionChangeRecord]]:
    records: list[PartitionChangeRecord] = []
    for (topic_id, index), directory in chosen.items():
        topic = context.image.topics[topic_id]
        partition = topic.partitions[index]
        isr = [replica for replica in partition.isr if replica != broker.id or broker.has_online(directory)]
        target = Target.of(partition, isr=isr, directories={broker.id: directory})
        record = partition_change(context, topic, index, target, Election.CONFIGURED)
        if record is not None:
            records.append(record)
        yield 1
    return records
