"""Read topics as a stream: offsets of micro-batches on the driver, their records on executors.

The rules are those of the connector's KafkaMicroBatchStream and KafkaOffsetReaderAdmin.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from kraft.client.blocking import BlockingCluster
from kraft.client.cluster import TIMEOUT_S
from kraft.spark.options import Options
from kraft.spark.topic_offsets import TopicOffsets, named_partitions
from kraft.spark.topic_options import (
    EARLIEST,
    LATEST,
    MAX_OFFSETS,
    MAX_RECORDS,
    MAX_TRIGGER_DELAY,
    MIN_OFFSETS,
    MIN_PARTITIONS,
    RETRIES,
    RETRY_INTERVAL_MS,
    PartitionOffsets,
    TopicPartition,
)
from kraft.spark.topic_plan import JsonOffsets, OffsetRange, backlog, from_json, limited, split, to_json
from kraft.spark.topic_read import data_loss, open_client, read_range
from kraft.world.clock import Clock

T = TypeVar("T")

_ATTEMPT_TIMEOUT_S = 4 * TIMEOUT_S


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads topics as a stream. Spark keeps one on the driver, and sends copies to the executors for ``read``."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._client: BlockingCluster | None = None
        self._initial: PartitionOffsets | None = None
        self._target: PartitionOffsets | None = None
        self._clock = Clock()
        self._last_batch_s: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None}

    def initialOffset(self) -> JsonOffsets:
        """Return where a query without a checkpoint begins.

        LATEST stays -1 until the first batch ends at the latest offsets and writes them to the checkpoint. So a query
        that fails before its first commit begins again at the same place, although Spark does not store this value.
        """
        self._initial = self._call(lambda offsets: offsets.starting(LATEST))
        return to_json(self._initial)

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of a batch. Spark takes one limit only, so ``latestOffset`` looks at the options too."""
        most, least = self._options.get(MAX_OFFSETS), self._options.get(MIN_OFFSETS)
        if most is not None:
            return ReadMaxRows(most)
        return ReadAllAvailable() if least is None else ReadMinRows(least)

    def latestOffset(self, start: Mapping[str, Mapping[str, int]], limit: ReadLimit) -> JsonOffsets:
        """Return the end of the next batch: at most ``limit``, and ``start`` if it is too early for a batch."""
        begin = from_json(start)
        end = self._target if self._target is not None else self._call(lambda offsets: offsets.latest(begin))
        if isinstance(limit, ReadAllAvailable):
            return to_json(end)
        if self._target is None and self._waits(begin, end):
            return to_json(begin)
        if isinstance(limit, ReadMaxRows):
            new = end.keys() - begin.keys()
            earliest = self._call(lambda offsets: offsets.at(dict.fromkeys(new, EARLIEST))) if new else {}
            end = limited(limit.max_rows, earliest | begin, end)
        return to_json(end)

    def reportLatestOffset(self) -> JsonOffsets | None:
        """Return the latest offsets of the cluster, for the progress that Spark reports."""
        return to_json(self._call(lambda offsets: offsets.latest({})))

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the end of the query at the present latest offsets."""
        self._target = self._call(lambda offsets: offsets.latest({}))

    def partitions(
        self, start: Mapping[str, Mapping[str, int]], end: Mapping[str, Mapping[str, int]]
    ) -> Sequence[InputPartition]:
        """Plan a batch. Report records that are gone: of deleted partitions, and of new ones that lost their start."""
        begin, until = from_json(start), from_json(end)
        gone = begin.keys() - until.keys()
        if gone and begin == self._initial:
            # Spark stores the end of the first batch, but not its start: these may be newer than the end.
            gone -= set(self._call(TopicOffsets.partitions))
        if gone:
            data_loss(self._options, f"{named_partitions(gone)} do not exist any more")
        begin |= self._starts_of_new(until.keys() - begin.keys())
        ranges = []
        for each, stop in sorted(until.items()):
            if each not in begin or begin[each] == LATEST:
                continue
            if stop < begin[each]:
                text = f"offset of {named_partitions([each])} changed from {begin[each]} to {stop}"
                data_loss(self._options, text)
            ranges.append(OffsetRange(*each, begin[each], stop))
        parts = split(ranges, self._options.get(MIN_PARTITIONS), self._options.get(MAX_RECORDS))
        return [InputPartition(part) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_range(self._options, partition.value) if partition.value else iter(())

    def commit(self, end: Mapping[str, Mapping[str, int]]) -> None:
        """Do nothing: Spark's checkpoint has the offsets, and the cluster keeps none for the query."""

    def stop(self) -> None:
        if self._client is not None:
            self._client.close()

    def _starts_of_new(self, new: set[TopicPartition]) -> PartitionOffsets:
        """Return the first offsets of partitions that a batch has for the first time."""
        if not new:
            return {}
        # Spark plans a batch of its checkpoint again, and a topic may be deleted since.
        found = self._call(lambda offsets: offsets.at(dict.fromkeys(new, EARLIEST), skip_deleted=True))
        if missing := new - found.keys():
            data_loss(self._options, f"new partitions {named_partitions(missing)} do not exist any more")
        if late := [each for each, offset in found.items() if offset > 0]:
            data_loss(self._options, f"new partitions {named_partitions(late)} do not begin at offset 0")
        return found

    def _waits(self, start: PartitionOffsets, end: PartitionOffsets) -> bool:
        """Whether fewer than ``minOffsetsPerTrigger`` offsets are there, and ``maxTriggerDelay`` is not over."""
        least, now_s = self._options.get(MIN_OFFSETS), self._clock.now_s()
        if least is None:
            return False
        delay_s = self._options[MAX_TRIGGER_DELAY] / 1000
        in_time = self._last_batch_s is not None and now_s - self._last_batch_s < delay_s
        if in_time and sum(backlog(start, end).values()) < least:
            return True
        self._last_batch_s = now_s
        return False

    def _call(self, ask: Callable[[TopicOffsets], Awaitable[T]]) -> T:
        """Run a function of the source's offsets with the driver's client, which stays open until ``stop``."""
        if self._client is None:
            self._client = open_client(self._options).__enter__()
        attempts = 1 + self._options[RETRIES]
        timeout_s = attempts * (_ATTEMPT_TIMEOUT_S + self._options[RETRY_INTERVAL_MS] / 1000)
        return self._client.call(lambda cluster: ask(TopicOffsets(cluster, self._options)), timeout_s)
