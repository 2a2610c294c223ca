"""When the age of the active segment makes a log begin another: ``segment.ms``, less a jitter."""

from __future__ import annotations

from kraft.config.topic import COMPACT, LogConfig


def max_segment_ms(config: LogConfig) -> int:
    """Return the longest that a segment is active: ``segment.ms``, but with compaction at most
    ``max.compaction.lag.ms`` (KIP-354), because the cleaner never compacts the active segment.
    """
    compacts = COMPACT in config.cleanup_policy
    return min(config.segment_ms, config.max_compaction_lag_ms) if compacts else config.segment_ms


def roll_ms(config: LogConfig, random_ms: int) -> int:
    """Return ``max_segment_ms`` less a jitter, which a random number gives as in ``LogConfig.randomSegmentJitter``.

    It stays positive when a change of the settings lowers ``max_segment_ms`` below that number.
    """
    longest = max_segment_ms(config)
    return longest - random_ms % min(config.segment_jitter_ms, longest) if config.segment_jitter_ms else longest
