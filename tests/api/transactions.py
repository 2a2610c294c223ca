"""Requests of a transactional producer, and of a coordinator, without either."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import PartitionProduceResponse
from kraft.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode, KafkaError
from tests.support.talk import batch

READ_COMMITTED = 1
PRODUCER = 4711
UNVERIFIED = {"transaction.partition.verification.enable": "false"}


@attrs.define
class Coordinator:
    """Confirms every partition, or answers ``code`` for it. ``meanwhile`` happens before the answer."""

    code: ErrorCode = ErrorCode.NONE
    failure: ErrorCode | None = None
    meanwhile: Callable[[], None] = lambda: None
    asked: list[tuple[str, tuple[int, int], dict[str, list[int]], bool]] = attrs.Factory(list)

    async def verify(
        self, transactional_id: str, producer: tuple[int, int], topics: Mapping[str, Sequence[int]], *, add: bool
    ) -> dict[tuple[str, int], ErrorCode]:
        self.asked.append((transactional_id, producer, {name: list(indexes) for name, indexes in topics.items()}, add))
        self.meanwhile()
        if self.failure is not None:
            raise KafkaError(self.failure)
        return {(name, index): self.code for name, indexes in topics.items() for index in indexes}


async def write(
    broker: Connection,
    topic: str,
    *values: bytes,
    producer_id: int = PRODUCER,
    epoch: int = 3,
    sequence: int = 0,
    partition: int = 0,
    transactional_id: str | None = "transaction",
    version: int = 9,
) -> PartitionProduceResponse:
    """Write one batch of a transaction, as a producer does."""
    records = batch(*values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, transactional=True)
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(partition, records)])
    request = ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=5000, topic_data=[data])
    response = await broker.request(request, version)
    answer: PartitionProduceResponse = response.responses[0].partition_responses[0]
    return answer


async def end(
    broker: Connection,
    topic: str,
    *indexes: int,
    committed: bool = True,
    epoch: int = 3,
    coordinator_epoch: int = 5,
    producer_id: int = PRODUCER,
    version: int = 1,
    transaction_version: int = 0,
) -> list[ErrorCode]:
    """Write the end of a transaction, as a coordinator does. Return the error of each partition."""
    topics = [WritableTxnMarkerTopic(topic, list(indexes or (0,)))]
    marker = WritableTxnMarker(producer_id, epoch, committed, topics, coordinator_epoch, transaction_version)
    response = await broker.request(WriteTxnMarkersRequest([marker]), version)
    (outcome,) = response.markers
    assert outcome.producer_id == producer_id
    assert [each.name for each in outcome.topics] == [topic]
    return [ErrorCode(each.error_code) for each in outcome.topics[0].partitions]
