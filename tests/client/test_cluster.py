"""The connections of a client to a cluster: the first one, while no server accepts it."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from kraft.client.cluster import open_cluster
from kraft.client.retry import ClusterUnreachable, GaveUp
from kraft.testing import EmbeddedCluster
from kraft.world.dial import dial_by_tcp
from kraft.world.transport import Transport


async def test_a_cluster_that_comes_back_in_time_is_waited_for(kraft_cluster: EmbeddedCluster) -> None:
    """Spark's guide on ``kafkaConsumer.pollTimeoutMs``: executors wait for data that long, not for nothing."""
    refusals = 3

    async def dial(host: str, port: int) -> Transport:
        nonlocal refusals
        if refusals:
            refusals -= 1
            raise ConnectionRefusedError(111, "Connection refused")
        return await dial_by_tcp(host, port)

    async with open_cluster(kraft_cluster.bootstrap_servers, retry_timeout_s=60.0, dial=dial) as cluster:
        assert (await cluster.metadata([])).brokers
    assert refusals == 0


async def test_a_cluster_that_does_not_come_back_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    async def dial(host: str, port: int) -> Transport:
        raise ConnectionRefusedError(111, "Connection refused")

    with pytest.raises(ClusterUnreachable):
        async with open_cluster("127.0.0.1:9", dial=dial):
            pass
    began = trio.current_time()
    with pytest.raises(GaveUp, match=r"connection to the cluster: gave up after 30 seconds: .*Connection refused"):
        async with open_cluster("127.0.0.1:9", retry_timeout_s=30.0, dial=dial):
            pass
    assert trio.current_time() - began == pytest.approx(30)
