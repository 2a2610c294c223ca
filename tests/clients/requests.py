"""Requests about one partition, put together by hand, as kafka-python's protocol classes."""

from __future__ import annotations

from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.producer import ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

LATEST = -1
NO_SESSION = (0, -1)


def batch(count: int, base_sequence: int = -1) -> bytes:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, base_sequence, 100_000)
    for number in range(count):
        builder.append(number, 1_000 * number, None, b"value %d" % number, [])
    return bytes(builder.build())


def produce_request(topic: str, records: bytes, acks: int = -1) -> ProduceRequest:
    partition = ProduceRequest.TopicProduceData.PartitionProduceData(index=0, records=records)
    data = ProduceRequest.TopicProduceData(name=topic, partition_data=[partition])
    return ProduceRequest(transactional_id=None, acks=acks, timeout_ms=10_000, topic_data=[data])


def fetch_request(session: tuple[int, int], max_wait_ms: int = 500, **topic: object) -> FetchRequest:
    partition = FetchRequest.FetchTopic.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    return FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchRequest.FetchTopic(partitions=[partition], **topic)],
        forgotten_topics_data=[],
    )


def list_offsets_request(topic: str) -> ListOffsetsRequest:
    partition = ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(partition_index=0, timestamp=LATEST)
    wanted = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[partition])
    return ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=[wanted], timeout_ms=10_000)
