"""The connections of a client to a cluster: the first one, while no server accepts it."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import pytest
import trio
import trio.testing

from kraft.client import cluster
from kraft.client.cluster import open_cluster
from kraft.client.retry import ClusterUnreachable, GaveUp
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.find_coordinator_response import FindCoordinatorResponse
from kraft.messages.metadata_request import MetadataRequest
from kraft.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from kraft.messages.registry import ApiKey
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


@attrs.define
class Stub:
    """A connection to a broker that knows every topic, or that has hung since it was connected."""

    has_hung: bool
    closed: bool = False
    versions: Mapping[int, tuple[int, int]] = attrs.Factory(lambda: {ApiKey.METADATA: (0, 12)})

    def close(self) -> None:
        self.closed = True

    def highest_common_version(self, message: object) -> int:
        return 3

    async def request(self, message: object, version: int, timeout_s: float = 30.0) -> object:
        if self.has_hung:
            self.closed = True  # as a connection that timed out
            with trio.fail_after(timeout_s):
                await trio.sleep_forever()
        if isinstance(message, FindCoordinatorRequest):
            return FindCoordinatorResponse(node_id=2, host="b", port=1)
        if isinstance(message, MetadataRequest):
            return MetadataResponse(topics=[MetadataResponseTopic(name="t")])
        return FindCoordinatorResponse(error_code=0)


async def test_another_broker_is_asked_if_the_first_one_hangs(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``default.api.timeout.ms`` is longer than ``request.timeout.ms`` in Kafka's clients, for this reason."""
    made: list[str] = []

    async def connect(host: str, *_: object, **__: object) -> Stub:
        if made.count("a") > 0 and host == "a":
            await trio.sleep_forever()
        made.append(host)
        return Stub(has_hung=host == "a")

    monkeypatch.setattr(cluster, "open_connection", connect)
    for look_up in (
        lambda opened: opened.topic("t"),
        lambda opened: opened.ask_coordinator("g", DescribeClusterRequest(), lambda _: 0),
    ):
        made.clear()
        async with open_cluster("a:1,b:1") as opened:
            assert made == ["a"]
            await look_up(opened)
            assert made == ["a", "b"]
