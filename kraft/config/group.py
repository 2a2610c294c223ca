"""The settings of a group (KIP-848): the config resource GROUP, whose values go before the broker's settings.

The broker's ``group.consumer.min.…`` and ``group.consumer.max.…`` limit them. Source: ``GroupConfig``.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kraft.config.log_settings import GroupSettings
from kraft.config.setting import ConfigError, ConfigKey, at_least, integer, one_line, structure, table


@attrs.frozen
class GroupConfigs:
    """The settings of one group."""

    consumer_session_timeout_ms: int = integer(
        45_000, "The session timeout of members that use the consumer protocol.", limit=at_least(1)
    )
    consumer_heartbeat_interval_ms: int = integer(
        5000, "How often members that use the consumer protocol send heartbeats.", limit=at_least(1)
    )


GROUP_CONFIGS: dict[str, ConfigKey] = table(GroupConfigs)


def broker_name(name: str, limit: str = "") -> str:
    """Return the broker's setting for a group's: its default, or with ``limit`` "min." or "max." a bound."""
    protocol, rest = name.split(".", 1)
    return f"group.{protocol}.{limit}{rest}"


def check_group_configs(values: Mapping[str, str], broker_values: Mapping[str, str]) -> None:
    """Check all settings of a group. A setting that is not there has Kafka's default.

    Raises:
        ConfigError: an unknown setting, a malformed value, or one outside of the broker's limits.
    """
    for name in values:
        if name not in GROUP_CONFIGS:
            raise ConfigError(f"Unknown group config name: {one_line(name)}")
    own, limits = structure(values, GroupConfigs), structure(broker_values, GroupSettings)
    session_ms, interval_ms = own.consumer_session_timeout_ms, own.consumer_heartbeat_interval_ms
    _check_limits(
        "consumer.heartbeat.interval.ms",
        interval_ms,
        limits.group_consumer_min_heartbeat_interval_ms,
        limits.group_consumer_max_heartbeat_interval_ms,
    )
    _check_limits(
        "consumer.session.timeout.ms",
        session_ms,
        limits.group_consumer_min_session_timeout_ms,
        limits.group_consumer_max_session_timeout_ms,
    )
    if session_ms <= interval_ms:
        raise ConfigError("consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms")


def _check_limits(name: str, value: int, low: int, high: int) -> None:
    if value < low:
        raise ConfigError(f"{name} must be greater than or equal to {broker_name(name, 'min.')}")
    if value > high:
        raise ConfigError(f"{name} must be less than or equal to {broker_name(name, 'max.')}")
