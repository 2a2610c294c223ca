"""Write DataFrames to topics: the sink of ``format("kraft")``, for batch and streaming queries.

The columns are those of the connector: value, and optionally key, headers, topic and partition. Each task has
idempotent producers of its own, so a batch that a producer sends again is stored once. A task that Spark runs again
writes its rows again: as with the connector, each row is written at least once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType, StructType

from kraft.client.blocking import BlockingCluster
from kraft.client.cluster import TIMEOUT_S, Cluster
from kraft.client.producer import Outgoing, Producer
from kraft.records.compression import Compression
from kraft.spark.options import OptionError, Options
from kraft.spark.topic_options import BATCH_BYTES, COMPRESSION_TYPE, DELIVERY_TIMEOUT_MS, TOPIC
from kraft.spark.topic_read import open_client
from kraft.world.world import World

_BUFFER_BYTES = 32 * 2**20
"""Bytes of rows in memory from which all batches are sent."""
_RECORD_OVERHEAD_BYTES = 32


class SinkError(ValueError):
    """Rows that cannot be written to a topic. The text names the column."""


def check_columns(schema: StructType, options: Options) -> None:
    """Raise SinkError unless the rows have the columns of a sink. Other columns are ignored."""
    types = {field.name: field.dataType for field in schema.fields}
    if "topic" not in types and TOPIC not in options:
        raise SinkError("Option topic is required, because the rows have no column topic")
    if "value" not in types:
        raise SinkError(f"The rows need a column value; they have {', '.join(types) or 'none'}")
    allowed: Mapping[str, tuple[type[DataType], ...]] = {
        "key": (StringType, BinaryType),
        "value": (StringType, BinaryType),
        "topic": (StringType,),
        "partition": (IntegerType,),
    }
    for name, classes in allowed.items():
        if name in types and not isinstance(types[name], classes):
            wanted = " or ".join(each.typeName() for each in classes)
            raise SinkError(f"Column {name} is of type {types[name].simpleString()}. It must be {wanted}")
    if "headers" in types and not _are_headers(types["headers"]):
        wanted = "array<struct<key:string,value:binary>>"
        raise SinkError(f"Column headers is of type {types['headers'].simpleString()}. It must be {wanted}")


def _are_headers(found: DataType) -> bool:
    if not isinstance(found, ArrayType) or not isinstance(found.elementType, StructType):
        return False
    fields = [(field.name, type(field.dataType)) for field in found.elementType.fields]
    return fields == [("key", StringType), ("value", BinaryType)]


class TopicBatchWriter(DataSourceArrowWriter):
    """Writes the rows of a batch query. A failed query may leave rows behind: topics have no transaction here."""

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise OptionError("Save mode overwrite is not allowed: a topic is appended to. Use append")
        check_columns(schema, options)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return write_rows(self._options, iterator)


class TopicStreamWriter(DataSourceStreamArrowWriter):
    """Writes the rows of a streaming query, each at least once."""

    def __init__(self, options: Options, schema: StructType) -> None:
        check_columns(schema, options)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return write_rows(self._options, iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: the rows are acknowledged already."""

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: a topic does not take records back."""


def write_rows(options: Options, batches: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
    """Write the rows of one task, and return when all of them are acknowledged.

    Raises:
        SinkError: a row has no topic, or a header without a key.
        KafkaError: a leader refused a batch.
        GaveUp: no broker responded, or a batch was not acknowledged, within ``kafka.delivery.timeout.ms``.
    """
    with open_client(options, options[DELIVERY_TIMEOUT_MS] / 1000) as client:
        buffers = _Buffers(options, client)
        for batch in batches:
            for topic, partition, record in _records(batch, options.get(TOPIC)):
                buffers.add(topic, partition, record)
        buffers.flush()
    return WriterCommitMessage()


def _records(batch: pa.RecordBatch, fixed_topic: str | None) -> Iterator[tuple[str, int | None, Outgoing]]:
    def column(name: str, kind: pa.DataType | None = None) -> list[Any]:
        at = batch.schema.get_field_index(name)
        if at < 0:
            return [None] * batch.num_rows
        found = batch.column(at)
        values: list[Any] = (found if kind is None else found.cast(kind)).to_pylist()
        return values

    topics = column("topic") if fixed_topic is None else [fixed_topic] * batch.num_rows
    keys, values = column("key", pa.binary()), column("value", pa.binary())
    for topic, partition, key, value, headers in zip(
        topics, column("partition"), keys, values, column("headers"), strict=True
    ):
        if topic is None:
            raise SinkError("Column topic is null in a row. Set the option topic to give all rows one topic")
        if any(header is None or header["key"] is None for header in headers or ()):
            raise SinkError("Column headers has a header without a key")
        yield topic, partition, (key, value, tuple((header["key"], header["value"]) for header in headers or ()))


class _Buffers:
    """The rows of one task that wait for their batch, by topic and partition."""

    def __init__(self, options: Options, client: BlockingCluster) -> None:
        self._client = client
        self._batch_bytes = options[BATCH_BYTES]
        self._compression = Compression[options[COMPRESSION_TYPE].upper()]
        self._delivery_timeout_s = options[DELIVERY_TIMEOUT_MS] / 1000
        self._producers: dict[str, Producer] = {}
        self._waiting: dict[tuple[str, int], list[Outgoing]] = {}
        self._sizes: dict[tuple[str, int], int] = {}
        self._total = 0

    def add(self, topic: str, partition: int | None, record: Outgoing) -> None:
        producer = self._producers.get(topic) or self._start(topic)
        key, value, headers = record
        size = _RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
        size += sum(_RECORD_OVERHEAD_BYTES + len(name) + len(content or b"") for name, content in headers)
        where = (topic, producer.choose(key) if partition is None else partition)
        if self._sizes.get(where, 0) + size > self._batch_bytes:
            self._send(where)
        self._waiting.setdefault(where, []).append(record)
        self._sizes[where] = self._sizes.get(where, 0) + size
        self._total += size
        if self._total > _BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send all rows, and wait until they are acknowledged."""
        for where in list(self._waiting):
            self._send(where)

    def _send(self, where: tuple[str, int]) -> None:
        records = self._waiting.pop(where, None)
        if records:
            self._total -= self._sizes.pop(where)
            topic, partition = where
            producer = self._producers[topic]
            self._client.call(lambda _: producer.send_to(partition, records), self._delivery_timeout_s + TIMEOUT_S)

    def _start(self, topic: str) -> Producer:
        async def start(cluster: Cluster) -> Producer:
            producer = Producer(
                cluster,
                topic,
                compression=self._compression,
                delivery_timeout_s=self._delivery_timeout_s,
                randrange=World().random.randrange,
            )
            await producer.start()
            return producer

        self._producers[topic] = producer = self._client.call(start, self._delivery_timeout_s + 2 * TIMEOUT_S)
        return producer
