"""Spark's own Kafka connector on one broker and on three: sources and sinks, batch and streaming.

The tests cite Spark's "Structured Streaming + Kafka Integration Guide" as *Guide*. They also run on Apache Kafka:
``pytest -m spark tests/spark/test_connector.py --bootstrap-servers HOST:PORT`` (with the settings of
``tests.spark.brokers.SETTINGS``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from tests.spark.brokers import LIMIT_S, Brokers, Record, one_broker, three_brokers
from tests.support.eventually import eventually

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

PARTITIONS = 3
PER_PARTITION = 10
BEGAN_MS = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EVERYTHING = [(partition, offset) for partition in range(PARTITIONS) for offset in range(PER_PARTITION)]

Place = tuple[int, int]
"""A partition and an offset."""


def timestamp_ms(partition: int, offset: int) -> int:
    """A second between two records of a partition, a millisecond between partitions."""
    return BEGAN_MS + 1000 * offset + partition


@pytest.fixture(scope="module", params=["one broker", "three brokers"])
def brokers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    foreign = request.config.getoption("--bootstrap-servers")
    if foreign and request.param != "one broker":
        pytest.skip("the foreign cluster has one broker")
    if foreign:
        yield Brokers(foreign)
        return
    with one_broker() if request.param == "one broker" else three_brokers(tmp_path_factory.mktemp("nodes")) as running:
        yield running


@pytest.fixture(scope="module")
def orders(brokers: Brokers) -> str:
    """A topic of three partitions with ten records each. No test writes to it."""
    topic = brokers.topic("orders", PARTITIONS)
    records = [
        Record(partition=place[0], value=b"%d/%d" % place, timestamp_ms=timestamp_ms(*place)) for place in EVERYTHING
    ]
    brokers.produce(topic, records)
    return topic


@attrs.frozen
class Reader:
    """The connector's source on one cluster."""

    spark: SparkSession
    brokers: Brokers

    def batch(self, **options: object) -> DataFrame:
        return self._with(self.spark.read, options)

    def stream(self, **options: object) -> DataFrame:
        return self._with(self.spark.readStream, {"startingOffsets": "earliest", **options})

    def _with(self, reader: Any, options: dict[str, object]) -> DataFrame:
        reader = reader.format("kafka").option("kafka.bootstrap.servers", self.brokers.servers)
        for name, value in options.items():
            reader = reader.option(name, value if isinstance(value, str) else json.dumps(value))
        return reader.load()

    def places(self, **options: object) -> list[Place]:
        return places(self.batch(**options))

    def values(self, topic: str) -> list[str]:
        rows = self.batch(subscribe=topic).selectExpr("CAST(value AS STRING) AS value").collect()
        return sorted(row.value for row in rows)


@pytest.fixture
def read(spark: SparkSession, brokers: Brokers) -> Reader:
    return Reader(spark, brokers)


def places(frame: DataFrame) -> list[Place]:
    return sorted((row.partition, row.offset) for row in frame.select("partition", "offset").collect())


def started(frame: DataFrame, found: list[list[Place]], checkpoint: Path, **trigger: Any) -> StreamingQuery:
    """Start a query that appends the places of each batch to ``found``."""
    writer = frame.writeStream.foreachBatch(lambda batch, _: found.append(places(batch)))
    writer = writer.option("checkpointLocation", str(checkpoint))
    return (writer.trigger(**trigger) if trigger else writer).start()


def drained(frame: DataFrame, checkpoint: Path) -> list[list[Place]]:
    """Return the places of each batch, of a query with the trigger AvailableNow."""
    found: list[list[Place]] = []
    query = started(frame, found, checkpoint, availableNow=True)
    assert query.awaitTermination(int(LIMIT_S)), query.status
    return found


def together(batches: list[list[Place]]) -> list[Place]:
    return [place for batch in batches for place in batch]


# ---------------------------------------------------------------------------------------------------- the batch source


