"""The rate of replication over the last windows (KIP-73), measured as Kafka's SimpleRate does."""

from __future__ import annotations

from collections import deque

import attrs


@attrs.define(eq=False)
class ReplicationQuota:
    """Counts bytes in ``windows`` windows of ``window_s`` seconds each; the current one is among them."""

    windows: int = 11
    window_s: float = 1.0
    _samples: deque[tuple[float, int]] = attrs.Factory(deque)
    """The windows with records, oldest first: when each began, and its bytes."""

    def record(self, size: int, now: float) -> None:
        """Count ``size`` bytes."""
        self._forget(now)
        if self._samples and now - self._samples[-1][0] < self.window_s:
            began_at, counted = self._samples.pop()
            self._samples.append((began_at, counted + size))
        else:
            self._samples.append((now, size))

    def rate(self, now: float) -> float:
        """Return the bytes per second since the oldest window began, which counts as one window at least."""
        self._forget(now)
        if not self._samples:
            return 0.0
        return sum(size for _, size in self._samples) / max(now - self._samples[0][0], self.window_s)

    def _forget(self, now: float) -> None:
        while self._samples and now - self._samples[0][0] >= self.windows * self.window_s:
            self._samples.popleft()
