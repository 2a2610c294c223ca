"""The legacy controller of this project, without a broker of its own, leads brokers of Apache Kafka 3.9."""

from __future__ import annotations

import random
import uuid
from pathlib import Path

import pytest
import trio
from confluent_kafka import OFFSET_BEGINNING, Producer, TopicPartition

from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.metrics import Registry
from kraft.wire.errors import ErrorCode
from kraft.world.trace import Trace
from kraft.world.world import World
from kraft.zookeeper.controller.active import LegacyControllerConfig
from kraft.zookeeper.controller.core import LegacyController
from kraft.zookeeper.controller_driver import LegacyControllerDriver
from kraft.zookeeper.operations import Create, Failure, Get, Znode
from kraft.zookeeper.session import ZooKeeperSession, session
from kraft.zookeeper.znodes.admin import delete_topic_path
from kraft.zookeeper.znodes.cluster import PERSISTENT_PATHS
from kraft.zookeeper.znodes.topics import (
    PartitionState,
    ReplicaAssignment,
    TopicAssignment,
    decode_state,
    encode_topic,
    state_path,
    topic_path,
)
from tests.support.librdkafka import Consumer
from tests.support.zookeeper_era import APACHE, legacy_cluster
from tests.support.zookeeper_process import ZooKeeperProcess

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]
CONTROLLER_ID = 100
CONFIG = LegacyControllerConfig(CONTROLLER_ID, "PLAINTEXT", "PLAINTEXT")
REQUEST = AllocateProducerIdsRequest(broker_id=1, broker_epoch=1)
"""From a broker that is not registered."""
LIMIT_S = 120.0


async def drive(driver: LegacyControllerDriver, opened: ZooKeeperSession) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(driver.run, opened)
        while True:
            await driver.changed(await opened.next_event())


async def elected(driver: LegacyControllerDriver) -> None:
    while (response := await driver.answer(REQUEST, 0)).error_code == ErrorCode.NOT_CONTROLLER:
        pass
    assert response.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


async def state_where(opened: ZooKeeperSession, topic: str, wanted: object) -> PartitionState:
    """Poll the state of partition 0 until ``wanted`` accepts it. The caller limits the time."""
    assert callable(wanted)
    while True:
        (node,) = await opened.perform((Get(state_path(topic, 0)),))
        if isinstance(node, Znode):
            state = decode_state(topic, 0, node.data, node.version)
            if wanted(state):
                return state
        await trio.sleep(0.1)


def produce(servers: str, topic: str, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "message.timeout.ms": 60_000})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0


def consume(servers: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    values: list[bytes] = []
    while len(values) < count:
        message = consumer.poll(60)
        assert message is not None, f"{len(values)} of {count} records"
        if message.error() is None:
            values.append(message.value())
    consumer.close()
    return values


async def test_apache_brokers_follow_this_controller(tmp_path: Path) -> None:
    """They take LeaderAndIsr 7, UpdateMetadata 8 and StopReplica 4: a topic gets a leader, loses it and gets another,
    keeps what was acknowledged, and is deleted with its files."""
    core = LegacyController(
        LegacyControllerConfig(CONTROLLER_ID, "PLAINTEXT", "PLAINTEXT"), uuid.uuid4, random.Random(1)
    )
    driver = LegacyControllerDriver(World(), core, Trace(), Registry())
    with legacy_cluster(tmp_path) as cluster, trio.fail_after(LIMIT_S):
        brokers = {each: cluster.prepare(each, APACHE) for each in (1, 2)}
        async with (
            session(World(), cluster.zookeeper.address, 6.0, LIMIT_S) as opened,
            trio.open_nursery() as nursery,
        ):
            await opened.create_all(PERSISTENT_PATHS)
            nursery.start_soon(drive, driver, opened)
            await elected(driver)
            for broker in brokers.values():
                broker.launch()
            for broker in brokers.values():
                await trio.to_thread.run_sync(broker.wait_ready)
            topic = TopicAssignment(uuid.uuid4(), {0: ReplicaAssignment((1, 2))})
            await opened.require(Create(topic_path("t"), encode_topic(topic)))
            state = await state_where(opened, "t", lambda state: state.isr == (1, 2))
            assert state.leader == 1
            first = [b"before %d" % number for number in range(200)]
            await trio.to_thread.run_sync(produce, cluster.bootstrap_servers, "t", first)
            brokers[1].kill()
            state = await state_where(opened, "t", lambda state: state.leader == 2)
            assert (state.isr, state.controller_epoch) == ((2,), 1)
            second = [b"after %d" % number for number in range(200)]
            await trio.to_thread.run_sync(produce, brokers[2].bootstrap_servers, "t", second)
            servers = brokers[2].bootstrap_servers
            assert await trio.to_thread.run_sync(consume, servers, "t", 400) == first + second
            brokers[1].start()
            await opened.require(Create(delete_topic_path("t")))
            await gone(opened, delete_topic_path("t"))
            assert await opened.perform((Get(topic_path("t")),)) == (Failure.NO_NODE,)
            for broker in brokers.values():
                assert not (broker.log_directory / "t-0").exists()
            nursery.cancel_scope.cancel()


async def gone(opened: ZooKeeperSession, path: str) -> None:
    """Poll until the znode does not exist. The caller limits the time."""
    while True:
        if await opened.perform((Get(path),)) == (Failure.NO_NODE,):
            return
        await trio.sleep(0.1)


async def test_each_session_has_an_election_of_its_own(tmp_path: Path) -> None:
    """KafkaController.processExpire and processRegisterBrokerAndReelect."""
    server = ZooKeeperProcess(tmp_path)
    core = LegacyController(
        LegacyControllerConfig(CONTROLLER_ID, "PLAINTEXT", "PLAINTEXT"), uuid.uuid4, random.Random(1)
    )
    driver = LegacyControllerDriver(World(), core, Trace(), Registry())
    try:
        server.start()
        assert (await driver.answer(REQUEST, 0)).error_code == ErrorCode.NOT_CONTROLLER
        with trio.fail_after(LIMIT_S):
            for epoch in (1, 2):
                async with session(World(), server.address, 6.0, LIMIT_S) as opened, trio.open_nursery() as nursery:
                    await opened.create_all(PERSISTENT_PATHS)
                    nursery.start_soon(drive, driver, opened)
                    await elected(driver)
                    assert core.active is not None
                    assert core.active.epoch == epoch
                    nursery.cancel_scope.cancel()
                assert core.active is None
                assert (await driver.answer(REQUEST, 0)).error_code == ErrorCode.NOT_CONTROLLER
    finally:
        server.kill()
