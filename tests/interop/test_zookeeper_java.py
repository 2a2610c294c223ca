"""The Java clients of two releases on brokers of both kinds with ZooKeeper, under a controller of either."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.clients.beyond.driver import run_driver
from tests.clients.beyond.test_java import DRIVER, JARS
from tests.support.fetchers import QUICK_JVM, require
from tests.support.node_process import OURS, Kind
from tests.support.zookeeper_era import APACHE, legacy_cluster

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

FEATURES = (
    "create-topic",
    "auto-create",
    *(
        f"produce-{codec}-{kind}"
        for codec in ("none", "gzip", "snappy", "lz4", "zstd")
        for kind in ("plain", "idempotent")
    ),
    "acks",
    "log-append-time",
    "reset-out-of-range",
    "group-rebalance",
    "group-rebalance-cooperative",
    "group-resume",
    "static-member",
    "describe-cluster",
    "offsets-ends",
    "offsets-timestamp",
    "list-groups",
    "describe-groups",
    "delete-groups",
    "refuse-existing-topic",
    "refuse-topic-name",
    "refuse-replication-factor",
    "refuse-unknown-group",
    "refuse-busy-group",
)
"""Those of the driver that need no metadata at once: either broker may answer the client's next request."""


@pytest.mark.parametrize("kinds", [(APACHE, OURS), (OURS, APACHE)], ids=["of Apache", "of ours"])
@pytest.mark.parametrize("client", JARS)
def test_java_clients_work_on_both_kinds_of_brokers(tmp_path: Path, kinds: Sequence[Kind], client: str) -> None:
    """Under a controller of either kind: the first broker is elected. Topics and groups are on both."""
    with legacy_cluster(tmp_path, replica_fetch_backoff_ms="200") as cluster:
        for node_id, kind in enumerate(kinds, 1):
            cluster.add(node_id, kind)
        command = [require("java"), *QUICK_JVM, "-cp", f"{JARS[client]()}/*", str(DRIVER)]
        run = run_driver([*command, cluster.bootstrap_servers, "java"])
        found = cluster.controller()
        assert found is not None
        assert found.broker_id == 1
        (ours,) = (broker for broker in cluster.brokers.values() if broker.kind is OURS)
        assert "Traceback" not in "".join(ours.output)
    outcomes = {feature: run.outcomes.get(feature) for feature in FEATURES}
    assert {name: outcome for name, outcome in outcomes.items() if outcome is None or not outcome.ok} == {}, run.end
