"""``format("kraft")`` in Spark: batch and streaming reads, and sinks, against an embedded cluster."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from kraft.records.compression import Compression
from kraft.records.record import Record
from kraft.spark import register
from tests.spark.busy import unless_busy
from tests.spark.topics import Topics, load, running_topics, texts
from tests.support.node_process import free_ports

#: A query takes a second, and many of them on a busy machine.
QUERY_TIMEOUT_S = 100
EARLIEST = {"startingOffsets": "earliest"}


@pytest.fixture(scope="module")
def topics(spark: SparkSession) -> Iterator[Topics]:
    register(spark)
    with running_topics() as topics:
        yield topics


# -- batch


def test_rows_have_the_schema_and_the_values_of_the_connector(spark: SparkSession, topics: Topics) -> None:
    """Structured Streaming + Kafka Integration Guide: "Each row in the source has the following schema"."""
    topics.create("rows", 2)
    headers = (("h", b"x"), ("h", None))
    for compression in Compression:
        topics.append("rows", [Record(0, 1_500_000_000_123, b"k", None, headers)], compression=compression)
    topics.append("rows", [Record(0, 5, None, b""), Record(1, 6, b"", b"v" * 100_000)], partition=1)

    frame = load(spark, topics, {"subscribe": "rows", "includeHeaders": "true"})
    assert [f"{field.name} {field.dataType.simpleString()}" for field in frame.schema] == [
        "key binary",
        "value binary",
        "topic string",
        "partition int",
        "offset bigint",
        "timestamp timestamp",
        "timestampType int",
        "headers array<struct<key:string,value:binary>>",
    ]
    rows = sorted(frame.selectExpr("*", "cast(timestamp as double) as s").collect(), key=lambda row: row[3:5])
    assert [tuple(row[:5]) for row in rows] == [
        *((b"k", None, "rows", 0, offset) for offset in range(len(Compression))),
        (None, b"", "rows", 1, 0),
        (b"", b"v" * 100_000, "rows", 1, 1),
    ]
    assert [(row["s"], row["timestampType"]) for row in rows] == [(1_500_000_000.123, 0)] * 5 + [(0.005, 0), (0.006, 0)]
    assert rows[0]["timestamp"].astimezone(datetime.UTC).year == 2017
    assert [tuple(header) for header in rows[0]["headers"]] == list(headers)
    assert rows[5]["headers"] is None, "as in the connector"
    assert "headers" not in load(spark, topics, {"subscribe": "rows"}).columns


def test_a_batch_begins_and_ends_where_its_options_say(spark: SparkSession, topics: Topics) -> None:
    topics.create("ends", 2)
    topics.values("ends", ["a0", "a1", "a2", "a3"])  # at 1000 ms, 1001 ms, …
    topics.values("ends", ["b0", "b1"], partition=1)

    def read(**options: object) -> list[str]:
        return texts(load(spark, topics, {"subscribe": "ends", **options}))

    assert read() == ["a0", "a1", "a2", "a3", "b0", "b1"]
    assert read(startingOffsets='{"ends":{"0":1,"1":-2}}', endingOffsets='{"ends":{"0":3,"1":-1}}') == [
        "a1",
        "a2",
        "b0",
        "b1",
    ]
    assert read(startingTimestamp=1001, endingTimestamp=1003) == ["a1", "a2", "b1"]
    by_time = {"startingOffsetsByTimestamp": '{"ends":{"0":1002,"1":1002}}'}
    assert read(**by_time, startingOffsetsByTimestampStrategy="latest") == ["a2", "a3"]
    assert read(startingTimestamp=1002, endingTimestamp=1001, startingOffsetsByTimestampStrategy="latest") == []
    assert texts(load(spark, topics, {"assign": '{"ends":[1]}'})) == ["b0", "b1"]
    assert texts(load(spark, topics, {"subscribePattern": "e.ds"})) == read()
    assert load(spark, topics, {"subscribe": "ends", "minPartitions": 5}).rdd.getNumPartitions() == 5
    assert load(spark, topics, {"subscribe": "ends", "maxRecordsPerPartition": 1}).rdd.getNumPartitions() == 6
    assert read(maxRecordsPerPartition=1) == read()
    with pytest.raises(PySparkException, match=r"ends-1 has no record of that time or later"):
        read(**by_time)
    with pytest.raises(PySparkException, match=r"must name all partitions .*ends-0; there are ends-0, ends-1"):
        read(startingOffsets='{"ends":{"0":1}}')


def test_a_wrong_option_a_missing_topic_and_a_dead_cluster_are_clear_errors(
    spark: SparkSession, topics: Topics
) -> None:
    with pytest.raises(PySparkException, match=r"has no option subscrib\. The nearest one is subscribe"):
        load(spark, topics, {"subscrib": "x"})
    with pytest.raises(PySparkException, match="Exactly one of the options assign, subscribe and subscribePattern"):
        load(spark, topics, {}).collect()
    with pytest.raises(PySparkException, match="topic nowhere does not exist"):
        load(spark, topics, {"subscribe": "nowhere"}).collect()
    (port,) = free_ports(1)
    with pytest.raises(PySparkException, match=rf"Cannot connect to 127\.0\.0\.1:{port}"):
        load(spark, topics, {"kafka.bootstrap.servers": f"127.0.0.1:{port}", "subscribe": "x"}).collect()


def test_offsets_that_retention_removed(spark: SparkSession, topics: Topics) -> None:
    """failOnDataLoss: "Whether to fail the query when it's possible that data is lost"."""
    topics.create("retained")
    topics.values("retained", ["v0", "v1", "v2", "v3"])
    topics.delete_records("retained", 2)
    lost = {"subscribe": "retained", "startingOffsets": '{"retained":{"0":0}}'}
    with pytest.raises(PySparkException, match="cannot read offsets 0 to 4 of retained-0, whose log has 2 to 4"):
        load(spark, topics, lost).collect()
    assert texts(load(spark, topics, {**lost, "failOnDataLoss": "false"})) == ["v2", "v3"]
    assert texts(load(spark, topics, {"subscribe": "retained"})) == ["v2", "v3"]


# -- streaming


class Stream:
    """A streaming query into files, which a test runs again and again from its checkpoint."""

    def __init__(self, spark: SparkSession, topics: Topics, directory: Path, options: Mapping[str, object]) -> None:
        self._spark = spark
        self._topics = topics
        self._directory = directory
        self._options = options

    def run(self, **more: object) -> list[dict[str, Any]]:
        """Process all that is available; return the progress of each batch with rows."""
        found: list[dict[str, Any]] = []

        def attempt() -> None:
            query = self.start(availableNow=True, **more)
            try:
                assert query.awaitTermination(QUERY_TIMEOUT_S)
            finally:
                found.extend(progress for progress in query.recentProgress if progress["numInputRows"])

        unless_busy(attempt)
        return found

    def start(self, availableNow: bool = False, **more: object) -> StreamingQuery:
        trigger: dict[str, Any] = {"availableNow": True} if availableNow else {"processingTime": "0 seconds"}
        given = {name: str(value) for name, value in {**self._options, **more}.items()}
        source = self._spark.readStream.format("kraft").option("kafka.bootstrap.servers", self._topics.servers)
        sink = source.options(**given).load().writeStream.format("parquet").option("path", str(self._directory / "out"))
        return sink.option("checkpointLocation", str(self._directory / "checkpoint")).trigger(**trigger).start()

    def texts(self) -> list[str]:
        return texts(self._spark.read.parquet(str(self._directory / "out")))


def test_a_stream_is_limited_and_resumes_and_finds_new_partitions(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """maxOffsetsPerTrigger spreads over partitions by their backlogs; a checkpoint has the connector's offsets."""
    topics.create("grows", 2)
    topics.values("grows", [f"a{n}" for n in range(8)])
    topics.values("grows", ["b0", "b1"], partition=1)
    stream = Stream(spark, topics, tmp_path, {"subscribe": "grows", **EARLIEST, "maxOffsetsPerTrigger": 5})
    batches = stream.run()
    assert [batch["numInputRows"] for batch in batches] == [5, 5]
    assert [json.loads(batch["sources"][0]["endOffset"]) for batch in batches] == [
        {"grows": {"0": 4, "1": 1}},
        {"grows": {"0": 8, "1": 2}},
    ]

    topics.grow("grows", 3)
    topics.values("grows", ["c0"], partition=2)
    topics.values("grows", ["b2"], partition=1)
    (batch,) = stream.run(startingOffsets="latest")
    assert json.loads(batch["sources"][0]["endOffset"]) == {"grows": {"0": 8, "1": 3, "2": 1}}
    assert stream.run() == []
    assert stream.texts() == [*(f"a{n}" for n in range(8)), "b0", "b1", "b2", "c0"]


