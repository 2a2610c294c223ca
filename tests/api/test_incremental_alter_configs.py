"""IncrementalAlterConfigs: single settings change, and have effect."""

from __future__ import annotations

import pytest

from kraft.messages.list_config_resources_request import ListConfigResourcesRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.configs import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    DEFAULT,
    DELETE,
    DYNAMIC_BROKER,
    DYNAMIC_DEFAULT,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    alter,
    describe,
)
from tests.support.talk import batch, produce


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


async def test_client_metrics_are_set_listed_and_removed(own: Connection) -> None:
    """KIP-714: a subscription exists while it has settings. Its other settings have Kafka's defaults."""
    assert await alter(own, CLIENT_METRICS, "every", ("interval.ms", SET, "5000")) == 0
    described = await describe(own, CLIENT_METRICS, "every")
    found = {each.name: (each.value, each.config_source) for each in described.configs}
    of_client_metrics = 7
    assert found == {"metrics": ("", DEFAULT), "interval.ms": ("5000", of_client_metrics), "match": ("", DEFAULT)}
    assert await alter(own, CLIENT_METRICS, "every", ("interval.ms", SET, "abc")) == ErrorCode.INVALID_CONFIG
    assert await alter(own, CLIENT_METRICS, "every", ("interval.ms", SET, "99")) == ErrorCode.INVALID_REQUEST
    assert await alter(own, CLIENT_METRICS, "every", ("colour", SET, "red")) == ErrorCode.INVALID_REQUEST
    assert await alter(own, CLIENT_METRICS, "", ("metrics", SET, "*")) == ErrorCode.INVALID_REQUEST
    request = ListConfigResourcesRequest([CLIENT_METRICS])
    assert [each.resource_name for each in (await own.request(request)).config_resources] == ["every"]
    assert await alter(own, CLIENT_METRICS, "every", ("interval.ms", DELETE, None)) == 0
    assert (await own.request(request)).config_resources == []


async def test_the_settings_of_a_group(own: Connection) -> None:
    """KIP-848: the resource GROUP. Its values lie within the broker's limits, and the broker has the defaults."""
    of_group = 8
    session, interval = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
    assert await alter(own, GROUP, "g", (session, SET, "50000"), (interval, SET, "7000")) == 0
    assert await alter(own, GROUP, "g", (session, DELETE, None)) == 0
    found = {each.name: (each.value, each.config_source) for each in (await describe(own, GROUP, "g")).configs}
    assert {name: found[name] for name in (session, interval)} == {
        session: ("45000", DEFAULT),
        interval: ("7000", of_group),
    }
    assert found["share.auto.offset.reset"] == ("latest", DEFAULT)
    assert found["share.record.lock.duration.ms"] == ("30000", DEFAULT)
    for key, value in (
        (session, "44999"),
        (session, "60001"),
        (interval, "4999"),
        (interval, "15001"),
        (interval, "abc"),
        ("retention.ms", "1"),
    ):
        assert await alter(own, GROUP, "g", (key, SET, value)) == ErrorCode.INVALID_CONFIG, (key, value)
    assert await alter(own, GROUP, "", (session, SET, "50000")) == ErrorCode.INVALID_REQUEST
    assert (await describe(own, GROUP, "")).error_code == ErrorCode.INVALID_REQUEST
    request = ListConfigResourcesRequest([GROUP])
    assert [each.resource_name for each in (await own.request(request)).config_resources] == ["g"]
