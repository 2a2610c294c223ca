"""Reading a range of offsets: its columns, and the bounds of its waiting."""

from __future__ import annotations

from typing import Any

import attrs
import pyarrow as pa
import pytest
import trio
from trio.testing import MockClock

from kraft.client.retry import GaveUp
from kraft.records.batch import TimestampType, iter_headers
from kraft.records.record import Record, encode_batch
from kraft.spark.arrow_records import RECORD_SCHEMA, Columns, decode
from kraft.spark.topic_options import topic_options
from kraft.spark.topic_plan import OffsetRange
from kraft.spark.topic_read import LOOK_S, SCHEMA_WITH_HEADERS, TopicDeleted, fetches, to_arrow
from kraft.wire.errors import ErrorCode, KafkaError
from tests.client.talk import TOPIC, FakeCluster, batch, log

OPTIONS = topic_options(
    {"kafka.bootstrap.servers": "localhost:9092", "subscribe": TOPIC, "kafkaConsumer.pollTimeoutMs": "30000"}
)


def columns(log: bytes, *, with_headers: bool = False) -> Columns:
    (group,) = decode(log, list(iter_headers(log)), max_bytes=2**20, with_headers=with_headers)
    return group


def test_each_row_has_the_timestamp_and_the_type_of_its_batch() -> None:
    """message.timestamp.type: with LogAppendTime all records of a batch have the time of its append."""
    created = encode_batch([Record(0, -1, b"k", b"v"), Record(1, 7, None, None)])
    appended = encode_batch(
        [Record(2, 5, None, b""), Record(3, 9, None, b"")], base_offset=2, timestamp_type=TimestampType.LOG_APPEND_TIME
    )
    rows = to_arrow("t", 3, columns(created + appended))
    assert rows.schema.equals(RECORD_SCHEMA)
    assert rows["timestamp"].cast(pa.int64()).to_pylist() == [-1_000, 7_000, 9_000, 9_000]
    assert rows["timestampType"].to_pylist() == [0, 0, 1, 1]
    assert rows["topic"].to_pylist() == ["t"] * 4
    assert rows["partition"].to_pylist() == [3] * 4
    assert to_arrow("t", 3, columns(created, with_headers=True)).schema.equals(SCHEMA_WITH_HEADERS)


@pytest.mark.parametrize("timestamp", [2**62, -(2**62), -(2**63)])
def test_a_time_beyond_sparks_is_an_error_with_its_offset(timestamp: int) -> None:
    """Spark's timestamps count microseconds in 64 bits, Kafka's milliseconds."""
    far = columns(encode_batch([Record(5, 0, None, None), Record(6, timestamp, None, None)], base_offset=5))
    with pytest.raises(KafkaError, match="timestamp of offset 6 of t-0 is beyond Spark's"):
        to_arrow("t", 0, far)


async def test_a_range_ends_behind_its_last_offset() -> None:
    cluster = FakeCluster({0: log(0, batch(0, 4), batch(4, 4))})
    advance = fetches(cluster, OPTIONS, OffsetRange(TOPIC, 0, 2, 8))
    fetched = await advance()
    assert fetched is not None
    assert fetched.next_offset == 8
    assert await advance() is None
    assert cluster.asked == [{0: 2}]


def test_a_log_that_lost_its_end_is_not_waited_for_without_bound() -> None:
    """The connector: "Cannot fetch record for offset 5 in 30000 milliseconds"."""

    async def read() -> None:
        await fetches(FakeCluster({0: log(0)}), OPTIONS, OffsetRange(TOPIC, 0, 5, 8))()

    with pytest.raises(GaveUp, match="no record at offset 5 of orders-0 within 30 seconds: the query ends at 8"):
        trio.run(read, clock=MockClock(rate=1e6))


@attrs.define
class SlowCluster(FakeCluster):
    """A cluster whose responses take longer than the reader waits for a leader."""

    async def request(self, message: Any, node_id: int | None = None) -> Any:
        response = await super().request(message, node_id)
        await trio.sleep(2 * LOOK_S)
        return response


def test_a_response_may_take_as_long_as_a_request() -> None:
    """``request.timeout.ms``: a part that has arrived is not thrown away, or a slow network never delivers a batch."""
    cluster = SlowCluster({0: log(0, batch(0, 4))})

    async def read() -> None:
        fetched = await fetches(cluster, OPTIONS, OffsetRange(TOPIC, 0, 0, 4))()
        assert fetched is not None
        assert fetched.next_offset == 4

    trio.run(read, clock=MockClock(autojump_threshold=0))
    assert cluster.asked == [{0: 0}]


@attrs.define
class WithoutTopic(FakeCluster):
    """A cluster whose topic is gone ``deleted_s`` seconds after the first question for its leaders."""

    deleted_s: float = 0.0
    since: float | None = None

    async def leaders(self, topic: str) -> dict[int, int]:
        self.since = trio.current_time() if self.since is None else self.since
        gone = trio.current_time() >= self.since + self.deleted_s
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if gone else ErrorCode.LEADER_NOT_AVAILABLE)


@pytest.mark.parametrize("deleted_s", [0.0, 2 * LOOK_S])
def test_a_topic_deleted_during_a_batch_is_noticed_soon(deleted_s: float) -> None:
    """Guide, failOnDataLoss: "e.g., topics are deleted". The connector waits for the poll timeout instead."""

    async def read() -> None:
        began = trio.current_time()
        with pytest.raises(
            TopicDeleted, match="cannot read offsets 5 to 8 of orders-0: topic orders does not exist any more"
        ):
            await fetches(WithoutTopic({}, deleted_s=deleted_s), OPTIONS, OffsetRange(TOPIC, 0, 5, 8))()
        assert trio.current_time() - began < deleted_s + 2 * LOOK_S

    trio.run(read, clock=MockClock(autojump_threshold=0))


def test_a_partition_without_a_leader_is_waited_for_as_long_as_asked() -> None:
    """``kafkaConsumer.pollTimeoutMs`` bounds the wait, and the error has the reason."""

    async def read() -> None:
        began = trio.current_time()
        with pytest.raises(GaveUp, match=r"within 30 seconds: fetch from orders-0: .*LEADER_NOT_AVAILABLE"):
            await fetches(WithoutTopic({}, deleted_s=1e9), OPTIONS, OffsetRange(TOPIC, 0, 5, 8))()
        assert 30 <= trio.current_time() - began < 30 + LOOK_S

    trio.run(read, clock=MockClock(autojump_threshold=0))