def test_a_record_has_all_its_columns(brokers: Brokers, read: Reader) -> None:
    """Guide, "Each row in the source has the following schema"; a null value is a tombstone."""
    topic = brokers.topic("columns")
    headers: list[tuple[str, bytes | None]] = [("trace", b"\x00\xff"), ("trace", b"again"), ("nothing", None)]
    full = Record(key=b"k", value=b"v", timestamp_ms=BEGAN_MS + 1, headers=headers)
    brokers.produce(topic, [full, Record(key=b"k", timestamp_ms=BEGAN_MS), Record(value=b"", timestamp_ms=BEGAN_MS)])
    frame = read.batch(subscribe=topic, includeHeaders=True)
    assert frame.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
        ("headers", "array<struct<key:string,value:binary>>"),
    ]
    rows = frame.selectExpr("*", "unix_millis(timestamp) AS ms").orderBy("offset").collect()
    assert [(row.key, row.value, row.topic, row.offset, row.ms, row.timestampType) for row in rows] == [
        (b"k", b"v", topic, 0, BEGAN_MS + 1, 0),
        (b"k", None, topic, 1, BEGAN_MS, 0),
        (None, b"", topic, 2, BEGAN_MS, 0),
    ]
    assert [row.headers and [tuple(header) for header in row.headers] for row in rows] == [headers, None, None]
    assert "headers" not in read.batch(subscribe=topic).columns


def test_records_of_every_codec(brokers: Brokers, read: Reader) -> None:
    """The producer's codecs side by side in one log, and a topic that the broker compresses (compression.type)."""
    mixed, forced = brokers.topic("mixed"), brokers.topic("forced", compression_type="zstd")
    for codec in CODECS:
        records = [Record(key=codec.encode(), value=b"%04d" % number * 50) for number in range(20)]
        brokers.produce(mixed, records, compression_codec=codec, linger_ms="50")
        brokers.produce(forced, records, compression_codec=codec, linger_ms="50")
    expected = [(codec, f"{number:04}" * 50) for codec in CODECS for number in range(20)]
    for topic in (mixed, forced):
        rows = read.batch(subscribe=topic).orderBy("offset").collect()
        assert [(row.key.decode(), row.value.decode()) for row in rows] == expected


def test_log_append_time_is_a_timestamp_type(brokers: Brokers, read: Reader) -> None:
    """message.timestamp.type=LogAppendTime: the broker's time, timestampType 1."""
    topic = brokers.topic("stamped", message_timestamp_type="LogAppendTime")
    brokers.produce(topic, [Record(value=b"x", timestamp_ms=BEGAN_MS)])
    (row,) = read.batch(subscribe=topic).selectExpr("unix_millis(timestamp) AS ms", "timestampType").collect()
    assert row.timestampType == 1
    assert row.ms > BEGAN_MS


def test_the_three_ways_to_choose_topics(brokers: Brokers, read: Reader, orders: str) -> None:
    """Guide: assign, subscribe and subscribePattern."""
    stem = brokers.name("pattern")
    first, second = (brokers.topic(f"x-{stem}-{number}") for number in (1, 2))
    for topic in (first, second):
        brokers.produce(topic, [Record(value=b"x")])
    assert read.places(assign={orders: [0, 2]}) == [each for each in EVERYTHING if each[0] != 1]
    both = read.batch(subscribe=f"{first},{second}").select("topic").collect()
    assert sorted(row.topic for row in both) == [first, second]
    matched = read.batch(subscribePattern=f".*x-{stem}-[12]").select("topic").collect()
    assert sorted(row.topic for row in matched) == [first, second]


def test_offsets_begin_and_end_a_batch(read: Reader, orders: str) -> None:
    """Guide, startingOffsets and endingOffsets: -2 is the earliest offset, -1 the latest; the end is exclusive."""
    found = read.places(
        subscribe=orders,
        startingOffsets={orders: {"0": 4, "1": -2, "2": 9}},
        endingOffsets={orders: {"0": 6, "1": 1, "2": -1}},
    )
    assert found == [(0, 4), (0, 5), (1, 0), (2, 9)]


