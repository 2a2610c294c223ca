"""The arithmetic of reading topics with Spark: offsets as JSON, limits of a batch, and splits of partitions.

These are the rules of Spark's Kafka connector (KafkaMicroBatchStream, KafkaOffsetRangeCalculator). Offsets cover
``[start, end)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kraft.spark.options import LONG_MAX
from kraft.spark.topic_options import LATEST, PartitionOffsets

JsonOffsets = dict[str, dict[str, int]]


class OffsetRange(NamedTuple):
    """Offsets of one partition, from ``start`` to below ``end``."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


def to_json(offsets: PartitionOffsets) -> JsonOffsets:
    """Return offsets in the connector's form, ``{"topic":{"0":5}}``, as Spark keeps them in its checkpoint."""
    found: JsonOffsets = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def from_json(offsets: Mapping[str, Mapping[str, int]]) -> PartitionOffsets:
    """Return the offsets of a checkpoint by partition."""
    return {(topic, int(each)): offset for topic, found in offsets.items() for each, offset in found.items()}


def backlog(start: PartitionOffsets, end: PartitionOffsets) -> PartitionOffsets:
    """Return the number of offsets in each partition that has any. A start of LATEST has none."""
    sizes = {each: offset - start.get(each, 0) for each, offset in end.items() if start.get(each) != LATEST}
    return {each: size for each, size in sizes.items() if size > 0}


def limited(most: int, start: PartitionOffsets, end: PartitionOffsets) -> PartitionOffsets:
    """Return the end of a batch of about ``most`` offsets, spread over the partitions by their backlogs.

    A partition with a backlog gets at least one offset, so that a small one does not starve.
    """
    sizes = backlog(start, end)
    total = sum(sizes.values())
    limits = dict(end)
    for each, size in sizes.items():
        share = most * (size / total)
        taken = math.ceil(share) if share < 1 else math.floor(share)
        limits[each] = min(end[each], start.get(each, 0) + taken, LONG_MAX)
    return limits


def split(ranges: Iterable[OffsetRange], least: int | None, most_records: int | None) -> list[OffsetRange]:
    """Return the ranges that are not empty, cut for ``maxRecordsPerPartition`` and then for ``minPartitions``.

    Partitions with more than their share of the offsets are cut; the others stay whole.
    """
    found = [each for each in ranges if each.size > 0]
    if most_records is not None:
        found = [part for each in found for part in _cut(each, math.ceil(each.size / most_records))]
    if least is None or len(found) >= least:
        return found
    total = sum(each.size for each in found)
    parts = {each: max(round(each.size / total * least), 1) for each in found}
    large = [each for each in found if parts[each] > 1]
    rest = least - (len(found) - len(large))
    large_total = sum(each.size for each in large)
    for each in large:
        parts[each] = max(round(each.size / large_total * rest), 1)
    return [part for each in found for part in _cut(each, parts[each])]


def _cut(whole: OffsetRange, parts: int) -> Iterator[OffsetRange]:
    start = whole.start
    for part in range(parts):
        end = min(start + max((whole.end - start) // (parts - part), 1), whole.end)
        if end > start:
            yield whole._replace(start=start, end=end)
        start = end
