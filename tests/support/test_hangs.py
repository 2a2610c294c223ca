"""A call that cannot be interrupted costs a test its limit, and no more."""

from __future__ import annotations

from threading import Event

import pytest

from tests.support.hangs import call_in_time, take_hangs


def test_a_call_that_does_not_end_is_noted_and_left_alone() -> None:
    end = Event()
    call_in_time("the call", end.wait, 0.01)
    end.set()
    assert take_hangs() == ["the call did not end within 0.01 s"]


def test_a_call_that_fails_raises_its_error() -> None:
    def fail() -> None:
        raise TimeoutError("of the call itself")

    with pytest.raises(TimeoutError, match="of the call itself"):
        call_in_time("the call", fail, 60.0)
    assert take_hangs() == []
