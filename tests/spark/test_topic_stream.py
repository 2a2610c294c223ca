"""The stream reader's offsets and batches, without a session: Spark's calls, made by hand."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from kraft.client.retry import ClusterUnreachable, GaveUp
from kraft.spark.options import OptionError
from kraft.spark.topic_offsets import TopicOffsets
from kraft.spark.topic_options import TopicPartition, topic_options
from kraft.spark.topic_plan import JsonOffsets
from kraft.spark.topic_read import DataLoss
from kraft.spark.topic_stream import TopicStreamReader
from kraft.wire.errors import KafkaError
from tests.spark.topics import Topics, running_topics
from tests.support.node_process import free_ports

ALL = ReadAllAvailable()


@pytest.fixture(scope="module")
def topics() -> Iterator[Topics]:
    with running_topics() as topics:
        yield topics


@pytest.fixture
def orders(topics: Topics) -> Iterator[str]:
    """A topic of two partitions with four records and one."""
    topics.create("orders", 2)
    topics.values("orders", ["a0", "a1", "a2", "a3"])
    topics.values("orders", ["b0"], partition=1)
    yield "orders"
    topics.delete("orders")


def values(reader: TopicStreamReader, start: JsonOffsets, end: JsonOffsets) -> list[str]:
    """The values of a batch, as executors read them: with a reader that was pickled."""
    copied: TopicStreamReader = pickle.loads(pickle.dumps(reader))
    parts = reader.partitions(start, end)
    return [str(value) for part in parts for rows in copied.read(part) for value in rows["value"].cast("string")]


def test_a_stream_begins_where_its_options_say(topics: Topics, orders: str) -> None:
    def initial(**given: object) -> JsonOffsets:
        reader = TopicStreamReader(topics.options(subscribe=orders, **given))
        try:
            return reader.initialOffset()
        finally:
            reader.stop()

    assert initial() == {orders: {"0": -1, "1": -1}}, "latest is the default of a stream"
    assert initial(startingOffsets="earliest") == {orders: {"0": 0, "1": 0}}
    assert initial(startingOffsets='{"orders":{"0":2,"1":-1}}') == {orders: {"0": 2, "1": -1}}
    assert initial(startingTimestamp=1001, startingOffsetsByTimestampStrategy="latest") == {orders: {"0": 1, "1": -1}}
    with pytest.raises(OptionError, match="orders-1 has no record of that time or later"):
        initial(startingTimestamp=1001)
    with pytest.raises(OptionError, match=r"must name all partitions and no others\. It names orders-0; there are"):
        initial(startingOffsets='{"orders":{"0":2}}')
    reader = TopicStreamReader(topics.options(assign='{"orders":[0,7]}'))
    with pytest.raises(OptionError, match="partitions that do not exist: orders-7"):
        reader.initialOffset()
    reader.stop()


def test_batches_are_limited_read_and_do_not_overlap(topics: Topics, orders: str) -> None:
    reader = TopicStreamReader(topics.options(subscribe=orders, startingOffsets="earliest", maxOffsetsPerTrigger=2))
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(2)
    at = reader.initialOffset()
    found = []
    while (end := reader.latestOffset(at, limit)) != at:
        found.append(values(reader, at, end))
        reader.commit(end)
        at = end
    assert found == [["a0", "b0"], ["a1", "a2"], ["a3"]]
    assert reader.reportLatestOffset() == at == reader.latestOffset(at, ALL)
    reader.stop()


def test_the_first_batch_from_the_latest_offset_fixes_it(topics: Topics, orders: str) -> None:
    reader = TopicStreamReader(topics.options(subscribe=orders))
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    topics.values(orders, ["a4"])
    assert values(reader, start, end) == []
    assert values(reader, end, reader.latestOffset(end, ALL)) == ["a4"]
    reader.stop()


def test_a_batch_waits_for_enough_offsets(topics: Topics, orders: str) -> None:
    """minOffsetsPerTrigger and maxTriggerDelay; the first batch does not wait."""
    reader = TopicStreamReader(
        topics.options(subscribe=orders, startingOffsets="earliest", minOffsetsPerTrigger=3, maxTriggerDelay="1h")
    )
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMinRows(3)
    first = reader.latestOffset(reader.initialOffset(), limit)
    topics.values(orders, ["a4", "a5"])
    assert reader.latestOffset(first, limit) == first
    assert reader.latestOffset(first, ALL) != first
    topics.values(orders, ["b1"], partition=1)
    assert values(reader, first, reader.latestOffset(first, limit)) == ["a4", "a5", "b1"]
    reader.stop()


def test_available_now_ends_at_the_offsets_of_its_begin(topics: Topics, orders: str) -> None:
    """It waits for no more offsets either: the query would end and leave those that it has."""
    reader = TopicStreamReader(topics.options(subscribe=orders, startingOffsets="earliest", minOffsetsPerTrigger=99))
    limit = reader.getDefaultReadLimit()
    start = reader.latestOffset(reader.initialOffset(), limit)
    topics.values(orders, ["a4"])
    reader.prepareForTriggerAvailableNow()
    topics.values(orders, ["a5"])
    end = reader.latestOffset(start, limit)
    assert values(reader, start, end) == ["a4"]
    assert reader.latestOffset(end, limit) == end
    reader.stop()


@pytest.mark.parametrize(
    ("start", "end", "says", "left"),
    [
        ({"0": 0, "1": 0}, {"0": 4}, "orders-1 do not exist any more", ["a1", "a2", "a3"]),
        ({"0": 9, "1": 0}, {"0": 4, "1": 1}, "offset of orders-0 changed from 9 to 4", ["b0"]),
        ({"1": 0}, {"0": 4, "1": 1}, "new partitions orders-0 do not begin at offset 0", ["a1", "a2", "a3", "b0"]),
        ({"0": 0, "1": 1}, {"0": 4, "1": 1, "7": 3}, "new partitions orders-7 do not exist", ["a1", "a2", "a3"]),
        (
            {"0": 0, "1": 1},
            {"0": 4, "1": 1},
            "cannot read offsets 0 to 4 of orders-0, whose log has 1 to 4",
            ["a1", "a2", "a3"],
        ),
        ({"0": 4, "1": 0}, {"0": 6, "1": 1}, "cannot read offsets 5 to 6 of orders-0, whose log has 1 to 4", ["b0"]),
    ],
    ids=["deleted", "recreated", "new", "gone", "retention", "truncated"],
)
def test_lost_records_fail_a_batch_or_are_logged(
    topics: Topics,
    orders: str,
    caplog: pytest.LogCaptureFixture,
    start: dict[str, int],
    end: dict[str, int],
    says: str,
    left: list[str],
) -> None:
    """KafkaOffsetReaderAdmin.getOffsetRangesFromResolvedOffsets and KafkaDataConsumer.get, with failOnDataLoss."""
    topics.delete_records(orders, 1)
    if "5 to 6" in says:
        start = {**start, "0": 5}
    strict = TopicStreamReader(topics.options(subscribe=orders))
    with pytest.raises(DataLoss, match=says):
        values(strict, {orders: start}, {orders: end})
    strict.stop()
    lenient = TopicStreamReader(topics.options(subscribe=orders, failOnDataLoss="false"))
    with caplog.at_level(logging.WARNING, "kraft.spark"):
        assert values(lenient, {orders: start}, {orders: end}) == left
    assert says in caplog.text
    lenient.stop()


def test_a_topic_deleted_during_a_batch_fails_it_or_is_logged(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    """Guide, failOnDataLoss: "e.g., topics are deleted, or offsets are out of range". Within seconds, not the 120 of
    the poll timeout.
    """
    topics.create("brief")
    topics.values("brief", ["a0", "a1"])
    strict = TopicStreamReader(topics.options(subscribe="brief"))
    lenient = TopicStreamReader(topics.options(subscribe="brief", failOnDataLoss="false"))
    planned = strict.partitions({"brief": {"0": 0}}, {"brief": {"0": 2}})
    topics.delete("brief")
    says = "cannot read offsets 0 to 2 of brief-0: topic brief does not exist any more"
    with pytest.raises(DataLoss, match=says):
        list(strict.read(planned[0]))
    with caplog.at_level(logging.WARNING, "kraft.spark"):
        assert list(lenient.read(planned[0])) == []
    assert says in caplog.text
    strict.stop()
    lenient.stop()


def test_a_batch_that_is_run_again_may_lack_a_new_topic_since(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    """KafkaOffsetReaderAdmin: new partitions without a first offset "got deleted", which failOnDataLoss judges. The
    batch is in the checkpoint, so the query meets it at every start.
    """
    topics.create("kept")
    topics.values("kept", ["a0"])
    start, end = {"kept": {"0": 0}}, {"gone": {"0": 2}, "kept": {"0": 1}}
    strict = TopicStreamReader(topics.options(subscribePattern="gone|kept"))
    with pytest.raises(DataLoss, match="new partitions gone-0 do not exist any more"):
        strict.partitions(start, end)
    lenient = TopicStreamReader(topics.options(failOnDataLoss="false", subscribePattern="gone|kept"))
    assert values(lenient, start, end) == ["a0"]
    assert "new partitions gone-0 do not exist any more" in caplog.text
    topics.delete("kept")
    strict.stop()
    lenient.stop()


@pytest.mark.parametrize("how", [{"subscribe": "gone,kept"}, {"assign": '{"gone":[0],"kept":[0]}'}], ids=str)
def test_a_deleted_topic_ends_a_stream_that_names_it(
    topics: Topics, caplog: pytest.LogCaptureFixture, how: dict[str, str]
) -> None:
    """ConsumerStrategy.retrieveAllPartitions: Admin.describeTopics fails for a topic that does not exist, whatever
    failOnDataLoss is. A pattern matches the topics that there are.
    """
    for topic in ("gone", "kept"):
        topics.create(topic)
    start = {"gone": {"0": 0}, "kept": {"0": 0}}
    topics.delete("gone")
    naming = TopicStreamReader(topics.options(failOnDataLoss="false", **how))
    with pytest.raises(KafkaError, match="topic gone does not exist"):
        naming.latestOffset(start, ALL)
    matching = TopicStreamReader(topics.options(failOnDataLoss="false", subscribePattern="gone|kept"))
    assert matching.partitions(start, matching.latestOffset(start, ALL)) == []
    assert "gone-0 do not exist any more" in caplog.text
    topics.delete("kept")
    naming.stop()
    matching.stop()


def test_a_latest_offset_that_goes_backwards_is_read_again(
    topics: Topics, orders: str, caplog: pytest.LogCaptureFixture
) -> None:
    """KafkaOffsetReaderAdmin.fetchLatestOffsets: "Found incorrect offsets in some partitions"."""
    reader = TopicStreamReader(topics.options(subscribe=orders, **{"fetchOffset.numRetries": 2}))
    with caplog.at_level(logging.WARNING, "kraft.spark"):
        assert reader.latestOffset({orders: {"0": 99, "1": 0}}, ALL) == {orders: {"0": 4, "1": 1}}
    assert caplog.text.count("latest offsets of orders-0 went backwards") == 2
    reader.stop()


def test_a_stream_asks_again_while_no_broker_answers(
    topics: Topics, orders: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """KafkaOffsetReaderAdmin.withRetries: any failure is tried again, fetchOffset.numRetries times."""
    outage: list[GaveUp] = []
    partitions = TopicOffsets.partitions

    async def unless_out(offsets: TopicOffsets) -> list[TopicPartition]:
        if outage:
            raise outage.pop()
        return await partitions(offsets)

    monkeypatch.setattr(TopicOffsets, "partitions", unless_out)
    reader = TopicStreamReader(topics.options(subscribe=orders, **{"fetchOffset.numRetries": 2}))
    outage += [GaveUp("no broker")] * 2
    with caplog.at_level(logging.WARNING, "kraft.spark"):
        assert reader.latestOffset({orders: {"0": 0, "1": 0}}, ALL) == {orders: {"0": 4, "1": 1}}
    assert caplog.text.count("no broker; asking again") == 2
    outage += [GaveUp("no broker")] * 3
    with pytest.raises(GaveUp, match="no broker"):
        reader.latestOffset({orders: {"0": 0, "1": 0}}, ALL)
    reader.stop()


@pytest.mark.parametrize("starting", ["earliest", "latest"])
def test_a_first_batch_that_is_run_again_may_have_new_partitions_since(topics: Topics, starting: str) -> None:
    """Spark's offset log has the end of the first batch, but not its start, so the source is asked for it again.
    KafkaSourceInitialOffsetWriter has another way: it stores the first answer.
    """
    topics.create("grown")
    topics.values("grown", ["a", "b"])
    options = topics.options(subscribe="grown", startingOffsets=starting)
    failed = TopicStreamReader(options)
    start = failed.initialOffset()
    end = failed.latestOffset(start, ALL)
    failed.stop()
    topics.grow("grown", 2)
    topics.values("grown", ["new"], partition=1)
    again = TopicStreamReader(options)
    start = again.initialOffset()
    assert start.keys() == end.keys()
    assert start["grown"].keys() - end["grown"].keys() == {"1"}
    assert values(again, start, end) == (["a", "b"] if starting == "earliest" else [])
    assert values(again, end, again.latestOffset(end, ALL)) == ["new"]
    topics.delete("grown")
    with pytest.raises(KafkaError, match="topic grown does not exist"):
        again.partitions(start, end)
    again.stop()


def test_a_missing_topic_and_a_dead_cluster_are_clear_errors(topics: Topics) -> None:
    reader = TopicStreamReader(topics.options(subscribe="nowhere"))
    with pytest.raises(KafkaError, match="topic nowhere does not exist"):
        reader.initialOffset()
    reader.stop()
    servers = f"127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(ClusterUnreachable, match=f"Cannot connect to {servers}"):
        TopicStreamReader(topic_options({"kafka.bootstrap.servers": servers, "subscribe": "x"})).initialOffset()
