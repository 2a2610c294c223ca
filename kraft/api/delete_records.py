"""DeleteRecords (key 21): advance the start offset of a log (KIP-107).

Versions 0 to 2: 2 is flexible. Offset -1 stands for the high watermark. The leader checkpoints the new start offset
before it responds, so a kill brings no deleted record back. The response waits until the live followers have deleted as
much, for ``timeout_ms`` at most.
"""

from __future__ import annotations

import logging

import trio

from kraft.api.context import BrokerContext
from kraft.api.partitions import answered
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.config.topic import COMPACT
from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kraft.messages.registry import ApiKey
from kraft.replication.partition import HostedPartition
from kraft.rpc.channel import Parked, Reply, Request
from kraft.storage.checkpoint import LOG_START_OFFSET
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import is_internal
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices

ROW = Api(
    ApiKey.DELETE_RECORDS,
    versions={ListenerType.BROKER: (0, 2), ListenerType.ZK_BROKER: (0, 2)},
    permissions=((Operation.DELETE, Resource.TOPIC),),
)

logger = logging.getLogger("kraft.replicas")

HIGH_WATERMARK = -1
NO_LOW_WATERMARK = -1
_SLICE_PARTITIONS = 100
_SLICE_NAMES = 2_000


async def at_broker(broker: BrokerContext, request: Request, message: DeleteRecordsRequest) -> Reply:
    following: list[tuple[DeleteRecordsPartitionResult, HostedPartition]] = []
    topics = await answered(
        await _last_named(message.topics),
        lambda topic, answers: DeleteRecordsTopicResult(name=topic.name, partitions=answers),
        lambda topic, wanted: _one(broker, topic.name, wanted, following),
        every=_SLICE_PARTITIONS,
    )

    async def deleted() -> DeleteRecordsResponse:
        deadline = trio.current_time() + message.timeout_ms / 1000
        is_written = True
        try:
            await broker.replicas.checkpoints.write((LOG_START_OFFSET,))
        except OSError as failure:
            logger.error("cannot write checkpoints, DeleteRecords gets an error: %s", failure)
            is_written = False
        slices = Slices(_SLICE_PARTITIONS)
        for answer, partition in following:
            await slices.spend()
            if is_written or partition.durable_start_offset >= answer.low_watermark:
                await _followed(answer, partition, deadline)
            else:
                answer.error_code, answer.low_watermark = ErrorCode.KAFKA_STORAGE_ERROR, NO_LOW_WATERMARK
        return DeleteRecordsResponse(topics=topics)

    return Parked(deleted)


at_zk_broker = at_broker


async def _last_named(topics: list[DeleteRecordsTopic]) -> list[DeleteRecordsTopic]:
    """Return each topic and each partition once. Of a partition that is named again only the last offset counts, as in
    Apache's ``KafkaApis.handleDeleteRecordsRequest``.
    """
    named: dict[str, dict[int, DeleteRecordsPartition]] = {}
    slices = Slices(_SLICE_NAMES)
    for topic in topics:
        await slices.spend()
        partitions = named.setdefault(topic.name, {})
        for each in topic.partitions:
            await slices.spend()
            partitions[each.partition_index] = each
    return [DeleteRecordsTopic(name, list(partitions.values())) for name, partitions in named.items()]


async def _followed(answer: DeleteRecordsPartitionResult, partition: HostedPartition, deadline: float) -> None:
    """Wait until every replica has the new start offset, or set the error of the response."""
    answer.error_code = ErrorCode.REQUEST_TIMED_OUT
    with trio.move_on_at(deadline):
        try:
            answer.low_watermark = await partition.deleted(answer.low_watermark)
        except KafkaError as refused:
            answer.error_code = refused.code
        else:
            answer.error_code = ErrorCode.NONE


def _one(
    broker: BrokerContext,
    topic: str,
    wanted: DeleteRecordsPartition,
    following: list[tuple[DeleteRecordsPartitionResult, HostedPartition]],
) -> DeleteRecordsPartitionResult:
    answer = DeleteRecordsPartitionResult(partition_index=wanted.partition_index, low_watermark=NO_LOW_WATERMARK)
    try:
        known = broker.image.topic(topic)
        if is_internal(topic) and known is not None and wanted.partition_index in known.partitions:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        partition = broker.replicas.leader_of(topic, wanted.partition_index)
        if partition.log.config.cleanup_policy == {COMPACT}:
            raise KafkaError(ErrorCode.POLICY_VIOLATION)
        offset = partition.high_watermark if wanted.offset == HIGH_WATERMARK else wanted.offset
        if not 0 <= offset <= partition.high_watermark:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        partition.log.delete_records(offset)
        answer.low_watermark = partition.log.log_start_offset
        partition.wake()
        following.append((answer, partition))
    except KafkaError as refused:
        answer.error_code = refused.code
    except OSError as error:
        logger.error("%s-%d: cannot delete records: %s", topic, wanted.partition_index, error)
        answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    return answer


def error(
    message: DeleteRecordsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=mapped(
            message.topics,
            lambda topic: DeleteRecordsTopicResult(
                name=topic.name,
                partitions=mapped(
                    topic.partitions,
                    lambda each: DeleteRecordsPartitionResult(each.partition_index, NO_LOW_WATERMARK, code),
                ),
            ),
        )
    )
