"""The formats of the znodes, against those that Apache Kafka 3.9 writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import trio

from kraft.world.world import World
from kraft.zookeeper.operations import ChildNames, Get, Znode
from kraft.zookeeper.operations import Children as Listing
from kraft.zookeeper.session import ZooKeeperSession, session
from kraft.zookeeper.znodes.brokers import broker_path, decode_broker, encode_broker
from kraft.zookeeper.znodes.cluster import (
    CLUSTER_ID,
    FEATURE,
    PERSISTENT_PATHS,
    PRODUCER_ID_BLOCK,
    config_path,
    decode_cluster_id,
    decode_config,
    decode_features,
    decode_producer_id_block,
    encode_cluster_id,
    encode_config,
    encode_features,
    encode_producer_id_block,
)
from kraft.zookeeper.znodes.controllers import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)
from kraft.zookeeper.znodes.notifications import CONFIG_CHANGES, decode_config_change, encode_config_change
from kraft.zookeeper.znodes.topics import (
    decode_state,
    decode_topic,
    encode_state,
    encode_topic,
    state_path,
    topic_path,
)
from tests.support.apache_process import APACHE_3
from tests.support.apache_tool import CONFIGS, TOPICS, apache_tool
from tests.support.zookeeper_era import APACHE, legacy_cluster

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]
LIMIT_S = 60.0


@pytest.fixture(scope="module")
def chroot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``zookeeper.connect`` of a broker that has one topic with a configuration, since changed."""
    with legacy_cluster(tmp_path_factory.mktemp("apache"), broker_rack="rack-a") as cluster:
        broker = cluster.prepare(7, APACHE)
        broker.zookeeper_connect += "/kafka"
        broker.settings = {**broker.settings, **broker.with_control_plane()}
        broker.start()
        bootstrap = ["--bootstrap-server", broker.bootstrap_servers]
        topic = ["--topic", "orders", "--partitions", "3", "--replication-factor", "1", "--config", "retention.ms=5000"]
        apache_tool(TOPICS, *bootstrap, "--create", *topic, kind=APACHE_3)
        change = ["--entity-type", "topics", "--entity-name", "orders", "--add-config", "cleanup.policy=compact"]
        apache_tool(CONFIGS, *bootstrap, "--alter", *change, kind=APACHE_3)
        yield broker.zookeeper_connect


async def read(zookeeper: ZooKeeperSession, path: str) -> Znode:
    node = await zookeeper.require(Get(path))
    assert isinstance(node, Znode)
    return node


async def test_every_znode_is_written_as_apache_writes_it(chroot: str) -> None:
    """Decoded and encoded again, each is the same to the byte: names, their order, numbers in text, no spaces."""
    with trio.fail_after(LIMIT_S):
        async with session(World(), chroot, 6.0, LIMIT_S) as zookeeper:
            broker = (await read(zookeeper, broker_path(7))).data
            registration = decode_broker(7, broker)
            assert [each.listener for each in registration.endpoints] == ["PLAINTEXT", "CONTROLLER"]
            assert (registration.rack, registration.version) == ("rack-a", 5)
            assert encode_broker(registration) == broker

            topic = (await read(zookeeper, topic_path("orders"))).data
            assert encode_topic(decode_topic("orders", topic)) == topic
            state = await read(zookeeper, state_path("orders", 2))
            assert encode_state(decode_state("orders", 2, state.data, state.version)) == state.data

            controller = (await read(zookeeper, CONTROLLER)).data
            assert encode_controller(decode_controller(controller)) == controller
            epoch = (await read(zookeeper, CONTROLLER_EPOCH)).data
            assert encode_controller_epoch(decode_controller_epoch(epoch)) == epoch

            cluster_id = (await read(zookeeper, CLUSTER_ID)).data
            assert encode_cluster_id(decode_cluster_id(cluster_id)) == cluster_id
            features = (await read(zookeeper, FEATURE)).data
            assert encode_features(decode_features(features)) == features

            path = config_path("topics", "orders")
            config = (await read(zookeeper, path)).data
            assert decode_config(path, config) == {"retention.ms": "5000", "cleanup.policy": "compact"}
            assert encode_config(decode_config(path, config)) == config
            changes = await zookeeper.require(Listing(CONFIG_CHANGES))
            assert isinstance(changes, ChildNames)
            for name in changes.names:
                change = (await read(zookeeper, f"{CONFIG_CHANGES}/{name}")).data
                assert encode_config_change(decode_config_change(name, change)) == change
            assert changes.names

            block = (await read(zookeeper, PRODUCER_ID_BLOCK)).data
            if block:
                assert encode_producer_id_block(decode_producer_id_block(block)) == block


async def test_a_broker_creates_the_same_persistent_znodes(chroot: str) -> None:
    """KafkaZkClient.createTopLevelPaths."""
    with trio.fail_after(LIMIT_S):
        async with session(World(), chroot, 6.0, LIMIT_S) as zookeeper:
            results = await zookeeper.perform([Get(path) for path in PERSISTENT_PATHS])
            assert all(isinstance(each, Znode) for each in results)
