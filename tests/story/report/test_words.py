"""Names from clients are made harmless; times and shares are not rounded into something untrue."""

from __future__ import annotations

import pytest

from kraft.story.report.words import LONGEST_TEXT, clean, count, duration, names_of, percent, timestamp


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("orders", "orders"),
        ("Überweisung – 注文", "Überweisung – 注文"),
        ("a\nb\tc", "a\ufffdb\ufffdc"),
        ("abc\u202etxt.exe", "abc\ufffdtxt.exe"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("half \ud800 a pair", "half \ufffd a pair"),
    ],
)
def test_a_control_character_is_shown_as_a_sign(name: str, shown: str) -> None:
    assert clean(name) == shown
    clean(name).encode()


def test_a_long_name_is_shortened() -> None:
    shown = clean("x" * 100_000)
    assert len(shown) == LONGEST_TEXT
    assert shown.endswith("x…")


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 ms"),
        (0.42, "0.4 ms"),
        (999, "999 ms"),
        (999.7, "1.0 s"),
        (2_300, "2.3 s"),
        (59_999, "1 min 0 s"),
        (200_000, "3 min 20 s"),
        (7_500_000, "2 h 5 min"),
        (3_599_999, "1 h 0 min"),
        (86_400_000, "1 d 0 h"),
        (180_000_000, "2 d 2 h"),
    ],
)
def test_a_duration_has_the_digits_that_matter(ms: float, text: str) -> None:
    assert duration(ms) == text


def test_only_the_whole_is_100_percent() -> None:
    assert percent(1, 1) == "100 %"
    assert percent(999_999_999, 1_000_000_000) == "99.99 %"
    assert percent(0, 7) == "0 %"
    assert percent(0, 0) == "100 %"


def test_counts_and_lists() -> None:
    assert (count(1, "partition"), count(1_000, "partition")) == ("1 partition", "1,000 partitions")
    assert names_of(["a", "b"]) == "a and b"
    assert names_of(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_a_time_beyond_the_calendar_does_not_end_the_page() -> None:
    assert timestamp(2**62).startswith("9999-12-31")
    assert timestamp(-1).startswith("1970-01-01")
