"""The settings of a client metrics subscription (KIP-714): which clients push which metrics, and how often.

The cluster stores, lists and describes subscriptions. No client is given one: a broker offers GetTelemetrySubscriptions
only if a plugin receives the metrics, and no plugin does here.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

from kraft.config.setting import ConfigKey, Validator, integer, one_line, table, words

INTERVALS_MS: Final = range(100, 3_600_001)
"""The allowed values of ``interval.ms``. Kafka has a code of its own for the others, so the setting has no limit."""
MAX_MATCH_CHARACTERS: Final = 2_000
"""Not a Kafka setting. The longest ``match``: a controller compiles the patterns of 2,000 characters in 10 ms."""
_SELECTORS = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


def _match_refusal(patterns: tuple[str, ...]) -> str | None:
    if sum(map(len, patterns)) > MAX_MATCH_CHARACTERS:
        return f"All patterns together may have {MAX_MATCH_CHARACTERS} characters"
    return next((f"Illegal client matching pattern: {one_line(each)}" for each in patterns if not _matches(each)), None)


def _matches(pattern: str) -> bool:
    """Whether ``pattern`` is the name of a property of clients, an equals sign and a regular expression."""
    selector, *expressions = pattern.split("=")
    if selector.strip() not in _SELECTORS or len(expressions) != 1 or not expressions[0]:
        return False
    try:
        re.compile(expressions[0].strip())
    except (re.error, OverflowError, RecursionError):
        return False
    return True


@attrs.frozen(eq=False, repr=False)
class ClientMetricsSettings:
    """One subscription."""

    metrics: tuple[str, ...] = words((), "Prefixes of the names of the metrics; * for all metrics.")
    interval_ms: int = integer(300_000, "Time between two pushes of a client, in milliseconds.")
    match: tuple[str, ...] = words(
        (),
        "The clients, as property=pattern; none for all clients.",
        limit=Validator("property=pattern", _match_refusal),
    )


CLIENT_METRICS_CONFIGS: dict[str, ConfigKey] = table(ClientMetricsSettings)
