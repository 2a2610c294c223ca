"""The partition that holds a group or a transactional id."""

from __future__ import annotations

import pytest

from kraft.coordinator.partitions import coordinator_partition


@pytest.mark.parametrize(
    ("group_id", "of_50", "of_7"),
    [
        ("", 0, 0),
        ("a", 47, 6),
        ("group", 47, 3),
        ("test-group", 12, 2),
        ("console-consumer-12345", 6, 6),
        ("Hello World", 26, 5),  # hash -862545276
        ("spark-kafka-source-1", 22, 4),  # hash -1638101322
        ("polygenelubricants", 0, 0),  # hash -2147483648, which has no absolute value
        ("ünïcode-😀", 30, 6),  # the hash is over UTF-16
    ],
)
def test_a_group_lives_where_apache_kafka_looks_for_it(group_id: str, of_50: int, of_7: int) -> None:
    """``abs(String.hashCode)`` modulo ``offsets.topic.num.partitions``. A JVM printed the expected values."""
    assert coordinator_partition(group_id, 50) == of_50
    assert coordinator_partition(group_id, 7) == of_7
