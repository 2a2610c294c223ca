"""DescribeConfigs, IncrementalAlterConfigs and AlterConfigs: what is told of settings, and that changing them has
effect."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kraft.messages import alter_configs_request as whole
from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.describe_configs_response import DescribeConfigsResult
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from tests.support.nodes import connected
from tests.support.talk import batch, create, produce

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = 1, 2, 3, 4, 5


@pytest.fixture
async def own() -> AsyncIterator[Connection]:
    """A node of the test's own, since settings of brokers are everybody's."""
    async with (
        embedded_node(topics={"orders": 1}, settings={"log.retention.hours": "5"}) as node,
        connected(node) as broker,
    ):
        yield broker


async def describe(
    broker: Connection, kind: int, name: str, *keys: str, version: int = 4, synonyms: bool = False, docs: bool = False
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(kind, name, list(keys) or None)
    request = DescribeConfigsRequest([resource], include_synonyms=synonyms, include_documentation=docs)
    result: DescribeConfigsResult = (await broker.request(request, version)).results[0]
    return result


async def alter(
    broker: Connection, kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False
) -> ErrorCode:
    configs = [AlterableConfig(key, operation, value) for key, operation, value in changes]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, configs)], validate_only)
    answer = (await broker.request(request)).responses[0]
    assert bool(answer.error_code) == bool(answer.error_message)
    return ErrorCode(answer.error_code)


@pytest.mark.parametrize("version", range(1, 5))
async def test_every_version_tells_sources(broker: Connection, new_name: str, version: int) -> None:
    """KIP-226."""
    await create(broker, new_name, configs={"retention.ms": "1234"})
    result = await describe(broker, TOPIC, new_name, version=version, synonyms=True, docs=version >= 3)
    assert result.error_code == 0
    found = {each.name: each for each in result.configs}
    assert (found["retention.ms"].value, found["retention.ms"].config_source) == ("1234", DYNAMIC_TOPIC)
    assert (found["segment.bytes"].value, found["segment.bytes"].config_source) == ("1073741824", DEFAULT)
    told = [(each.name, each.value, each.source) for each in found["retention.ms"].synonyms]
    assert told[0] == ("retention.ms", "1234", DYNAMIC_TOPIC)
    assert ("log.retention.hours", "168", DEFAULT) in told
    assert not any(each.read_only or each.is_sensitive for each in result.configs)
    if version >= 3:
        assert found["retention.ms"].config_type == 5, "LONG"
        assert found["retention.ms"].documentation


async def test_keys_filter(broker: Connection, topic: str) -> None:
    result = await describe(broker, TOPIC, topic, "retention.ms", "no.such.key")
    assert [each.name for each in result.configs] == ["retention.ms"]
    plain = result.configs[0]
    assert (plain.synonyms, plain.documentation) == ([], None)


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a/b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "7", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_cannot_be_described(broker: Connection, kind: int, name: str, code: ErrorCode) -> None:
    result = await describe(broker, kind, name)
    assert (ErrorCode(result.error_code), result.configs) == (code, [])
    assert bool(result.error_message) is (code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


async def test_a_broker_tells_what_its_file_says(own: Connection) -> None:
    found = {each.name: each for each in (await describe(own, BROKER, "1")).configs}
    assert (found["log.retention.hours"].value, found["log.retention.hours"].config_source) == ("5", STATIC)
    assert (found["num.partitions"].value, found["num.partitions"].config_source) == ("1", DEFAULT)
    assert found["node.id"].read_only
    topic = (await describe(own, TOPIC, "orders", "retention.ms", synonyms=True)).configs[0]
    assert (topic.value, topic.config_source) == ("18000000", STATIC)


async def test_dynamic_settings_of_brokers_are_the_defaults_of_topics(own: Connection) -> None:
    """KIP-226: of one broker before those of all, before the file."""
    assert (await describe(own, BROKER, "")).configs == []
    assert await alter(own, BROKER, "", ("log.retention.ms", SET, "111")) == 0
    (default,) = (await describe(own, BROKER, "")).configs
    assert (default.name, default.value, default.config_source) == ("log.retention.ms", "111", DYNAMIC_DEFAULT)
    topic = (await describe(own, TOPIC, "orders", "retention.ms")).configs[0]
    assert (topic.value, topic.config_source) == ("111", DYNAMIC_DEFAULT)
    assert await alter(own, BROKER, "1", ("log.retention.ms", SET, "222")) == 0
    topic = (await describe(own, TOPIC, "orders", "retention.ms")).configs[0]
    assert (topic.value, topic.config_source) == ("222", DYNAMIC_BROKER)
    assert await alter(own, BROKER, "1", ("log.retention.ms", DELETE, None)) == 0
    assert await alter(own, BROKER, "", ("log.retention.ms", DELETE, None)) == 0
    assert (await describe(own, TOPIC, "orders", "retention.ms")).configs[0].value == "18000000"


async def test_a_change_has_effect_at_once(broker: Connection, topic: str) -> None:
    assert (await produce(broker, topic, batch(b"a" * 500))).error_code == 0
    assert await alter(broker, TOPIC, topic, ("max.message.bytes", SET, "200")) == 0
    assert (await produce(broker, topic, batch(b"a" * 500))).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert await alter(broker, TOPIC, topic, ("max.message.bytes", DELETE, None)) == 0
    assert (await produce(broker, topic, batch(b"a" * 500))).error_code == 0


async def test_lists_grow_and_shrink(broker: Connection, topic: str) -> None:
    """KIP-339: append and subtract, for settings that are lists."""

    async def policy() -> set[str]:
        value = (await describe(broker, TOPIC, topic, "cleanup.policy")).configs[0].value
        return set((value or "").split(","))

    assert await alter(broker, TOPIC, topic, ("cleanup.policy", APPEND, "compact")) == 0
    assert await policy() == {"delete", "compact"}
    assert await alter(broker, TOPIC, topic, ("cleanup.policy", SUBTRACT, "delete")) == 0
    assert await policy() == {"compact"}
    assert await alter(broker, TOPIC, topic, ("retention.ms", APPEND, "1")) == ErrorCode.INVALID_CONFIG


async def test_validate_only_changes_nothing(broker: Connection, topic: str) -> None:
    assert await alter(broker, TOPIC, topic, ("retention.ms", SET, "9"), validate_only=True) == 0
    assert (await describe(broker, TOPIC, topic, "retention.ms")).configs[0].config_source == DEFAULT
    bad = await alter(broker, TOPIC, topic, ("retention.ms", SET, "nine"), validate_only=True)
    assert bad == ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    ("kind", "name", "change", "code"),
    [
        (TOPIC, "nowhere", ("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, None, ("no.such.key", SET, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC, None, ("retention.ms", SET, "-7"), ErrorCode.INVALID_CONFIG),
        (TOPIC, None, ("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (TOPIC, None, ("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ("log.retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (99, "x", ("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
async def test_changes_that_are_refused(
    broker: Connection, topic: str, kind: int, name: str | None, change: tuple[str, int, str | None], code: ErrorCode
) -> None:
    assert await alter(broker, kind, topic if name is None else name, change) == code


async def test_a_bad_change_takes_the_good_ones_of_its_resource_with_it(broker: Connection, topic: str) -> None:
    bad = await alter(broker, TOPIC, topic, ("retention.ms", SET, "5"), ("segment.bytes", SET, "many"))
    assert bad == ErrorCode.INVALID_CONFIG
    assert (await describe(broker, TOPIC, topic, "retention.ms")).configs[0].config_source == DEFAULT


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_alter_configs_replaces_all(broker: Connection, new_name: str, version: int) -> None:
    await create(broker, new_name, configs={"retention.ms": "1", "segment.ms": "2"})
    resource = whole.AlterConfigsResource(TOPIC, new_name, [whole.AlterableConfig("segment.ms", "3")])
    answer = (await broker.request(whole.AlterConfigsRequest([resource]), version)).responses[0]
    assert answer.error_code == 0
    found = (await describe(broker, TOPIC, new_name, "retention.ms", "segment.ms")).configs
    assert {each.name: (each.value, each.config_source) for each in found} == {
        "retention.ms": ("604800000", DEFAULT),
        "segment.ms": ("3", DYNAMIC_TOPIC),
    }
