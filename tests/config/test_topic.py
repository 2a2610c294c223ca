"""Topic settings: Kafka's names, defaults, limits and the precedence of their broker synonyms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.config.setting import ConfigError, ConfigType, to_text
from kraft.config.topic import (
    TOPIC_CONFIGS,
    TOPIC_DEFAULT_CONFIGS,
    LogConfig,
    log_config,
    validate_topic_configs,
)
from tests.config import value_or_refusal


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("cleanup.policy", "delete"),
        ("compression.type", "producer"),
        ("delete.retention.ms", "86400000"),
        ("file.delete.delay.ms", "60000"),
        ("flush.messages", "9223372036854775807"),
        ("flush.ms", "9223372036854775807"),
        ("index.interval.bytes", "4096"),
        ("leader.replication.throttled.replicas", ""),
        ("max.message.bytes", "1048588"),
        ("message.timestamp.after.max.ms", "3600000"),
        ("message.timestamp.type", "CreateTime"),
        ("min.cleanable.dirty.ratio", "0.5"),
        ("min.insync.replicas", "1"),
        ("preallocate", "false"),
        ("retention.bytes", "-1"),
        ("retention.ms", "604800000"),
        ("segment.bytes", "1073741824"),
        ("segment.index.bytes", "10485760"),
        ("segment.jitter.ms", "0"),
        ("segment.ms", "604800000"),
        ("unclean.leader.election.enable", "false"),
    ],
)
def test_defaults_are_kafkas(name: str, default: str) -> None:
    assert to_text(TOPIC_CONFIGS[name].default) == default


def test_no_overrides_give_the_defaults() -> None:
    assert log_config({}, {}) == LogConfig()


@pytest.mark.parametrize(
    ("broker_values", "expected_ms"),
    [
        ({}, 7 * 24 * 3_600_000),
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_log_retention_ms_beats_minutes_beats_hours(broker_values: dict[str, str], expected_ms: int) -> None:
    """log.retention.minutes: "If not set, the value in log.retention.hours is used"."""
    assert log_config({}, broker_values).retention_ms == expected_ms


def test_a_topic_override_beats_the_broker() -> None:
    assert log_config({"segment.ms": "5"}, {"log.roll.ms": "6", "log.roll.hours": "7"}).segment_ms == 5


def test_a_broker_setting_of_a_topic_name_does_not_count() -> None:
    assert log_config({}, {"retention.ms": "5"}).retention_ms == LogConfig().retention_ms


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("retention.ms", "-2", "Value must be at least -1"),
        ("retention.ms", "soon", "Not a number of type LONG"),
        ("retention.ms", str(2**63), "Not a number of type LONG"),
        ("segment.bytes", str(2**31), "Not a number of type INT"),
        ("segment.bytes", "13", "Value must be at least 14"),
        ("segment.ms", "0", "Value must be at least 1"),
        ("index.interval.bytes", "-1", "Value must be at least 0"),
        ("min.cleanable.dirty.ratio", "1.5", "Value must be no more than 1"),
        ("min.cleanable.dirty.ratio", "NaN", "Not a number of type DOUBLE"),
        ("preallocate", "yes", "Expected value to be either true or false"),
        ("cleanup.policy", "shrink", "String must be one of: compact, delete"),
        ("compression.type", "brotli", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
        ("compression.zstd.level", "23", "Value must be no more than 22"),
        ("min.insync.replicas", "0", "Value must be at least 1"),
        ("leader.replication.throttled.replicas", "1-2", "Value must be the literal '*' or a list of replicas"),
        ("leader.replication.throttled.replicas", "1:2,*", "Value must be the literal '*' or a list of replicas"),
        ("remote.storage.enable", "true", "Tiered storage is not supported"),
    ],
)
def test_a_refused_value_is_an_error_with_key_value_and_limits(name: str, text: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        log_config({name: text}, {})
    assert str(caught.value).startswith(f"Invalid value {text} for configuration {name}: {why}")


@pytest.mark.parametrize("text", ["1:2,", "1:2,,3:4", ",", " 1:2 , 3:4 ", "*", "*,"])
def test_an_element_of_a_list_of_throttled_replicas_may_be_empty(text: str) -> None:
    """``ThrottledReplicaListValidator`` matches each element with ``([0-9]+:[0-9]+)?``, or all joined with ``*``."""
    name = "follower.replication.throttled.replicas"
    assert log_config({name: text}, {}).follower_replication_throttled_replicas


@pytest.mark.parametrize("broker_name", ["log.roll.hours", "log.roll.ms", "log.segment.bytes"])
def test_a_refused_broker_value_names_the_broker_setting(broker_name: str) -> None:
    with pytest.raises(ConfigError, match=f"for configuration {broker_name}: "):
        log_config({}, {broker_name: "0"})


def test_cleanup_policy_is_a_set() -> None:
    assert log_config({"cleanup.policy": "compact, delete"}, {}).cleanup_policy == {"compact", "delete"}
    assert log_config({"cleanup.policy": ""}, {}).cleanup_policy == frozenset()


def test_an_unknown_topic_setting_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^Unknown topic config name: retention\.mx$"):
        validate_topic_configs({"retention.mx": "1"}, {})


def test_compaction_lags_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"min\.compaction\.lag\.ms \(10\) > max\.compaction\.lag\.ms \(9\)"):
        validate_topic_configs({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"}, {})


def test_only_the_weakest_broker_synonym_has_a_default() -> None:
    """Kafka's log.retention.ms and log.retention.minutes default to null, log.retention.hours to 168."""
    defaults = {name: key.default for name, key in TOPIC_DEFAULT_CONFIGS.items() if "retention." in name}
    assert defaults["log.retention.ms"] is None
    assert defaults["log.retention.minutes"] is None
    assert defaults["log.retention.hours"] == 168
    assert TOPIC_DEFAULT_CONFIGS["log.retention.hours"].type is ConfigType.INT


@given(st.sampled_from(sorted(TOPIC_CONFIGS)), st.text())
def test_any_text_gives_a_value_or_a_config_error_of_one_line(name: str, text: str) -> None:
    outcome = value_or_refusal(lambda: validate_topic_configs({name: text}, {}))
    assert isinstance(outcome, LogConfig) or len(outcome.splitlines()) == 1


@given(st.sampled_from(sorted(TOPIC_DEFAULT_CONFIGS)), st.integers(-(2**70), 2**70))
def test_any_number_in_the_broker_gives_a_value_or_a_config_error(name: str, number: int) -> None:
    outcome = value_or_refusal(lambda: log_config({}, {name: str(number)}))
    assert isinstance(outcome, LogConfig) or f"for configuration {name}: " in outcome
