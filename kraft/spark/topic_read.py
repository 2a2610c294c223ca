"""Read a range of offsets of one partition as Arrow batches: the part of a source that runs on executors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator

import pyarrow as pa
import trio

from kraft.client.blocking import BlockingCluster
from kraft.client.cluster import TIMEOUT_S, Cluster
from kraft.client.fetching import PartitionFetcher, WholeBatches
from kraft.client.retry import GaveUp, passes
from kraft.records.batch import CorruptBatch
from kraft.spark.arrow_records import HEADERS, RECORD_SCHEMA, Columns, decode
from kraft.spark.options import Options
from kraft.spark.topic_offsets import isolation_level
from kraft.spark.topic_options import (
    CLIENT_ID,
    EARLIEST,
    FAIL_ON_DATA_LOSS,
    FETCH_MAX_BYTES,
    INCLUDE_HEADERS,
    LATEST,
    POLL_TIMEOUT_MS,
    SERVERS,
)
from kraft.spark.topic_plan import OffsetRange
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.spark")

SCHEMA_WITH_HEADERS = RECORD_SCHEMA.append(pa.field("headers", HEADERS))

MAX_BATCH_BYTES = 256 * 2**20
"""The most bytes that one record batch may decompress to."""
FETCH_WAIT_S = 0.5
"""``fetch.max.wait.ms``"""
LOOK_S = 5.0
"""After this time without a leader the reader looks whether the topic still exists. A response may take longer."""
FETCHES_AHEAD = 2
_TIMESTAMP_MS_MAX = 2**63 // 1000 - 1


class DataLoss(Exception):
    """Records that the query should read are gone, or may be."""


def data_loss(options: Options, text: str) -> None:
    """Raise DataLoss, or log it if ``failOnDataLoss`` is false."""
    if options[FAIL_ON_DATA_LOSS]:
        raise DataLoss(
            f"{text}. Retention may have removed records, or the topic was deleted. "
            f"Set the option {FAIL_ON_DATA_LOSS.name} to false to read on"
        )
    logger.warning("%s. Reading on, because failOnDataLoss is false", text)


def open_client(options: Options, retry_timeout_s: float = 0.0) -> BlockingCluster:
    """Return a client for the brokers of ``kafka.bootstrap.servers``. It connects at the start of its with block."""
    servers: tuple[str, ...] = options[SERVERS]
    return BlockingCluster(",".join(servers), options[CLIENT_ID], retry_timeout_s=retry_timeout_s)


def read_range(options: Options, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range, in order.

    Raises:
        DataLoss: the log does not reach back to the range, or ends before it, or the topic was deleted; and
            ``failOnDataLoss`` is true.
        KafkaError: the leader refused a fetch, or a batch is damaged (CORRUPT_MESSAGE).
        GaveUp: no broker, or no leader of the partition, responded within ``kafkaConsumer.pollTimeoutMs``.
    """
    with open_client(options, options[POLL_TIMEOUT_MS] / 1000) as client:
        while wanted.size > 0:
            try:
                yield from _read(client, options, wanted)
            except _OutOfRange as gap:
                wanted = _after_gap(client, options, wanted._replace(start=gap.offset))
            except TopicDeleted as deleted:
                data_loss(options, str(deleted))
                return
            else:
                return


class TopicDeleted(Exception):
    """The topic of a range was deleted after the query was planned. The text names it and the offsets."""


class _OutOfRange(Exception):
    def __init__(self, offset: int) -> None:
        self.offset = offset


