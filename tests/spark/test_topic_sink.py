"""Rows into topics, without a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from kraft.client.producer import murmur2
from kraft.spark import topic_sink
from kraft.spark.options import OptionError
from kraft.spark.topic_sink import SinkError, TopicBatchWriter, TopicStreamWriter, check_columns
from kraft.wire.errors import KafkaError
from tests.spark.topics import Topics, running_topics


@pytest.fixture(scope="module")
def topics() -> Iterator[Topics]:
    with running_topics() as topics:
        topics.create("sink", 3)
        yield topics


TEXT, HEADERS = pa.string(), pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def schema(**columns: pa.DataType) -> StructType:
    found: StructType = from_arrow_schema(pa.schema(list(columns.items())))
    return found


def write(topics: Topics, rows: list[dict[str, Any]], arrow: pa.Schema | None = None, **options: object) -> None:
    writer = TopicStreamWriter(topics.options(**options), schema(value=TEXT, topic=TEXT))
    writer.commit([writer.write(iter(pa.Table.from_pylist(rows, arrow).to_batches(max_chunksize=7)))], 0)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"value": TEXT}, "Option topic is required, because the rows have no column topic"),
        ({"topic": TEXT, "key": pa.binary()}, "The rows need a column value; they have topic, key"),
        ({"topic": pa.int32(), "value": TEXT}, "Column topic is of type int. It must be string"),
        ({"topic": TEXT, "value": pa.list_(pa.int32())}, "Column value is of type array<int>. It must be string or"),
        ({"topic": TEXT, "value": TEXT, "key": pa.float64()}, "Column key is of type double. It must be string or"),
        ({"topic": TEXT, "value": TEXT, "partition": pa.int64()}, "partition is of type bigint. It must be integer"),
        ({"topic": TEXT, "value": TEXT, "headers": TEXT}, "Column headers is of type string. It must be array"),
        ({"topic": TEXT, "value": TEXT, "headers": pa.list_(TEXT)}, "Column headers is of type array<string>"),
    ],
)
def test_columns_of_the_wrong_type_are_named(topics: Topics, columns: dict[str, pa.DataType], says: str) -> None:
    """KafkaWriter.validateQuery."""
    with pytest.raises(SinkError) as caught:
        TopicStreamWriter(topics.options(), schema(**columns))
    assert says in str(caught.value)


def test_the_columns_of_the_connector_pass(topics: Topics) -> None:
    every = schema(
        topic=TEXT, partition=pa.int32(), key=TEXT, value=pa.binary(), headers=HEADERS, more=pa.list_(pa.int8())
    )
    check_columns(every, topics.options())
    check_columns(schema(value=TEXT), topics.options(topic="sink"))


def test_a_topic_cannot_be_overwritten(topics: Topics) -> None:
    with pytest.raises(OptionError, match="Save mode overwrite is not allowed"):
        TopicBatchWriter(topics.options(topic="sink"), schema(value=TEXT), True)


def test_rows_arrive_in_their_partition_with_their_headers(topics: Topics) -> None:
    topics.create("rows", 3)
    arrow = pa.schema(
        [
            ("topic", pa.string()),
            ("partition", pa.int32()),
            ("key", pa.string()),
            ("value", pa.binary()),
            ("headers", HEADERS),
        ]
    )
    rows = [
        {
            "topic": "rows",
            "partition": 2,
            "key": "k",
            "value": b"0",
            "headers": [{"key": "h", "value": b"x"}, {"key": "h"}],
        },
        {"topic": "rows", "partition": None, "key": "k", "value": None, "headers": []},
        {"topic": "rows", "partition": 1, "key": None, "value": b"2", "headers": None},
    ]
    write(topics, rows, arrow)
    records = topics.read("rows", 3)
    found = sorted(((partition, each.key, each.value, each.headers) for partition, each in records), key=repr)
    by_key = ((murmur2(b"k") & 0x7FFFFFFF) % 3, b"k", None, ())
    expected = [(2, b"k", b"0", (("h", b"x"), ("h", None))), by_key, (1, None, b"2", ())]
    assert found == sorted(expected, key=repr)


def test_many_rows_arrive_once_and_in_order(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are cut by size, and memory is bounded: rows are sent before all of them are there."""
    monkeypatch.setattr(topic_sink, "_BUFFER_BYTES", 50_000)
    topics.create("many", 2)
    rows = [{"value": f"{n:06}", "key": str(n % 10)} for n in range(5_000)]
    write(topics, rows, topic="many", **{"kafka.batch.size": 8_000, "kafka.compression.type": "lz4"})
    found = topics.read("many", len(rows))
    assert sorted(record.value for _, record in found) == [row["value"].encode() for row in rows]
    for partition in range(2):
        of_one = [record.value for each, record in found if each == partition]
        assert of_one == sorted(of_one)


def test_a_batch_is_cut_before_it_is_too_large_for_the_topic(topics: Topics) -> None:
    """message.max.bytes is 1 MiB."""
    topics.create("large")
    write(topics, [{"value": "x" * 1_000} for _ in range(3_000)], topic="large")
    assert len(topics.read("large", 3_000)) == 3_000


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"value": "x", "topic": None}, "Column topic is null in a row"),
        ({"value": "x", "topic": "sink", "headers": [{"key": None, "value": b""}]}, "a header without a key"),
        ({"value": "x", "topic": "sink", "headers": [None]}, "a header without a key"),
    ],
)
def test_rows_that_no_topic_can_hold_are_errors(topics: Topics, row: dict[str, Any], says: str) -> None:
    with pytest.raises(SinkError, match=says):
        write(topics, [row])


@pytest.mark.parametrize("partition", [3, -1])
def test_a_partition_that_does_not_exist_is_an_error(topics: Topics, partition: int) -> None:
    arrow = pa.schema([("value", pa.string()), ("partition", pa.int32())])
    with pytest.raises(KafkaError, match=f"topic sink has no partition {partition}"):
        write(topics, [{"value": "x", "partition": partition}], arrow, topic="sink")


def test_a_record_above_the_topics_limit_is_an_error(topics: Topics) -> None:
    with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
        write(topics, [{"value": "x" * 2_000_000}], topic="sink")
