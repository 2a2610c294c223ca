"""``format("kraft")``: Kafka topics as DataFrames, with the options and the schema of Spark's Kafka connector, no jar.

Readers and writers are pickled to the executors, so they hold plain data; each connects where it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kraft.client.cluster import TIMEOUT_S, Cluster
from kraft.spark.options import Options
from kraft.spark.topic_offsets import TopicOffsets
from kraft.spark.topic_options import (
    BY_TIME,
    EARLIEST,
    FORMAT,
    INCLUDE_HEADERS,
    MAX_RECORDS,
    MIN_PARTITIONS,
    check_source,
    topic_options,
)
from kraft.spark.topic_plan import OffsetRange, split
from kraft.spark.topic_read import data_loss, open_client, read_range
from kraft.spark.topic_sink import TopicBatchWriter, TopicStreamWriter
from kraft.spark.topic_stream import TopicStreamReader

COLUMNS = "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, timestampType int"
HEADERS_COLUMN = "headers array<struct<key: string, value: binary>>"


class TopicSource(DataSource):
    """The data source. Spark makes one for each query, and another in each process that plans it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._options = topic_options(options)

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return f"{COLUMNS}, {HEADERS_COLUMN}" if self._options[INCLUDE_HEADERS] else COLUMNS

    def reader(self, schema: StructType) -> TopicReader:
        check_source(self._options, streaming=False)
        return TopicReader(self._options)

    def streamReader(self, schema: StructType) -> TopicStreamReader:
        check_source(self._options, streaming=True)
        return TopicStreamReader(self._options)

    def writer(self, schema: StructType, overwrite: bool) -> TopicBatchWriter:
        return TopicBatchWriter(self._options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> TopicStreamWriter:
        return TopicStreamWriter(self._options, schema)


class TopicReader(DataSourceReader):
    """Reads topics once, between offsets that it fixes on the driver."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        async def bounds(cluster: Cluster) -> list[OffsetRange]:
            offsets = TopicOffsets(cluster, self._options)
            starts = await offsets.without_latest(await offsets.starting(EARLIEST))
            ends = await offsets.ending()
            return [OffsetRange(*each, start, ends[each]) for each, start in sorted(starts.items()) if each in ends]

        with open_client(self._options) as client:
            ranges = client.call(bounds, 3 * TIMEOUT_S)
        has_times = any(option in self._options for option in BY_TIME)
        for each in ranges:
            if each.size < 0 and not has_times:
                text = f"{each.topic}-{each.partition} ends at offset {each.end}, before the start {each.start}"
                data_loss(self._options, text)
        parts = split(ranges, self._options.get(MIN_PARTITIONS), self._options.get(MAX_RECORDS))
        return [InputPartition(part) for part in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_range(self._options, partition.value) if partition.value else iter(())
