"""A warning that repeats is logged once a minute."""

from __future__ import annotations

import logging

from kraft.node.repeated_lines import INTERVAL_S, MAX_LINES, RepeatedLines


def record(text: str, at: float, level: int = logging.WARNING, name: str = "kraft.rpc") -> logging.LogRecord:
    made = logging.LogRecord(name, level, __file__, 1, "%s", (text,), None)
    made.created = at
    return made


def passed(lines: RepeatedLines, made: logging.LogRecord) -> str | None:
    return made.getMessage() if lines.filter(made) else None


def test_one_line_a_minute() -> None:
    """ "At most one log line a minute for each warning that repeats." The next line has the number of the others."""
    lines = RepeatedLines()
    assert passed(lines, record("refused", 0.0)) == "refused"
    assert [passed(lines, record("refused", at / 2000)) for at in range(2000)] == [None] * 2000
    assert passed(lines, record("refused", INTERVAL_S - 0.1)) is None
    said = passed(lines, record("refused", INTERVAL_S))
    assert said == "refused (2001 times more since the last such line)"
    assert passed(lines, record("refused", 2 * INTERVAL_S)) == "refused"


def test_other_lines_pass() -> None:
    """Only a warning or an error repeats, with the same text and exception, of the same logger."""
    lines = RepeatedLines()
    assert lines.filter(record("refused", 0.0))
    assert lines.filter(record("refused again", 0.0))
    assert lines.filter(record("refused", 0.0, name="kraft.node"))
    assert all(lines.filter(record("became leader", 0.0, logging.INFO)) for _ in range(3))
    assert lines.filter(record("failed", 0.0, logging.ERROR))
    assert not lines.filter(record("failed", 0.0, logging.ERROR))
    for cause in (OSError("the disk is full"), OSError("no such file")):
        failed = record("failed", 0.0, logging.ERROR)
        failed.exc_info = (type(cause), cause, None)
        assert lines.filter(failed)
        assert not lines.filter(failed)


def test_the_memory_is_bounded() -> None:
    lines = RepeatedLines()
    for number in range(MAX_LINES + 1):
        assert lines.filter(record(f"refused {number}", 0.0))
    assert lines.filter(record("refused 0", 0.0)), "the oldest one is forgotten"
    assert not lines.filter(record(f"refused {MAX_LINES}", 0.0))
