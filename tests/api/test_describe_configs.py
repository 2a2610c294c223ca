"""DescribeConfigs: settings, and where each value comes from."""

from __future__ import annotations

import pytest

from kraft.config.topic import TOPIC_CONFIGS
from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.configs import (
    BROKER,
    DEFAULT,
    DYNAMIC_TOPIC,
    STATIC,
    TOPIC,
    describe,
)
from tests.support.talk import create


@pytest.mark.parametrize("version", range(1, 5))
async def test_every_version_returns_sources(broker: Connection, new_name: str, version: int) -> None:
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
async def test_a_resource_that_cannot_be_described(broker: Connection, kind: int, name: str, code: ErrorCode) -> None:
    result = await describe(broker, kind, name)
    assert (ErrorCode(result.error_code), result.configs) == (code, [])
    assert bool(result.error_message) is (code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


async def test_a_broker_describes_the_settings_of_its_file(own: Connection) -> None:
    found = {each.name: each for each in (await describe(own, BROKER, "1")).configs}
    assert (found["log.retention.hours"].value, found["log.retention.hours"].config_source) == ("5", STATIC)
    assert (found["num.partitions"].value, found["num.partitions"].config_source) == ("1", DEFAULT)
    assert found["node.id"].read_only
    topic = (await describe(own, TOPIC, "orders", "retention.ms", synonyms=True)).configs[0]
    assert (topic.value, topic.config_source) == ("18000000", STATIC)


async def test_a_resource_that_is_named_again_is_described_once(broker: Connection, topic: str) -> None:
    """ "A resource that a request names again is in the response once: a few bytes of it request some kilobytes.\""""
    whole, one = DescribeConfigsResource(TOPIC, topic, None), DescribeConfigsResource(TOPIC, topic, ["retention.ms"])
    response = await broker.request(DescribeConfigsRequest([whole, one] * 1000), 4)
    assert [len(each.configs) for each in response.results] == [len(TOPIC_CONFIGS), 1]
