"""Attacks written by hand: single requests that have more work than bytes. ``all_attacks`` has all others, too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from kraft.messages.registry import ApiKey
from kraft.wire.varint import uvarint
from tests.abuse.attack import Attack, whole
from tests.abuse.sequences import sequences
from tests.abuse.state import (
    BATCH_RECORDS,
    GROUP,
    KNOWN_TOPICS,
    LOOKED_INTO,
    OLD_MS,
    WIDE,
    WIDE_PARTITIONS,
    committed_offsets,
    coordinator,
    known_topics,
    large_batch,
    wide_topic,
)
from tests.fuzz.frames import framed, header
from tests.fuzz.strike import NEIGHBOUR_TOPIC

MIB = 1 << 20

# Decoding: elements of one or two bytes, which become objects.


def empty_tags(size: int) -> bytes:
    """At most ``size`` bytes of ascending empty tagged fields after their count: two to five bytes each."""
    tags = bytearray()
    count = 0
    while len(tags) < size - 10:
        tags += uvarint(count) + b"\0"
        count += 1
    return uvarint(count) + bytes(tags)


def tags_in_header(size: int) -> Iterator[bytes]:
    """ApiVersions, with tagged fields in its header."""
    fixed = header(ApiKey.API_VERSIONS, 3, 0, b"abuse")[:-1]
    yield framed(fixed + empty_tags(size) + b"\6abuse\0021\0")


def tags_in_body(size: int) -> Iterator[bytes]:
    """Metadata for no topic, with tagged fields at its end."""
    yield framed(header(ApiKey.METADATA, 11, 0, b"abuse") + b"\1" + bytes(2) + empty_tags(size))


def tags_in_elements(size: int) -> Iterator[bytes]:
    """Metadata for topics with 1,000 tagged fields each."""
    tags = uvarint(1000) + b"".join(uvarint(tag) + b"\0" for tag in range(1000))
    count = size // len(tags)
    topics = b"".join(b"\5%04d" % number + tags for number in range(count))
    yield framed(header(ApiKey.METADATA, 9, 0, b"abuse") + uvarint(count + 1) + topics + bytes(4))


def empty_names(size: int) -> Iterator[bytes]:
    """Metadata for topics without a name: two bytes each."""
    count = size // 2
    yield framed(header(ApiKey.METADATA, 4, 0, b"abuse") + count.to_bytes(4, "big") + bytes(2 * count) + b"\0")


def numbers(size: int) -> Iterator[bytes]:
    """OffsetFetch for the partitions of one topic: four bytes each."""
    count = size // 4
    body = b"\0\7readers" + b"\0\0\0\1" + b"\0\1x" + count.to_bytes(4, "big") + bytes(4 * count)
    yield framed(header(ApiKey.OFFSET_FETCH, 5, 0, b"abuse") + body)


# Repetition: a name in the request that is short, with an answer that is long.


def list_offsets(times: int) -> Iterator[bytes]:
    """ListOffsets by time, for one partition, with the topic named again and again."""
    topic = ListOffsetsTopic(LOOKED_INTO, [ListOffsetsPartition(0, timestamp=OLD_MS + 1)])
    return whole(ListOffsetsRequest(replica_id=-1, topics=[topic] * times), 5)


def offset_fetch(times: int) -> Iterator[bytes]:
    """OffsetFetch for all offsets of one group."""
    return whole(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=None)] * times), 8)


def describe_configs(times: int) -> Iterator[bytes]:
    resource = DescribeConfigsResource(2, NEIGHBOUR_TOPIC, None)
    request = DescribeConfigsRequest(resources=[resource] * times, include_synonyms=True, include_documentation=True)
    return whole(request, 4)


def describe_groups(times: int) -> Iterator[bytes]:
    return whole(DescribeGroupsRequest(groups=[GROUP] * times), 5)


def describe_producers(times: int) -> Iterator[bytes]:
    return whole(DescribeProducersRequest(topics=[TopicRequest(NEIGHBOUR_TOPIC, [0] * times)]), 0)


# A request that becomes larger: the group's id is in the key of each record.


def commit_with_a_long_group_id(partitions: int = 9000, length: int = 12_000) -> Iterator[bytes]:
    offsets = [OffsetCommitRequestPartition(0, 1, committed_metadata="") for _ in range(partitions)]
    topic = OffsetCommitRequestTopic(NEIGHBOUR_TOPIC, partitions=offsets)
    return whole(
        OffsetCommitRequest(group_id="g" * length, generation_id_or_member_epoch=-1, member_id="", topics=[topic]), 8
    )


# Large but honest.


def create_partitions(count: int, name: str = "created") -> Iterator[bytes]:
    topic = CreatableTopic(name=name, num_partitions=count, replication_factor=1)
    return whole(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 6)


def all_topics() -> Iterator[bytes]:
    return whole(MetadataRequest(topics=None, allow_auto_topic_creation=False), 9, repeat=5)


def unknown_topics(count: int) -> Iterator[bytes]:
    topics = [MetadataRequestTopic(name=f"unknown-{number}") for number in range(count)]
    return whole(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9)


def all_configs(topics: int) -> Iterator[bytes]:
    resources = [DescribeConfigsResource(2, f"known-{number}", None) for number in range(topics)]
    return whole(DescribeConfigsRequest(resources=resources, include_synonyms=True), 4)


def wide_fetch(count: int) -> Iterator[bytes]:
    partitions = [FetchPartition(index, partition_max_bytes=1) for index in range(count)]
    return whole(FetchRequest(topics=[FetchTopic(WIDE, partitions=partitions)], max_bytes=1 << 20), 11, repeat=5)


def all_attacks(part: int = 1) -> list[Attack]:
    """Return the attacks by hand. ``part`` divides their counts and sizes; the names say them undivided."""
    mib = MIB // part
    wide, topics, batch = WIDE_PARTITIONS // part, KNOWN_TOPICS // part, BATCH_RECORDS // part
    has_wide, has_known = partial(wide_topic, partitions=wide), partial(known_topics, count=topics)
    has_batch, has_offsets = partial(large_batch, count=batch), partial(committed_offsets, partitions=wide)
    return [
        Attack("10 MB of tags in the header", lambda: tags_in_header(10 * mib)),
        Attack("100 MB of tags in the header", lambda: tags_in_header(99 * mib)),
        Attack("10 MB of tags in the body", lambda: tags_in_body(10 * mib)),
        Attack("10 MB of tags in topics", lambda: tags_in_elements(10 * mib)),
        Attack("10 MB of empty names", lambda: empty_names(10 * mib)),
        Attack("50 MB of empty names", lambda: empty_names(50 * mib)),
        Attack("10 MB of partition numbers", lambda: numbers(10 * mib)),
        Attack("ListOffsets by time, 80 times", lambda: list_offsets(80 // part), has_batch),
        Attack("OffsetFetch of a group, 2,000 times", lambda: offset_fetch(2000 // part), has_offsets),
        Attack("DescribeConfigs of a topic, 5,000 times", lambda: describe_configs(5000 // part)),
        Attack("DescribeGroups of a group, 20,000 times", lambda: describe_groups(20_000 // part), coordinator),
        Attack("DescribeProducers of a partition, 100,000 times", lambda: describe_producers(100_000 // part)),
        Attack(
            "OffsetCommit of 100 KB that becomes 108 MB", lambda: commit_with_a_long_group_id(9000 // part), coordinator
        ),
        Attack("CreateTopics of 10,000 partitions", lambda: create_partitions(wide)),
        Attack("Metadata of 5,000 topics, 5 times", all_topics, has_known),
        Attack("Metadata of 10,000 unknown topics", lambda: unknown_topics(10_000 // part)),
        Attack("DescribeConfigs of 5,000 topics", lambda: all_configs(topics), has_known),
        Attack("Fetch of 10,000 partitions, 5 times", lambda: wide_fetch(wide), has_wide),
        *sequences(part),
    ]
