"""kraft.zookeeper.session on a real ZooKeeper."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import trio

from kraft.world.world import World
from kraft.zookeeper.operations import (
    ANY_VERSION,
    Check,
    ChildNames,
    Children,
    Create,
    Delete,
    Failure,
    Get,
    Multi,
    MultiFailed,
    Set,
    Znode,
    ZnodeChanged,
)
from kraft.zookeeper.session import (
    OperationFailed,
    SessionLost,
    SessionState,
    ZooKeeperSession,
    ZooKeeperUnavailable,
    session,
    split_connect,
)
from tests.support.node_process import free_ports
from tests.support.zookeeper_process import ZooKeeperProcess, end_session

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]
TIMEOUT_S = 10.0
LIMIT_S = 60.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper"), {"minSessionTimeout": "1000"})
    try:
        process.start()
        yield process
    finally:
        process.kill()


@pytest.fixture
async def zookeeper(server: ZooKeeperProcess, request: pytest.FixtureRequest) -> AsyncIterator[ZooKeeperSession]:
    """A session whose root is empty: each test has a chroot path of its own."""
    with trio.fail_after(LIMIT_S):
        async with session(World(), f"{server.address}/{request.node.name}", TIMEOUT_S, LIMIT_S) as opened:
            assert await opened.next_event() is SessionState.CONNECTED
            yield opened


def test_the_chroot_is_the_path_after_the_hosts() -> None:
    """zookeeper.connect: "hostname1:port1,hostname2:port2,hostname3:port3/chroot/path"."""
    assert split_connect("a:1,b:2/chroot/path") == ("a:1,b:2", "/chroot/path")
    assert split_connect("a:1/") == ("a:1", "")
    assert split_connect("a:1") == ("a:1", "")


async def test_each_operation_has_its_result(zookeeper: ZooKeeperSession) -> None:
    results = await zookeeper.perform(
        (
            Create("/a", b"1"),
            Create("/a", b"2"),
            Create("/a/b-", b"", sequence=True),
            Set("/a", b"3", 0),
            Set("/a", b"4", 0),
            Get("/a"),
            Get("/missing"),
            Children("/a"),
            Delete("/a"),
            Children("/missing"),
            Set("/missing", b"", ANY_VERSION),
        )
    )
    assert results[:5] == ("/a", Failure.NODE_EXISTS, "/a/b-0000000000", 1, Failure.BAD_VERSION)
    node = results[5]
    assert isinstance(node, Znode)
    assert (node.data, node.version, node.created_zxid > 0) == (b"3", 1, True)
    assert results[6:] == (
        Failure.NO_NODE,
        ChildNames(("b-0000000000",)),
        Failure.NOT_EMPTY,
        Failure.NO_NODE,
        Failure.NO_NODE,
    )


async def test_a_multi_performs_all_writes_or_none(zookeeper: ZooKeeperSession) -> None:
    results = await zookeeper.perform(
        (
            Multi((Create("/epoch", b"0"), Create("/c", b"x", ephemeral=True))),
            Multi((Check("/epoch", 0), Set("/epoch", b"1", 0))),
            Multi((Check("/epoch", 0), Create("/never"))),
            Multi((Create("/d"), Set("/epoch", b"9", 7))),
            Get("/never"),
            Get("/d"),
        )
    )
    assert results == (
        ("/epoch", "/c"),
        (None, 1),
        MultiFailed(0, Failure.BAD_VERSION),
        MultiFailed(1, Failure.BAD_VERSION),
        Failure.NO_NODE,
        Failure.NO_NODE,
    )


async def test_a_required_operation_that_fails_is_an_error(zookeeper: ZooKeeperSession) -> None:
    with pytest.raises(OperationFailed, match=r"/missing.*does not exist") as raised:
        await zookeeper.require(Get("/missing"))
    assert raised.value.failure is Failure.NO_NODE


async def test_a_watch_reports_each_kind_of_change_once(zookeeper: ZooKeeperSession) -> None:
    await zookeeper.perform((Create("/a"), Create("/a/old")))
    await zookeeper.perform((Get("/a", watch=True), Get("/a/new", watch=True), Children("/a", watch=True)))
    await zookeeper.perform((Create("/a/new"), Set("/a/new", b"2", 0), Set("/a", b"1", 0)))
    changes = [await zookeeper.next_event(), await zookeeper.next_event()]
    assert sorted(changes, key=str) == [ZnodeChanged("/a"), ZnodeChanged("/a/new")]
    with trio.move_on_after(0.2):
        raise AssertionError(f"another change: {await zookeeper.next_event()}")


async def test_a_change_is_reported_before_the_response_to_a_later_read(zookeeper: ZooKeeperSession) -> None:
    """ZooKeeper Programmer's Guide: "A client will see a watch event for a znode it is watching before seeing the new
    data that corresponds to that znode."
    """
    await zookeeper.require(Create("/watched", b""))
    for version in range(200):
        read = Get("/watched", watch=True)
        await zookeeper.perform((read, Set("/watched", b"", version), Get("/watched")))
        with trio.fail_after(0):
            assert await zookeeper.next_event() == ZnodeChanged("/watched")


async def test_many_operations_at_once_keep_their_order(zookeeper: ZooKeeperSession) -> None:
    await zookeeper.perform([Create("/n", b"")])
    results = await zookeeper.perform([Set("/n", str(version).encode(), version) for version in range(2_500)])
    assert results == tuple(range(1, 2_501))


async def test_ephemeral_znodes_end_with_the_block(zookeeper: ZooKeeperSession, server: ZooKeeperProcess) -> None:
    async with session(World(), server.address, TIMEOUT_S, LIMIT_S) as other:
        root = f"/{test_ephemeral_znodes_end_with_the_block.__name__}"
        await other.require(Create(f"{root}/broker", b"1", ephemeral=True))
        assert isinstance(*await zookeeper.perform((Get("/broker", watch=True),)), Znode)
    assert await zookeeper.next_event() == ZnodeChanged("/broker")
    assert await zookeeper.perform((Get("/broker"),)) == (Failure.NO_NODE,)


async def test_an_expired_session_is_over_for_good(zookeeper: ZooKeeperSession, server: ZooKeeperProcess) -> None:
    """ZooKeeper ends a session when another client takes it over with its id and password, and closes it."""
    await zookeeper.require(Create("/mine", b"", ephemeral=True))
    assert zookeeper.identity is not None
    await trio.to_thread.run_sync(end_session, server.address, zookeeper.identity)
    while await zookeeper.next_event() is not SessionState.EXPIRED:
        pass
    with pytest.raises(SessionLost):
        await zookeeper.perform((Get("/mine"),))
    assert zookeeper.state is SessionState.EXPIRED


async def test_no_server_is_a_clear_error() -> None:
    (port,) = free_ports(1)
    with trio.fail_after(LIMIT_S):
        with pytest.raises(ZooKeeperUnavailable, match=rf"no session with ZooKeeper at 127.0.0.1:{port} after 0.3 s"):
            async with session(World(), f"127.0.0.1:{port}", TIMEOUT_S, 0.3):
                raise AssertionError


async def test_a_server_that_accepts_and_never_answers_does_not_cost_the_session() -> None:
    """A ZooKeeper that was about to start did so in 3 of 40 restarts. The client must try again within the session."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener, trio.open_nursery() as nursery:
        nursery.start_soon(_session_without_answer, listener.socket.getsockname()[1])
        with trio.fail_after(LIMIT_S):
            async with await listener.accept(), await listener.accept():
                nursery.cancel_scope.cancel()


