"""A warning that repeats is logged once a minute."""

from __future__ import annotations

import logging

import attrs
import pytest

from kraft.node.repeated_lines import INTERVAL_S, MAX_LINES, RepeatedLines


@attrs.define
class Clock:
    """Seconds that only go forward."""

    s: float = 0.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lines(clock: Clock) -> RepeatedLines:
    return RepeatedLines(clock)


def record(text: str, level: int = logging.WARNING, name: str = "kraft.rpc") -> logging.LogRecord:
    return logging.LogRecord(name, level, __file__, 1, "%s", (text,), None)


def passed(lines: RepeatedLines, made: logging.LogRecord) -> str | None:
    return made.getMessage() if lines.filter(made) else None


def test_one_line_a_minute(lines: RepeatedLines, clock: Clock) -> None:
    """ "At most one log line a minute for each warning that repeats." The next line has the number of the others."""

    def passed_at(now_s: float) -> str | None:
        clock.s = now_s
        return passed(lines, record("refused"))

    assert passed_at(0.0) == "refused"
    assert [passed_at(at / 2000) for at in range(2000)] == [None] * 2000
    assert passed_at(INTERVAL_S - 0.1) is None
    assert passed_at(INTERVAL_S) == "refused (2001 times more since the last such line)"
    assert passed_at(2 * INTERVAL_S) == "refused"


def test_the_wall_clock_may_be_set_back(lines: RepeatedLines, clock: Clock) -> None:
    """``LogRecord.created`` is ``time.time()``, which NTP may correct by hours."""
    assert passed(lines, record("refused")) == "refused"
    clock.s = INTERVAL_S
    later = record("refused")
    later.created -= 3600
    assert passed(lines, later) == "refused"


def test_other_lines_pass(lines: RepeatedLines) -> None:
    """Only a warning or an error repeats, with the same text and exception, of the same logger."""
    assert lines.filter(record("refused"))
    assert lines.filter(record("refused again"))
    assert lines.filter(record("refused", name="kraft.node"))
    assert all(lines.filter(record("became leader", logging.INFO)) for _ in range(3))
    assert lines.filter(record("failed", logging.ERROR))
    assert not lines.filter(record("failed", logging.ERROR))
    for cause in (OSError("the disk is full"), OSError("no such file")):
        failed = record("failed", logging.ERROR)
        failed.exc_info = (type(cause), cause, None)
        assert lines.filter(failed)
        assert not lines.filter(failed)


def test_the_memory_is_bounded(lines: RepeatedLines) -> None:
    for number in range(MAX_LINES + 1):
        assert lines.filter(record(f"refused {number}"))
    assert lines.filter(record("refused 0")), "the oldest one is forgotten"
    assert not lines.filter(record(f"refused {MAX_LINES}"))
