"""OffsetForLeaderEpoch (key 23): the end offset of a leader epoch, so that a reader can find where its log diverged
(KIP-320).

Versions 2 to 4: 3 has the id of the replica that reads, 4 is flexible.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.partitions import answered
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest, OffsetForLeaderPartition
from kraft.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    versions={ListenerType.BROKER: (2, 4), ListenerType.ZK_BROKER: (2, 4)},
    permissions=((Operation.DESCRIBE, Resource.TOPIC), (Operation.CLUSTER_ACTION, Resource.CLUSTER)),
)

_SLICE_PARTITIONS = 300


async def at_broker(broker: BrokerContext, request: Request, message: OffsetForLeaderEpochRequest) -> Reply:
    topics = await answered(
        message.topics,
        lambda topic, answers: OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers),
        lambda topic, wanted: _one(broker, topic.topic, wanted),
        every=_SLICE_PARTITIONS,
    )
    return OffsetForLeaderEpochResponse(topics=topics)


at_zk_broker = at_broker


def _one(broker: BrokerContext, topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=wanted.partition)
    try:
        partition = broker.replicas.leader_of(topic, wanted.partition)
        partition.check_epoch(wanted.current_leader_epoch)
        answer.leader_epoch, answer.end_offset = partition.end_of_epoch(wanted.leader_epoch)
    except KafkaError as refused:
        answer.error_code = refused.code
    return answer


def error(
    message: OffsetForLeaderEpochRequest, version: int, code: ErrorCode, text: str | None = None
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=mapped(
            message.topics,
            lambda topic: OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=mapped(
                    topic.partitions, lambda each: EpochEndOffset(partition=each.partition, error_code=code)
                ),
            ),
        )
    )