def test_timestamps_begin_and_end_a_batch(read: Reader, orders: str) -> None:
    """Guide, startingTimestamp: the earliest offset with a timestamp greater than or equal to the given one."""
    start, end = timestamp_ms(1, 4), timestamp_ms(1, 7)
    expected = [each for each in EVERYTHING if start <= timestamp_ms(*each) < end]
    assert (0, 4) not in expected
    assert (1, 4) in expected
    assert read.places(subscribe=orders, startingTimestamp=start, endingTimestamp=end) == expected
    by_partition = read.places(
        subscribe=orders,
        startingOffsetsByTimestamp={orders: {"0": timestamp_ms(0, 8), "1": timestamp_ms(1, 9), "2": BEGAN_MS}},
        endingOffsetsByTimestamp={orders: {"0": timestamp_ms(2, 9), "1": timestamp_ms(2, 9), "2": timestamp_ms(2, 1)}},
    )
    assert by_partition == [(0, 8), (0, 9), (1, 9), (2, 0)]


def test_a_timestamp_after_the_last_record(read: Reader, orders: str) -> None:
    """Guide, startingOffsetsByTimestampStrategy: `error` (the default) fails the query, `latest` reads nothing old."""
    later = {"subscribe": orders, "startingTimestamp": timestamp_ms(0, PER_PARTITION)}
    with pytest.raises(Exception, match="No offset matched"):
        read.places(**later)
    assert read.places(**later, startingOffsetsByTimestampStrategy="latest") == []


def test_a_batch_is_split_into_tasks(read: Reader, orders: str) -> None:
    """Guide, minPartitions: "Spark will divvy up large Kafka partitions to smaller pieces"."""
    for options, tasks in (({}, 3), ({"minPartitions": 9}, 9)):
        frame = read.batch(subscribe=orders, **options)
        assert frame.rdd.getNumPartitions() == tasks
        assert places(frame) == EVERYTHING


def test_a_missing_topic_is_an_error(brokers: Brokers, read: Reader) -> None:
    """UnknownTopicOrPartitionException reaches the user, and reading does not create the topic."""
    missing = brokers.name("missing")
    with pytest.raises(Exception, match=r"UnknownTopicOrPartition|UNKNOWN_TOPIC_OR_PARTITION"):
        read.places(subscribe=missing)
    assert missing not in brokers.admin.list_topics(timeout=LIMIT_S).topics


def test_options_of_the_consumer_reach_it(read: Reader, orders: str) -> None:
    """Guide, "Kafka's own configurations can be set with the kafka. prefix"; a group id joins no group."""
    options = {"kafka.isolation.level": "read_committed", "kafka.group.id": "mine", "kafka.max.poll.records": "2"}
    assert read.places(subscribe=orders, **options) == EVERYTHING
    assert read.places(subscribe=orders, groupIdPrefix="ours", **{"kafka.check.crcs": "true"}) == EVERYTHING


def test_the_deprecated_way_to_fetch_offsets(spark: SparkSession, read: Reader, orders: str, tmp_path: Path) -> None:
    """Guide, "Offset fetching": the driver's consumer joins a group to learn the partitions and their offsets."""
    setting = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
    spark.conf.set(setting, "true")
    try:
        assert read.places(subscribe=orders) == EVERYTHING
        assert drained(read.stream(subscribe=orders), tmp_path) == [EVERYTHING]
    finally:
        spark.conf.unset(setting)


# ------------------------------------------------------------------------------------------------ the streaming source


def test_a_stream_takes_at_most_so_many_offsets(read: Reader, orders: str, tmp_path: Path) -> None:
    """Guide, maxOffsetsPerTrigger: "proportionally split across topicPartitions of different volume"."""
    batches = drained(read.stream(subscribe=orders, maxOffsetsPerTrigger=6), tmp_path)
    assert [len(batch) for batch in batches] == [6] * 5
    assert batches[0] == [(partition, offset) for partition in range(PARTITIONS) for offset in (0, 1)]
    assert sorted(together(batches)) == EVERYTHING


