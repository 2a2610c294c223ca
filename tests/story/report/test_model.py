"""The input of the page refuses what cannot be."""

from __future__ import annotations

import pytest

from kraft.story.report.model import ClusterReport, FailoverPhase, LeadershipPeriod


def test_an_interval_that_ends_before_its_start_is_refused() -> None:
    with pytest.raises(ValueError, match="LeadershipPeriod ends at 9, before its start at 10"):
        LeadershipPeriod("orders", 0, 1, 0, 10, 9)
    with pytest.raises(ValueError, match="FailoverPhase ends at 9"):
        FailoverPhase("election", 10, 9)
    with pytest.raises(ValueError, match="ClusterReport ends at 9"):
        ClusterReport("c", 10, 9)
    assert LeadershipPeriod("orders", 0, 1, 0, 10).end_ms is None
