"""``__transaction_state`` as Apache's broker wrote it, continued by ours, and the other way round."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaError

from tests.interop.traffic import Traffic
from tests.support.apache_process import APACHE_4
from tests.support.cluster import QUICK_FAILOVER, members, running_cluster
from tests.support.copier import OpenTransaction
from tests.support.eventually import eventually
from tests.support.leaders import leaders
from tests.support.node_process import OURS, Kind
from tests.support.transactional_state import (
    TRANSACTION_STATE,
    assert_no_transaction_hangs,
    described_transactions,
    read_committed,
    upgrade_transactions,
)

pytestmark = pytest.mark.interop

LIMIT_S = 60.0
NEAR, FAR = ("near", 0), ("far", 0)
EXPIRATION = "transactional.id.expiration.ms"
SETTINGS = {
    EXPIRATION: "5000",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
    "transaction.state.log.num.partitions": "1",
}
COMPLETE = {"CompleteCommit", "CompleteAbort"}
ALL_STATES = {*COMPLETE, "PrepareCommit", "PrepareAbort", "Ongoing"}


@pytest.mark.parametrize("version", [0, 2], ids=["value 0", "value 1"])
@pytest.mark.parametrize(("writer", "loader"), [(APACHE_4, OURS), (OURS, APACHE_4)], ids=["of Apache", "of ours"])
def test_the_other_kind_continues(tmp_path: Path, writer: Kind, loader: Kind, version: int) -> None:
    """Open, prepared, completed and expired transactional ids, on the same directory. ``transaction.version`` chooses
    the version of the values (KIP-890).

    A partition has too few replicas in sync for a marker, so its transactions stay prepared. Its leader is another
    broker, which stays: a coordinator of Apache takes a partition whose leader it does not know yet for deleted
    (KAFKA-20734), and completes the transaction.
    """
    settings = {**QUICK_FAILOVER, **{name.replace(".", "_"): value for name, value in SETTINGS.items()}}
    nodes = members(controllers=[OURS], brokers=[writer, OURS, OURS])
    with running_cluster(tmp_path, nodes, **settings) as cluster:
        coordinator, other, leader = cluster.brokers
        servers = cluster.nodes[coordinator].bootstrap_servers
        traffic = Traffic(servers)
        traffic.create_at(TRANSACTION_STATE, [coordinator], cleanup_policy="compact")
        traffic.create_at(NEAR[0], [coordinator])
        traffic.create_at(FAR[0], [other, leader], min_insync_replicas="2")
        if version:
            upgrade_transactions(servers)
        end(servers, "expired", is_committed=True)
        eventually(lambda: described(servers) == {}, LIMIT_S)
        opened = OpenTransaction(servers, "open", NEAR[0], b"open")
        prepared = {each: OpenTransaction(servers, f"prepared {each}", FAR[0], b"%d" % each) for each in (True, False)}
        cluster.nodes[other].kill()
        eventually(lambda: leaders(traffic, [FAR]) == {leader}, LIMIT_S)
        for is_committed, each in prepared.items():
            each.end(is_committed=is_committed)

        def completed() -> dict[str, Any] | None:
            """Complete two transactions, and describe all of them before they expire."""
            end(servers, "committed", is_committed=True)
            end(servers, "aborted", is_committed=False)
            found = described(servers)
            return found if states(found) == ALL_STATES else None

        before = eventually(completed, LIMIT_S)
        assert before is not None
        cluster.nodes[coordinator].kill()

        cluster.settings = {**cluster.settings, EXPIRATION: "604800000"}
        cluster.become(coordinator, loader)
        cluster.start(coordinator)
        eventually(lambda: described(servers) == before, LIMIT_S)
        cluster.start(other)
        opened.end(is_committed=True)
        eventually(lambda: states(described(servers)) == COMPLETE, LIMIT_S)
        assert set(read_committed(servers, *NEAR)) == {b"expired", b"committed", b"open"}
        assert read_committed(servers, *FAR) == [b"1"]
        for name in ("committed", "expired"):
            end(servers, name, is_committed=True)
        after = described(servers) or {}
        assert after["committed"].producer_id == before["committed"].producer_id
        assert after["committed"].producer_epoch == before["committed"].producer_epoch + 1
        assert after["expired"].producer_id not in {each.producer_id for each in before.values()}
        assert_no_transaction_hangs(servers, [NEAR, FAR], LIMIT_S)


def end(servers: str, transactional_id: str, *, is_committed: bool) -> None:
    OpenTransaction(servers, transactional_id, NEAR[0], transactional_id.encode()).end(is_committed=is_committed)


def described(servers: str) -> dict[str, Any] | None:
    """The transactional ids; None while the coordinator loads them, or if one of them expires meanwhile."""
    with contextlib.suppress(KafkaError):
        return described_transactions(servers)
    return None


def states(found: dict[str, Any] | None) -> set[str]:
    return {each.state.value for each in (found or {}).values()}
