"""Texts of the report page: names made harmless, times and durations, and counts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

LONGEST_TEXT = 160
_MAX_MS = 253_402_300_799_999  # the last ms of the year 9999, the last that datetime can hold


def clean(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return ``text`` on one line, at most ``longest`` characters long, with a visible sign for each control character.

    A client chooses names. One of them must not turn the text around (U+202E), or make the page unencodable
    (a surrogate).
    """
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    if text.isprintable():
        return text
    return "".join(
        "\ufffd" if unicodedata.category(each)[0] == "C" or each in "\u2028\u2029" else each for each in text
    )


def moment(ms: int) -> datetime:
    return datetime.fromtimestamp(min(max(ms, 0), _MAX_MS) / 1000, UTC)


def clock(ms: int) -> str:
    """Return the time of day in UTC, as in 14:20:00.140."""
    return f"{moment(ms):%H:%M:%S}.{ms % 1000:03d}"


def timestamp(ms: int) -> str:
    """Return date and time in UTC, as in 2026-11-21 14:20:00.140. Plotly reads it as a date."""
    return f"{moment(ms):%Y-%m-%d} {clock(ms)}"


def duration(ms: float) -> str:
    """Return a duration with the digits that matter, as in 340 ms, 2.3 s, 3 min 20 s, 2 h 5 min."""
    if ms < 10 and ms != round(ms):
        return f"{ms:.1f} ms"
    if ms < 999.5:
        return f"{ms:.0f} ms"
    if ms < 59_950:
        return f"{ms / 1000:.1f} s"
    seconds = round(ms / 1000)
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    minutes = round(seconds / 60)
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // (24 * 60)} d {minutes // 60 % 24} h"


def plural(number: int, noun: str) -> str:
    return noun if number == 1 else f"{noun}s"


def count(number: int, noun: str) -> str:
    """Return the number with its noun, as in 1 partition, 1,000 partitions."""
    return f"{number:,} {plural(number, noun)}"


def listed(names: Iterable[str]) -> str:
    """Return the names as in "a, b and c"."""
    *head, last = names
    return f"{', '.join(head)} and {last}" if head else last


def partition_name(topic: str, partition: int) -> str:
    return f"{clean(topic, 80)}-{partition}"


def names_of(partitions: Sequence[str], most: int = 3) -> str:
    """Return some of the names and how many others there are."""
    if len(partitions) <= most:
        return listed(partitions)
    return f"{', '.join(partitions[:most])} and {len(partitions) - most:,} more"


def row_label(names: Sequence[str]) -> str:
    """Return the label of a row that several share, as in "orders-0 +3"."""
    return names[0] if len(names) == 1 else f"{names[0]} +{len(names) - 1:,}"


def percent(part: float, whole: float) -> str:
    """Return a share in percent. Only the whole is 100 %: 99.996 % is shown as 99.99 %."""
    if whole <= 0 or part >= whole:
        return "100 %"
    share = int(part / whole * 10_000) / 100
    return f"{share:g} %"
