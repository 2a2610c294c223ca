"""The settings of a client metrics subscription (KIP-714)."""

from __future__ import annotations

import pytest

from kraft.config.client_metrics import CLIENT_METRICS_CONFIGS, MAX_MATCH_CHARACTERS
from kraft.config.setting import ConfigError


def test_the_defaults_are_kafkas() -> None:
    """ClientMetricsConfigs: no metrics, five minutes, all clients."""
    defaults = {name: key.default for name, key in CLIENT_METRICS_CONFIGS.items()}
    assert defaults == {"metrics": (), "interval.ms": 300_000, "match": ()}


def test_patterns_of_known_properties_match() -> None:
    """KIP-714: a list of property=regular expression."""
    parsed = CLIENT_METRICS_CONFIGS["match"].parse("client_id=a.*, client_source_port = 90{2}[0-9]")
    assert parsed == ("client_id=a.*", "client_source_port = 90{2}[0-9]")


@pytest.mark.parametrize(
    "pattern", ["client_id", "client_id=", "=a", "client_id=a=b", "client_color=red", "client_id=(", "client_id=a{2,1}"]
)
def test_an_illegal_pattern_is_refused(pattern: str) -> None:
    """ClientMetricsConfigs.parseMatchingPatterns: an unknown property, no value, or no regular expression."""
    with pytest.raises(ConfigError, match="Illegal client matching pattern"):
        CLIENT_METRICS_CONFIGS["match"].parse(pattern)


def test_long_patterns_are_refused() -> None:
    """The longest ``match``: a controller compiles the patterns of 2,000 characters in 10 ms."""
    CLIENT_METRICS_CONFIGS["match"].parse("client_id=" + "a" * (MAX_MATCH_CHARACTERS - 10))
    with pytest.raises(ConfigError, match="All patterns together"):
        CLIENT_METRICS_CONFIGS["match"].parse("client_id=" + "a" * (MAX_MATCH_CHARACTERS - 9))
