"""Short forms of requests for the tests of handlers: batches, and data requests for one partition."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.fetch_response import FetchResponse, PartitionData
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.list_offsets_response import ListOffsetsPartitionResponse
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import PartitionProduceResponse
from kraft.records.batch import iter_headers
from kraft.records.record import Record, encode_batch, read_records
from kraft.rpc.client import Connection
from kraft.wire.uuids import ZERO_UUID

EARLIEST, LATEST = -2, -1
IDS_PRODUCE, IDS_FETCH = 13, 13


def batch(*values: bytes | None, key: bytes | None = None, timestamp: int | None = None, **fields: Any) -> bytes:
    """One batch of a producer; ``fields`` are those of ``encode_batch``."""
    now_ms = time.time_ns() // 1_000_000 if timestamp is None else timestamp
    return encode_batch([Record(n, now_ms, key, value) for n, value in enumerate(values)], **fields)


async def create(broker: Connection, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> UUID:
    """A new topic; its id."""
    settings = [CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=settings)
    response = await broker.request(CreateTopicsRequest(topics=[topic]))
    assert response.topics[0].error_code == 0, response.topics[0]
    topic_id: UUID = response.topics[0].topic_id
    return topic_id


async def topic_id_of(broker: Connection, name: str) -> UUID:
    response = await broker.request(
        MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    )
    topic_id: UUID = response.topics[0].topic_id
    return topic_id


def produce_request(
    topic: str,
    records: bytes | None,
    *,
    acks: int = -1,
    partition: int = 0,
    topic_id: UUID = ZERO_UUID,
    timeout_ms: int = 5000,
) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=records)
    return ProduceRequest(
        acks=acks, timeout_ms=timeout_ms, topic_data=[TopicProduceData(topic, topic_id, partition_data=[data])]
    )


async def produce(
    broker: Connection, topic: str, records: bytes | None, version: int = 12, **fields: Any
) -> PartitionProduceResponse:
    """Produce to one partition. Return its part of the response."""
    response = await broker.request(produce_request(topic, records, **fields), version)
    answer: PartitionProduceResponse = response.responses[0].partition_responses[0]
    return answer


def fetch_request(
    topic: str,
    offset: int = 0,
    *,
    partitions: tuple[int, ...] = (0,),
    topic_id: UUID = ZERO_UUID,
    partition_max_bytes: int = 1 << 20,
    epoch: int = -1,
    **fields: Any,
) -> FetchRequest:
    wanted = [
        FetchPartition(
            partition=each,
            fetch_offset=offset,
            partition_max_bytes=partition_max_bytes,
            current_leader_epoch=epoch,
        )
        for each in partitions
    ]
    return FetchRequest(topics=[FetchTopic(topic, topic_id, partitions=wanted)], **fields)


async def fetch(broker: Connection, topic: str, offset: int = 0, version: int = 12, **fields: Any) -> PartitionData:
    """Fetch from one partition. Return its part of the response."""
    response: FetchResponse = await broker.request(fetch_request(topic, offset, **fields), version)
    assert response.error_code == 0
    return response.responses[0].partitions[0]


def records_in(data: PartitionData) -> list[Record]:
    """The records of a fetch answer, control records included."""
    assert isinstance(data.records, bytes | bytearray | memoryview)
    found: list[Record] = []
    for position, header in iter_headers(data.records):
        found += read_records(data.records, position, header, max_bytes=1 << 24)
    return found


def values_in(data: PartitionData) -> list[bytes | None]:
    return [record.value for record in records_in(data)]


async def values(broker: Connection, topic: str, offset: int = 0) -> list[bytes | None]:
    return values_in(await fetch(broker, topic, offset))


async def list_offset(
    broker: Connection, topic: str, timestamp: int = LATEST, version: int = 9, **fields: Any
) -> ListOffsetsPartitionResponse:
    isolation_level = fields.pop("isolation_level", 0)
    wanted = ListOffsetsPartition(timestamp=timestamp, **fields)
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic(name=topic, partitions=[wanted])],
    )
    response = await broker.request(request, version)
    answer: ListOffsetsPartitionResponse = response.topics[0].partitions[0]
    return answer


async def end_offset(broker: Connection, topic: str) -> int:
    return (await list_offset(broker, topic)).offset
