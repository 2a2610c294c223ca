"""Groups of all kinds on brokers of both kinds: the coordinators and the leaders move between ours and Apache's in the
middle of rebalances.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import attrs
import confluent_kafka as ck
import kafka
import pytest
from kafka.admin import ConfigResource, ConfigResourceType

from tests.interop.group_members import Deliveries, Positions, Reader, Sharer
from tests.interop.traffic import Traffic
from tests.support.apache_process import APACHE_4
from tests.support.apache_tool import SHARE_GROUPS, apache_tool
from tests.support.cluster import QUICK_FAILOVER, Cluster, members, running_cluster
from tests.support.leaders import KILL_EVERY, Crossings, changes_of_kind
from tests.support.librdkafka import Consumer
from tests.support.newer_groups import enable_newer_groups
from tests.support.node_process import OURS
from tests.support.replica_logs import assert_equal_replicas
from tests.support.share_state_log import share_histories
from tests.support.transactional_state import GROUP_OFFSETS
from tests.support.writer import Writer

pytestmark = pytest.mark.interop

MOVES = 20
"""Of the group coordinator to the other kind."""
LIMIT_S = 120.0
SHARE_STATE = "__share_group_state"
READ = [("read", index) for index in range(4)]
SHARED = [("shared", index) for index in range(2)]
OFFSETS, SHARES = (GROUP_OFFSETS, 0), (SHARE_STATE, 0)
EVERYTHING = [OFFSETS, SHARES, *READ, *SHARED]
PROTOCOLS = "classic", "consumer"
SETTINGS = {
    **QUICK_FAILOVER,
    "broker_session_timeout_ms": "6000",
    "offsets_topic_num_partitions": "1",
    "offsets_topic_replication_factor": "3",
    "share_coordinator_state_topic_num_partitions": "1",
    "share_coordinator_state_topic_replication_factor": "3",
    "share_coordinator_state_topic_min_isr": "2",
    "share_coordinator_snapshot_update_records_per_snapshot": "5",
    **{
        f"group_{kind}_{setting}": "500"
        for kind in ("consumer", "share")
        for setting in ("heartbeat_interval_ms", "min_heartbeat_interval_ms")
    },
}


@attrs.define
class Groups:
    """A group of each protocol, and a share group; each with two members, and sometimes a third."""

    servers: str
    positions: dict[str, Positions] = attrs.field(factory=lambda: {each: Positions() for each in PROTOCOLS})
    deliveries: Deliveries = attrs.Factory(Deliveries)
    readers: dict[str, list[Reader]] = attrs.field(factory=lambda: {each: [] for each in PROTOCOLS})
    sharers: list[Sharer] = attrs.Factory(list)

    def join(self) -> None:
        """A member more in each group."""
        for protocol in PROTOCOLS:
            self.readers[protocol].append(Reader(self.servers, protocol, protocol, "read", self.positions[protocol]))
        self.sharers.append(Sharer(self.servers, "share", "shared", self.deliveries))

    def leave(self) -> None:
        """The newest member of each group leaves."""
        for each in (*self.readers.values(), self.sharers):
            each.pop().close()

    def poll_until(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < until, self.shown()
            for each in (*itertools.chain.from_iterable(self.readers.values()), *self.sharers):
                each.poll()

    def shown(self) -> str:
        held = {protocol: [each.partitions for each in readers] for protocol, readers in self.readers.items()}
        shared = f"{len(self.deliveries.accepted)} accepted, {self.deliveries.late} delivered later"
        return f"{held}; {self.positions}; {shared}; {self.deliveries.failures}"

    def is_stable(self) -> bool:
        """Whether each partition has one owner, and each reader something to read."""
        return all(
            all(each.partitions for each in readers)
            and sorted(itertools.chain.from_iterable(each.partitions for each in readers)) == [0, 1, 2, 3]
            for readers in self.readers.values()
        )

    def counts(self) -> list[int]:
        """The records that each group has read, or may have accepted."""
        shared = len(self.deliveries.accepted | self.deliveries.unsure)
        return [*(sum(each.read.values()) for each in self.positions.values()), shared]

    def progress(self) -> Callable[[], bool]:
        """Whether each group has read more than now."""
        before = self.counts()
        return lambda: all(now > then + 5 for now, then in zip(self.counts(), before, strict=True))

    def have_committed(self) -> bool:
        return all(each.commit() for each in itertools.chain.from_iterable(self.readers.values()))


def lags(cluster: Cluster) -> list[str]:
    """The lags of the share group's partitions, as Apache's tool shows them."""
    options = ("--bootstrap-server", cluster.bootstrap_servers, "--describe", "--group", "share", "--offsets")
    lines = [line.split() for line in apache_tool(SHARE_GROUPS, *options).splitlines()]
    return [words[-1] for words in lines if words and words[0] == "share"]


def committed(servers: str, group: str) -> list[int]:
    with closing(Consumer({"bootstrap.servers": servers, "group.id": group})) as consumer:
        return [each.offset for each in consumer.committed([ck.TopicPartition(*each) for each in READ], LIMIT_S)]


def assert_nothing_was_taken_back(cluster: Cluster, written: int) -> None:
    """Each record of the shared topic is acknowledged in the log of the states, and stays so."""
    topic, index = SHARES
    histories = share_histories(cluster.nodes[cluster.brokers[0]].log_directory / f"{topic}-{index}")
    assert [violation for each in histories.values() for violation in each.violations] == []
    for key, history in histories.items():
        assert history.acknowledged == set(range(len(range(key.partition, written, len(SHARED)))))
        assert history.snapshots > 5
    assert len(histories) == len(SHARED)


@pytest.mark.timeout(900)
def test_every_outcome_is_exact_while_coordinators_move(tmp_path: Path) -> None:
    """A member goes on at the last answered commit, whatever coordinator loaded it; an accepted record has no other
    outcome (KIP-932), whichever kind leads its partition and whichever kind keeps its state.
    """
    nodes = members(controllers=[OURS], brokers=[OURS, APACHE_4, OURS])
    with running_cluster(tmp_path, nodes, **SETTINGS) as cluster:
        servers, traffic = cluster.bootstrap_servers, Traffic(cluster.bootstrap_servers)
        for topic, partitions in (("read", 4), ("shared", 2)):
            traffic.create(topic, partitions, replication_factor=3, min_insync_replicas="2")
        enable_newer_groups(cluster.nodes[broker].bootstrap_servers for broker in cluster.brokers)
        with closing(kafka.KafkaAdminClient(bootstrap_servers=servers)) as admin:
            earliest = {"share.auto.offset.reset": "earliest"}
            admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, "share", earliest)])
        groups = Groups(servers)
        groups.join()
        groups.join()
        with Writer(servers, "read", 4, pause_s=0.05) as writer, Writer(servers, "shared", 2, pause_s=0.05) as other:
            groups.poll_until(groups.is_stable)
            # The leader of a shared partition and the coordinator of its state are of different kinds.
            crossings = Crossings(cluster, traffic, [OFFSETS, *SHARED], [SHARES, *READ])
            for _ in crossings.wait_for(MOVES):
                groups.poll_until(groups.progress())
                groups.leave() if len(groups.sharers) > 2 else groups.join()
                crossings.move()
                groups.poll_until(groups.is_stable)
        assert changes_of_kind(cluster, OFFSETS) >= MOVES
        assert len(crossings.killed) >= MOVES // KILL_EVERY
        assert set(crossings.killed) == {OURS, APACHE_4}
        assert not writer.failures
        assert not other.failures
        groups.poll_until(lambda: groups.counts() == [writer.written, writer.written, other.written])
        groups.poll_until(groups.have_committed)
        groups.poll_until(lambda: lags(cluster) == ["0", "0"])
        while groups.sharers:
            groups.leave()
        for protocol in PROTOCOLS:
            assert committed(servers, protocol) == [len(range(index, writer.written, 4)) for _, index in READ]
        print(groups.shown())
        assert_equal_replicas(cluster, EVERYTHING, LIMIT_S)
        assert_nothing_was_taken_back(cluster, other.written)
