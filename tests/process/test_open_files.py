"""A node that may open few files: neither idle connections nor its own metadata end it."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import trio

from kraft.rpc.client import Connection, Disconnected, connect
from tests.abuse.attack import frame
from tests.support.eventually import eventually, eventually_async
from tests.support.node_process import NodeProcess
from tests.support.talk import batch, create, fetch, fetch_request, produce, values, values_in

LIMIT = 256
FILES_FOR_LOGS = 64
PARTITIONS = 400
"""Each needed an open file once."""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    node = NodeProcess(tmp_path, open_files=LIMIT)
    yield node
    node.kill()


def dial(node: NodeProcess) -> contextlib.AbstractAsyncContextManager[Connection]:
    return connect("127.0.0.1", node.ports[0])


def is_closed(connection: socket.socket) -> bool:
    """Whether the node closed the connection, which has sent nothing."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def open_files(node: NodeProcess) -> int:
    return len(os.listdir(f"/proc/{node.pid}/fd"))


async def test_idle_connections_leave_files_for_a_new_topic(node: NodeProcess) -> None:
    """With a hard limit of open files, as many idle connections and one CreateTopics ended the process."""
    node.start()
    with contextlib.ExitStack() as crowd:
        async with dial(node) as before:
            address = "127.0.0.1", node.ports[0]
            idle = [crowd.enter_context(socket.create_connection(address)) for _ in range(LIMIT)]
            refused = eventually(lambda: [each for each in idle if is_closed(each)])
            assert len(refused) < LIMIT - 64
            await create(before, "orders", PARTITIONS)
            for partition in range(0, PARTITIONS, 7):
                assert (await produce(before, "orders", batch(b"record"), partition=partition)).error_code == 0
            assert open_files(node) < LIMIT
    assert node.is_running
    assert any("closed: this node has as many connections as its limit of open files" in line for line in node.output)

    async def read() -> list[bytes]:
        try:
            async with dial(node) as after:
                return await values(after, "orders")
        except (OSError, Disconnected):  # the node has not seen yet that the others closed
            return []

    assert await eventually_async(read) == [b"record"]
    assert node.stop() == 0


async def test_more_partitions_than_open_files_survive_a_restart(node: NodeProcess) -> None:
    """ "A topic of 2,000 partitions ends it at every restart, because the metadata is committed." """
    node.start()
    async with dial(node) as client:
        await create(client, "orders", PARTITIONS)
        for partition in range(PARTITIONS):
            assert (await produce(client, "orders", batch(b"first"), partition=partition)).error_code == 0
        assert open_files(node) < LIMIT
    node.kill()
    node.start()
    assert any(f"{PARTITIONS} partitions share {FILES_FOR_LOGS} open files" in line for line in node.output)
    async with dial(node) as client:
        assert open_files(node) < LIMIT
        for partition in range(0, PARTITIONS, 13):
            assert (await produce(client, "orders", batch(b"second"), partition=partition)).error_code == 0
    assert node.stop() == 0


async def test_a_fetch_of_more_files_than_may_be_open_is_answered(node: NodeProcess) -> None:
    """The slices of a response hold their files until it is sent. Partitions beyond that come as copies."""
    node.start()
    async with dial(node) as client:
        await create(client, "orders", PARTITIONS)
        await produce_to_each(client, b"value")
        response = await client.request(fetch_request("orders", partitions=tuple(range(PARTITIONS))), 12)
        assert [values_in(answer) for answer in response.responses[0].partitions] == [[b"value"]] * PARTITIONS
    assert node.stop() == 0


async def test_a_reader_that_takes_no_response_stops_no_other(node: NodeProcess) -> None:
    """Its response holds all files of the logs until its connection is idle (``connections.max.idle.ms``)."""
    node.start()
    async with dial(node) as client:
        await create(client, "orders", PARTITIONS)
        await produce_to_each(client, bytes(500_000), range(FILES_FOR_LOGS + 10))
        with socket.socket() as stalled:
            stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stalled.connect(("127.0.0.1", node.ports[0]))
            stalled.sendall(frame(fetch_request("orders", partitions=tuple(range(PARTITIONS)), max_bytes=1 << 30), 12))
            await trio.to_thread.run_sync(stalled.recv, 1)  # the response has begun
            some = range(0, PARTITIONS, 7)
            await produce_to_each(client, b"value", some)
            for partition in some:
                assert values_in(await fetch(client, "orders", partitions=(partition,))), partition
    assert node.stop() == 0


async def produce_to_each(client: Connection, value: bytes, partitions: Iterable[int] = range(PARTITIONS)) -> None:
    for partition in partitions:
        assert (await produce(client, "orders", batch(value), partition=partition)).error_code == 0


def test_a_node_that_may_open_hardly_any_file_says_so(tmp_path: Path) -> None:
    node = NodeProcess(tmp_path, open_files=60)
    with pytest.raises(RuntimeError, match="may have 60 open files, and a node needs at least 128: raise the limit"):
        node.start()