def fetches(cluster: Cluster, options: Options, wanted: OffsetRange) -> Callable[[], Awaitable[WholeBatches | None]]:
    """Return a function that returns the next batches of the range, and None at its end."""
    timeout_s = options[POLL_TIMEOUT_MS] / 1000
    fetcher = PartitionFetcher(
        cluster,
        wanted.topic,
        wanted.partition,
        wanted.start,
        isolation_level=isolation_level(options),
        max_bytes=options[FETCH_MAX_BYTES],
        retry_timeout_s=min(LOOK_S, timeout_s / 2),
    )

    async def advance() -> WholeBatches | None:
        if fetcher.offset >= wanted.end:
            return None
        before, deadline = fetcher.offset, trio.current_time() + timeout_s
        failure = f"the query ends at {wanted.end}"
        with trio.move_on_at(deadline):
            while trio.current_time() < deadline:
                try:
                    fetched = await fetcher.next(FETCH_WAIT_S)
                except GaveUp as error:
                    failure = str(error)
                except KafkaError as error:
                    if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
                        raise _OutOfRange(before) from error
                    raise
                else:
                    if fetcher.offset > before:
                        return fetched
                    continue
                if await _is_deleted(cluster, wanted.topic):
                    raise TopicDeleted(
                        f"cannot read offsets {before} to {wanted.end} of {wanted.topic}-{wanted.partition}: "
                        f"topic {wanted.topic} does not exist any more"
                    )
        where = f"offset {before} of {wanted.topic}-{wanted.partition}"
        raise GaveUp(f"no record at {where} within {timeout_s:g} seconds: {failure}")

    return advance


async def _is_deleted(cluster: Cluster, topic: str) -> bool:
    """Whether a broker of the cluster says that the topic does not exist."""
    try:
        await cluster.leaders(topic)
    except Exception as error:
        if not passes(error):
            raise
        return isinstance(error, KafkaError) and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return False


def _read(client: BlockingCluster, options: Options, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    with_headers = options[INCLUDE_HEADERS]
    with client.stream(lambda cluster: fetches(cluster, options, wanted), FETCHES_AHEAD) as responses:
        for fetched in responses:
            try:
                for columns in decode(
                    fetched.data, fetched.batches, max_bytes=MAX_BATCH_BYTES, with_headers=with_headers
                ):
                    part = columns.between(wanted.start, wanted.end)
                    if len(part.offset):
                        yield to_arrow(wanted.topic, wanted.partition, part)
            except CorruptBatch as error:
                where = f"partition {wanted.topic}-{wanted.partition}"
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{where} cannot be read: {error}") from None


def _after_gap(client: BlockingCluster, options: Options, wanted: OffsetRange) -> OffsetRange:
    """Return the part of the range that the log still has."""
    topic, partition, start, end = wanted

    async def bounds(cluster: Cluster) -> tuple[int, int]:
        earliest = await cluster.offsets(topic, {partition: EARLIEST})
        latest = await cluster.offsets(topic, {partition: LATEST})
        return earliest[partition], latest[partition]

    earliest, latest = client.call(bounds, TIMEOUT_S)
    text = f"cannot read offsets {start} to {end} of {topic}-{partition}, whose log has {earliest} to {latest}"
    if earliest <= start < latest:  # a leader that was elected just now; no record is gone
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, text)
    data_loss(options, text)
    return wanted._replace(start=min(earliest, end) if start < earliest else end)


def to_arrow(topic: str, partition: int, columns: Columns) -> pa.RecordBatch:
    """Return records as a batch in Spark's schema. Raises KafkaError for a time that no Spark timestamp can hold."""
    count = len(columns.offset)
    is_far = (columns.timestamp_ms > _TIMESTAMP_MS_MAX) | (columns.timestamp_ms < -_TIMESTAMP_MS_MAX)
    if is_far.any():
        text = f"the timestamp of offset {columns.offset[is_far.argmax()]} of {topic}-{partition} is beyond Spark's"
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, text)
    kinds = columns.of_batches([header.timestamp_type for _, header in columns.batches], "int32")
    timestamps = pa.array(columns.timestamp_ms * 1000)
    arrays = [
        columns.key,
        columns.value,
        pa.repeat(pa.scalar(topic, pa.string()), count),
        pa.repeat(pa.scalar(partition, pa.int32()), count),
        pa.array(columns.offset),
        timestamps.view(pa.timestamp("us", tz="UTC")),
        pa.array(kinds),
    ]
    if columns.headers is None:
        return pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA)
    return pa.RecordBatch.from_arrays([*arrays, columns.headers], schema=SCHEMA_WITH_HEADERS)
