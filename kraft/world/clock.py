"""Wall-clock time for records and sessions, which never goes back while the node runs."""

from __future__ import annotations

import time

import attrs


@attrs.frozen
class Clock:
    """The wall clock at the start, plus the time that the monotonic clock has measured since.

    So a step of the system's clock ends no session and expires no offset.
    """

    started_wall_s: float = attrs.Factory(time.time)
    started_monotonic_s: float = attrs.Factory(time.monotonic)

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return int(self.now_s() * 1000)

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self.started_wall_s + time.monotonic() - self.started_monotonic_s
