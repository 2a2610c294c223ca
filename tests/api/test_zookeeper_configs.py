"""AlterConfigs, IncrementalAlterConfigs and DescribeConfigs at a broker with ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import attrs
import trio
from trio.testing import MockClock

from kraft.api.alter_configs import at_zk_broker as alter_configs
from kraft.api.context import ZkBrokerContext
from kraft.api.describe_configs import at_zk_broker as describe_configs
from kraft.api.incremental_alter_configs import at_zk_broker as incremental_alter_configs
from kraft.api.zookeeper_configs import DESCRIBE_LIMIT_S, LIMIT_S
from kraft.config.broker import NodeConfig, node_config
from kraft.messages.alter_configs_request import AlterableConfig as LegacyConfig
from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.messages.alter_configs_request import AlterConfigsResource as LegacyResource
from kraft.messages.config_record import ConfigRecord
from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.delta import replay
from kraft.metadata.image import Image
from kraft.rpc.channel import Parked, Request
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.config_store import ConfigStore
from kraft.zookeeper.znodes.cluster import config_path, decode_config
from tests.support.held import TOPIC_ID
from tests.support.memory_zookeeper import MemoryZooKeeper

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1


def image() -> Image:
    """A topic, whose settings the broker has from ZooKeeper."""
    records = [TopicRecord("orders", TOPIC_ID), ConfigRecord(TOPIC, "orders", "retention.ms", "5")]
    return replay(Image(), records, 0, 0, -1)[0]


@attrs.define
class Broker:
    """Broker 1, as far as these handlers use it."""

    zookeeper: MemoryZooKeeper = attrs.Factory(MemoryZooKeeper)
    image: Image = attrs.Factory(image)
    config: NodeConfig = attrs.Factory(lambda: node_config({"broker.id": "1", "zookeeper.connect": "h:1"}))
    node_id: int = 1

    @property
    def configs(self) -> ConfigStore:
        return ConfigStore(self.zookeeper)

    @property
    def context(self) -> ZkBrokerContext:
        return cast(ZkBrokerContext, self)

    async def change(self, *resources: AlterConfigsResource, validate_only: bool = False) -> list[ErrorCode]:
        message = IncrementalAlterConfigsRequest(list(resources), validate_only)
        return codes(await finished(await incremental_alter_configs(self.context, REQUEST, message)))

    async def described(self, *keys: str) -> dict[str, str | None]:
        message = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "orders", list(keys))])
        (result,) = (await finished(await describe_configs(self.context, REQUEST, message))).results
        return {each.name: each.value for each in result.configs}

    def written(self, entity_type: str, name: str) -> dict[str, str]:
        path = config_path(entity_type, name)
        return decode_config(path, self.zookeeper.tree.znodes[path].data)


REQUEST = cast(Request, attrs.make_class("Request", {"api_version": attrs.field(default=4)})())


async def finished(reply: object) -> Any:
    assert isinstance(reply, Parked), "no handler waits for ZooKeeper"
    return await reply.wait()


def codes(response: Any) -> list[ErrorCode]:
    return [ErrorCode(each.error_code) for each in response.responses]


def resource(kind: int, name: str, values: Mapping[str, str | None]) -> AlterConfigsResource:
    configs = [AlterableConfig(key, DELETE if value is None else SET, value) for key, value in values.items()]
    return AlterConfigsResource(kind, name, configs)


async def test_each_resource_is_changed_or_refused_by_itself() -> None:
    broker = Broker()
    assert await broker.change(
        resource(TOPIC, "orders", {"flush.ms": "7"}),
        resource(TOPIC, "unknown", {"flush.ms": "7"}),
        resource(TOPIC, "a/b", {"flush.ms": "7"}),
        resource(BROKER, "", {"log.retention.ms": "8"}),
        resource(BROKER, "1", {"log.retention.ms": "soon"}),
        resource(BROKER, "2", {"log.retention.ms": "9"}),
    ) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]
    assert broker.written("topics", "orders") == {"flush.ms": "7"}
    assert broker.written("brokers", "<default>") == {"log.retention.ms": "8"}
    twice = resource(TOPIC, "orders", {"flush.ms": "9"})
    assert await broker.change(twice, twice) == [ErrorCode.INVALID_REQUEST] * 2
    assert await broker.change(resource(TOPIC, "orders", {"flush.ms": None})) == [ErrorCode.NONE]
    assert broker.written("topics", "orders") == {}


async def test_alter_configs_replaces_all() -> None:
    broker = Broker()
    await broker.change(resource(TOPIC, "orders", {"flush.ms": "7", "flush.messages": "8"}))
    message = AlterConfigsRequest([LegacyResource(TOPIC, "orders", [LegacyConfig("flush.ms", "9")])])
    assert codes(await finished(await alter_configs(broker.context, REQUEST, message))) == [ErrorCode.NONE]
    assert broker.written("topics", "orders") == {"flush.ms": "9"}


async def test_a_description_shows_what_zookeeper_has_before_the_broker_has_it() -> None:
    broker = Broker()
    await broker.change(resource(TOPIC, "orders", {"retention.ms": "6"}))
    assert await broker.described("retention.ms") == {"retention.ms": "6"}


async def test_without_zookeeper_a_description_shows_what_the_broker_has(autojump_clock: MockClock) -> None:
    broker = Broker()
    broker.zookeeper.is_there = trio.Event()
    began = trio.current_time()
    assert await broker.described("retention.ms") == {"retention.ms": "5"}
    assert trio.current_time() - began == DESCRIBE_LIMIT_S


async def test_without_zookeeper_a_change_is_refused_after_a_while(autojump_clock: MockClock) -> None:
    """One limit for all resources of a request."""
    broker = Broker()
    broker.zookeeper.is_there = trio.Event()
    began = trio.current_time()
    changes = [resource(BROKER, name, {"log.retention.ms": "8"}) for name in ("", "1")]
    assert await broker.change(*changes) == [ErrorCode.REQUEST_TIMED_OUT] * 2
    assert trio.current_time() - began == LIMIT_S
