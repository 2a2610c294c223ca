"""At most one log line a minute for each warning that repeats, as that of a client which retries without a pause."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import attrs

INTERVAL_S: Final = 60.0
MAX_LINES: Final = 1_000
_COMPARED_CHARACTERS = 500


@attrs.define(eq=False)
class _Line:
    ends_at: float
    repeats: int = 0


class RepeatedLines(logging.Filter):
    """Drops a warning or an error whose text and exception were logged within the last minute.

    The next line has the number of those that were dropped. ``seconds`` is a monotonic clock: with the time of the
    records, a warning would vanish for as long as the wall clock was set back.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        super().__init__()
        self._seconds = seconds
        self._lines: OrderedDict[tuple[str, str, str], _Line] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        text = record.getMessage()
        cause = repr(record.exc_info[1]) if record.exc_info else ""
        key = (record.name, text[:_COMPARED_CHARACTERS], cause[:_COMPARED_CHARACTERS])
        line, now = self._lines.pop(key, None), self._seconds()
        if line is not None and now < line.ends_at:
            line.repeats += 1
            self._lines[key] = line
            return False
        if line is not None and line.repeats:
            record.msg, record.args = f"{text} ({line.repeats} times more since the last such line)", ()
        self._lines[key] = _Line(now + INTERVAL_S)
        if len(self._lines) > MAX_LINES:
            self._lines.popitem(last=False)
        return True
