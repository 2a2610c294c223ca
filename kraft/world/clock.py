"""The two clocks of a node: the system's for data, and one that never goes back, for sessions and timeouts."""

from __future__ import annotations

import time

import attrs


@attrs.frozen
class Clock:
    """``now_ms`` is the system's clock, as ``System.currentTimeMillis`` in Kafka. It may be set at any time.

    ``now_s`` is the wall clock at the start, plus the time that the monotonic clock has measured since. So a step of
    the system's clock ends no session. The two clocks may then differ by any time: a time of one is never compared with
    a time of the other.
    """

    started_wall_s: float = attrs.Factory(time.time)
    started_monotonic_s: float = attrs.Factory(time.monotonic)

    def now_ms(self) -> int:
        """Milliseconds since the epoch, for timestamps that others see, and for what is compared with them."""
        return int(time.time() * 1000)

    def system_s(self) -> float:
        """:meth:`now_ms` in seconds, for the cores whose times are all timestamps of records."""
        return self.now_ms() / 1000

    def now_s(self) -> float:
        """Seconds since the epoch, for durations and for the other cores."""
        return self.started_wall_s + time.monotonic() - self.started_monotonic_s
