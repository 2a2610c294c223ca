"""A broker's sessions with a real ZooKeeper: registration, expiry, and configurations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial

import attrs
import pytest
import trio

from kraft.config.listeners import Endpoint
from kraft.metadata.image import ResourceType
from kraft.world.clock import Clock
from kraft.world.world import World
from kraft.zookeeper.broker_node import BrokerSessions, CannotJoin, register
from kraft.zookeeper.config_follower import ConfigFollower
from kraft.zookeeper.config_store import ConfigStore
from kraft.zookeeper.operations import Create, Delete, Failure, Get, Znode, ZnodeChanged
from kraft.zookeeper.session import SessionLost, SessionState, ZooKeeperSession, session
from kraft.zookeeper.znodes.brokers import BrokerRegistration, decode_broker
from kraft.zookeeper.znodes.cluster import config_path, encode_config
from kraft.zookeeper.znodes.controllers import CONTROLLER, CONTROLLER_EPOCH, ControllerZnode, encode_controller
from tests.support.zookeeper_process import ZooKeeperProcess, end_session

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

LIMIT_S = 60.0
TIMEOUT_S = 10.0
US = "/brokers/ids/7"
WATCHED = "/controller"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper"))
    try:
        process.start()
        yield process
    finally:
        process.kill()


@pytest.fixture
def address(server: ZooKeeperProcess, request: pytest.FixtureRequest) -> str:
    """A chroot of its own for each test, which does not exist yet."""
    return f"{server.address}/{request.node.name}"


@attrs.define
class Broker:
    """Broker 7, without topics. Notes its epochs, and sends the settings that it gets to ``settings``."""

    node_id: int = 7
    topics: tuple[str, ...] = ()
    features_epoch: int = -1
    epochs: list[int] = attrs.Factory(list)
    is_registered: trio.Event = attrs.Factory(trio.Event)
    settings: tuple[trio.MemorySendChannel[object], trio.MemoryReceiveChannel[object]] = attrs.Factory(
        partial(trio.open_memory_channel, 10)
    )

    def registered(self, broker_epoch: int) -> None:
        self.epochs.append(broker_epoch)
        self.is_registered.set()
        self.is_registered = trio.Event()

    async def set_config(self, resource_type: ResourceType, name: str, values: Mapping[str, str]) -> None:
        await self.settings[0].send((resource_type, name, dict(values)))

    async def allows_unclean(self, changed: ZnodeChanged) -> None:
        await trio.lowlevel.checkpoint()

    async def next_setting(self) -> object:
        return await self.settings[1].receive()


@attrs.define
class Follower:
    """Counts its sessions, and sends their events to ``events``."""

    sessions: int = 0
    events: tuple[trio.MemorySendChannel[object], trio.MemoryReceiveChannel[object]] = attrs.Factory(
        partial(trio.open_memory_channel, 10)
    )

    async def run(self, opened: ZooKeeperSession) -> None:
        self.sessions += 1
        with suppress(SessionLost):
            await opened.perform((Get(WATCHED, watch=True),))
            await self.events[0].send("watches")
            await trio.sleep_forever()

    async def changed(self, event: ZnodeChanged | SessionState) -> None:
        if event is not SessionState.CONNECTED:
            await self.events[0].send(event)

    async def next_event(self) -> object:
        return await self.events[1].receive()


def sessions_of(address: str, connection_timeout_s: float = LIMIT_S) -> BrokerSessions:
    return BrokerSessions(World(), address, TIMEOUT_S, connection_timeout_s)


def configs_of(sessions: BrokerSessions, ours: Broker) -> ConfigFollower:
    return ConfigFollower(ConfigStore(sessions), Clock(), ours, ours.allows_unclean)


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[ZooKeeperSession]:
    """Another client, in a cluster that a broker has prepared."""
    await sessions_of(address).cluster_id("cluster")
    async with session(World(), address, TIMEOUT_S, LIMIT_S) as opened:
        with trio.fail_after(LIMIT_S):
            yield opened


def broker(timestamp_ms: int = 1) -> BrokerRegistration:
    endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 9092)
    return BrokerRegistration(7, (endpoint,), timestamp_ms, "rack")


async def test_the_first_broker_gives_the_cluster_its_id(address: str) -> None:
    assert await sessions_of(address).cluster_id("first") == "first"
    assert await sessions_of(address).cluster_id("second") == "first"


async def test_the_broker_epoch_is_the_transaction_that_created_the_registration(address: str) -> None:
    """KIP-380: a broker that registers again has a higher epoch. A repeated request is no other registration."""
    async with connected(address) as first:
        before = await register(first, broker(), LIMIT_S)
        node = await first.require(Get(US))
        assert isinstance(node, Znode)
        assert (node.created_zxid, decode_broker(7, node.data)) == (before, broker())
        assert await register(first, broker(), LIMIT_S) == before
        await first.require(Delete(US))
        assert await register(first, broker(), LIMIT_S) > before


async def test_a_broker_waits_for_the_end_of_its_former_session(address: str) -> None:
    """After kill -9 ZooKeeper keeps the registration until the session times out."""
    async with connected(address) as first, trio.open_nursery() as nursery:
        before = await register(first, broker(1), LIMIT_S)
        new, sessions = Broker(), sessions_of(address)
        nursery.start_soon(sessions.run, broker(), new, configs_of(sessions, new), Follower())
        with trio.move_on_after(1.0):
            await new.is_registered.wait()
        assert not new.epochs
        registered = new.is_registered
        await first.require(Delete(US))
        await registered.wait()
        assert new.epochs[0] > before
        nursery.cancel_scope.cancel()


async def test_an_id_that_another_broker_keeps_is_one_line(address: str) -> None:
    async with connected(address) as first, session(World(), address, TIMEOUT_S, LIMIT_S) as second:
        await register(first, broker(1), LIMIT_S)
        with pytest.raises(CannotJoin, match="a broker with id 7 is registered, and did not go away within 1 s"):
            await register(second, broker(2), 1.0)


async def test_an_expired_session_is_replaced_and_the_broker_registers_again(address: str) -> None:
    """Another client that continues the session and closes it ends it, as a timeout does."""
    async with connected(address), trio.open_nursery() as nursery:
        ours, follower, sessions = Broker(), Follower(), sessions_of(address)
        await nursery.start(sessions.run, broker(), ours, configs_of(sessions, ours), follower)
        opened = sessions._opened
        assert opened is not None
        assert opened.identity is not None
        again = ours.is_registered
        await trio.to_thread.run_sync(end_session, address.partition("/")[0], opened.identity)
        await again.wait()
        assert ours.epochs[1] > ours.epochs[0]
        assert await sessions.perform([Get("/unknown")]) == (Failure.NO_NODE,)
        assert follower.sessions == 2
        nursery.cancel_scope.cancel()


async def test_the_controller_gets_the_changes_that_it_watches(address: str) -> None:
    """All of a session but the notifications of configurations, which every broker follows."""
    async with connected(address) as other, trio.open_nursery() as nursery:
        ours, follower, sessions = Broker(), Follower(), sessions_of(address)
        await nursery.start(sessions.run, broker(), ours, configs_of(sessions, ours), follower)
        assert await follower.next_event() == "watches"
        await other.require(Create(WATCHED))
        assert await follower.next_event() == ZnodeChanged(WATCHED)
        nursery.cancel_scope.cancel()


async def test_announced_configurations_are_passed_on(address: str) -> None:
    """A change has a sequential znode, which names the entity. The watch is set again each time."""
    async with connected(address) as other, trio.open_nursery() as nursery:
        await other.require(Create(CONTROLLER, encode_controller(ControllerZnode(1, 0))))
        await other.require(Create(CONTROLLER_EPOCH, b"1"))
        await other.require(Create(config_path("brokers", "7"), encode_config({"log.cleaner.threads": "2"})))
        ours, sessions = Broker(), sessions_of(address)
        configs = configs_of(sessions, ours)
        await nursery.start(sessions.run, broker(), ours, configs, Follower())
        nursery.start_soon(configs.run)
        assert await ours.next_setting() == (ResourceType.BROKER, "", {})
        assert await ours.next_setting() == (ResourceType.BROKER, "7", {"log.cleaner.threads": "2"})
        for value in ("5", "6"):
            await configs.store.change(("topics", "t"), lambda before, value=value: {"retention.ms": value})
            assert await ours.next_setting() == (ResourceType.TOPIC, "t", {"retention.ms": value})
        nursery.cancel_scope.cancel()