def test_a_stream_waits_for_so_many_offsets(brokers: Brokers, read: Reader, tmp_path: Path) -> None:
    """Guide, minOffsetsPerTrigger with maxTriggerDelay: fewer records wait. The first batch does not."""
    topic = brokers.topic("patient")
    brokers.produce(topic, [Record(value=b"x")] * 4)
    found: list[list[Place]] = []
    query = started(read.stream(subscribe=topic, minOffsetsPerTrigger=5, maxTriggerDelay="1h"), found, tmp_path)
    try:
        for records, batches in ((0, [4]), (2, [4]), (3, [4, 5])):
            brokers.produce(topic, [Record(value=b"x")] * records)
            query.processAllAvailable()
            assert [len(batch) for batch in found] == batches
    finally:
        query.stop()


def test_a_stream_goes_on_where_its_checkpoint_ends(brokers: Brokers, read: Reader, tmp_path: Path) -> None:
    """Guide: resuming continues from the checkpoint; newly discovered partitions and topics start at earliest."""
    stem = brokers.name("grows")
    topic = brokers.topic(stem)
    frame = read.stream(subscribePattern=f".*{stem}.*")
    brokers.produce(topic, [Record(value=b"x")] * 3)
    assert drained(frame, tmp_path) == [[(0, 0), (0, 1), (0, 2)]]
    assert drained(frame, tmp_path) == []
    brokers.produce(topic, [Record(value=b"x")] * 2)
    brokers.grow(topic, 2)
    brokers.produce(topic, [Record(partition=1, value=b"x")])
    assert drained(frame, tmp_path) == [[(0, 3), (0, 4), (1, 0)]]
    other = brokers.topic(f"{stem}-other")
    brokers.produce(other, [Record(value=b"x")])
    assert drained(frame, tmp_path) == [[(0, 0)]]


def test_a_stream_begins_where_it_is_told(brokers: Brokers, read: Reader, orders: str, tmp_path: Path) -> None:
    """startingOffsets per partition, startingTimestamp, and `latest`, which sees only records that come later."""
    offsets = {orders: {"0": 8, "1": -1, "2": -2}}
    expected = [(0, 8), (0, 9), *((2, offset) for offset in range(PER_PARTITION))]
    assert drained(read.stream(subscribe=orders, startingOffsets=offsets), tmp_path / "offsets") == [expected]
    since = read.stream(subscribe=orders, startingTimestamp=timestamp_ms(1, 8))
    assert drained(since, tmp_path / "since") == [[(0, 9), (1, 8), (1, 9), (2, 8), (2, 9)]]
    topic = brokers.topic("latest")
    brokers.produce(topic, [Record(value=b"x")] * 3)
    latest = read.stream(subscribe=topic, startingOffsets="latest")
    assert together(drained(latest, tmp_path / "latest")) == []
    brokers.produce(topic, [Record(value=b"x")])
    assert drained(latest, tmp_path / "latest") == [[(0, 3)]]


def emptied(brokers: Brokers, topic: str) -> None:
    """Let retention delete all records of the topic."""
    brokers.alter(topic, "retention.ms", "1000")
    eventually(lambda: brokers.earliest(topic) == 3, LIMIT_S)
    brokers.alter(topic, "retention.ms", "-1")


@pytest.mark.parametrize("by", ["DeleteRecords", "retention"])
def test_offsets_that_are_gone(brokers: Brokers, read: Reader, tmp_path: Path, by: str) -> None:
    """Guide, failOnDataLoss: the query fails when data may be lost; with false it goes on at the earliest offset."""
    topic = brokers.topic("gone")
    frame = read.stream(subscribe=topic)
    old = Record(value=b"x", timestamp_ms=BEGAN_MS)
    brokers.produce(topic, [old])
    assert drained(frame, tmp_path) == [[(0, 0)]]
    brokers.produce(topic, [old] * 2)
    if by == "retention":
        emptied(brokers, topic)
    brokers.produce(topic, [Record(value=b"x")] * 3)
    if by == "DeleteRecords":
        brokers.delete_before(topic, 3)
    since = {"subscribe": topic, "startingOffsets": {topic: {"0": 1}}}
    with pytest.raises(Exception, match="may have been lost"):
        drained(frame, tmp_path)
    with pytest.raises(Exception, match="may have been lost"):
        read.places(**since)
    tolerant = read.stream(subscribe=topic, failOnDataLoss=False)
    assert together(drained(tolerant, tmp_path)) == [(0, 3), (0, 4), (0, 5)]
    assert read.places(**since, failOnDataLoss=False) == [(0, 3), (0, 4), (0, 5)]


