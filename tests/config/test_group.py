"""The settings of a group, within the limits of the broker: ``GroupConfig.validate``."""

from __future__ import annotations

import pytest

from kraft.config.group import check_group_configs, group_value
from kraft.config.offset_reset import duration_ms
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


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("share.renew.acknowledge.enable", "False", False),
        ("share.auto.offset.reset", " earliest", "earliest"),
        (SESSION, "+50000", 50_000),
        (SESSION, "0", None),
        (SESSION, None, None),
    ],
)
def test_the_value_of_a_text_that_the_controller_took(name: str, text: str | None, value: object) -> None:
    """``GroupConfig.fromProps`` parses. Another controller may accept more."""
    assert group_value({} if text is None else {name: text}, name) == value


def test_the_session_is_longer_than_the_interval() -> None:
    limits = {"group.consumer.min.session.timeout.ms": "1000"}
    with pytest.raises(ConfigError, match=f"{SESSION} must be greater than {INTERVAL}"):
        check_group_configs({SESSION: "5000"}, limits)
    check_group_configs({SESSION: "5001"}, limits)


def test_the_settings_of_share_groups_have_limits_too() -> None:
    """``GroupConfig.validateValues``: each limit is a setting of the broker."""
    check_group_configs({"share.auto.offset.reset": "earliest", "share.isolation.level": "read_committed"}, {})
    for name, low, high in (
        ("share.session.timeout.ms", 45_000, 60_000),
        ("share.heartbeat.interval.ms", 5_000, 15_000),
        ("share.record.lock.duration.ms", 15_000, 60_000),
        ("share.delivery.count.limit", 2, 10),
        ("share.partition.max.record.locks", 100, 4_000),
        ("share.assignment.interval.ms", 0, 15_000),
        ("consumer.assignment.interval.ms", 0, 15_000),
    ):
        for value in (low, high):
            check_group_configs({name: str(value)}, {})
        for value in (low - 1, high + 1):
            with pytest.raises(ConfigError):
                check_group_configs({name: str(value)}, {})
    check_group_configs({"share.delivery.count.limit": "15"}, {"group.share.max.delivery.count.limit": "15"})
    limits = {"group.share.min.session.timeout.ms": "1"}
    with pytest.raises(ConfigError, match=r"share\.session\.timeout\.ms must be greater than share\.heartbeat"):
        check_group_configs({"share.session.timeout.ms": "5000"}, limits)


@pytest.mark.parametrize(("name", "value"), [("share.auto.offset.reset", "none"), ("share.isolation.level", "x")])
def test_an_unknown_word(name: str, value: str) -> None:
    with pytest.raises(ConfigError):
        check_group_configs({name: value}, {})


@pytest.mark.parametrize(
    ("text", "period_ms"),
    [
        ("PT0S", 0),
        ("P1DT6H", 108_000_000),
        ("pt1h-1m", 3_540_000),
        ("PT2.5S", 2500),
        ("PT-2.5S", -2500),
        ("-P1D", -86_400_000),
        ("PT2,0019S", 2001),
        *((each, None) for each in ("", "P", "PT", "P1DT", "1D", "P1H", "PT1D", "PT1S ", "P1Y", "PT1.1M", "PT\u0661S")),
    ],
)
def test_durations_are_those_of_java(text: str, period_ms: int | None) -> None:
    """``java.time.Duration.parse``."""
    assert duration_ms(text) == period_ms


def test_a_group_may_begin_a_duration_ago() -> None:
    """``ShareGroupAutoOffsetResetStrategy``: a negative duration is refused."""
    check_group_configs({"share.auto.offset.reset": "by_duration:PT6H"}, {})
    for value in ("by_duration", "by_duration:", "by_duration:-PT6H", "by_duration:6h", "BY_DURATION:PT6H"):
        with pytest.raises(ConfigError, match="or of the format 'by_duration"):
            check_group_configs({"share.auto.offset.reset": value}, {})


def test_an_unknown_setting() -> None:
    with pytest.raises(ConfigError, match=r"Unknown group config name: retention\.ms"):
        check_group_configs({"retention.ms": "1"}, {})
