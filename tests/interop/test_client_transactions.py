"""kraft.client.transactions beside a coordinator of either implementation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.client import transactions
from tests.support.apache_process import APACHE_3, APACHE_4
from tests.support.cluster import Cluster, members, running_cluster
from tests.support.node_process import OURS, Kind

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module", params=[OURS, APACHE_3, APACHE_4], ids=["ours", "3", "4"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    kind: Kind = request.param
    settings = {key.replace(".", "_"): value for key, value in transactions.SINGLE.items()}
    nodes = members(controllers=[kind], brokers=[kind])
    with running_cluster(tmp_path_factory.mktemp("transactions"), nodes, **settings) as running:
        yield running


async def test_only_what_is_committed_is_read(cluster: Cluster) -> None:
    await transactions.read_only_what_is_committed(cluster.bootstrap_servers)


async def test_the_next_producer_fences_the_last_and_aborts_its_transaction(cluster: Cluster) -> None:
    await transactions.fence_the_last_producer(cluster.bootstrap_servers)
