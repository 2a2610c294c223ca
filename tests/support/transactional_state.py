"""The transactions of a cluster as its brokers report them, and the records that a reader may see."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import confluent_kafka as ck
import kafka
from confluent_kafka import admin as cka

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
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


def stable_offsets(bootstrap_servers: str, partitions: Sequence[tuple[str, int]]) -> list[tuple[int, int]]:
    """The last stable offset of each partition, and its high watermark."""
    admin = cka.AdminClient({"bootstrap.servers": bootstrap_servers, **CLIENT})
    asked = {ck.TopicPartition(*each): cka.OffsetSpec.latest() for each in partitions}
    levels = ck.IsolationLevel.READ_COMMITTED, ck.IsolationLevel.READ_UNCOMMITTED
    both = [admin.list_offsets(asked, isolation_level=level) for level in levels]
    ends = [{(at.topic, at.partition): future.result(READ_S).offset for at, future in each.items()} for each in both]
    return [(ends[0][each], ends[1][each]) for each in partitions]


def open_transactions(bootstrap_servers: str) -> list[str]:
    """The transactional ids that are not between transactions, with their states (ListTransactions, KIP-664)."""
    with contextlib.closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        listed = [each for listings in admin.list_transactions().values() for each in listings]
    return [f"{each.transactional_id}: {each.state}" for each in listed if each.state not in BETWEEN_TRANSACTIONS]


def assert_no_transaction_hangs(cluster: Cluster, partitions: Sequence[tuple[str, int]], limit_s: float) -> None:
    """Wait until no transactional id has an open transaction and all of each partition is stable."""
    servers = cluster.bootstrap_servers
    eventually(lambda: not open_transactions(servers), limit_s)
    eventually(lambda: all(stable == end for stable, end in stable_offsets(servers, partitions)), limit_s)


def read_committed(bootstrap_servers: str, topic: str, partition: int) -> list[bytes]:
    """The values that a consumer with ``isolation.level=read_committed`` reads, up to the last stable offset."""
    options = {"group.id": "unused", "isolation.level": "read_committed", "enable.partition.eof": True}
    consumer = ck.Consumer({"bootstrap.servers": bootstrap_servers, **CLIENT, **options, "enable.auto.commit": False})
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
