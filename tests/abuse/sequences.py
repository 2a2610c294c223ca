"""Attacks written by hand: what many requests, many connections or large data do together."""

from __future__ import annotations

import random
from collections.abc import Iterator

from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_log_dirs_request import DescribeLogDirsRequest
from kraft.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.messages.init_producer_id_request import InitProducerIdRequest
from kraft.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.metadata_request import MetadataRequest
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from tests.abuse.attack import Attack, frame, whole
from tests.abuse.state import (
    GROUP,
    KNOWN_TOPICS,
    OLD_MS,
    WIDE,
    WIDE_PARTITIONS,
    committed_offsets,
    coordinator,
    known_topics,
    wide_topic,
)
from tests.fuzz.strike import NEIGHBOUR_TOPIC, Neighbour

MIB = 1 << 20
CROWD = 1_000
PRODUCERS = 2_000
SQUEEZED, CLEANED, DOOMED = "squeezed-hard", "cleaned", "doomed"


def produce(topic: str, records: bytes) -> bytes:
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, records)])
    return frame(ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[data]), 9)


# Many connections.


def parked_fetches(session_epoch: int) -> Iterator[bytes]:
    """Fetches that no data satisfies. Each write of the neighbour wakes them."""
    wide = FetchTopic(
        WIDE, partitions=[FetchPartition(index, partition_max_bytes=1) for index in range(WIDE_PARTITIONS)]
    )
    woken = FetchTopic(NEIGHBOUR_TOPIC, partitions=[FetchPartition(0, fetch_offset=0, partition_max_bytes=1)])
    waits = {"max_wait_ms": 5000, "min_bytes": 100 * MIB, "session_epoch": session_epoch}
    return whole(FetchRequest(topics=[wide, woken], **waits), 11, repeat=30)


def crowd() -> Iterator[bytes]:
    """A group of 1,000 static members, each of which then describes it (KIP-345: they join with an empty member id)."""
    protocols = [JoinGroupRequestProtocol(f"range-{number}", bytes(100)) for number in range(3)]
    for number in range(CROWD):
        request = JoinGroupRequest(GROUP, 30_000, 30_000, "", f"instance-{number}", "consumer", protocols)
        yield frame(request, 5)
    yield from whole(DescribeGroupsRequest(groups=[GROUP]), 5, repeat=CROWD)


def all_topics(times: int) -> Iterator[bytes]:
    return whole(MetadataRequest(topics=None, allow_auto_topic_creation=False), 9, repeat=times)


# Many records.


def commits() -> Iterator[bytes]:
    offsets = [OffsetCommitRequestPartition(index, 2, committed_metadata="") for index in range(WIDE_PARTITIONS)]
    topics = [OffsetCommitRequestTopic(WIDE, partitions=offsets)]
    request = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, member_id="", topics=topics)
    return whole(request, 7, repeat=20)


def groups(friend: Neighbour) -> None:
    """2,000 groups, each with a committed offset."""
    coordinator(friend)
    topics = [OffsetCommitRequestTopic(NEIGHBOUR_TOPIC, partitions=[OffsetCommitRequestPartition(0, 1)])]
    for number in range(2000):
        friend.ask(OffsetCommitRequest(f"group-{number}", generation_id_or_member_epoch=-1, topics=topics), 7)


def producers() -> Iterator[bytes]:
    """Each of 2,000 producers writes one record; then their states are described."""
    for number in range(PRODUCERS):
        yield produce(
            WIDE, encode_batch([Record(0, -1, None, b"")], producer_id=number, producer_epoch=0, base_sequence=0)
        )
    yield from whole(DescribeProducersRequest(topics=[TopicRequest(WIDE, [0])]), 0, repeat=20)


def producer_ids() -> Iterator[bytes]:
    return whole(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 4, repeat=2000)


def times() -> Iterator[bytes]:
    partitions = [ListOffsetsPartition(index, timestamp=OLD_MS) for index in range(WIDE_PARTITIONS)]
    return whole(ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(WIDE, partitions)]), 5, repeat=5)


def write_wide() -> Iterator[bytes]:
    """One record to each of 9,990 partitions, in one request."""
    batch = encode_batch([Record(0, -1, None, b"")])
    data = [PartitionProduceData(index, batch) for index in range(WIDE_PARTITIONS)]
    request = ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[TopicProduceData(WIDE, partition_data=data)])
    return whole(request, 9, repeat=3)


def delete_records() -> Iterator[bytes]:
    partitions = [DeleteRecordsPartition(index, -1) for index in range(WIDE_PARTITIONS)]
    return whole(DeleteRecordsRequest([DeleteRecordsTopic(WIDE, partitions)], timeout_ms=60_000), 2, repeat=3)


# Compression and compaction.


def bombs(codec: Compression) -> Iterator[bytes]:
    """A record of 60 MiB of zeros, to a topic that compresses it with another codec."""
    batch = encode_batch([Record(0, -1, b"k", bytes(60 * MIB))], compression=codec)
    for _ in range(4):
        yield produce("squeezed", batch)


