"""The settings that change in ZooKeeper come to the broker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from uuid import UUID

import attrs
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kraft.metadata.image import ResourceType
from kraft.world.clock import Clock
from kraft.zookeeper.config_follower import EXPIRATION_MS, ConfigFollower
from kraft.zookeeper.config_store import ConfigStore
from kraft.zookeeper.operations import Create, Delete, Failure, Set, ZnodeChanged
from kraft.zookeeper.znodes.cluster import FEATURE, FinalizedFeatures, config_path, encode_config, encode_features
from kraft.zookeeper.znodes.notifications import CONFIG_CHANGES, encode_config_change
from kraft.zookeeper.znodes.topics import topic_path
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.znode_tree import ZnodeTree

NOW_MS = 1_700_000_000_000


@attrs.define
class Broker:
    """Broker 7, which notes the settings that it gets."""

    node_id: int = 7
    topics: Mapping[str, UUID] = attrs.field(factory=lambda: {"orders": UUID(int=1)})
    features_epoch: int = -1
    settings: list[tuple[ResourceType, str, dict[str, str]]] = attrs.Factory(list)
    paths: list[str] = attrs.Factory(list)

    async def set_config(self, resource_type: ResourceType, name: str, values: Mapping[str, str]) -> None:
        await trio.lowlevel.checkpoint()
        self.settings.append((resource_type, name, dict(values)))

    async def forget_topics(self, topics: Mapping[str, UUID]) -> None:
        await trio.lowlevel.checkpoint()
        self.topics = dict(self.topics.items() - topics.items())

    async def allows_unclean(self, changed: ZnodeChanged) -> None:
        await trio.lowlevel.checkpoint()
        self.paths.append(changed.path)


class StoppedClock(Clock):
    def now_ms(self) -> int:
        return NOW_MS


@attrs.define
class Scene:
    """A follower whose broker has its settings from the start of the session."""

    zookeeper: MemoryZooKeeper = attrs.Factory(MemoryZooKeeper)
    broker: Broker = attrs.Factory(Broker)
    follower: ConfigFollower = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.zookeeper.tree.now_ms = NOW_MS
        self.zookeeper.tree.create_all(map(topic_path, self.broker.topics))
        self.follower = ConfigFollower(
            ConfigStore(self.zookeeper), StoppedClock(), self.broker, self.broker.allows_unclean
        )

    def put(self, entity_type: str, name: str, **settings: str) -> None:
        values = {key.replace("_", "."): value for key, value in settings.items()}
        self.zookeeper.tree.put(config_path(entity_type, name), encode_config(values))

    def announce(self, data: bytes) -> None:
        self.zookeeper.tree.perform(None, Create(f"{CONFIG_CHANGES}/config_change_", data, sequence=True))
        if self.zookeeper.tree.changed:
            self.zookeeper.tree.changed.clear()
            self.follower.changed()

    async def settled(self) -> list[tuple[ResourceType, str, dict[str, str]]]:
        """The settings that the broker has got since the last call."""
        await wait_all_tasks_blocked()
        settings, self.broker.settings = self.broker.settings, []
        return settings

    @property
    def announcements(self) -> list[str]:
        prefix = f"{CONFIG_CHANGES}/config_change_"
        return [path.removeprefix(prefix) for path in self.zookeeper.tree.znodes if path.startswith(prefix)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            self.follower.session_began()
            await nursery.start(self.follower.run)
            yield
            nursery.cancel_scope.cancel()


async def test_a_broker_has_its_settings_when_it_starts_and_then_the_announced_ones() -> None:
    scene = Scene()
    scene.put("brokers", "<default>", log_cleaner_threads="2")
    scene.put("topics", "orders", retention_ms="5")
    async with scene.running():
        assert await scene.settled() == [
            (ResourceType.BROKER, "", {"log.cleaner.threads": "2"}),
            (ResourceType.BROKER, "7", {}),
            (ResourceType.TOPIC, "orders", {"retention.ms": "5"}),
        ]
        scene.put("topics", "orders", retention_ms="6")
        for entity in ("topics/orders", "brokers/8", "users/alice", "topics/orders", "brokers/7"):
            scene.announce(encode_config_change(entity))
        assert await scene.settled() == [
            (ResourceType.TOPIC, "orders", {"retention.ms": "6"}),
            (ResourceType.BROKER, "7", {}),
        ]
        scene.announce(b'{"version":1,"entity_type":"topics","entity_name":"orders"}')
        assert await scene.settled() == [(ResourceType.TOPIC, "orders", {"retention.ms": "6"})]


async def test_the_epoch_of_the_features_is_the_version_of_their_znode(caplog: pytest.LogCaptureFixture) -> None:
    """FinalizedFeatureChangeListener and ZkMetadataCache.features: -1 without the znode, or while it is disabled."""
    scene = Scene()
    tree = scene.zookeeper.tree
    enabled, disabled = (encode_features(FinalizedFeatures(is_enabled=each)) for each in (True, False))
    unknown = encode_features(FinalizedFeatures(True, {"x": 1}))
    async with scene.running():
        await scene.settled()
        assert scene.broker.features_epoch == -1
        changes = [(enabled, 0), (enabled, 1), (disabled, -1), (enabled, 3), (b"?", -1), (unknown, -1), (enabled, 6)]
        for version, (data, epoch) in enumerate(changes):
            tree.perform(None, Set(FEATURE, data, version - 1) if version else Create(FEATURE, data))
            assert [path for _, path in tree.changed] == [FEATURE]
            tree.changed.clear()
            scene.follower.changed()
            await scene.settled()
            assert scene.broker.features_epoch == epoch
        tree.perform(None, Delete(FEATURE))
        scene.follower.changed()
        await scene.settled()
        assert scene.broker.features_epoch == -1
    malformed, unsupported = caplog.messages
    assert malformed.startswith("the features are ignored: malformed data in the znode /feature")
    assert unsupported == "/feature has features, and no broker with ZooKeeper supports any: they are ignored"


async def test_settings_that_changed_between_two_sessions_are_not_lost() -> None:
    """The announcement may be gone by then (Kafka compares the numbers of announcements, and would miss it)."""
    scene = Scene()
    async with scene.running():
        await scene.settled()
        scene.put("topics", "orders", retention_ms="6")
        scene.follower.session_began()
        assert (ResourceType.TOPIC, "orders", {"retention.ms": "6"}) in await scene.settled()


async def test_topics_that_were_deleted_between_two_sessions_are_forgotten() -> None:
    """The controller announces a deletion to registered brokers, and the states that it sends afterwards lack it."""
    scene = Scene(broker=Broker(topics={"kept": UUID(int=1), "gone": UUID(int=2)}))
    async with scene.running():
        await scene.settled()
        assert sorted(scene.broker.topics) == ["gone", "kept"]
        scene.zookeeper.tree.perform(None, Delete(topic_path("gone")))
        scene.announce(encode_config_change("topics/gone"))
        await scene.settled()
        assert sorted(scene.broker.topics) == ["gone", "kept"]  # the controller announces it in this session
        scene.follower.session_began()
        await scene.settled()
        assert sorted(scene.broker.topics) == ["kept"]


async def test_a_list_of_topics_that_may_be_old_removes_none() -> None:
    """The server was too busy for the write (ThrottledOp), so it may not have applied the creation of the topic yet."""
    scene = Scene()
    async with scene.running():
        await scene.settled()
        scene.zookeeper.tree.perform(None, Delete(topic_path("orders")))
        create = ZnodeTree.perform
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                ZnodeTree, "perform", lambda *each: Failure.REFUSED if isinstance(each[2], Create) else create(*each)
            )
            scene.follower.session_began()
            await scene.settled()
        assert sorted(scene.broker.topics) == ["orders"]


async def test_a_lost_session_loses_no_announcement() -> None:
    scene = Scene()
    async with scene.running():
        await scene.settled()
        scene.put("topics", "orders", retention_ms="6")
        scene.zookeeper.fails = 1
        scene.announce(encode_config_change("topics/orders"))
        assert await scene.settled() == []
        scene.follower.session_began()
        assert (ResourceType.TOPIC, "orders", {"retention.ms": "6"}) in await scene.settled()


async def test_an_announcement_before_the_first_look_counts() -> None:
    """A topic may have been read before the announcements are watched."""
    scene = Scene(broker=Broker(topics={}))
    scene.put("topics", "orders", retention_ms="6")
    scene.announce(encode_config_change("topics/orders"))
    async with scene.running():
        assert (ResourceType.TOPIC, "orders", {"retention.ms": "6"}) in await scene.settled()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"version":3,"entity_path":"topics/orders"}',
        b'{"version":2}',
        b'{"version":2,"entity_path":7}',
    ],
)
async def test_a_malformed_announcement_is_one_line(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    async with scene.running():
        await scene.settled()
        scene.announce(data)
        assert await scene.settled() == []
        assert len(caplog.records) == 1
        assert "a change of a configuration is ignored: malformed data in the znode" in caplog.text
        scene.announce(encode_config_change("topics/orders"))
        assert await scene.settled() == [(ResourceType.TOPIC, "orders", {})]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("entity", ["topics/../../controller", "topics/", "topics", "/", "topics/a/b", "topics/\0"])
async def test_an_announcement_of_no_entity_has_no_effect(entity: str) -> None:
    scene = Scene()
    async with scene.running():
        await scene.settled()
        scene.announce(encode_config_change(entity))
        assert await scene.settled() == []


async def test_announcements_are_deleted_after_a_quarter_of_an_hour(autojump_clock: MockClock) -> None:
    """ZkNodeChangeNotificationListener.purgeObsoleteNotifications: when the next one comes."""
    scene = Scene()
    async with scene.running():
        await scene.settled()
        tree = scene.zookeeper.tree
        for age_ms in (EXPIRATION_MS + 1, EXPIRATION_MS, 0):
            tree.now_ms = NOW_MS - age_ms
            scene.announce(encode_config_change("topics/orders"))
        await scene.settled()
        assert scene.announcements == ["0000000001", "0000000002"]


async def test_a_deleted_parent_of_the_announcements_is_created_again() -> None:
    """Brokers create it at their start (KafkaZkClient.createTopLevelPaths). Without it no change could be announced."""
    scene = Scene()
    async with scene.running():
        await scene.settled()
        scene.zookeeper.tree.perform(None, Delete(CONFIG_CHANGES))
        assert scene.zookeeper.tree.changed
        scene.zookeeper.tree.changed.clear()
        scene.follower.changed()
        await scene.settled()
        scene.put("topics", "orders", retention_ms="6")
        scene.announce(encode_config_change("topics/orders"))
        assert await scene.settled() == [(ResourceType.TOPIC, "orders", {"retention.ms": "6"})]


async def test_settings_that_allow_unclean_leaders_are_reported() -> None:
    """TopicConfigHandler.processConfigChanges: the controller may have to elect a leader."""
    scene = Scene()
    scene.put("brokers", "<default>", unclean_leader_election_enable="false")
    async with scene.running():
        for value in ("true", "false"):
            scene.put("topics", "orders", unclean_leader_election_enable=value)
            scene.announce(encode_config_change("topics/orders"))
            await scene.settled()
        assert scene.broker.paths == ["/config/topics/orders"]
        scene.put("brokers", "7", unclean_leader_election_enable="true")
        scene.announce(encode_config_change("brokers/7"))
        await scene.settled()
        assert scene.broker.paths == ["/config/topics/orders", "/config/brokers/7"]


@pytest.mark.parametrize("refused", [CONFIG_CHANGES, f"{CONFIG_CHANGES}/config_change_0000000000", FEATURE])
async def test_an_announcement_that_cannot_be_read_is_read_again(autojump_clock: MockClock, refused: str) -> None:
    """``config_store.perform_reads``: "the znode may exist". The watch is lost with the refused read."""
    scene = Scene()
    scene.zookeeper.tree.put(FEATURE, encode_features(FinalizedFeatures(is_enabled=True)))
    async with scene.running():
        await scene.settled()
        left = iter(range(3))
        scene.zookeeper.tree.refuses = lambda read: read.path == refused and next(left, None) is not None
        scene.put("topics", "orders", retention_ms="6")
        scene.announce(encode_config_change("topics/orders"))
        await trio.sleep(1)
        assert await scene.settled() == [(ResourceType.TOPIC, "orders", {"retention.ms": "6"})]
        scene.announce(encode_config_change("brokers/7"))  # the watch is set again
        assert await scene.settled() == [(ResourceType.BROKER, "7", {})]
        assert scene.broker.features_epoch == 1
