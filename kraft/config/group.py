"""The settings of a group: the config resource GROUP, whose values go before the broker's settings (KIP-848, KIP-932).

The broker's settings with ``min.`` and ``max.``, such as ``group.consumer.min.session.timeout.ms``, limit them. Source:
``GroupConfig``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from kraft.config.log_settings import GroupSettings
from kraft.config.offset_reset import OFFSET_RESET
from kraft.config.setting import (
    ConfigError,
    ConfigKey,
    at_least,
    boolean,
    integer,
    one_line,
    one_of,
    string,
    structure,
    table,
)
from kraft.config.share_settings import ShareSettings


@attrs.frozen(eq=False, repr=False)
class GroupConfigs:
    """The settings of one group."""

    consumer_session_timeout_ms: int = integer(
        45_000, "The session timeout of members that use the consumer protocol.", limit=at_least(1)
    )
    consumer_heartbeat_interval_ms: int = integer(
        5000, "How often members that use the consumer protocol send heartbeats.", limit=at_least(1)
    )
    consumer_assignment_interval_ms: int = integer(
        1000, "The least time between two assignments of a group that uses the consumer protocol.", limit=at_least(0)
    )
    share_session_timeout_ms: int = integer(
        45_000, "The session timeout of members of the share group.", limit=at_least(1)
    )
    share_heartbeat_interval_ms: int = integer(
        5000, "How often members of the share group send heartbeats.", limit=at_least(1)
    )
    share_assignment_interval_ms: int = integer(
        1000, "The least time between two assignments of the share group.", limit=at_least(0)
    )
    share_record_lock_duration_ms: int = integer(
        30_000, "How long a member of the share group holds a record.", limit=at_least(1000)
    )
    share_delivery_count_limit: int = integer(
        5, "How often a record is delivered to the share group at most.", limit=at_least(2)
    )
    share_partition_max_record_locks: int = integer(
        2000, "The records of a partition that the share group has in flight at most.", limit=at_least(100)
    )
    share_auto_offset_reset: str = string(
        "latest",
        "Where the share group begins to read a partition: earliest, latest, or by_duration: and an ISO 8601 duration "
        "before now.",
        limit=OFFSET_RESET,
    )
    share_isolation_level: str = string(
        "read_uncommitted",
        "Whether the share group gets records of transactions that are not committed.",
        limit=one_of("read_committed", "read_uncommitted"),
    )
    share_renew_acknowledge_enable: bool = boolean(True, "Whether members may renew the lock of a record.")


GROUP_CONFIGS: dict[str, ConfigKey] = table(GroupConfigs)
Limited = tuple[str, int, int, int]
"""A setting, its value, and the broker's limits."""
BrokerSettings = tuple[GroupSettings, ShareSettings]
GroupLimits = Mapping[str, tuple[int, int]]
"""The least and the largest value of a setting, by its name."""


def broker_setting(broker: BrokerSettings, name: str) -> int | None:
    """Return the broker's setting for a group's, which is its default. None if the broker has none."""
    attribute = broker_name(name).replace(".", "_")
    return next((getattr(each, attribute) for each in broker if hasattr(each, attribute)), None)


def broker_name(name: str, limit: str = "") -> str:
    protocol, rest = name.split(".", 1)
    return f"group.{protocol}.{limit}{rest}"


def group_value(values: Mapping[str, str], name: str, limits: GroupLimits | None = None) -> Any:
    """Return a setting of a group, of which ``values`` are the texts. None if it has none, or one that is not allowed:
    another controller may accept more.

    A value beyond ``limits`` becomes the limit: they may have changed since it was set (``GroupConfig.evaluate``).
    """
    text = values.get(name)
    if text is None or not GROUP_CONFIGS[name].takes(text):
        return None
    value: Any = GROUP_CONFIGS[name].parse(text)
    if limits is not None and name in limits:
        low, high = limits[name]
        return min(max(value, low), high)
    return value


def group_limits(broker: BrokerSettings) -> GroupLimits:
    """Return the limits that the broker's settings have for those of groups."""
    own, (groups, share) = GroupConfigs(), broker
    return {name: (low, high) for name, _, low, high in (*_group_limits(own, groups), *_share_limits(own, share))}


def check_group_configs(values: Mapping[str, str], broker_values: Mapping[str, str]) -> None:
    """Check all settings of a group. A setting that is not there has Kafka's default.

    Raises ConfigError for an unknown setting, a malformed value, or one outside of the broker's limits.
    """
    for name in values:
        if name not in GROUP_CONFIGS:
            raise ConfigError(f"Unknown group config name: {one_line(name)}")
    own = structure(values, GroupConfigs)
    groups, share = structure(broker_values, GroupSettings), structure(broker_values, ShareSettings)
    for name, value, low, high in (*_group_limits(own, groups), *_share_limits(own, share)):
        if value < low:
            raise ConfigError(f"{name} must be greater than or equal to {broker_name(name, 'min.')}")
        if value > high:
            raise ConfigError(f"{name} must be less than or equal to {broker_name(name, 'max.')}")
    for protocol, session_ms, interval_ms in (
        ("consumer", own.consumer_session_timeout_ms, own.consumer_heartbeat_interval_ms),
        ("share", own.share_session_timeout_ms, own.share_heartbeat_interval_ms),
    ):
        if session_ms <= interval_ms:
            what = f"{protocol}.session.timeout.ms must be greater than {protocol}.heartbeat.interval.ms"
            raise ConfigError(what)


def _group_limits(own: GroupConfigs, groups: GroupSettings) -> Iterator[Limited]:
    yield (
        "consumer.heartbeat.interval.ms",
        own.consumer_heartbeat_interval_ms,
        groups.group_consumer_min_heartbeat_interval_ms,
        groups.group_consumer_max_heartbeat_interval_ms,
    )
    yield (
        "consumer.session.timeout.ms",
        own.consumer_session_timeout_ms,
        groups.group_consumer_min_session_timeout_ms,
        groups.group_consumer_max_session_timeout_ms,
    )
    yield (
        "consumer.assignment.interval.ms",
        own.consumer_assignment_interval_ms,
        groups.group_consumer_min_assignment_interval_ms,
        groups.group_consumer_max_assignment_interval_ms,
    )
    yield (
        "share.heartbeat.interval.ms",
        own.share_heartbeat_interval_ms,
        groups.group_share_min_heartbeat_interval_ms,
        groups.group_share_max_heartbeat_interval_ms,
    )
    yield (
        "share.session.timeout.ms",
        own.share_session_timeout_ms,
        groups.group_share_min_session_timeout_ms,
        groups.group_share_max_session_timeout_ms,
    )
    yield (
        "share.assignment.interval.ms",
        own.share_assignment_interval_ms,
        groups.group_share_min_assignment_interval_ms,
        groups.group_share_max_assignment_interval_ms,
    )


def _share_limits(own: GroupConfigs, share: ShareSettings) -> Iterator[Limited]:
    yield (
        "share.record.lock.duration.ms",
        own.share_record_lock_duration_ms,
        share.group_share_min_record_lock_duration_ms,
        share.group_share_max_record_lock_duration_ms,
    )
    yield (
        "share.delivery.count.limit",
        own.share_delivery_count_limit,
        share.group_share_min_delivery_count_limit,
        share.group_share_max_delivery_count_limit,
    )
    yield (
        "share.partition.max.record.locks",
        own.share_partition_max_record_locks,
        share.group_share_min_partition_max_record_locks,
        share.group_share_max_partition_max_record_locks,
    )