def squeeze(friend: Neighbour) -> None:
    hard = {"compression.type": "zstd", "compression.zstd.level": "22", "max.message.bytes": str(32 * MIB)}
    friend.create(SQUEEZED, partitions=1, configs=hard)


def sixteen_megabytes() -> Iterator[bytes]:
    words = random.Random(631).randbytes(MIB)
    value = b"".join(words[position : position + 64] + b" the same " for position in range(0, MIB, 4))[: 16 * MIB]
    yield produce(SQUEEZED, encode_batch([Record(0, -1, b"k", value)]))


def many_small_records() -> Iterator[bytes]:
    records = [Record(number, OLD_MS, b"k", None) for number in range(500_000)]
    yield produce("compacted", encode_batch(records, compression=Compression.ZSTD))


def cleaned_topic(friend: Neighbour) -> None:
    eager = {"cleanup.policy": "compact", "segment.bytes": str(16 * MIB), "min.cleanable.dirty.ratio": "0.01"}
    friend.create(CLEANED, partitions=1, configs=eager)


def keyed_records() -> Iterator[bytes]:
    """100 batches of 900 KB with 3,000 keys each; the cleaner begins with the second segment."""
    chance = random.Random(631)
    for _ in range(100):
        records = [Record(number, OLD_MS, b"%d" % chance.randrange(100_000), bytes(280)) for number in range(3000)]
        yield produce(CLEANED, encode_batch(records))


# Changes of the metadata.


def topics_with_settings() -> Iterator[bytes]:
    configs = [CreatableTopicConfig("retention.ms", "1000")]
    topics = [CreatableTopic(f"set-{number}", 1, 1, configs=configs) for number in range(3000)]
    return whole(CreateTopicsRequest(topics=topics, timeout_ms=60_000), 6)


def alter_all() -> Iterator[bytes]:
    names = ("retention.ms", "segment.ms", "max.message.bytes", "flush.messages")
    configs = [AlterableConfig(name, 0, "100000") for name in names]
    resources = [AlterConfigsResource(2, f"known-{number}", configs) for number in range(KNOWN_TOPICS)]
    return whole(IncrementalAlterConfigsRequest(resources), 1, repeat=3)


def doomed_topics(friend: Neighbour) -> None:
    for number in range(2):
        friend.create(f"{DOOMED}-{number}", partitions=7_500)


def delete() -> Iterator[bytes]:
    topics = [DeleteTopicState(name=f"{DOOMED}-{number}") for number in range(2)]
    return whole(DeleteTopicsRequest(topics=topics, timeout_ms=60_000), 6)


SEQUENCES = (
    Attack("30 parked Fetches of 9,990 partitions, woken by each write", lambda: parked_fetches(-1), wide_topic, 30),
    Attack("30 parked Fetch sessions of 9,990 partitions", lambda: parked_fetches(0), wide_topic, 30),
    Attack("a group of 1,000 members, described 1,000 times", crowd, coordinator, CROWD),
    Attack("Metadata of 500 topics, 30 connections", lambda: all_topics(90), known_topics, 30),
    Attack("Metadata of 9,990 partitions, 30 connections", lambda: all_topics(60), wide_topic, 30),
    Attack("OffsetCommit of 9,990 partitions, 20 times", commits, committed_offsets),
    Attack("ListGroups of 2,000 groups, 20 times", lambda: whole(ListGroupsRequest(), 4, 20), groups),
    Attack("2,000 producers of a partition, described", producers, wide_topic, 4),
    Attack("InitProducerId, 2,000 times", producer_ids, lambda friend: None, 10),
    Attack("ListOffsets by time of 9,990 partitions, 5 times", times, wide_topic),
    Attack("Produce to 9,990 partitions, 3 times", write_wide, wide_topic),
    Attack("DeleteRecords of 9,990 partitions, 3 times", delete_records, wide_topic),
    Attack(
        "DescribeLogDirs of 9,990 partitions, 5 times", lambda: whole(DescribeLogDirsRequest(None), 4, 5), wide_topic
    ),
    Attack("60 MiB of zeros by gzip, compressed again, 4 connections", lambda: bombs(Compression.GZIP), connections=4),
    Attack("60 MiB of zeros by lz4, compressed again, 4 connections", lambda: bombs(Compression.LZ4), connections=4),
    Attack("16 MB compressed with zstd level 22", sixteen_megabytes, squeeze),
    Attack("500,000 records into a compacted topic", many_small_records),
    Attack("90 MB into a compacted topic, and its compaction", keyed_records, cleaned_topic, lasts_s=10),
    Attack("CreateTopics of 3,000 topics with settings", topics_with_settings),
    Attack("IncrementalAlterConfigs of 500 topics, 3 times", alter_all, known_topics),
    Attack(
        "ElectLeaders of all partitions, 3 times", lambda: whole(ElectLeadersRequest(0, None, 60_000), 2, 3), wide_topic
    ),
    Attack("deletion of 15,000 partitions", delete, doomed_topics, lasts_s=3),
)
