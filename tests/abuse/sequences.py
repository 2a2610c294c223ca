"""Attacks written by hand: what many requests, many connections or large data do together."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import repeat

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
from kraft.metadata.steps import finished
from kraft.records.batch import HEADER_SIZE, parse_header
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch, encode_pairs, recompress
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
PACKED, SQUEEZED, RESQUEEZED, CLEANED, DOOMED = "packed", "squeezed-hard", "squeezed-again", "cleaned", "doomed"


def produce(topic: str, records: bytes) -> bytes:
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, records)])
    return frame(ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[data]), 9)


# Many connections.


def parked_fetches(session_epoch: int, count: int, max_wait_ms: int) -> Iterator[bytes]:
    """Fetches that no data satisfies. Each write of the neighbour wakes them."""
    wide = FetchTopic(WIDE, partitions=[FetchPartition(index, partition_max_bytes=1) for index in range(count)])
    woken = FetchTopic(NEIGHBOUR_TOPIC, partitions=[FetchPartition(0, fetch_offset=0, partition_max_bytes=1)])
    waits = {"max_wait_ms": max_wait_ms, "min_bytes": 100 * MIB, "session_epoch": session_epoch}
    return whole(FetchRequest(topics=[wide, woken], **waits), 11, repeat=30)


def crowd(members: int) -> Iterator[bytes]:
    """A group of static members, each of which then describes it (KIP-345: they join with an empty member id)."""
    protocols = [JoinGroupRequestProtocol(f"range-{number}", bytes(100)) for number in range(3)]
    for number in range(members):
        request = JoinGroupRequest(GROUP, 30_000, 30_000, "", f"instance-{number}", "consumer", protocols)
        yield frame(request, 5)
    yield from whole(DescribeGroupsRequest(groups=[GROUP]), 5, repeat=members)


def all_topics(times: int) -> Iterator[bytes]:
    return whole(MetadataRequest(topics=None, allow_auto_topic_creation=False), 9, repeat=times)


# Many records.


def commits(partitions: int) -> Iterator[bytes]:
    offsets = [OffsetCommitRequestPartition(index, 2, committed_metadata="") for index in range(partitions)]
    topics = [OffsetCommitRequestTopic(WIDE, partitions=offsets)]
    request = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, member_id="", topics=topics)
    return whole(request, 7, repeat=20)


def groups(friend: Neighbour, count: int) -> None:
    """Groups with a committed offset each."""
    coordinator(friend)
    topics = [OffsetCommitRequestTopic(NEIGHBOUR_TOPIC, partitions=[OffsetCommitRequestPartition(0, 1)])]
    for number in range(count):
        friend.ask(OffsetCommitRequest(f"group-{number}", generation_id_or_member_epoch=-1, topics=topics), 7)


def producers(count: int) -> Iterator[bytes]:
    """Each producer writes one record; then their states are described."""
    for number in range(count):
        yield produce(
            WIDE, encode_batch([Record(0, -1, None, b"")], producer_id=number, producer_epoch=0, base_sequence=0)
        )
    yield from whole(DescribeProducersRequest(topics=[TopicRequest(WIDE, [0])]), 0, repeat=20)


def producer_ids(count: int) -> Iterator[bytes]:
    return whole(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 4, repeat=count)


def times(count: int) -> Iterator[bytes]:
    partitions = [ListOffsetsPartition(index, timestamp=OLD_MS) for index in range(count)]
    return whole(ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(WIDE, partitions)]), 5, repeat=5)


def write_wide(partitions: int) -> Iterator[bytes]:
    """One record to each partition, in one request."""
    batch = encode_batch([Record(0, -1, None, b"")])
    data = [PartitionProduceData(index, batch) for index in range(partitions)]
    request = ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[TopicProduceData(WIDE, partition_data=data)])
    return whole(request, 9, repeat=3)


def delete_records(count: int) -> Iterator[bytes]:
    partitions = [DeleteRecordsPartition(index, -1) for index in range(count)]
    return whole(DeleteRecordsRequest([DeleteRecordsTopic(WIDE, partitions)], timeout_ms=60_000), 2, repeat=3)


# Compression and compaction.


def bombs(codec: Compression, size: int) -> Iterator[bytes]:
    """A record of zeros, to a topic that compresses it with another codec."""
    batch = encode_batch([Record(0, -1, b"k", bytes(size))], compression=codec)
    for _ in range(4):
        yield produce("squeezed", batch)


def squeeze(friend: Neighbour) -> None:
    hard = {"compression.type": "zstd", "compression.zstd.level": "22", "max.message.bytes": str(32 * MIB)}
    friend.create(SQUEEZED, partitions=1, configs=hard)


def resqueezed_topic(friend: Neighbour) -> None:
    friend.create(RESQUEEZED, partitions=1, configs={"compression.type": "lz4", "max.message.bytes": str(64 * MIB)})


def noise(size: int) -> Iterator[bytes]:
    """Records of bytes that no codec makes shorter, for a topic that compresses them with another codec."""
    value = random.Random(631).randbytes(MIB) * (size // MIB)
    batch = encode_batch([Record(0, -1, b"k", value)], compression=Compression.GZIP)
    for _ in range(4):
        yield produce(RESQUEEZED, batch)


def words(size: int) -> Iterator[bytes]:
    """A record of ``size`` bytes that a codec finds work in."""
    chosen = random.Random(631).randbytes(MIB)
    value = b"".join(chosen[position : position + 64] + b" the same " for position in range(0, MIB, 4))[:size]
    yield produce(SQUEEZED, encode_batch([Record(0, -1, b"k", value)]))


def packed_topic(friend: Neighbour) -> None:
    friend.create(PACKED, partitions=1, configs={"cleanup.policy": "compact", "max.message.bytes": str(8 * MIB)})


def many_small_records(count: int) -> Iterator[bytes]:
    """A batch of tombstones. 4,000,000 of them are 44 MB, and 3.3 MB in zstd."""
    batch = finished(encode_pairs(repeat((b"k", None), count), base_offset=0, leader_epoch=0, timestamp_ms=OLD_MS))
    yield produce(PACKED, recompress(batch[HEADER_SIZE:], parse_header(batch), Compression.ZSTD))


def cleaned_topic(friend: Neighbour) -> None:
    eager = {"cleanup.policy": "compact", "segment.bytes": str(16 * MIB), "min.cleanable.dirty.ratio": "0.01"}
    friend.create(CLEANED, partitions=1, configs=eager)


def keyed_records(batches: int) -> Iterator[bytes]:
    """Batches of 880 KB with 3,000 keys each, and all of them seven times more: 700 MB of 100 batches.

    The cleaner begins with the second segment.
    """
    chance = random.Random(631)
    made = []
    for _ in range(batches):
        records = [Record(number, OLD_MS, b"%d" % chance.randrange(100_000), bytes(280)) for number in range(3000)]
        made.append(produce(CLEANED, encode_batch(records)))
    for _ in range(8):
        yield from made


# Changes of the metadata.


def topics_with_settings(count: int) -> Iterator[bytes]:
    configs = [CreatableTopicConfig("retention.ms", "1000")]
    topics = [CreatableTopic(f"set-{number}", 1, 1, configs=configs) for number in range(count)]
    return whole(CreateTopicsRequest(topics=topics, timeout_ms=60_000), 6)


def alter_all(topics: int) -> Iterator[bytes]:
    """Two settings of each topic: 5,000 topics have 10,000 records, the most of one request."""
    configs = [AlterableConfig(name, 0, "100000") for name in ("retention.ms", "max.message.bytes")]
    resources = [AlterConfigsResource(2, f"known-{number}", configs) for number in range(topics)]
    return whole(IncrementalAlterConfigsRequest(resources), 1, repeat=3)


def doomed_topics(friend: Neighbour, partitions: int) -> None:
    for number in range(2):
        friend.create(f"{DOOMED}-{number}", partitions=partitions)


def delete() -> Iterator[bytes]:
    topics = [DeleteTopicState(name=f"{DOOMED}-{number}") for number in range(2)]
    return whole(DeleteTopicsRequest(topics=topics, timeout_ms=60_000), 6)


def sequences(part: int = 1) -> list[Attack]:
    """Return the attacks. ``part`` divides their counts, sizes and times; the names say them undivided."""
    mib, wide, topics, members = MIB // part, WIDE_PARTITIONS // part, KNOWN_TOPICS // part, 1000 // part
    has_wide, has_known = partial(wide_topic, partitions=wide), partial(known_topics, count=topics)
    has_offsets = partial(committed_offsets, partitions=wide)
    wait_ms = 5000 // part
    return [
        Attack(
            "30 parked Fetches of 9,990 partitions, woken by each write",
            lambda: parked_fetches(-1, wide, wait_ms),
            has_wide,
            30,
        ),
        Attack("30 parked Fetch sessions of 9,990 partitions", lambda: parked_fetches(0, wide, wait_ms), has_wide, 30),
        Attack("Metadata of 5,000 topics, 30 connections", lambda: all_topics(30), has_known, 30),
        Attack("Metadata of 9,990 partitions, 30 connections", lambda: all_topics(60), has_wide, 30),
        Attack("OffsetCommit of 9,990 partitions, 20 times", lambda: commits(wide), has_offsets),
        Attack(
            "ListGroups of 2,000 groups, 20 times",
            lambda: whole(ListGroupsRequest(), 4, 20),
            partial(groups, count=2000 // part),
        ),
        Attack("2,000 producers of a partition, described", lambda: producers(2000 // part), has_wide, 4),
        Attack("InitProducerId, 2,000 times", lambda: producer_ids(2000 // part), connections=10),
        Attack("ListOffsets by time of 9,990 partitions, 5 times", lambda: times(wide), has_wide),
        Attack("Produce to 9,990 partitions, 3 times", lambda: write_wide(wide), has_wide),
        Attack("DeleteRecords of 9,990 partitions, 3 times", lambda: delete_records(wide), has_wide),
        Attack(
            "DescribeLogDirs of 9,990 partitions, 5 times", lambda: whole(DescribeLogDirsRequest(None), 4, 5), has_wide
        ),
        Attack(
            "60 MiB of zeros by gzip, compressed again, 4 connections",
            lambda: bombs(Compression.GZIP, 60 * mib),
            connections=4,
        ),
        Attack(
            "60 MiB of zeros by lz4, compressed again, 4 connections",
            lambda: bombs(Compression.LZ4, 60 * mib),
            connections=4,
        ),
        Attack("60 MiB of random bytes by gzip, compressed again by lz4", lambda: noise(60 * mib), resqueezed_topic),
        Attack("16 MB compressed with zstd level 22", lambda: words(16 * mib), squeeze),
        Attack("4,000,000 records into a compacted topic", lambda: many_small_records(4_000_000 // part), packed_topic),
        Attack(
            "700 MB into a compacted topic, and its compaction",
            lambda: keyed_records(100 // part),
            cleaned_topic,
            lasts_s=30 / part,
        ),
        Attack("CreateTopics of 3,000 topics with settings", lambda: topics_with_settings(3000 // part)),
        Attack("IncrementalAlterConfigs of 5,000 topics, 3 times", lambda: alter_all(topics), has_known),
        Attack(
            "ElectLeaders of all partitions, 3 times",
            lambda: whole(ElectLeadersRequest(0, None, 60_000), 2, 3),
            has_wide,
        ),
        Attack(
            "deletion of 15,000 partitions", delete, partial(doomed_topics, partitions=7500 // part), lasts_s=3 / part
        ),
        # The last one: a group with members refuses the commits that the others need.
        Attack(
            "a group of 1,000 members, described 1,000 times", lambda: crowd(members), coordinator, connections=members
        ),
    ]
