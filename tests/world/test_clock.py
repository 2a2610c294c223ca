"""The clocks of a node, where the system's clock is set while the node runs."""

from __future__ import annotations

import pytest

from kraft.world.clock import Clock

HOUR_S = 3600.0


@pytest.mark.parametrize("step_s", [2 * HOUR_S, -2 * HOUR_S], ids=["forward", "back"])
def test_a_step_of_the_system_s_clock_changes_timestamps_and_no_duration(
    monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    """Kafka's ``SystemTime.milliseconds`` is ``System.currentTimeMillis``, which produced timestamps and retention are
    checked by. ``hiResClockMs``, of the timers, is ``System.nanoTime``.
    """
    wall_s, passed_s = 1_700_000_000.5, 50.0
    monkeypatch.setattr("time.time", lambda: wall_s)
    monkeypatch.setattr("time.monotonic", lambda: passed_s)
    clock = Clock(wall_s, passed_s)
    assert (clock.now_ms(), clock.now_s()) == (1_700_000_000_500, 1_700_000_000.5)
    wall_s += 10 + step_s
    passed_s += 10
    assert (clock.now_ms(), clock.now_s()) == (1_700_000_010_500 + step_s * 1000, 1_700_000_010.5)