def test_a_stream_from_the_latest_offset_misses_nothing_after_its_first_batch(
    spark: SparkSession, topics: Topics, tmp_path: Path
) -> None:
    """The first batch is empty and fixes the offsets, so a query that fails before a commit begins where it was."""
    topics.create("late")
    topics.values("late", ["old"])
    stream = Stream(spark, topics, tmp_path, {"subscribe": "late"})
    assert stream.run() == []
    (tmp_path / "checkpoint" / "commits" / "0").unlink()
    (tmp_path / "checkpoint" / "commits" / ".0.crc").unlink(missing_ok=True)
    topics.values("late", ["new"])
    stream.run()
    assert stream.texts() == ["new"]


def test_records_lost_between_two_batches(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    """Retention passes the checkpoint: the query fails, or goes on at the earliest offset."""
    topics.create("lossy")
    topics.values("lossy", ["v0", "v1"])
    stream = Stream(spark, topics, tmp_path, {"subscribe": "lossy", **EARLIEST})
    stream.run()
    topics.values("lossy", ["v2", "v3", "v4"])
    topics.delete_records("lossy", 4)
    with pytest.raises(PySparkException, match="cannot read offsets 2 to 5 of lossy-0, whose log has 4 to 5"):
        stream.run()
    stream.run(failOnDataLoss="false")
    assert stream.texts() == ["v0", "v1", "v4"]


def test_topics_of_a_pattern_come_and_go(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    """KafkaMicroBatchSourceSuite: "subscribing topic by pattern with topic deletions", and data loss for a deletion."""
    topics.create("pattern-a")
    topics.values("pattern-a", ["a0"])
    stream = Stream(spark, topics, tmp_path, {"subscribePattern": "pattern-.*", **EARLIEST})

    def begun() -> StreamingQuery:
        query = stream.start()
        query.processAllAvailable()
        return query

    query = unless_busy(begun)
    topics.create("pattern-b")
    topics.create("other-pattern-c")
    topics.values("pattern-b", ["b0"])
    query.processAllAvailable()
    assert sorted(stream.texts()) == ["a0", "b0"]
    query.stop()

    topics.delete("pattern-a")
    topics.values("pattern-b", ["b1"])
    with pytest.raises(PySparkException, match="pattern-a-0 do not exist any more"):
        stream.run()
    stream.run(failOnDataLoss="false")
    assert sorted(stream.texts()) == ["a0", "b0", "b1"]


# -- sinks


def test_rows_written_by_a_batch_come_back(spark: SparkSession, topics: Topics) -> None:
    topics.create("sink", 3)
    rows = [("k", "v0", 2, [("h", b"1"), ("h", None)]), (None, None, 1, None), ("k", "v2", None, [])]
    types = "key string, value string, partition int, headers array<struct<key: string, value: binary>>, more int"
    frame = spark.createDataFrame([(*row, 7) for row in rows], types)
    options = {"kafka.bootstrap.servers": topics.servers, "topic": "sink", "kafka.compression.type": "zstd"}
    frame.write.format("kraft").options(**options).mode("append").save()
    found = {(partition, record.key, record.value, record.headers) for partition, record in topics.read("sink", 3)}
    keyed = (murmur_partition(b"k"), b"k", b"v2", ())
    assert found == {(2, b"k", b"v0", (("h", b"1"), ("h", None))), (1, None, None, ()), keyed}

    many = spark.range(20_000).selectExpr("'sink' as topic", "cast(id as string) as value", "id % 3 as p")
    many = many.selectExpr("topic", "value", "cast(p as int) as partition")
    small_batches = {"kafka.bootstrap.servers": topics.servers, "kafka.batch.size": "20000"}
    many.repartition(2).write.format("kraft").options(**small_batches).mode("append").save()
    written = load(spark, topics, {"subscribe": "sink"}).where("key is null and value is not null")
    assert written.selectExpr(
        "count(*)", "count(distinct value)", "min(cast(cast(value as string) as int) % 3 = partition)"
    ).first() == (
        20_000,
        20_000,
        True,
    )


def murmur_partition(key: bytes) -> int:
    from kraft.client.producer import murmur2

    return (murmur2(key) & 0x7FFFFFFF) % 3


def test_a_sink_names_the_column_that_it_cannot_write(spark: SparkSession, topics: Topics) -> None:
    """KafkaWriter.validateQuery."""

    def write(columns: list[str], mode: str = "append", **options: str) -> None:
        sink = spark.range(1).selectExpr(*columns).write.format("kraft").mode(mode)
        sink.option("kafka.bootstrap.servers", topics.servers).options(**options).save()

    with pytest.raises(PySparkException, match="Option topic is required"):
        write(["'x' as value"])
    with pytest.raises(PySparkException, match="The rows need a column value; they have key"):
        write(["'x' as key"], topic="sink")
    with pytest.raises(PySparkException, match=r"Column value is of type int\. It must be string or binary"):
        write(["1 as value"], topic="sink")
    with pytest.raises(PySparkException, match="Column topic is null in a row"):
        write(["'x' as value", "cast(null as string) as topic"])
    with pytest.raises(PySparkException, match="topic sink has no partition 9"):
        write(["'x' as value", "9 as partition"], topic="sink")
    with pytest.raises(PySparkException, match="Save mode overwrite is not allowed"):
        write(["'x' as value"], "overwrite", topic="sink")


def test_a_stream_from_topic_to_topic(spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    topics.create("from")
    topics.create("to")
    topics.values("from", ["v0", "v1", "v2"])
    options = {"kafka.bootstrap.servers": topics.servers, "checkpointLocation": str(tmp_path)}
    for values in (["v0", "v1", "v2"], ["v3"]):
        source = spark.readStream.format("kraft").options(**options, subscribe="from", **EARLIEST).load()
        sink = source.selectExpr("value", "'to' as topic").writeStream.format("kraft").options(**options)
        query = sink.queryName("copy").trigger(availableNow=True)
        assert unless_busy(lambda query=query: query.start().awaitTermination(QUERY_TIMEOUT_S))
        topics.values("from", ["v3"])
        assert [record.value for _, record in topics.read("to", 3)][-len(values) :] == [v.encode() for v in values]
