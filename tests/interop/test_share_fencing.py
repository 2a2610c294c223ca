"""A leader that was paused writes no state of a share partition that has a new leader (KIP-932)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import kafka
import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from tests.interop.traffic import Traffic
from tests.support.apache_process import APACHE_4
from tests.support.cluster import QUICK_FAILOVER, Cluster, members, running_cluster
from tests.support.eventually import eventually
from tests.support.leaders import lead, leaders
from tests.support.librdkafka import ShareConsumer
from tests.support.newer_groups import enable_newer_groups
from tests.support.node_process import OURS, Kind
from tests.support.transactional_state import GROUP_OFFSETS
from tests.support.writer import CLIENT

pytestmark = pytest.mark.interop

LIMIT_S = 60.0
RECORDS = 10
SHARED, GROUP, STATES = ("shared", 0), (GROUP_OFFSETS, 0), ("__share_group_state", 0)
SETTINGS = {
    **QUICK_FAILOVER,
    "offsets_topic_num_partitions": "1",
    "offsets_topic_replication_factor": "3",
    "share_coordinator_state_topic_num_partitions": "1",
    "share_coordinator_state_topic_replication_factor": "3",
    "share_coordinator_state_topic_min_isr": "2",
}


@contextmanager
def running_shares(directory: Path, brokers: Sequence[Kind]) -> Iterator[Cluster]:
    """A cluster with a topic that share groups read from its beginning."""
    with running_cluster(directory, members(controllers=[OURS], brokers=brokers), **SETTINGS) as cluster:
        Traffic(cluster.bootstrap_servers).create(SHARED[0], 1, replication_factor=3, min_insync_replicas="1")
        enable_newer_groups(cluster.nodes[broker].bootstrap_servers for broker in cluster.brokers)
        with closing(kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
            earliest = {"share.auto.offset.reset": "earliest"}
            admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, "share", earliest)])
        yield cluster


def write(cluster: Cluster) -> None:
    producer = ck.Producer({**CLIENT, "bootstrap.servers": cluster.bootstrap_servers})
    for number in range(RECORDS):
        producer.produce(SHARED[0], str(number), partition=SHARED[1])
    assert producer.flush(LIMIT_S) == 0


class Member:
    """A share consumer that accepts all records."""

    def __init__(self, servers: str) -> None:
        settings: dict[str, Any] = {"bootstrap.servers": servers, "group.id": "share"}
        self._consumer = ShareConsumer({**CLIENT, **settings, "share.acknowledgement.mode": "explicit"})
        self._consumer.subscribe([SHARED[0]])
        self.offsets: list[int] = []
        self.errors: list[Any] = []

    def acquire(self) -> bool:
        """Get some records and accept them. Return whether there were any. The leader does not know until a commit."""
        for record in self._consumer.poll(0.2):
            if record.error() is None:
                self._consumer.acknowledge(record, ck.AcknowledgeType.ACCEPT)
                self.offsets.append(record.offset())
        return bool(self.offsets)

    def commit(self) -> None:
        """Note the error of the partition, or None."""
        self.errors += self._consumer.commit_sync(LIMIT_S).values()

    def accept(self) -> None:
        self.offsets.clear()
        eventually(self.acquire, LIMIT_S)
        self.commit()

    def close(self) -> None:
        self._consumer.close()


@pytest.mark.parametrize(
    ("paused", "coordinator"), [(OURS, APACHE_4), (APACHE_4, OURS)], ids=["ours-apache", "apache-ours"]
)
def test_an_acceptance_by_a_former_leader_is_refused(tmp_path: Path, paused: Kind, coordinator: Kind) -> None:
    """KIP-932: the leader epoch of a WriteShareGroupState must not be lower than that of the last read."""
    with running_shares(tmp_path, [paused, OURS, coordinator]) as cluster:
        former, _, third = cluster.brokers
        running = cluster.nodes[third].bootstrap_servers
        with closing(Member(cluster.bootstrap_servers)) as one:
            write(cluster)
            one.accept()  # after the first read of a group its topics exist
            lead(cluster, Traffic(running), {former: [SHARED], third: [GROUP, STATES]})
            write(cluster)
            one.offsets.clear()
            eventually(one.acquire, LIMIT_S)
            cluster.nodes[former].pause()
            commit = threading.Thread(target=one.commit)
            commit.start()
            eventually(lambda: leaders(Traffic(running), [SHARED]).isdisjoint({former, -1}), LIMIT_S)
            with closing(Member(running)) as two:
                eventually(two.acquire, LIMIT_S)
                assert set(one.offsets) & set(two.offsets)
                cluster.nodes[former].resume()
                commit.join(LIMIT_S)
                two.commit()
            assert len(one.errors) == 2
            assert one.errors[1] is not None
            assert two.errors == [None]
