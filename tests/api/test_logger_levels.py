"""BROKER_LOGGER (KIP-412): the levels of a node's loggers, described and changed while it runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.configs import APPEND, BROKER_LOGGER, DELETE, SET, TOPIC, alter, describe


@pytest.fixture
def name(new_name: str) -> Iterator[str]:
    """A logger that no other test uses."""
    logging.getLogger(new_name)
    yield new_name
    logging.getLogger(new_name).setLevel(logging.NOTSET)


async def level(broker: Connection, name: str) -> str | None:
    (found,) = (await describe(broker, BROKER_LOGGER, "1", name)).configs
    assert (found.config_source, found.read_only, found.synonyms) == (6, False, [])
    return found.value


async def test_a_level_changes_while_the_node_runs(broker: Connection, name: str) -> None:
    """KIP-412: SET changes the level, DELETE resets it to that of the root logger."""
    before = await level(broker, name)
    assert before == await level(broker, "root")
    for text, number in {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50}.items():
        assert await alter(broker, BROKER_LOGGER, "1", (name, SET, text)) == 0
        assert await level(broker, name) == text
        assert logging.getLogger(name).level == number
    assert await alter(broker, BROKER_LOGGER, "1", (name, DELETE, None)) == 0
    assert await level(broker, name) == before
    assert logging.getLogger(name).level == logging.NOTSET


async def test_all_loggers_of_a_node(broker: Connection, name: str) -> None:
    """KIP-412: a description without keys has every logger and the root logger."""
    names = {each.name for each in (await describe(broker, BROKER_LOGGER, "1")).configs}
    assert {"root", "kraft", "kraft.node", name} <= names


async def test_a_validated_change_is_not_made(broker: Connection, name: str) -> None:
    assert await alter(broker, BROKER_LOGGER, "1", (name, SET, "FATAL"), validate_only=True) == 0
    assert logging.getLogger(name).level == logging.NOTSET


async def test_a_refused_resource_changes_no_level(broker: Connection, name: str) -> None:
    """RuntimeLoggerManager: all changes of a resource are checked before the first one is made."""
    refused = {
        ("root", DELETE, None): ErrorCode.INVALID_REQUEST,
        ("root", APPEND, "INFO"): ErrorCode.INVALID_REQUEST,
        ("root", SET, "CRITICAL"): ErrorCode.INVALID_CONFIG,
        ("root", SET, "info"): ErrorCode.INVALID_CONFIG,
        (f"{name}.none", SET, "INFO"): ErrorCode.INVALID_CONFIG,
    }
    for change, code in refused.items():
        assert await alter(broker, BROKER_LOGGER, "1", (name, SET, "FATAL"), change) == code
    for node in ("2", "x", "", "01"):
        assert await alter(broker, BROKER_LOGGER, node, (name, SET, "FATAL")) == ErrorCode.INVALID_REQUEST
    assert logging.getLogger(name).level == logging.NOTSET


async def test_a_request_with_loggers_and_topics(broker: Connection, topic: str, name: str) -> None:
    """ConfigAdminManager: the broker changes the levels and forwards the rest; the results have the request's order."""
    retention, finest = AlterableConfig("retention.ms", SET, "7"), AlterableConfig(name, SET, "TRACE")
    resources = [
        AlterConfigsResource(TOPIC, "nowhere", [retention]),
        AlterConfigsResource(BROKER_LOGGER, "1", [finest]),
        AlterConfigsResource(TOPIC, topic, [retention]),
        AlterConfigsResource(BROKER_LOGGER, "2", [finest]),
    ]
    for version in (0, 1):
        response = await broker.request(IncrementalAlterConfigsRequest(resources, False), version)
        results = [(each.resource_type, each.resource_name, each.error_code) for each in response.responses]
        assert results == [
            (TOPIC, "nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (BROKER_LOGGER, "1", 0),
            (TOPIC, topic, 0),
            (BROKER_LOGGER, "2", ErrorCode.INVALID_REQUEST),
        ]
    assert (await describe(broker, TOPIC, topic, "retention.ms")).configs[0].value == "7"
    assert await level(broker, name) == "TRACE"