async def _session_without_answer(port: int) -> None:
    async with session(World(), f"127.0.0.1:{port}", TIMEOUT_S, TIMEOUT_S * 0.75):
        raise AssertionError


async def test_a_session_survives_a_restart_of_the_server(tmp_path: Path) -> None:
    """The session's state is in ZooKeeper's log. Operations wait meanwhile, and watches may have missed a
    change, so they report one."""
    server = ZooKeeperProcess(tmp_path, {"maxSessionTimeout": "60000"})
    try:
        server.start()
        with trio.fail_after(LIMIT_S):
            async with session(World(), server.address, 24.0, LIMIT_S) as zookeeper:
                await zookeeper.require(Create("/mine", b"1", ephemeral=True))
                await zookeeper.require(Get("/mine", watch=True))
                identity = zookeeper.identity
                assert await zookeeper.next_event() is SessionState.CONNECTED
                server.kill()
                assert await zookeeper.next_event() is SessionState.SUSPENDED
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(zookeeper.require, Set("/mine", b"2", 0))
                    server.start()
                events = {await zookeeper.next_event(), await zookeeper.next_event()}
                assert events == {SessionState.CONNECTED, ZnodeChanged("/mine")}
                node = await zookeeper.require(Get("/mine"))
                assert isinstance(node, Znode)
                assert (node.data, zookeeper.identity) == (b"2", identity)
    finally:
        server.kill()


async def test_cancelling_a_caller_leaves_the_session_usable(zookeeper: ZooKeeperSession) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await zookeeper.perform((Create("/a"),))
    assert scope.cancelled_caught
    (result,) = await zookeeper.perform((Create("/b"),))
    assert result == "/b"
