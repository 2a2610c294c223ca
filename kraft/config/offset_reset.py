"""``share.auto.offset.reset``: where a share group begins to read a partition. Source: ``AutoOffsetResetStrategy``."""

from __future__ import annotations

import re
from typing import Final

from kraft.config.setting import Validator

EARLIEST, LATEST = "earliest", "latest"
BY_DURATION: Final = "by_duration:"
NAME: Final = "share.auto.offset.reset"
_PERIODS_MS: Final = (86_400_000, 3_600_000, 60_000, 1000)
"""Of days, hours, minutes and seconds."""
_NUMBER: Final = r"([-+]?[0-9]{1,15})"
_DURATION: Final = re.compile(
    rf"([-+]?)P(?:{_NUMBER}D)?(T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}(?:[.,]([0-9]{{0,9}}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)


def duration_ms(text: str) -> int | None:
    """Return an ISO 8601 duration, such as ``P1DT6H`` or ``PT2.5S``, as ``java.time.Duration.parse`` reads it.

    None for a text that is no duration.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    sign, days, time, hours, minutes, seconds, fraction = found.groups()
    numbers = (days, hours, minutes, seconds)
    if all(each is None for each in numbers) or (time is not None and numbers[1:] == (None, None, None)):
        return None
    total_ms = sum(int(each or 0) * period for each, period in zip(numbers, _PERIODS_MS, strict=True))
    fraction_ms = int((fraction or "").ljust(3, "0")[:3])
    total_ms += -fraction_ms if (seconds or "").startswith("-") else fraction_ms
    return -total_ms if sign == "-" else total_ms


def _refusal(value: str) -> str | None:
    if value in (EARLIEST, LATEST):
        return None
    if value.startswith(BY_DURATION):
        period_ms = duration_ms(value.removeprefix(BY_DURATION))
        if period_ms is not None and period_ms >= 0:
            return None
    return (
        f"Invalid value `{value}` for configuration {NAME}. The value must be either 'earliest', 'latest' or of the "
        "format 'by_duration:<PnDTnHnMn.nS>'."
    )


OFFSET_RESET: Final = Validator("[earliest, latest, by_duration]", _refusal)
