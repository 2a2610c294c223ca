"""Produce (key 0): append record batches to partitions that this broker leads.

Versions 3 to 13 are served. Versions 0 to 2 are offered, as by Apache Kafka, and refused: librdkafka up to 2.0 takes a
higher minimum as a sign that the broker cannot read compressed batches.

| version | change |
|---|---|
| 3 | transactional id; magic 2 only |
| 5 | log start offset in the response |
| 7 | zstd allowed |
| 8 | the records for which a batch is refused, with messages (KIP-467) |
| 9 | flexible |
| 10 | the leader of a partition that is led elsewhere, with its address (KIP-951) |
| 13 | topics by id |

The broker receives, checks and writes a batch once. It decodes single records only if the topic needs that: compaction
needs keys, and ``compression.type`` may need another codec. Such a request is parked meanwhile. So is the first one to
a new log, whose topic id must be durable before its records, and one that reaches ``flush.messages``. With ``acks=0``
there is no response, and an error closes the connection, so that the producer notices. With ``acks=all`` the response
waits until the records are committed, for ``timeout_ms`` at most. A connection sends its next request after that, so
the batches of one connection are appended in their order.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Final
from uuid import UUID

import attrs
import trio

from kraft.api.alive_brokers import node_endpoints
from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.api.transactional_writes import ADDING_VERSION, Unconfirmed, Unverified, unverified, verify
from kraft.broker.leadership import Leadership
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kraft.messages.registry import ApiKey
from kraft.records.produced import RefusedRecords, is_transactional
from kraft.replication.appending import LongAppend, append_produced
from kraft.replication.partition import HostedPartition
from kraft.rpc.channel import CLOSE, NO_RESPONSE, Parked, Reply, Request, ResponseAction
from kraft.storage.log import AppendInfo
from kraft.storage.open_files import OPEN_FILES
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import is_internal
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices, next_slice

ROW = Api(
    ApiKey.PRODUCE,
    versions={ListenerType.BROKER: (0, 13), ListenerType.ZK_BROKER: (0, 13)},
    permissions=((Operation.WRITE, Resource.TOPIC), (Operation.WRITE, Resource.TRANSACTIONAL_ID)),
    quota=Quota.PRODUCE,
)

logger = logging.getLogger("kraft.produce")

ACKS_ALL = -1
_ACKS = frozenset({ACKS_ALL, 0, 1})
OLDEST_SERVED = 3
TOPIC_IDS_VERSION = 13
CURRENT_LEADER_VERSION = 10
_SLICE_BYTES: Final = 2 << 20
_PARTITION_BYTES: Final = 64 * 1024
_FILE_BYTES: Final = 384 * 1024
"""The cost of an append beside its bytes, and of a file that it opens. The unit is the time to write one byte."""
_SLICE_ELEMENTS: Final = 2_000
"""The partitions of a request that are looked at before other tasks run: about a millisecond of work."""
_JUDGED_BY_THE_LOG = frozenset(
    {ErrorCode.INVALID_TIMESTAMP, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH}
)
_STALE = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


async def at_broker(broker: BrokerContext, request: Request, message: ProduceRequest) -> Reply:
    version = request.api_version
    if version < OLDEST_SERVED:
        return _refused(message, version, ErrorCode.UNSUPPORTED_VERSION)
    topics = message.topic_data
    if len(topics) == 1 and len(topics[0].partition_data) == 1:
        topic, data = topics[0], topics[0].partition_data[0]
        if not is_transactional(data.records):  # most requests, and the shortest
            produced = _Produced(broker, request, message.acks)
            answer = produced.append(topic.name, topic.topic_id, data)
            produced.response.responses.append(TopicProduceResponse(topic.name, topic.topic_id, [answer]))
            return produced.reply(message)
    named, transactional = await _last_named(topics)
    if transactional:
        if message.transactional_id is None:
            return _refused(message, version, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if version >= ADDING_VERSION or broker.config.transactions.transaction_partition_verification_enable:
            return await _transactional(broker, request, message, named)
    return await _append(_Produced(broker, request, message.acks), message, named)


async def _append(produced: _Produced, message: ProduceRequest, named: _Named) -> Reply:
    response = produced.response
    left = _SLICE_BYTES
    for name, topic_id, partitions in named.values():
        answers = TopicProduceResponse(name, topic_id)
        response.responses.append(answers)
        for data in partitions.values():
            opened = OPEN_FILES.opened
            answers.partition_responses.append(produced.append(name, topic_id, data))
            left -= _cost(len(data.records or b""), OPEN_FILES.opened - opened)
            if left <= 0:
                left = _SLICE_BYTES
                await next_slice()
    return produced.reply(message)


at_zk_broker = at_broker


async def _transactional(broker: BrokerContext, request: Request, message: ProduceRequest, named: _Named) -> Reply:
    """Append batches of a transaction, at once where the partitions have it, or else when its coordinator has confirmed
    that they belong to it (KIP-890).
    """
    version = request.api_version
    wanted = await unverified(broker, _partitions(broker, version, named))
    if len(wanted.producers) > 1:
        return _refused(message, version, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    produced = _Produced(broker, request, message.acks, wanted)
    if not wanted.log_ends:
        return await _append(produced, message, named)

    async def verified() -> ProduceResponse | ResponseAction:
        await verify(broker, version, message.transactional_id or "", wanted)
        reply = await _append(produced, message, named)
        return await reply.wait() if isinstance(reply, Parked) else reply  # type: ignore[return-value]

    return Parked(verified, is_awaited=message.acks != 0)


def _partitions(broker: BrokerContext, version: int, named: _Named) -> Iterator[tuple[str, PartitionProduceData]]:
    for name, topic_id, partitions in named.values():
        try:
            topic = broker.replicas.name_of(topic_id) if version >= TOPIC_IDS_VERSION else name
        except KafkaError:
            continue
        for data in partitions.values():
            yield topic, data


def _cost(size: int, opened: int) -> int:
    return _PARTITION_BYTES + size + opened * _FILE_BYTES


async def _later(produced: _Produced, message: ProduceRequest) -> ProduceResponse | ResponseAction:
    await produced.append_long()
    await produced.flush()
    if message.acks == 0:
        return produced.unanswered()
    await produced.commit(trio.current_time() + message.timeout_ms / 1000)
    return produced.response


_Named = dict[str | UUID, tuple[str, UUID, dict[int, PartitionProduceData]]]


async def _last_named(topics: list[TopicProduceData]) -> tuple[_Named, bool]:
    """Return each topic and each partition once, and whether any batch is transactional.

    Of a partition that is named again only the last batch counts, as in Apache's ``KafkaApis.handleProduceRequest``.
    """
    named: _Named = {}
    transactional, slices = False, Slices(_SLICE_ELEMENTS, first=_SLICE_ELEMENTS)
    for topic in topics:
        _, _, partitions = named.setdefault(topic.name or topic.topic_id, (topic.name, topic.topic_id, {}))
        for data in topic.partition_data:
            transactional = transactional or is_transactional(data.records)
            partitions[data.index] = data
            await slices.spend()
        await slices.spend()
    return named, transactional


@attrs.frozen
class _UncommittedAppend:
    """The response for one partition, which holds once everything below ``end_offset`` is committed in
    ``leadership``.
    """

    answer: PartitionProduceResponse
    partition: HostedPartition
    leadership: Leadership | None
    end_offset: int


class _Produced:
    """The partitions of one request: appended, waiting for a longer append or a flush, or waiting to be committed."""

    def __init__(self, broker: BrokerContext, request: Request, acks: int, wanted: Unverified | None = None) -> None:
        self._broker = broker
        self._wanted = wanted
        self._acks = acks
        self._version = request.api_version
        self._listener = request.connection.listener
        self.response = ProduceResponse()
        self._failure: KafkaError | None = None
        """With acks=0: the first error."""
        self.long: list[tuple[PartitionProduceResponse, LongAppend]] = []
        self.unflushed: list[tuple[PartitionProduceResponse, HostedPartition]] = []
        self.uncommitted: list[_UncommittedAppend] = []

    def append(self, name: str, topic_id: UUID, data: PartitionProduceData) -> PartitionProduceResponse:
        """Append the records of one partition. If that is long work, leave it to ``append_long``, which sets the
        response.
        """
        replicas, partition = self._broker.replicas, None
        answer = PartitionProduceResponse(data.index, 0, -1)
        try:
            if self._version >= TOPIC_IDS_VERSION:
                name = replicas.name_of(topic_id)
            verified_at = None if self._wanted is None else self._wanted.check(name, data.index)
            if self._acks not in _ACKS or is_internal(name):
                self._check_known(name, data.index)
                if self._acks not in _ACKS:
                    raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
                # The coordinators read these topics back, so only they may write to them.
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Clients may not write to {name}.")
            partition = replicas.leader_of(name, data.index)
            if self._acks == ACKS_ALL:
                partition.check_min_insync()
            appended = append_produced(partition, data.records, self._version, self._broker.clock.now_ms(), verified_at)
        except (KafkaError, OSError) as failure:
            self._refuse(answer, name, partition, failure)
        else:
            if isinstance(appended, LongAppend):
                self.long.append((answer, appended))
            else:
                self._appended(answer, partition, appended)
        return answer

    def reply(self, message: ProduceRequest) -> Reply:
        """Return the response, or park the request until its longer appends, its flushes and its commits are done."""
        if self.long or self.unflushed or self.uncommitted:
            return Parked(partial(_later, self, message), is_awaited=self._acks != 0)
        return self.unanswered() if self._acks == 0 else self.response

    def _check_known(self, name: str, index: int) -> None:
        """Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION, which Apache's answers before it looks at anything else."""
        topic = self._broker.image.topic(name)
        if topic is None or index not in topic.partitions:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    async def append_long(self) -> None:
        """Append the batches that take longer."""
        await self._broker.replicas.make_ids_durable([batch.partition for _, batch in self.long])
        slices = Slices(_SLICE_BYTES)
        for answer, batch in self.long:
            opened = OPEN_FILES.opened
            try:
                appended = await batch.append(self._broker.replicas.world, acks_all=self._acks == ACKS_ALL)
            except (KafkaError, OSError) as failure:
                self._refuse(answer, batch.partition.topic, batch.partition, failure)
            else:
                self._appended(answer, batch.partition, appended)
            await slices.spend(_cost(len(batch.buffer), OPEN_FILES.opened - opened))

    async def flush(self) -> None:
        """Flush the logs that have ``flush.messages`` unflushed records. Kafka does that before the response, too."""
        with suppress(OSError):
            await self._broker.replicas.flush_due([partition for _, partition in self.unflushed])
        for answer, partition in self.unflushed:
            if partition.log.failure is not None:
                self._refuse(answer, partition.topic, partition, partition.log.failure)

    async def commit(self, deadline: float) -> None:
        """Wait until the records are committed, or set the errors of the response. The records stay in the log."""
        for each in self.uncommitted:
            refused = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
            with trio.move_on_at(deadline):
                try:
                    await each.partition.committed(each.end_offset, each.leadership)
                except KafkaError as failure:
                    refused = failure.anew()
                else:
                    continue
            self._refuse(each.answer, each.partition.topic, None, refused)

    def unanswered(self) -> ResponseAction:
        """End a request with acks=0. Raises KafkaError, its first error, which the log names: the connection closes."""
        if self._failure is not None:
            raise self._failure.anew()
        return NO_RESPONSE

    def _appended(self, answer: PartitionProduceResponse, partition: HostedPartition, appended: AppendInfo) -> None:
        answer.base_offset, answer.log_append_time_ms = appended.base_offset, appended.log_append_time_ms
        answer.log_start_offset = appended.log_start_offset
        if partition.log.must_flush:
            self.unflushed.append((answer, partition))
        if self._acks == ACKS_ALL and partition.high_watermark <= appended.last_offset:
            leadership, end_offset = partition.leadership, appended.last_offset + 1
            self.uncommitted.append(_UncommittedAppend(answer, partition, leadership, end_offset))

    def _refuse(
        self, answer: PartitionProduceResponse, topic: str, partition: HostedPartition | None, failure: Exception
    ) -> None:
        if not isinstance(failure, KafkaError):
            logger.error("cannot append to %s-%d, its producer gets an error: %s", topic, answer.index, failure)
            failure = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
        if self._acks == 0 and self._failure is None:
            self._failure = KafkaError(failure.code, f"{topic}-{answer.index}: {failure.message}")
        # A text only where it concerns records or a transaction: clients have better texts for the codes themselves.
        answer.error_code = failure.code
        if failure.code in _STALE and self._version >= CURRENT_LEADER_VERSION:
            leader, epoch = self._broker.replicas.known_leader(topic, answer.index)
            answer.current_leader = LeaderIdAndEpoch(leader, epoch)
            self._name_endpoint(leader)
        is_about_records = isinstance(failure, RefusedRecords)
        if partition is not None and (failure.code in _JUDGED_BY_THE_LOG or is_about_records):
            answer.log_start_offset = partition.log.log_start_offset
        if is_about_records or isinstance(failure, Unconfirmed):
            answer.error_message = failure.message
        if isinstance(failure, RefusedRecords):
            answer.record_errors = [BatchIndexAndErrorMessage(index, failure.message) for index in failure.indexes]

    def _name_endpoint(self, leader: int) -> None:
        """Add the address of a leader to the response, once."""
        named = self.response.node_endpoints
        if all(endpoint.node_id != leader for endpoint in named):
            named += node_endpoints(self._broker.image, self._listener, [leader], NodeEndpoint)


def _refused(message: ProduceRequest, version: int, code: ErrorCode) -> ProduceResponse | ResponseAction:
    """Return the response that refuses the whole request. Raises KafkaError with acks=0, as ``unanswered`` does."""
    if message.acks == 0:
        raise KafkaError(code)
    return error(message, version, code)


def error(
    message: ProduceRequest, version: int, code: ErrorCode, text: str | None = None
) -> ProduceResponse | ResponseAction:
    if message.acks == 0:
        return CLOSE
    return ProduceResponse(
        mapped(
            message.topic_data,
            lambda topic: TopicProduceResponse(
                topic.name,
                topic.topic_id,
                mapped(
                    topic.partition_data,
                    lambda data: PartitionProduceResponse(data.index, code, -1, error_message=text),
                ),
            ),
        )
    )
