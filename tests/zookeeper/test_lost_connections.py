"""A connection with ZooKeeper that is lost, or a session that ends, at the worst moment, in kraft.zookeeper.session and
kraft.zookeeper.broker_node.

The client is kazoo with its own queues and its own handling of a lost connection, but without its thread and its
socket: the server is a task of the test.
"""

from __future__ import annotations

import threading
from typing import Any

import attrs
import pytest
import trio
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoAuthError, NodeExistsError
from kazoo.protocol.serialization import Create as CreateRequest
from kazoo.protocol.serialization import Delete as DeleteRequest
from kazoo.protocol.serialization import Exists as ExistsRequest
from kazoo.protocol.serialization import GetData as GetRequest
from kazoo.protocol.states import KeeperState, ZnodeStat
from trio.testing import MockClock

from kraft.config.listeners import Endpoint
from kraft.world.world import World
from kraft.zookeeper.broker_node import BrokerSessions, CannotJoin, register
from kraft.zookeeper.kazoo_handler import Handler
from kraft.zookeeper.operations import Delete, Get, Operation, Result, Znode, ZnodeChanged
from kraft.zookeeper.session import OperationFailed, SessionState, ZooKeeperSession
from kraft.zookeeper.znodes.brokers import BrokerRegistration

LIMIT_S = 60.0
OUTAGE_S = 600.0
EPOCH = 7
STAT = ZnodeStat(EPOCH, EPOCH, 0, 0, 3, 0, 0, 0, 1, 0, EPOCH)


class Kazoo(KazooClient):  # type: ignore[misc]
    """Loses its connection once: after the request with the number ``lost_after`` is queued, or in another thread, as
    a real one does, just before the request with the number ``lost_before`` is queued. Or the session has expired when
    the request with the number ``expired_at`` is made.
    """

    def __init__(self, *, lost_after: int = 0, lost_before: int = 0, expired_at: int = 0) -> None:
        super().__init__(handler=Handler())
        self.data: dict[str, bytes] = {}
        self.unreadable: set[str] = set()
        self.performed: list[tuple[type[Any], str]] = []
        self._lost_after, self._lost_before, self._expired_at = lost_after, lost_before, expired_at
        self._requests = 0
        self._thread = threading.Thread(target=self.reconnect)
        self._asked = trio.Event()

    def connect(self) -> None:
        self._session_callback(KeeperState.CONNECTED)

    def start_async(self) -> None:
        self.connect()

    def stop(self) -> None:
        """There is no thread."""

    def close(self) -> None:
        """There is no socket."""

    def reconnect(self) -> None:
        self._session_callback(KeeperState.CONNECTING)
        self.connect()

    def _call(self, request: Any, async_object: Any) -> Any:
        self._requests += 1
        if self._requests == self._expired_at:
            self._session_callback(KeeperState.EXPIRED_SESSION)
            return super()._call(request, async_object)
        if self._requests == self._lost_before:
            self._thread.start()
            self._thread.join(0.1)  # it ends here, unless something stops it
        self._queue.append((request, async_object))
        if self._requests == self._lost_after:
            self.reconnect()
        self._asked.set()
        return None

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
                try:
                    outcome.set(self._perform(request))
                except KazooException as error:
                    outcome.set_exception(error)

    def _perform(self, request: Any) -> Any:
        match request:
            case ExistsRequest():
                self._data_watchers[request.path].add(request.watcher)
            case GetRequest() if request.path in self.unreadable:
                raise NoAuthError
            case GetRequest():
                return self.data[request.path], STAT
            case CreateRequest() if request.path in self.data:
                raise NodeExistsError
            case CreateRequest():
                self.data[request.path] = request.data
                return request.path
        return True


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
    kazoo.data["/controller"] = b"1"
    results = await perform(kazoo, Get("/controller", watch=True))
    assert results == (Znode(b"1", 3, EPOCH, 0),)
    assert len(kazoo._data_watchers["/controller"]) == 1


def broker() -> BrokerRegistration:
    return BrokerRegistration(7, (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092),), 1)


async def registered(kazoo: Kazoo, limit_s: float) -> int:
    """Register broker 7, with a connection that comes back after ``OUTAGE_S``."""
    opened = ZooKeeperSession(kazoo, "")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(kazoo.serve)
        nursery.start_soon(connect_later, kazoo)
        epoch = await register(opened, broker(), limit_s)
        nursery.cancel_scope.cancel()
    return epoch


async def connect_later(kazoo: Kazoo) -> None:
    await trio.sleep(OUTAGE_S)
    kazoo.connect()


async def test_a_broker_registers_after_a_long_time_without_a_connection(autojump_clock: MockClock) -> None:
    """KafkaZkClient.registerBroker makes its requests with retryRequestsUntilConnected, without a limit. A broker that
    has not seen its znode knows of no other one with its id."""
    assert await registered(Kazoo(), OUTAGE_S / 100) == EPOCH


async def test_a_znode_that_cannot_be_read_ends_the_registration(autojump_clock: MockClock) -> None:
    """register: "OperationFailed: as the session does"."""
    kazoo = Kazoo()
    kazoo.data["/brokers/ids/7"] = b"another"
    kazoo.unreadable.add("/brokers/ids/7")
    with trio.fail_after(2 * OUTAGE_S), pytest.RaisesGroup(OperationFailed):
        await registered(kazoo, OUTAGE_S / 100)


async def test_the_limit_for_another_broker_begins_when_its_znode_is_seen(autojump_clock: MockClock) -> None:
    """register: "The time without a connection does not count"."""
    kazoo, limit_s, began = Kazoo(), OUTAGE_S / 100, trio.current_time()
    kazoo.data["/brokers/ids/7"] = b"another"
    with trio.fail_after(2 * OUTAGE_S), pytest.RaisesGroup(CannotJoin):
        await registered(kazoo, limit_s)
    assert trio.current_time() - began == pytest.approx(OUTAGE_S + limit_s)


@attrs.define
class Configs:
    def session_began(self) -> None:
        """Nothing follows the configurations."""

    def changed(self) -> None:
        """Nothing follows the configurations."""


@attrs.define
class Follower:
    """A broker that is never the controller. Notes its epochs."""

    epochs: list[int] = attrs.Factory(list)

    def registered(self, broker_epoch: int) -> None:
        self.epochs.append(broker_epoch)

    async def run(self, opened: ZooKeeperSession) -> None:
        await trio.sleep_forever()

    async def changed(self, event: ZnodeChanged | SessionState) -> None:
        await trio.lowlevel.checkpoint()


async def test_a_session_that_ends_at_the_creation_of_the_chroot_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """BrokerSessions.run: "Keep the broker registered ... in each session"."""
    clients = [Kazoo(expired_at=1), Kazoo()]
    waiting = list(clients)
    monkeypatch.setattr("kraft.zookeeper.session.KazooClient", lambda *_, **__: waiting.pop(0))
    ours = Follower()
    with trio.fail_after(LIMIT_S):
        async with trio.open_nursery() as nursery:
            for client in clients:
                nursery.start_soon(client.serve)
            sessions = BrokerSessions(World(), "127.0.0.1:1/kafka", 4.0, LIMIT_S)
            await nursery.start(sessions.run, broker(), ours, Configs(), ours)
            nursery.cancel_scope.cancel()
    assert (ours.epochs, waiting) == ([EPOCH], [])
    assert set(clients[1].data) == {"/kafka", "/kafka/brokers/ids/7"}
