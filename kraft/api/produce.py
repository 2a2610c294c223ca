"""Produce (key 0): append record batches to partitions that this broker leads.

Versions 3 to 13 are served. Versions 0 to 2 are offered, as by Apache Kafka, and refused: librdkafka up to 2.0 takes a
higher minimum as a sign that the broker cannot read compressed batches.

| version | change |
|---|---|
| 3 | transactional id; magic 2 only |
| 5 | log start offset in the response |
| 7 | zstd allowed |
| 8 | errors of single batches, with a message |
| 9 | flexible |
| 10 | the current leader in the response |
| 13 | topics by id |

The broker receives, checks and writes a batch once. It decodes single records only if the topic needs that: compaction
needs keys, and ``compression.type`` may need another codec. With ``acks=0`` there is no response, and an error closes
the connection, so that the producer notices. With ``acks=all`` the response waits until the records are committed, for
``timeout_ms`` at most.
"""

from __future__ import annotations

import logging

import attrs
import trio

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kraft.messages.registry import ApiKey
from kraft.records.produced import RefusedRecords, is_transactional
from kraft.replication.appending import append_produced
from kraft.replication.partition import HostedPartition
from kraft.rpc.channel import CLOSE, NO_RESPONSE, Parked, Reply, Request, ResponseAction
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import is_internal

ROW = Api(
    ApiKey.PRODUCE,
    versions={ListenerType.BROKER: (0, 13)},
    permissions=((Operation.WRITE, Resource.TOPIC), (Operation.WRITE, Resource.TRANSACTIONAL_ID)),
    quota=Quota.PRODUCE,
)

logger = logging.getLogger("kraft.produce")

ACKS_ALL = -1
OLDEST_SERVED = 3
TOPIC_IDS_VERSION = 13
CURRENT_LEADER_VERSION = 10
_JUDGED_BY_THE_LOG = frozenset(
    {ErrorCode.INVALID_TIMESTAMP, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH}
)
_STALE = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


async def at_broker(broker: BrokerContext, request: Request, message: ProduceRequest) -> Reply:
    version = request.api_version
    if version < OLDEST_SERVED:
        return error(message, version, ErrorCode.UNSUPPORTED_VERSION)
    if message.acks not in (ACKS_ALL, 0, 1):
        return error(message, version, ErrorCode.INVALID_REQUIRED_ACKS)
    if _is_transactional(message):
        anonymous = message.transactional_id is None
        code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if anonymous else ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        return error(message, version, code)
    failed = False
    uncommitted: list[_Uncommitted] = []
    topics = []
    for topic in message.topic_data:
        answers = []
        for data in topic.partition_data:
            answer = _append(broker, topic, data, message.acks, version, uncommitted)
            failed = failed or answer.error_code != 0
            answers.append(answer)
        topics.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
    if message.acks == 0:
        return CLOSE if failed else NO_RESPONSE
    response = ProduceResponse(topics)
    if not uncommitted:
        return response

    async def when_committed() -> ProduceResponse:
        deadline = trio.current_time() + message.timeout_ms / 1000
        for each in uncommitted:
            await _commit(broker, each, deadline, version)
        return response

    return Parked(when_committed)


@attrs.frozen
class _Uncommitted:
    """The response for one partition, which holds once everything below ``end_offset`` is committed."""

    answer: PartitionProduceResponse
    partition: HostedPartition
    end_offset: int


async def _commit(broker: BrokerContext, each: _Uncommitted, deadline: float, version: int) -> None:
    """Wait until the records are committed, or set the error of the response. The records stay in the log."""
    refused = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    with trio.move_on_at(deadline):
        try:
            await each.partition.committed(each.end_offset)
        except KafkaError as failure:
            refused = failure
        else:
            return
    _refuse(broker, each.answer, each.partition.topic, refused.code, version)


def _is_transactional(message: ProduceRequest) -> bool:
    return any(is_transactional(data.records) for topic in message.topic_data for data in topic.partition_data)


def _append(
    broker: BrokerContext,
    topic: TopicProduceData,
    data: PartitionProduceData,
    acks: int,
    version: int,
    uncommitted: list[_Uncommitted],
) -> PartitionProduceResponse:
    replicas = broker.replicas
    name = topic.name
    try:
        if version >= TOPIC_IDS_VERSION:
            name = replicas.name_of(topic.topic_id)
        if is_internal(name):
            # The coordinators read these topics back, so only they may write to them.
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Clients may not write to {name}.")
        partition = replicas.leader_of(name, data.index)
        if acks == ACKS_ALL:
            partition.check_min_insync()
        appended = append_produced(partition, data.records, version, broker.clock.now_ms())
    except OSError as failure:
        logger.error("cannot append to %s-%d: %s", name, data.index, failure)
        return PartitionProduceResponse(data.index, ErrorCode.KAFKA_STORAGE_ERROR, -1)
    except KafkaError as refused:
        # A text only where it concerns records: clients have better texts for the codes themselves.
        answer = PartitionProduceResponse(data.index, base_offset=-1, error_message=None)
        _refuse(broker, answer, name, refused.code, version)
        if refused.code in _JUDGED_BY_THE_LOG or isinstance(refused, RefusedRecords):
            answer.log_start_offset = partition.log.log_start_offset
        if isinstance(refused, RefusedRecords):
            answer.error_message = refused.message
            answer.record_errors = [BatchIndexAndErrorMessage(index, refused.message) for index in refused.indexes]
        return answer
    answer = PartitionProduceResponse(
        data.index, 0, appended.base_offset, appended.log_append_time_ms, appended.log_start_offset
    )
    if acks == ACKS_ALL and partition.high_watermark < appended.end_offset:
        uncommitted.append(_Uncommitted(answer, partition, appended.end_offset))
    return answer


def _refuse(broker: BrokerContext, answer: PartitionProduceResponse, topic: str, code: ErrorCode, version: int) -> None:
    answer.error_code = code
    if code in _STALE and version >= CURRENT_LEADER_VERSION:
        leader, epoch = broker.replicas.known_leader(topic, answer.index)
        answer.current_leader = LeaderIdAndEpoch(leader, epoch)


def error(
    message: ProduceRequest, version: int, code: ErrorCode, text: str | None = None
) -> ProduceResponse | ResponseAction:
    if message.acks == 0:
        return CLOSE
    return ProduceResponse(
        [
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [PartitionProduceResponse(data.index, code, -1, error_message=text) for data in topic.partition_data],
            )
            for topic in message.topic_data
        ]
    )
