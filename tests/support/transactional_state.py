"""The transactions of a cluster as its brokers report them, and the records that a reader may see."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import confluent_kafka as ck
import kafka
from confluent_kafka import admin as cka
from kafka.errors import KafkaError

from tests.support.eventually import eventually
from tests.support.librdkafka import Consumer
from tests.support.writer import CLIENT

TRANSACTION_STATE = "__transaction_state"
GROUP_OFFSETS = "__consumer_offsets"
COORDINATED = {
    "offsets_topic_num_partitions": "1",
    "offsets_topic_replication_factor": "3",
    "transaction_state_log_num_partitions": "1",
    "transaction_state_log_replication_factor": "3",
    "transaction_state_log_min_isr": "2",
}
"""One coordinator of all transactional ids, and one of all groups, each with three replicas."""
BETWEEN_TRANSACTIONS = {"Empty", "CompleteCommit", "CompleteAbort"}
READ_S = 60.0
_LED_SOON = ck.KafkaError.NOT_LEADER_FOR_PARTITION, ck.KafkaError.LEADER_NOT_AVAILABLE


def stable_offsets(bootstrap_servers: str, partitions: Sequence[tuple[str, int]]) -> list[tuple[int, int]]:
    """The last stable offset of each partition, and its high watermark, once all of them have leaders.

    A broker shows a new topic in its metadata before it leads.
    """
    admin = cka.AdminClient({"bootstrap.servers": bootstrap_servers, **CLIENT})
    asked = {ck.TopicPartition(*each): cka.OffsetSpec.latest() for each in partitions}
    levels = ck.IsolationLevel.READ_COMMITTED, ck.IsolationLevel.READ_UNCOMMITTED

    def ask() -> list[dict[tuple[str, int], int]]:
        both = [admin.list_offsets(asked, isolation_level=level) for level in levels]
        try:
            return [
                {(at.topic, at.partition): future.result(READ_S).offset for at, future in each.items()} for each in both
            ]
        except ck.KafkaException as failed:
            if failed.args[0].code() not in _LED_SOON:
                raise
            return []

    ends = eventually(ask, READ_S)
    return [(ends[0][each], ends[1][each]) for each in partitions]


def open_transactions(bootstrap_servers: str) -> list[str]:
    """The transactional ids that are not between transactions, with their states (ListTransactions, KIP-664)."""
    with contextlib.closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        listed = [each for listings in admin.list_transactions().values() for each in listings]
    return [f"{each.transactional_id}: {each.state}" for each in listed if each.state not in BETWEEN_TRANSACTIONS]


def described_transactions(bootstrap_servers: str) -> dict[str, Any]:
    """The transactional ids of all coordinators, as DescribeTransactions shows them (KIP-664).

    Raises:
        KafkaError: a coordinator loads them, or one of them expires meanwhile.
    """
    with contextlib.closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        listed = [each.transactional_id for listings in admin.list_transactions().values() for each in listings]
        found: dict[str, Any] = admin.describe_transactions(listed) if listed else {}
    return found


def assert_no_transaction_hangs(servers: str, partitions: Sequence[tuple[str, int]], limit_s: float) -> None:
    """Wait until no transactional id has an open transaction and all of each partition is stable."""

    def none_is_open() -> bool:
        with contextlib.suppress(KafkaError):  # while a coordinator loads its partition
            return not open_transactions(servers)
        return False

    def all_is_stable() -> bool:
        with contextlib.suppress(ck.KafkaException):  # while a broker learns of its leadership
            return all(stable == end for stable, end in stable_offsets(servers, partitions))
        return False

    eventually(none_is_open, limit_s)
    eventually(all_is_stable, limit_s)


def read_committed(bootstrap_servers: str, topic: str, partition: int) -> list[bytes]:
    """The values that a consumer with ``isolation.level=read_committed`` reads, up to the last stable offset."""
    options = {"group.id": "unused", "isolation.level": "read_committed", "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, **CLIENT, **options, "enable.auto.commit": False})
    consumer.assign([ck.TopicPartition(topic, partition, ck.OFFSET_BEGINNING)])
    values: list[bytes] = []

    def read() -> bool:
        for message in consumer.consume(1000, 0.1):
            if message.error() is None:
                values.append(message.value())
            elif message.error().code() == ck.KafkaError._PARTITION_EOF:
                return True
        return False

    eventually(read, READ_S)
    consumer.close()
    return values


def upgrade_transactions(bootstrap_servers: str) -> None:
    """Finalize ``transaction.version`` 2 (KIP-890)."""
    with contextlib.closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        assert admin.update_features({"transaction.version": 2}) == {"transaction.version": "OK"}
