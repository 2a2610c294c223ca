"""Transactions on brokers of both kinds with ZooKeeper, under a controller of either."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kraft.zookeeper.znodes.cluster import PRODUCER_ID_BLOCK, decode_producer_id_block
from tests.interop.traffic import Traffic
from tests.support.copier import Copier, OpenTransaction
from tests.support.eventually import eventually
from tests.support.leaders import leaders
from tests.support.node_process import OURS, Kind
from tests.support.transactional_state import (
    GROUP_OFFSETS,
    TRANSACTION_STATE,
    assert_no_transaction_hangs,
    described_transactions,
    read_committed,
)
from tests.support.writer import Writer
from tests.support.zookeeper_era import APACHE, legacy_cluster

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

LIMIT_S = 60.0
PARTITIONS = 2
IDS = [f"payments-{number}" for number in range(4)]
STATE = [(TRANSACTION_STATE, number) for number in range(PARTITIONS)]
OUT = ("out", 0)
SETTINGS = {
    "replica_fetch_backoff_ms": "200",
    "replica_lag_time_max_ms": "3000",
    "offsets_topic_num_partitions": "1",
    "transaction_state_log_num_partitions": str(PARTITIONS),
    "transaction_state_log_min_isr": "1",
}


@pytest.mark.parametrize("kinds", [(APACHE, OURS), (OURS, APACHE), (OURS, OURS)], ids=["Apache", "ours", "only ours"])
def test_transactions_outlive_a_coordinator_with_zookeeper(tmp_path: Path, kinds: Sequence[Kind]) -> None:
    """The first broker is the controller, and allocates producer ids (KIP-730). Each broker coordinates a partition of
    ``__transaction_state``; the second one is killed in the middle of transactions.
    """
    with legacy_cluster(tmp_path, **SETTINGS) as cluster:
        for node_id, kind in enumerate(kinds, 1):
            cluster.add(node_id, kind)
        first, second = cluster.brokers
        servers, traffic = cluster.bootstrap_servers, Traffic(cluster.bootstrap_servers)
        for topic in ("in", *OUT[:1]):
            traffic.create(topic, replication_factor=2)
        traffic.create(TRANSACTION_STATE, PARTITIONS, replication_factor=2, cleanup_policy="compact")
        eventually(lambda: leaders(traffic, STATE) == {first, second}, LIMIT_S)
        with Copier(servers, "in", *OUT[:1], 1) as copier, Writer(servers, "in", 1, pause_s=0.1):
            copier.wait_for_more(3)
        opened = [OpenTransaction(servers, each, OUT[0], each.encode()) for each in IDS]
        producers = {each.producer_id for each in described_transactions(servers).values()}
        assert len(producers) == 1 + len(IDS)
        with cluster.client() as client:
            block = decode_producer_id_block(client.get(PRODUCER_ID_BLOCK)[0])
        assert max(producers) <= block.last

        cluster.brokers[second].kill()
        eventually(lambda: leaders(traffic, STATE) == {first}, LIMIT_S)
        for number, each in enumerate(opened):
            each.end(is_committed=number % 2 == 0)
        cluster.brokers[second].start()
        assert_no_transaction_hangs(servers, [OUT, (GROUP_OFFSETS, 0)], LIMIT_S)
        found = read_committed(servers, *OUT)
        assert [value for value in found if value.isdigit()] == [b"%d" % number for number in range(copier.copied)]
        assert [value for value in found if not value.isdigit()] == [each.encode() for each in IDS[::2]]
        assert not [broker for broker in cluster.brokers.values() if "Traceback" in "".join(broker.output)]
