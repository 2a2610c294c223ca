"""AlterConfigs: all settings of a resource are replaced."""

from __future__ import annotations

import pytest

from kraft.messages import alter_configs_request as whole
from kraft.rpc.client import Connection
from tests.api.configs import (
    DEFAULT,
    DYNAMIC_TOPIC,
    TOPIC,
    describe,
)
from tests.support.talk import create


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
