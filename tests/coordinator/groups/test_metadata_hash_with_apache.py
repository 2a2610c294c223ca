"""The metadata hash of the same topics in Apache Kafka: equal, or a group would rebalance at each move between them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from kraft.coordinator.groups.consumer.metadata_hash import hash_of_topics
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.delta import replay
from kraft.metadata.frame import encode_record
from kraft.metadata.image import Image
from kraft.metadata.steps import finished
from tests.support.fetchers import APACHE_KAFKA, QUICK_JVM, apache_kafka, require

pytestmark = pytest.mark.interop

PROGRAM = Path(__file__).parent / "java" / "Hashes.java"
CLUSTERS = 200
RUN_LIMIT_S = 110
RACKS = ("a", "b", "zürich", "\U0001f600", "\uffee", "")
"""Java orders texts by their UTF-16 units, in which the fourth one is before the fifth."""


def cluster(chance: Random) -> Iterator[Any]:
    """The records of a cluster: some brokers without a rack, and replicas on a broker that is not registered."""
    brokers = range(1, chance.randint(2, 5))
    for broker in brokers:
        rack = chance.choice((None, *RACKS))
        yield RegisterBrokerRecord(broker_id=broker, incarnation_id=UUID(int=broker), broker_epoch=broker, rack=rack)
    for number in range(chance.randint(0, 4)):
        topic_id = UUID(int=chance.getrandbits(128))
        yield TopicRecord(name=f"{chance.choice('aZ_0.')}{number}", topic_id=topic_id)
        for partition in range(chance.choice((1, 3, 250))):
            replicas = chance.sample([*brokers, 9], chance.randint(1, len(brokers)))
            yield PartitionRecord(
                partition_id=partition, topic_id=topic_id, replicas=replicas, isr=replicas[:1], leader=replicas[0]
            )


def test_apache_hashes_the_same_topics_to_the_same_number() -> None:
    clusters = [list(cluster(Random(seed))) for seed in range(CLUSTERS)]
    lines = "".join(" ".join(encode_record(each, 0).hex() for each in records) + "\n" for records in clusters)
    command = [require("java"), *QUICK_JVM, "-cp", f"{apache_kafka(APACHE_KAFKA)}/*", str(PROGRAM)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    theirs = list(map(int, done.stdout.split()))
    images = [replay(Image(), records, len(records) - 1, 1, 0)[0] for records in clusters]
    ours = [finished(hash_of_topics([topic.name for topic in each.topics.values()], each)) for each in images]
    assert ours == theirs
    assert len(set(ours)) > CLUSTERS // 2
