"""Calls that do not end."""

from __future__ import annotations

from threading import Event

import pytest

from tests.support.hangs import call_in_time, take_hangs


def test_a_call_that_does_not_end_is_noted() -> None:
    end = Event()
    call_in_time("a call", end.wait, 0.01)
    end.set()
    assert take_hangs() == ["a call did not end within 0.01 s"]


def test_the_errors_of_a_call_are_raised() -> None:
    def fail() -> None:
        raise TimeoutError("of the call itself")

    with pytest.raises(TimeoutError, match="of the call itself"):
        call_in_time("a call", fail, 60)
    assert take_hangs() == []
