"""The client for programs without an event loop."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator

import pytest
import trio
import trio.testing

from kraft.client.blocking import BlockingCluster
from kraft.client.cluster import EARLIEST_TIMESTAMP, Cluster
from kraft.client.producer import Producer
from kraft.client.retry import ClusterUnreachable, GaveUp
from kraft.config.setting import ConfigError
from kraft.testing import EmbeddedCluster
from tests.support.node_process import free_ports


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedCluster({"orders": 1}) as cluster:
        yield cluster.bootstrap_servers


async def send(cluster: Cluster) -> int:
    producer = Producer(cluster, "orders")
    await producer.start()
    await producer.send([(None, b"x")])
    return producer.stored


def counting(limit: int, made: list[int]) -> Callable[[Cluster], Callable[[], Awaitable[int | None]]]:
    """The numbers below ``limit``; ``made`` has those that the loop made already."""

    async def advance() -> int | None:
        await trio.lowlevel.checkpoint()
        if len(made) == limit:
            return None
        made.append(len(made))
        return made[-1]

    return lambda cluster: advance


def test_calls_return_results_and_raise_errors(servers: str) -> None:
    async def fail(cluster: Cluster) -> None:
        raise LookupError("no such thing")

    with BlockingCluster(servers) as client:
        assert client.call(send, 30) == 1
        assert client.call(lambda cluster: cluster.offsets("orders", {0: EARLIEST_TIMESTAMP}), 30) == {0: 0}
        with pytest.raises(LookupError, match="no such thing"):
            client.call(fail, 30)
        assert client.call(send, 30) == 1


def test_a_call_is_bounded(servers: str) -> None:
    async def never(cluster: Cluster) -> None:
        await trio.sleep_forever()

    with BlockingCluster(servers) as client:
        with pytest.raises(GaveUp, match=r"no answer from .* within 0\.01 seconds"):
            client.call(never, 0.01)
        assert client.call(send, 30) == 1


def test_a_stream_is_made_ahead_and_no_further(servers: str) -> None:
    """The loop makes the next results while the caller handles one, and the queue between them is bounded."""
    made: list[int] = []
    with BlockingCluster(servers) as client, client.stream(counting(100, made), ahead=2) as numbers:
        assert next(numbers) == 0
        client.call(lambda cluster: trio.testing.wait_all_tasks_blocked(), 30)
        assert len(made) <= 4
        assert list(numbers) == list(range(1, 100))


def test_a_stream_that_is_left_is_cancelled(servers: str) -> None:
    cancelled = threading.Event()

    def make(cluster: Cluster) -> Callable[[], Awaitable[int | None]]:
        made: list[int] = []

        async def advance() -> int | None:
            if made:
                try:
                    await trio.sleep_forever()
                finally:
                    cancelled.set()
            made.append(0)
            return 0

        return advance

    with BlockingCluster(servers) as client:
        with client.stream(make, ahead=1) as numbers:
            assert next(numbers) == 0
            client.call(lambda cluster: trio.testing.wait_all_tasks_blocked(), 30)
        assert cancelled.wait(10)


def test_a_stream_raises_the_error_of_its_function_in_its_place(servers: str) -> None:
    numbers_made: list[int] = []

    def make(cluster: Cluster) -> Callable[[], Awaitable[int | None]]:
        advance = counting(10, numbers_made)(cluster)

        async def failing() -> int | None:
            if len(numbers_made) == 2:
                raise LookupError("the third")
            return await advance()

        return failing

    with BlockingCluster(servers) as client:
        with client.stream(make, ahead=2) as numbers:
            assert [next(numbers), next(numbers)] == [0, 1]
            with pytest.raises(LookupError, match="the third"):
                next(numbers)
        assert client.call(send, 30) == 1


def test_a_cluster_that_cannot_be_reached_is_an_error_of_the_begin() -> None:
    (port,) = free_ports(1)
    with pytest.raises(ClusterUnreachable, match=rf"Cannot connect to 127\.0\.0\.1:{port}"):
        BlockingCluster(f"127.0.0.1:{port}").__enter__()
    with pytest.raises(ConfigError, match="host:port"):
        BlockingCluster("nowhere").__enter__()


def test_a_closed_client_leaves_no_thread_and_says_so(servers: str) -> None:
    with BlockingCluster(servers) as client:
        assert "kraft client" in {thread.name for thread in threading.enumerate()}
    assert "kraft client" not in {thread.name for thread in threading.enumerate()}
    client.close()
    with pytest.raises(RuntimeError, match="open only inside its with block"):
        client.call(send, 30)