# ----------------------------------------------------------------------------------------------------------- the sinks


def to_kafka(writer: Any, brokers: Brokers, **options: str) -> Any:
    return writer.format("kafka").options(**{"kafka.bootstrap.servers": brokers.servers, **options})


def test_a_batch_is_written(spark: SparkSession, brokers: Brokers, read: Reader) -> None:
    """Guide, "The Dataframe being written to Kafka should have the following columns"."""
    left, right = brokers.topic("left", 2), brokers.topic("right", 2)
    rows = [
        (left, 0, "a", b"1", [("h", b"x"), ("h", None)]),
        (right, 1, None, b"2", None),
        (right, 0, "c", None, []),
    ]
    schema = "topic string, partition int, key string, value binary, headers array<struct<key:string,value:binary>>"
    to_kafka(spark.createDataFrame(rows, schema).write, brokers, includeHeaders="true").save()
    columns = ("key", "value", "topic", "partition", "headers")
    written = read.batch(subscribe=f"{left},{right}", includeHeaders=True).select(*columns)
    found = [(*row[:4], row.headers and [tuple(header) for header in row.headers]) for row in written.collect()]
    assert sorted(found, key=lambda row: row[2:4]) == [
        (b"a", b"1", left, 0, [("h", b"x"), ("h", None)]),
        (b"c", None, right, 0, None),
        (None, b"2", right, 1, None),
    ]


def test_the_option_topic_is_stronger_than_the_column(spark: SparkSession, brokers: Brokers, read: Reader) -> None:
    """Guide: "topic option ... overrides any topic column that may exist in the data"; one of them must be there."""
    topic = brokers.topic("chosen", 4)
    numbers = spark.range(100).selectExpr("CAST(id AS STRING) AS key", "CAST(id AS STRING) AS value")
    with_column = numbers.selectExpr("*", "'nowhere' AS topic").write
    to_kafka(with_column, brokers, topic=topic, **{"kafka.compression.type": "zstd"}).save()
    rows = read.batch(subscribe=topic).collect()
    assert sorted(int(row.value) for row in rows) == list(range(100))
    assert {row.partition for row in rows} == set(range(4))
    with pytest.raises(Exception, match="topic"):
        to_kafka(numbers.write, brokers).save()


def test_a_stream_is_written_and_resumed(brokers: Brokers, read: Reader, tmp_path: Path) -> None:
    """Topic to topic through both halves of the connector; a clean resume writes nothing twice."""
    source, target = brokers.topic("source", 2), brokers.topic("target", 2)
    frame = read.stream(subscribe=source).selectExpr("value", "1 - partition AS partition")
    writer = to_kafka(frame.writeStream, brokers, topic=target, checkpointLocation=str(tmp_path))
    for run in range(2):
        brokers.produce(source, [Record(partition=number, value=b"%d-%d" % (run, number)) for number in (0, 1)])
        assert writer.trigger(availableNow=True).start().awaitTermination(int(LIMIT_S))
    assert read.values(target) == ["0-0", "0-1", "1-0", "1-1"]
    crossed = read.batch(assign={target: [1]}).selectExpr("CAST(value AS STRING) AS value").collect()
    assert sorted(row.value for row in crossed) == ["0-0", "1-0"]


def test_continuous_processing(brokers: Brokers, read: Reader, tmp_path: Path) -> None:
    """Guide, "Continuous Processing" supports the Kafka source and the Kafka sink."""
    source, target = brokers.topic("source"), brokers.topic("target")
    frame = read.stream(subscribe=source).select("value")
    writer = to_kafka(frame.writeStream, brokers, topic=target, checkpointLocation=str(tmp_path))
    query = writer.trigger(continuous="500 milliseconds").start()
    try:
        for number in range(1, 4):
            brokers.produce(source, [Record(value=b"%d" % number)])
            eventually(lambda: brokers.latest(target) >= number or query.exception(), LIMIT_S)  # noqa: B023
        assert query.exception() is None
    finally:
        query.stop()
    assert sorted(set(read.values(target))) == ["1", "2", "3"]
