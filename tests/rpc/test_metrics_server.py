"""``GET /metrics``, and the refusal of all other requests."""

from __future__ import annotations

from collections import Counter

import pytest
import trio
from prometheus_client.parser import text_string_to_metric_families

from kraft.metrics import Registry
from kraft.rpc.metrics_server import serve_metrics


async def exchange(port: int, request: bytes) -> bytes:
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    response = b""
    async with stream:
        await stream.send_all(request)
        try:
            while data := await stream.receive_some(65_536):
                response += data
        except trio.BrokenResourceError:
            pass  # closed with some of our bytes unread
    return response


async def test_metrics_are_served_in_prometheus_form() -> None:
    registry = Registry()
    registry.meter("kafka.server", "BrokerTopicMetrics", "BytesInPerSec", topic="t").count = 7
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve_metrics, registry, "127.0.0.1", 0)
        response = await exchange(port, b"GET /metrics HTTP/1.1\r\nhost: node\r\n\r\n")
        head, _, body = response.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        (family,) = text_string_to_metric_families(body.decode())
        (sample,) = family.samples
        assert sample.name == "kafka_server_brokertopicmetrics_bytesinpersec_total"
        assert (sample.labels, sample.value) == ({"topic": "t"}, 7)
        nursery.cancel_scope.cancel()


async def test_other_tasks_run_while_many_metrics_are_read() -> None:
    """docs/robustness.md: "No request holds the event loop"."""
    registry, rounds = Registry(), 0
    reads = Counter[int]()

    def read() -> float:
        reads[rounds] += 1
        return 0.0

    async def count_rounds() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await trio.lowlevel.checkpoint()

    for number in range(1_000):
        registry.gauge("kafka.server", "ReplicaManager", "PartitionCount", read, number=str(number))
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve_metrics, registry, "127.0.0.1", 0)
        nursery.start_soon(count_rounds)
        response = await exchange(port, b"GET /metrics HTTP/1.1\r\nhost: node\r\n\r\n")
        assert response.startswith(b"HTTP/1.1 200")
        nursery.cancel_scope.cancel()
    assert reads.total() == 1_000
    assert max(reads.values()) <= 2 * 40  # Trio runs the tasks of a round in any order


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
async def test_a_host_of_every_interface_accepts_ipv4(host: str) -> None:
    """``serve_metrics``: "on the interfaces of a Kafka listener with this host"."""
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve_metrics, Registry(), host, 0)
        assert (await exchange(port, b"GET /metrics HTTP/1.1\r\nhost: n\r\n\r\n")).startswith(b"HTTP/1.1 200")
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\nhost: node\r\n\r\n", b"404"),
        (b"PUT /metrics HTTP/1.1\r\nhost: node\r\ncontent-length: 0\r\n\r\n", b"405"),
        (b"\x00\x00\x00\x10 this is not HTTP\r\n\r\n", b"400"),
        (b"GET /metrics HTTP/1.1\r\nx: " + b"x" * 20_000, b"431"),
    ],
)
async def test_anything_else_is_refused(request_bytes: bytes, status: bytes) -> None:
    async with trio.open_nursery() as nursery:
        port = await nursery.start(serve_metrics, Registry(), "127.0.0.1", 0)
        response = await exchange(port, request_bytes)
        assert response.startswith(b"HTTP/1.1 " + status)
        assert (await exchange(port, b"GET /metrics HTTP/1.1\r\nhost: n\r\n\r\n")).startswith(b"HTTP/1.1 200")
        nursery.cancel_scope.cancel()
