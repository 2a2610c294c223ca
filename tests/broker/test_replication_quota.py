"""The rate of replication (KIP-73)."""

from __future__ import annotations

from kraft.broker.replication_quota import ReplicationQuota


def test_the_rate_of_a_new_quota_is_that_of_one_window() -> None:
    """SimpleRate: the elapsed time is at least one window."""
    quota = ReplicationQuota(windows=11, window_s=1.0)
    assert quota.rate(0.0) == 0.0
    quota.record(1000, 5.0)
    assert quota.rate(5.0) == quota.rate(5.5) == 1000.0
    quota.record(1000, 5.5)
    assert quota.rate(6.0) == 2000.0


def test_the_rate_falls_with_time() -> None:
    """SimpleRate: all bytes of the windows, over the time since the oldest one began."""
    quota = ReplicationQuota(windows=11, window_s=1.0)
    quota.record(1000, 0.0)
    assert quota.rate(4.0) == 250.0
    quota.record(3000, 4.0)
    assert quota.rate(4.0) == 1000.0
    assert quota.rate(10.0) == 400.0


def test_old_windows_are_forgotten() -> None:
    """SampledStat.purgeObsoleteSamples: a window counts for as long as all windows last."""
    quota = ReplicationQuota(windows=11, window_s=1.0)
    quota.record(1000, 0.0)
    quota.record(110, 8.0)
    assert quota.rate(10.9) == 1110 / 10.9
    assert quota.rate(11.0) == 110 / 3
    assert quota.rate(30.0) == 0.0
