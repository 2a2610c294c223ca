"""A connection with ZooKeeper that is lost at the worst moment, in kraft.zookeeper.session.

The client is kazoo with its own queues and its own handling of a lost connection, but without its thread and its
socket: the server is a task of the test.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
import trio
from kazoo.client import KazooClient
from kazoo.protocol.serialization import Delete as DeleteRequest
from kazoo.protocol.serialization import Exists as ExistsRequest
from kazoo.protocol.serialization import GetData as GetRequest
from kazoo.protocol.states import KeeperState, ZnodeStat
from trio.testing import MockClock

from kraft.zookeeper.kazoo_handler import Handler
from kraft.zookeeper.operations import Delete, Get, Operation, Result, Znode
from kraft.zookeeper.session import ZooKeeperSession

LIMIT_S = 60.0
STAT = ZnodeStat(7, 7, 0, 0, 3, 0, 0, 0, 1, 0, 7)


class Kazoo(KazooClient):  # type: ignore[misc]
    """Loses its connection once: after the request with the number ``lost_after`` is queued, or in another thread, as
    a real one does, just before the request with the number ``lost_before`` is queued.
    """

    def __init__(self, *, lost_after: int = 0, lost_before: int = 0) -> None:
        super().__init__(handler=Handler())
        self.performed: list[tuple[type[Any], str]] = []
        self._lost_after, self._lost_before = lost_after, lost_before
        self._requests = 0
        self._thread = threading.Thread(target=self.reconnect)
        self._asked = trio.Event()

    def connect(self) -> None:
        self._session_callback(KeeperState.CONNECTED)

    def reconnect(self) -> None:
        self._session_callback(KeeperState.CONNECTING)
        self.connect()

    def _call(self, request: Any, async_object: Any) -> None:
        self._requests += 1
        if self._requests == self._lost_before:
            self._thread.start()
            self._thread.join(0.1)  # it ends here, unless something stops it
        self._queue.append((request, async_object))
        if self._requests == self._lost_after:
            self.reconnect()
        self._asked.set()

    async def serve(self) -> None:
        """Perform the requests that are queued, in order. It never runs while the session starts operations."""
        while True:
            await self._asked.wait()
            self._asked = trio.Event()
            if self._lost_before:
                self._thread.join()
            while self._queue:
                request, outcome = self._queue.popleft()
                self.performed.append((type(request), request.path))
                if isinstance(request, ExistsRequest):
                    self._data_watchers[request.path].add(request.watcher)
                outcome.set((b"1", STAT) if isinstance(request, GetRequest) else True)


async def perform(kazoo: Kazoo, *operations: Operation) -> tuple[Result, ...]:
    opened = ZooKeeperSession(kazoo, "")
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kazoo.serve)
            kazoo.connect()
            results = await opened.perform(operations)
            nursery.cancel_scope.cancel()
    return results


@pytest.mark.parametrize("lost", [{"lost_after": 2}, {"lost_before": 3}])
async def test_operations_keep_their_order_over_a_lost_connection(
    autojump_clock: MockClock, lost: dict[str, int]
) -> None:
    """ZooKeeperSession.perform: "Perform operations in order". Kazoo fails the first two, and would keep the others."""
    kazoo = Kazoo(**lost)
    await perform(kazoo, *(Delete(path) for path in ("/a", "/b", "/c", "/d")))
    assert kazoo.performed == [(DeleteRequest, path) for path in ("/a", "/b", "/c", "/d")]


@pytest.mark.parametrize("lost", [{"lost_after": 1}, {"lost_before": 2}])
async def test_data_is_never_read_without_its_watch(autojump_clock: MockClock, lost: dict[str, int]) -> None:
    """Get: "With ``watch``, the next change of its data, its creation or its deletion is reported". The request that
    watches and the one that reads are two, and the connection is lost between them."""
    kazoo = Kazoo(**lost)
    results = await perform(kazoo, Get("/controller", watch=True))
    assert results == (Znode(b"1", 3, 7, 0),)
    assert len(kazoo._data_watchers["/controller"]) == 1
