"""The broker settings that may change while brokers run (KIP-226)."""

from __future__ import annotations

import pytest

from kraft.config.broker import BROKER_CONFIGS
from kraft.config.dynamic import APPLIED_AT_ONCE, check_dynamic_configs
from kraft.config.setting import ConfigError


def test_the_defaults_of_topics_are_dynamic_under_their_strongest_name() -> None:
    assert BROKER_CONFIGS.keys() >= APPLIED_AT_ONCE
    assert {"log.retention.ms", "log.segment.bytes", "compression.type"} <= APPLIED_AT_ONCE
    assert not {"log.retention.hours", "log.retention.minutes", "log.roll.hours"} & APPLIED_AT_ONCE


def test_values_are_validated_and_unknown_names_are_kept() -> None:
    check_dynamic_configs({"log.retention.ms": "1000", "num.io.threads": "3", "my.reporter.url": "anything"})
    limit = "listener.name.external.max.connections"
    check_dynamic_configs({limit: "100"})
    for name, value in (
        (limit, "abc"),
        ("log.retention.ms", "soon"),
        ("num.io.threads", "0"),
        ("node.id", "7"),
        ("log.dirs", "/tmp"),
    ):
        with pytest.raises(ConfigError):
            check_dynamic_configs({name: value})


def test_the_settings_that_kafka_made_dynamic_last_are_kept() -> None:
    """``DynamicBrokerConfig.dynamicConfigUpdateModes`` of Kafka 4.3.1 has them as cluster-wide."""
    check_dynamic_configs(
        {
            "config.providers": "file",
            "group.consumer.assignment.interval.ms": "2000",
            "group.coordinator.cached.buffer.max.bytes": "2000000",
            "group.share.assignment.interval.ms": "2000",
            "share.coordinator.cached.buffer.max.bytes": "2000000",
        }
    )


@pytest.mark.parametrize("name", ["control.plane.listener.name", "control.plane.force.controller.requests.enable"])
def test_a_control_plane_cannot_come_or_go_while_the_broker_runs(name: str) -> None:
    """KIP-291 "does not support dynamic update of config.controlPlaneListenerName"."""
    with pytest.raises(ConfigError, match="Cannot update these configs dynamically"):
        check_dynamic_configs({name: "true"})
