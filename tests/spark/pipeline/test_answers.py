"""Answers about partitions and brokers, against the image that kraft's own replay makes of the same records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs
import pytest

from kraft.messages.abort_transaction_record import AbortTransactionRecord
from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.end_transaction_record import EndTransactionRecord
from kraft.messages.fence_broker_record import FenceBrokerRecord
from kraft.messages.no_op_record import NoOpRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.topic_record import TopicRecord
from kraft.messages.unfence_broker_record import UnfenceBrokerRecord
from kraft.messages.unregister_broker_record import UnregisterBrokerRecord
from kraft.metadata.delta import replay
from kraft.metadata.image import Broker, Image
from kraft.metadata.loader import Loader
from kraft.metadata.partitions import Partition
from kraft.spark.pipeline import answers
from kraft.spark.pipeline.raw import metadata_rows
from kraft.spark.pipeline.typed import derived
from kraft.wire.uuids import uuid_to_text
from tests.spark.pipeline_rows import at, metadata, row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HISTORIES = 300
LENGTH = 20
BROKERS = 10
"""The size of the range of broker ids that a history has for itself."""

Runs = dict[Any, list[tuple[Any, int, int | None]]]
"""The values of each key, with the first offset and the one behind the last."""


def history(number: int) -> list[Any]:
    """Records that fit each other, about topics and brokers that no other history has. ``number`` is the seed."""
    random = Random(number)
    image, records = Image(), list[Any]()
    while len(records) < LENGTH:
        record = random.choice(fitting(random, image, number))
        image, _ = replay(image, [record], len(records), 1, 0)
        records.append(record)
    return records


def fitting(random: Random, image: Image, number: int) -> list[Any]:
    """One record of each kind that fits the image."""
    brokers = [number * BROKERS + each for each in range(3)]
    replicas = random.sample(brokers, 2)
    id, flag = random.choice(brokers), random.random() < 0.5
    found: list[Any] = [NoOpRecord()]
    known = image.brokers.get(id)
    if known is None or known.fenced:
        epoch = image.offset + 1
        found.append(
            RegisterBrokerRecord(id, False, UUID(int=epoch + 9), epoch, fenced=flag, in_controlled_shutdown=flag)
        )
    if known is not None:
        found.append(random.choice([FenceBrokerRecord, UnfenceBrokerRecord])(id=id, epoch=known.epoch))
        changed = random.choice([(-1, 0), (1, 0), (0, 1)])
        found.append(BrokerRegistrationChangeRecord(id, known.epoch, *changed))
        if random.random() < 0.2:
            found.append(UnregisterBrokerRecord(broker_id=id, broker_epoch=known.epoch))
    if len(image.topics) < 2:
        topic_id = UUID(int=number << 32 | 100 + image.offset)
        found.append(TopicRecord(name=f"topic-{topic_id.int}", topic_id=topic_id))
    for topic in image.topics.values():
        index, leader = random.randrange(2), random.choice([*replicas, -1])
        partition = topic.partitions.get(index)
        if partition is None:
            ids = {"partition_id": index, "topic_id": topic.id}
            epochs = {"leader_epoch": random.randrange(3), "partition_epoch": 0}
            found.append(PartitionRecord(**ids, replicas=replicas, isr=replicas, leader=replicas[0], **epochs))
        else:
            ids = {"partition_id": index, "topic_id": topic.id}
            found += [PartitionChangeRecord(**ids, leader=leader), PartitionChangeRecord(**ids, isr=replicas)]
            # A snapshot repeats a partition as it is.
            found.append(repeated(topic.id, index, partition))
        if random.random() < 0.1:
            found.append(RemoveTopicRecord(topic_id=topic.id))
    return found


def repeated(topic_id: UUID, index: int, partition: Partition) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
    )


@attrs.frozen
class Log:
    """Records by offset. ``effective`` are the offsets of those that are not in an aborted or open transaction."""

    records: list[Any]
    effective: set[int]


@pytest.fixture(scope="module")
def log() -> Log:
    """The records of many histories, one after the other; some in a transaction, the last ones in an open one."""
    records: list[Any] = []
    effective: set[int] = set()
    for number in range(1, HISTORIES + 1):
        end = {1: EndTransactionRecord(), 2: AbortTransactionRecord()}.get(number % 4)
        is_last = number == HISTORIES
        if end is not None or is_last:
            records.append(BeginTransactionRecord())
        first = len(records)
        records += history(number)
        if not is_last and number % 4 != 2:
            effective.update(range(first, len(records)))
        if end is not None and not is_last:
            records.append(end)
    return Log(records, effective)


def images(log: Log) -> Iterator[tuple[int, Image]]:
    """The image after each effective record."""
    image = Image()
    for offset in sorted(log.effective):
        image, _ = replay(image, [log.records[offset]], offset, 1, 0)
        yield offset, image
    loader = Loader()
    for offset, record in enumerate(log.records):
        loader.load([record], offset, 1, 0)
    assert loader.settled().topics == image.topics
    assert loader.settled().brokers == image.brokers


def settle(runs: Runs, key: Any, value: Any, offset: int) -> None:
    """Note that ``value`` holds of ``key`` from ``offset`` on; None if nothing does."""
    known = runs.setdefault(key, [])
    if known and known[-1][2] is None:
        if known[-1][0] == value:
            return
        known[-1] = (*known[-1][:2], offset)
    if value is not None:
        known.append((value, offset, None))


def all_settle(runs: Runs, values: dict[Any, Any], offset: int) -> None:
    for key in runs.keys() | values.keys():
        settle(runs, key, values.get(key), offset)


def by_key(rows: DataFrame, key: Sequence[str], value: Sequence[str]) -> Runs:
    runs: Runs = {}
    for each in rows.orderBy("from_offset").collect():
        held = tuple(each[name] for name in value), each["from_offset"], each["to_offset"]
        runs.setdefault(tuple(each[name] for name in key), []).append(held)
    return runs


@pytest.fixture(scope="module")
def typed(spark: SparkSession, log: Log) -> Iterator[Callable[[str], DataFrame]]:
    """The committed rows of a typed table."""
    raw = metadata_rows(metadata(spark, [row(offset, record) for offset, record in enumerate(log.records)])).cache()
    void = answers.void_transactions(derived("metadata_transactions", raw))
    assert void, "the histories have aborted transactions"
    yield lambda name: answers.committed(derived(name, raw), void)
    raw.unpersist()


def test_leadership_is_that_of_the_images(log: Log, typed: Callable[[str], DataFrame]) -> None:
    """A record that names a leader, even the same one, begins a leader epoch (PartitionRegistration.merge). An aborted
    or open transaction changes nothing (KIP-868).
    """
    expected: Runs = {}
    for offset, image in images(log):
        held = {
            (uuid_to_text(topic.id), index): (topic.name, partition.leader, partition.leader_epoch)
            for topic, index, partition in image.partitions()
        }
        all_settle(expected, held, offset)
    found = answers.partition_leadership(typed("leadership_changes"), typed("topics"))
    assert by_key(found, ["topic_id", "partition"], ["topic", "leader", "leader_epoch"]) == expected
    assert sum(map(len, expected.values())) > HISTORIES, "the histories have leaders"
    first = found.where("ended is not null").orderBy("from_offset").first()
    assert first is not None
    assert (first["started"].astimezone(UTC), first["ended"].astimezone(UTC)) == (
        at(first["from_offset"] * 1000),
        at(first["to_offset"] * 1000),
    )
    assert first["seconds"] == first["to_offset"] - first["from_offset"]


def state_of(broker: Broker, unfenced: set[tuple[int, int]]) -> str:
    if not broker.fenced:
        unfenced.add((broker.id, broker.epoch))
        return "controlled shutdown" if broker.in_controlled_shutdown else "unfenced"
    return "fenced" if (broker.id, broker.epoch) in unfenced else "registered"


def test_states_of_brokers_are_those_of_the_images(log: Log, typed: Callable[[str], DataFrame]) -> None:
    """A fenced broker leads nothing (KIP-631); one that was never unfenced is only registered."""
    expected: Runs = {}
    unfenced: set[tuple[int, int]] = set()
    for offset, image in images(log):
        states = {(each.id,): (state_of(each, unfenced), each.epoch) for each in image.brokers.values()}
        gone = {key: ("unregistered", runs[-1][0][1]) for key, runs in expected.items() if key not in states}
        all_settle(expected, {**states, **gone}, offset)
    found = answers.broker_states(typed("registrations"), typed("fencing"))
    assert by_key(found, ["broker"], ["state", "broker_epoch"]) == expected
    assert {run[0][0] for runs in expected.values() for run in runs} == {
        *("registered", "unfenced", "fenced", "controlled shutdown", "unregistered")
    }
