"""The settings of a group, within the limits of the broker: ``GroupConfig.validate``."""

from __future__ import annotations

import pytest

from kraft.config.group import check_group_configs
from kraft.config.setting import ConfigError

SESSION, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


def test_the_limits_of_the_broker_count() -> None:
    limits = {"group.consumer.min.session.timeout.ms": "1000", "group.consumer.min.heartbeat.interval.ms": "100"}
    check_group_configs({SESSION: "1000", INTERVAL: "100"}, limits)
    check_group_configs({}, {})
    with pytest.raises(ConfigError, match=r"must be greater than or equal to group\.consumer\.min\.session"):
        check_group_configs({SESSION: "999", INTERVAL: "100"}, limits)
    with pytest.raises(ConfigError, match=r"must be less than or equal to group\.consumer\.max\.heartbeat"):
        check_group_configs({INTERVAL: "15001"}, limits)


def test_the_session_is_longer_than_the_interval() -> None:
    limits = {"group.consumer.min.session.timeout.ms": "1000"}
    with pytest.raises(ConfigError, match=f"{SESSION} must be greater than {INTERVAL}"):
        check_group_configs({SESSION: "5000"}, limits)
    check_group_configs({SESSION: "5001"}, limits)


def test_an_unknown_setting() -> None:
    with pytest.raises(ConfigError, match=r"Unknown group config name: retention\.ms"):
        check_group_configs({"retention.ms": "1"}, {})
