"""Limits of a batch and splits of partitions, by the rules of Spark's Kafka connector."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kraft.spark.topic_options import LATEST
from kraft.spark.topic_plan import OffsetRange, backlog, from_json, limited, split, to_json

partitions = st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 3))
offsets = st.dictionaries(partitions, st.integers(0, 2**40), min_size=1)


@given(offsets)
def test_offsets_keep_the_connectors_form(found: dict[tuple[str, int], int]) -> None:
    assert from_json(to_json(found)) == found


def test_the_form_of_offsets_is_the_connectors() -> None:
    """KafkaSourceOffset.json: {"topic":{"0":5}}."""
    assert to_json({("t", 1): 7, ("t", 0): 5}) == {"t": {"0": 5, "1": 7}}


@given(offsets, offsets, st.integers(1, 2**41))
def test_a_limited_batch_lies_within_the_backlog(
    start: dict[tuple[str, int], int], end: dict[tuple[str, int], int], most: int
) -> None:
    """KafkaMicroBatchStream.rateLimit: prorate by the backlog, and do not starve small partitions."""
    limits = limited(most, start, end)
    sizes = backlog(start, end)
    assert limits.keys() == end.keys()
    for each, limit in limits.items():
        assert limit <= end[each]
        assert limit > start.get(each, 0) if each in sizes else limit == end[each]
    # A share is rounded up only where it is below one.
    assert sum(limits[each] - start.get(each, 0) for each in sizes) <= most + len(sizes) or most >= sum(sizes.values())


def test_shares_follow_the_backlogs() -> None:
    start, end = {("t", 0): 100, ("t", 1): 0}, {("t", 0): 400, ("t", 1): 100, ("t", 2): 100}
    assert limited(50, start, end) == {("t", 0): 130, ("t", 1): 10, ("t", 2): 10}
    assert limited(5_000, start, end) == end
    assert limited(1, start, end) == {("t", 0): 101, ("t", 1): 1, ("t", 2): 1}


def test_a_start_at_the_latest_offset_has_no_backlog() -> None:
    assert backlog({("t", 0): LATEST, ("t", 1): 3}, {("t", 0): 9, ("t", 1): 5}) == {("t", 1): 2}


ranges = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 100_000)), min_size=1, max_size=6).map(
    lambda found: [OffsetRange("t", at, start, start + size) for at, (start, size) in enumerate(found)]
)


@given(ranges, st.none() | st.integers(1, 40), st.none() | st.integers(1000, 100_000))
def test_splits_cover_each_offset_once(whole: list[OffsetRange], least: int | None, most: int | None) -> None:
    parts = split(whole, least, most)
    for each in whole:
        mine = [part for part in parts if part.partition == each.partition]
        joints = [part.start for part in mine] + [each.end]
        if each.size:
            assert joints[0] == each.start
        assert [part.end for part in mine] == joints[1:]
        assert all(part.size > 0 for part in mine)
        assert most is None or all(part.size <= most for part in mine)


def test_large_partitions_are_cut_for_min_partitions() -> None:
    """KafkaOffsetRangeCalculatorSuite: "N skewed TopicPartitions to M offset ranges"."""
    whole = [OffsetRange("t", 0, 0, 1000), OffsetRange("t", 1, 0, 100), OffsetRange("t", 2, 5, 5)]
    assert split(whole, None, None) == whole[:2]
    assert split(whole, 2, None) == whole[:2]
    assert [part.size for part in split(whole, 5, None)] == [250, 250, 250, 250, 100]
    assert [part.size for part in split(whole, None, 400)] == [333, 333, 334, 100]
