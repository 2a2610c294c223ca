"""A node that may open few files: neither idle connections nor its own metadata end it."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft.rpc.client import Connection, Disconnected, connect
from tests.support.eventually import eventually, eventually_async
from tests.support.node_process import NodeProcess
from tests.support.talk import batch, create, fetch_request, produce, values

LIMIT = 256
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
    assert any(f"{PARTITIONS} partitions share 64 open files" in line for line in node.output)
    async with dial(node) as client:
        assert open_files(node) < LIMIT
        for partition in range(0, PARTITIONS, 13):
            assert (await produce(client, "orders", batch(b"second"), partition=partition)).error_code == 0
    assert node.stop() == 0


async def test_a_fetch_of_more_files_than_may_be_open_is_answered_in_parts(node: NodeProcess) -> None:
    """Each slice of a response holds its file until it is sent, so a response has no more slices than files are free:
    the other partitions come with the next Fetch, as after ``max_bytes``.
    """
    node.start()
    async with dial(node) as client:
        await create(client, "orders", PARTITIONS)
        for partition in range(PARTITIONS):
            assert (await produce(client, "orders", batch(b"value"), partition=partition)).error_code == 0
        left = set(range(PARTITIONS))
        rounds = 0
        while left:
            rounds += 1
            response = await client.request(fetch_request("orders", partitions=tuple(sorted(left))), 12)
            answers = response.responses[0].partitions
            assert {answer.error_code for answer in answers} == {0}
            # A response may be empty: the task that sent the last one may hold its slices for a moment yet.
            left -= {answer.partition_index for answer in answers if answer.records}
            assert rounds < PARTITIONS
        assert rounds > 1, "this response fits, so the test shows nothing"
    assert node.stop() == 0


def test_a_node_that_may_open_hardly_any_file_says_so(tmp_path: Path) -> None:
    node = NodeProcess(tmp_path, open_files=60)
    with pytest.raises(RuntimeError, match="may have 60 open files, and a node needs at least 128: raise the limit"):
        node.start()
