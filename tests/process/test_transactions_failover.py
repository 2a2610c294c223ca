"""Transactions on three brokers whose coordinator is killed, again and again, in the middle of them.

``KRAFT_TRANSACTION_KILLS=N`` kills more often; more than 6 need ``-o faulthandler_timeout=0``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.interop.traffic import Traffic
from tests.support.cluster import BOTH, QUICK_FAILOVER, Member, running_cluster
from tests.support.copier import Copier, OpenTransaction
from tests.support.leaders import lead, leaders, wait_for_all_in_sync
from tests.support.node_process import OURS
from tests.support.replica_logs import assert_equal_replicas
from tests.support.transactional_state import (
    COORDINATED,
    GROUP_OFFSETS,
    TRANSACTION_STATE,
    assert_no_transaction_hangs,
    read_committed,
)
from tests.support.writer import Writer

KILLS = int(os.environ.get("KRAFT_TRANSACTION_KILLS", "3"))
LIMIT_S = 60.0
BETWEEN_KILLS = 3
STATE, OFFSETS, OPEN, SOURCE = (TRANSACTION_STATE, 0), (GROUP_OFFSETS, 0), ("open", 0), ("in", 0)
TARGETS = [("out", 0), ("out", 1)]
EVERYTHING = [STATE, OFFSETS, OPEN, SOURCE, *TARGETS]


@pytest.mark.timeout(600 + 60 * KILLS)
def test_every_outcome_is_exact_over_kills_of_the_coordinator(tmp_path: Path) -> None:
    """KIP-98: a committed transaction is visible in all of its partitions and in the offsets of its group, once. An
    aborted one is not, and none stays open.

    The group has another coordinator: librdkafka waits forever for the response of a group coordinator that vanished
    (https://github.com/confluentinc/librdkafka/issues/5511).
    """
    nodes = {number: Member(OURS, BOTH) for number in (1, 2, 3)}
    with running_cluster(tmp_path, nodes, **QUICK_FAILOVER, **COORDINATED) as cluster:
        servers, traffic = cluster.bootstrap_servers, Traffic(cluster.bootstrap_servers)
        for topic, partitions in (("in", 1), ("out", len(TARGETS)), ("open", 1)):
            traffic.create(topic, partitions, replication_factor=3, min_insync_replicas="2")
        expected = []
        with Copier(servers, "in", "out", len(TARGETS)) as copier, Writer(servers, "in", 1, pause_s=0.1) as writer:
            for kill in range(KILLS):
                copier.wait_for_more(1)
                [struck] = leaders(traffic, [STATE])
                lead(cluster, traffic, {struck % len(nodes) + 1: [OFFSETS]})
                copier.wait_for_more(BETWEEN_KILLS)
                is_committed = kill % 2 == 0
                opened = OpenTransaction(servers, "sleeper", "open", b"%d" % kill)
                expected += [opened.value] * is_committed
                cluster.nodes[struck].kill()
                opened.end(is_committed=is_committed)
                copier.wait_for_more(BETWEEN_KILLS)
                cluster.start(struck)
                wait_for_all_in_sync(cluster, traffic, EVERYTHING)
        print(f"{copier.committed} committed, {copier.aborted} aborted; {copier.failures}")
        assert not writer.failures
        assert_no_transaction_hangs(servers, [*TARGETS, OPEN, OFFSETS], LIMIT_S)
        copied = [b"%d" % number for number in range(writer.written)]
        assert [read_committed(servers, *each) for each in TARGETS] == [copied] * len(TARGETS)
        assert read_committed(servers, *OPEN) == expected
        assert_equal_replicas(cluster, EVERYTHING, LIMIT_S)
        assert not [node_id for node_id, node in cluster.nodes.items() if "Traceback" in "".join(node.output)]
