"""Transactions on brokers of both kinds: the coordinator and the leaders move between ours and Apache's.

``KRAFT_TRANSACTION_MOVES=N`` moves them more often; more than 20 need ``-o faulthandler_timeout=0``. Only moves of the
transaction coordinator to the other kind count.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.interop.traffic import Traffic
from tests.support.apache_process import APACHE_4
from tests.support.cluster import QUICK_FAILOVER, members, running_cluster
from tests.support.copier import Copier, OpenTransaction
from tests.support.leaders import KILL_EVERY, Crossings, changes_of_kind
from tests.support.node_process import OURS
from tests.support.replica_logs import assert_equal_replicas
from tests.support.transactional_state import (
    COORDINATED,
    GROUP_OFFSETS,
    TRANSACTION_STATE,
    assert_no_transaction_hangs,
    read_committed,
    upgrade_transactions,
)
from tests.support.writer import Writer

pytestmark = pytest.mark.interop

MOVES = int(os.environ.get("KRAFT_TRANSACTION_MOVES", "20"))
LIMIT_S = 60.0
STATE, OFFSETS, OUT, OPEN = EVERYTHING = [(TRANSACTION_STATE, 0), (GROUP_OFFSETS, 0), ("out", 0), ("open", 0)]


@pytest.mark.timeout(600 + 15 * MOVES)
def test_every_outcome_is_exact_while_coordinators_move(tmp_path: Path) -> None:
    """KIP-98: the next coordinator loads the state from the log. Brokers of both kinds write the same records, so each
    one continues the transactions of the other. In the middle the cluster goes to ``transaction.version`` 2 (KIP-890).
    """
    nodes = members(controllers=[OURS], brokers=[OURS, APACHE_4, OURS])
    with running_cluster(tmp_path, nodes, **QUICK_FAILOVER, **COORDINATED) as cluster:
        servers, traffic = cluster.bootstrap_servers, Traffic(cluster.bootstrap_servers)
        for topic in ("in", "out", "open"):
            traffic.create(topic, replication_factor=3, min_insync_replicas="2")
        expected = []
        with Copier(servers, "in", "out", 1) as copier, Writer(servers, "in", 1, pause_s=0.1) as writer:
            copier.wait_for_more(1)
            crossings = Crossings(cluster, traffic, [STATE, OPEN], [OFFSETS, OUT])
            for move in crossings.wait_for(MOVES):
                copier.wait_for_more(2)  # the second one began after the last move, so it knows its group coordinator
                is_committed = move % 2 == 0
                opened = OpenTransaction(servers, "sleeper", "open", b"%d" % move)
                expected += [opened.value] * is_committed
                crossings.move()
                if move == MOVES // 2:
                    upgrade_transactions(servers)
                opened.end(is_committed=is_committed)
        assert changes_of_kind(cluster, STATE) >= MOVES
        assert len(crossings.killed) >= MOVES // KILL_EVERY
        assert set(crossings.killed) == {OURS, APACHE_4}
        print(f"{copier.committed} committed, {copier.aborted} aborted; {copier.failures}")
        assert not writer.failures
        assert_no_transaction_hangs(servers, [OUT, OPEN, OFFSETS], LIMIT_S)
        assert read_committed(servers, *OUT) == [b"%d" % number for number in range(writer.written)]
        assert read_committed(servers, *OPEN) == expected
        assert_equal_replicas(cluster, EVERYTHING, LIMIT_S)
