"""The state of a node that the attacks need, made over the neighbour's connection before the measurement."""

from __future__ import annotations

from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.records.record import Record, encode_batch
from kraft.wire.internal_topics import OFFSETS_TOPIC
from tests.fuzz.frames import TOPICS
from tests.fuzz.strike import NEIGHBOUR_TOPIC, Neighbour
from tests.support.eventually import eventually

WIDE, WIDE_PARTITIONS = TOPICS[0], 9_990
"""A topic with nearly as many partitions as one request may create: 10,000 records, one of them the topic's. The fuzzer
names this topic first.
"""
LOOKED_INTO = "looked-into"
BATCH_RECORDS = 110_000
OLD_MS = 1_700_000_000_000
GROUP = "readers"
KNOWN_TOPICS = 5_000
SETTLED_S = 60.0
"""The time for a node to learn of a new topic, and for a coordinator to load its partition."""


def wide_topic(friend: Neighbour, partitions: int = WIDE_PARTITIONS) -> None:
    """Create the topic, again if a busy controller refused that: it decides nothing after 30 s in its queue."""
    topics = [MetadataRequestTopic(name=WIDE)]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)

    def exists() -> bool:
        friend.create(WIDE, partitions=partitions)
        return len(friend.ask(request, 9).topics[0].partitions) == partitions

    eventually(exists, SETTLED_S)


def known_topics(friend: Neighbour, count: int = KNOWN_TOPICS) -> None:
    """Create the topics, no more than 1,000 in a request."""
    names = [f"known-{number}" for number in range(count)]
    for first in range(0, count, 1000):
        friend.create(*names[first : first + 1000], partitions=1)


def coordinator(friend: Neighbour) -> None:
    """Create ``__consumer_offsets`` on the node under attack, and wait until the coordinator has loaded the group."""
    friend.create(NEIGHBOUR_TOPIC)
    friend.create(OFFSETS_TOPIC, partitions=4, configs={"cleanup.policy": "compact"})
    eventually(lambda: not friend.ask(FindCoordinatorRequest(key=GROUP), 2).error_code, SETTLED_S)
    commit(friend, NEIGHBOUR_TOPIC, [0])


def commit(friend: Neighbour, topic: str, partitions: list[int]) -> None:
    """Commit for the group, again until its coordinator has loaded its partition."""
    offsets = [OffsetCommitRequestPartition(index, 1, committed_metadata="m" * 20) for index in partitions]
    committed = [OffsetCommitRequestTopic(topic, partitions=offsets)]
    request = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, member_id="", topics=committed)
    eventually(lambda: not any(each.error_code for each in friend.ask(request, 7).topics[0].partitions), SETTLED_S)


def committed_offsets(friend: Neighbour, partitions: int = WIDE_PARTITIONS) -> None:
    """A group with an offset for each partition of the wide topic."""
    wide_topic(friend, partitions)
    coordinator(friend)
    for first in range(0, partitions, 1000):
        commit(friend, WIDE, list(range(first, min(first + 1000, partitions))))


def large_batch(friend: Neighbour, count: int = BATCH_RECORDS) -> None:
    """A topic with one batch of 110,000 records, just below 1 MiB. The last one is the newest."""
    friend.create(LOOKED_INTO, partitions=1)
    records = [Record(number, OLD_MS + (number == count - 1), None, b"") for number in range(count)]
    write(friend, LOOKED_INTO, encode_batch(records))


def write(friend: Neighbour, topic: str, records: bytes) -> None:
    """Produce to partition 0, again until the node has learnt that it leads it."""
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, records)])
    request = ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[data])
    eventually(lambda: not friend.ask(request, 9).responses[0].partition_responses[0].error_code, SETTLED_S)


def everything(friend: Neighbour) -> None:
    """The state for requests from the message specs: the fuzzer's topics, one of them wide, and a group."""
    committed_offsets(friend)
    friend.prepare()


def id_of_wide_topic(friend: Neighbour) -> object:
    topics = friend.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False), 12).topics
    return next(each.topic_id for each in topics if each.name == WIDE)
