"""The age of the active segment."""

from __future__ import annotations

import pytest

from kraft.config.topic import log_config
from kraft.storage.rolling import max_segment_ms, roll_ms


@pytest.mark.parametrize(
    ("overrides", "longest_ms"),
    [
        ({"segment.ms": "9"}, 9),
        ({"segment.ms": "9", "max.compaction.lag.ms": "5"}, 9),
        ({"segment.ms": "9", "max.compaction.lag.ms": "5", "cleanup.policy": "compact"}, 5),
        ({"segment.ms": "9", "max.compaction.lag.ms": "5", "cleanup.policy": "delete,compact"}, 5),
        ({"segment.ms": "9", "max.compaction.lag.ms": "15", "cleanup.policy": "compact"}, 9),
    ],
)
def test_a_segment_of_a_compacted_topic_is_active_for_the_lag_at_most(
    overrides: dict[str, str], longest_ms: int
) -> None:
    """``LogConfig.maxSegmentMs``: "if (compact && maxCompactionLagMs > 0) min(maxCompactionLagMs, segmentMs)"."""
    assert max_segment_ms(log_config(overrides, {})) == longest_ms


@pytest.mark.parametrize("jitter_ms", [0, 1, 4, 9, 20])
def test_a_jitter_leaves_a_part_of_the_age(jitter_ms: int) -> None:
    """``LogConfig.randomSegmentJitter``: "abs(nextInt) % min(segmentJitterMs, maxSegmentMs)", or 0."""
    config = log_config({"segment.ms": "9", "segment.jitter.ms": str(jitter_ms)}, {})
    found = {roll_ms(config, random_ms) for random_ms in range(100)}
    assert found == set(range(9, 9 - min(max(jitter_ms, 1), 9), -1))
