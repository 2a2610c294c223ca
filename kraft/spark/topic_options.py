"""The options of ``format("kraft")``: those of Spark's Kafka connector, with its names and defaults.

An option of the other direction (a sink's option at a source) is accepted and has no effect, as at the connector. So a
job can keep its options in one place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from kraft.client.cluster import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kraft.records.compression import Compression
from kraft.spark.options import (
    ANY,
    BOOLEAN,
    DURATION_MS,
    LONG_MAX,
    NAMES,
    POSITIVE,
    TEXT,
    Kind,
    Option,
    OptionError,
    Options,
    one_of,
    read_options,
    whole_number,
)

FORMAT = "kraft"
EARLIEST, LATEST = EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
"""The ends of a partition, in the JSON of the options as in ListOffsets."""

TopicPartition = tuple[str, int]
PartitionOffsets = dict[TopicPartition, int]
"""Offsets, or timestamps in milliseconds, by partition."""
Limits = int | PartitionOffsets
"""EARLIEST or LATEST for every partition, or an offset for each."""

INT_MAX = 2**31 - 1
_EXAMPLE = '{"topic":{"0":23,"1":-2}}'


def partition_offsets(text: str) -> PartitionOffsets:
    """Read the connector's JSON of offsets, ``{"topic":{"0":23}}``. Raises ValueError, AttributeError or TypeError."""
    return {
        (topic, _partition(partition)): _integer(offset)
        for topic, offsets in json.loads(text).items()
        for partition, offset in offsets.items()
    }


def _integer(value: Any) -> int:
    if type(value) is not int or not EARLIEST <= value <= LONG_MAX:
        raise ValueError
    return value


def _partition(text: str) -> int:
    number = int(text)
    if not 0 <= number <= INT_MAX:
        raise ValueError
    return number


def _limits(words: Mapping[str, int]) -> Callable[[str], Limits]:
    def parse(text: str) -> Limits:
        known = words.get(text.strip().lower())
        if known is not None:
            return known
        if not (offsets := partition_offsets(text)):
            raise ValueError
        return offsets

    return parse


def _timestamps(text: str) -> PartitionOffsets:
    timestamps = partition_offsets(text)
    if not timestamps or min(timestamps.values()) < 0:
        raise ValueError
    return timestamps


def _assignment(text: str) -> tuple[TopicPartition, ...]:
    found = {
        (topic, _partition(str(_integer(partition))))
        for topic, partitions in json.loads(text).items()
        for partition in partitions
    }
    if not found:
        raise ValueError
    return tuple(sorted(found))


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError from error
    return text


ENDS = {"earliest": EARLIEST, "latest": LATEST}
OFFSETS = Kind(
    "earliest, latest or JSON",
    f"earliest, latest, or JSON such as {_EXAMPLE} (-2: earliest, -1: latest)",
    _limits(ENDS),
)
TIMESTAMPS = Kind("JSON", 'JSON of milliseconds such as {"topic":{"0":1700000000000}}', _timestamps)
PARTITIONS = Kind("JSON", 'JSON such as {"topicA":[0,1],"topicB":[2]}', _assignment)
PATTERN = Kind("regular expression", "a regular expression", _pattern)
TIMESTAMP_MS = whole_number(0)
BYTES = whole_number(1, INT_MAX)
MS = whole_number(1, INT_MAX)

SERVERS = Option("kafka.bootstrap.servers", NAMES, "Brokers as `host:port`, separated by commas. Required.")
ASSIGN = Option("assign", PARTITIONS, "The partitions to read.")
SUBSCRIBE = Option("subscribe", NAMES, "The topics to read, separated by commas.")
SUBSCRIBE_PATTERN = Option("subscribePattern", PATTERN, "The topics to read: those whose whole name matches.")
STARTING_OFFSETS = Option(
    "startingOffsets",
    OFFSETS,
    "Where to begin. A stream resumes from its checkpoint instead; its new partitions begin at the earliest offset.",
    shown_default="`latest` for a stream, `earliest` for a batch",
)
STARTING_TIMESTAMP = Option(
    "startingTimestamp", TIMESTAMP_MS, "Begin at the first record of this time (ms) or later. Goes before the next two."
)
STARTING_OFFSETS_BY_TIMESTAMP = Option(
    "startingOffsetsByTimestamp", TIMESTAMPS, "The same with a time for each partition. Goes before `startingOffsets`."
)
STARTING_STRATEGY = Option(
    "startingOffsetsByTimestampStrategy",
    one_of("error", "latest"),
    "What happens in a partition that has no record of the starting time or later.",
    default="error",
)
ENDING_OFFSETS = Option(
    "endingOffsets", OFFSETS, "Batch only: the offsets after the last record.", default=LATEST, shown_default="`latest`"
)
ENDING_TIMESTAMP = Option(
    "endingTimestamp",
    TIMESTAMP_MS,
    "Batch only: end before the first record of this time (ms) or later, else at the latest offset.",
)
ENDING_OFFSETS_BY_TIMESTAMP = Option(
    "endingOffsetsByTimestamp", TIMESTAMPS, "Batch only: the same with a time for each partition."
)
BY_TIME = (
    STARTING_TIMESTAMP,
    STARTING_OFFSETS_BY_TIMESTAMP,
    ENDING_TIMESTAMP,
    ENDING_OFFSETS_BY_TIMESTAMP,
)
"""Times may end a range before its start. It is empty then."""
FAIL_ON_DATA_LOSS = Option(
    "failOnDataLoss",
    BOOLEAN,
    "Whether the query fails when records may be lost: by retention, or with a deleted topic of `subscribePattern`. "
    "Else it logs a warning.",
    default=True,
)
MAX_OFFSETS = Option(
    "maxOffsetsPerTrigger",
    POSITIVE,
    "Stream only: the most offsets of a batch, spread over the partitions by their backlogs.",
)
MIN_OFFSETS = Option("minOffsetsPerTrigger", POSITIVE, "Stream only: a batch waits for this many new offsets.")
MAX_TRIGGER_DELAY = Option(
    "maxTriggerDelay",
    DURATION_MS,
    "Stream only: the longest wait for `minOffsetsPerTrigger`.",
    default=900_000,
    shown_default="`15m`",
)
MIN_PARTITIONS = Option(
    "minPartitions", POSITIVE, "Split partitions with much to read until Spark has about this many."
)
MAX_RECORDS = Option(
    "maxRecordsPerPartition", POSITIVE, "Split partitions so that each of Spark's has at most this many offsets."
)
INCLUDE_HEADERS = Option("includeHeaders", BOOLEAN, "Whether the column `headers` exists.", default=False)
RETRIES = Option(
    "fetchOffset.numRetries",
    whole_number(0, 1000),
    "How often a stream asks again if no broker answers for 30 seconds, or if offsets went back.",
    default=3,
)
RETRY_INTERVAL_MS = Option("fetchOffset.retryIntervalMs", MS, "The pause before it asks again.", default=10)
POLL_TIMEOUT_MS = Option(
    "kafkaConsumer.pollTimeoutMs",
    MS,
    "How long an executor waits for a broker and for the leader of a partition.",
    default=120_000,
)
TOPIC = Option("topic", TEXT, "Sink: the topic of all rows. Goes before the column `topic`.")

ISOLATION_LEVEL = Option(
    "kafka.isolation.level",
    one_of("read_uncommitted", "read_committed"),
    "Whether records of open and aborted transactions are left out.",
    default="read_uncommitted",
)
CLIENT_ID = Option(
    "kafka.client.id", TEXT, "The name of the client in the brokers' logs and metrics.", default="kraft-spark"
)
SECURITY_PROTOCOL = Option("kafka.security.protocol", one_of("PLAINTEXT"), "Only PLAINTEXT.", default="PLAINTEXT")
FETCH_MAX_BYTES = Option("kafka.fetch.max.bytes", BYTES, "The most bytes of one Fetch response.", default=8 * 2**20)
COMPRESSION_TYPE = Option(
    "kafka.compression.type",
    one_of(*(codec.name.lower() for codec in Compression)),
    "Sink: the codec of batches.",
    default="none",
)
BATCH_BYTES = Option("kafka.batch.size", BYTES, "Sink: about the size of a batch, in bytes.", default=512 * 2**10)
DELIVERY_TIMEOUT_MS = Option(
    "kafka.delivery.timeout.ms", MS, "Sink: how long a batch is sent again until it is acknowledged.", default=120_000
)
ACKS = Option("kafka.acks", one_of("all", "-1"), "Sink: only all in-sync replicas.", default="all")


def _ignored(*names: str) -> tuple[Option[str], ...]:
    return tuple(Option(name, ANY, "Accepted for compatibility; has no effect.", has_effect=False) for name in names)


IGNORED = _ignored(
    "groupIdPrefix",
    "kafka.group.id",
    "kafka.check.crcs",
    "kafka.connections.max.idle.ms",
    "kafka.enable.idempotence",
    "kafka.fetch.max.wait.ms",
    "kafka.fetch.min.bytes",
    "kafka.heartbeat.interval.ms",
    "kafka.linger.ms",
    "kafka.max.in.flight.requests.per.connection",
    "kafka.max.partition.fetch.bytes",
    "kafka.max.poll.interval.ms",
    "kafka.max.poll.records",
    "kafka.max.request.size",
    "kafka.metadata.max.age.ms",
    "kafka.receive.buffer.bytes",
    "kafka.reconnect.backoff.max.ms",
    "kafka.reconnect.backoff.ms",
    "kafka.request.timeout.ms",
    "kafka.retries",
    "kafka.retry.backoff.ms",
    "kafka.send.buffer.bytes",
    "kafka.session.timeout.ms",
)

TOPIC_OPTIONS: tuple[Option[Any], ...] = (
    SERVERS,
    ASSIGN,
    SUBSCRIBE,
    SUBSCRIBE_PATTERN,
    STARTING_OFFSETS,
    STARTING_TIMESTAMP,
    STARTING_OFFSETS_BY_TIMESTAMP,
    STARTING_STRATEGY,
    ENDING_OFFSETS,
    ENDING_TIMESTAMP,
    ENDING_OFFSETS_BY_TIMESTAMP,
    FAIL_ON_DATA_LOSS,
    MAX_OFFSETS,
    MIN_OFFSETS,
    MAX_TRIGGER_DELAY,
    MIN_PARTITIONS,
    MAX_RECORDS,
    INCLUDE_HEADERS,
    RETRIES,
    RETRY_INTERVAL_MS,
    POLL_TIMEOUT_MS,
    TOPIC,
    ISOLATION_LEVEL,
    CLIENT_ID,
    SECURITY_PROTOCOL,
    FETCH_MAX_BYTES,
    COMPRESSION_TYPE,
    BATCH_BYTES,
    DELIVERY_TIMEOUT_MS,
    ACKS,
    *IGNORED,
)


def topic_options(given: Mapping[str, str]) -> Options:
    """Read the options of a source or sink. Raises OptionError."""
    options = read_options(FORMAT, given, TOPIC_OPTIONS)
    options[SERVERS]  # required
    return options


def check_source(options: Options, *, streaming: bool) -> None:
    """Refuse options that contradict each other or the kind of query. Raises OptionError."""
    chosen = [option.name for option in (ASSIGN, SUBSCRIBE, SUBSCRIBE_PATTERN) if option in options]
    if len(chosen) != 1:
        found = f"not {' and '.join(chosen)}" if chosen else "none is set"
        raise OptionError(f"Exactly one of the options assign, subscribe and subscribePattern is required, {found}")
    if streaming:
        for option in (ENDING_OFFSETS, ENDING_TIMESTAMP, ENDING_OFFSETS_BY_TIMESTAMP):
            if option in options:
                raise OptionError(f"Option {option.name} is not valid in a streaming query, which has no end")
        least, most = options.get(MIN_OFFSETS), options.get(MAX_OFFSETS)
        if least and most and least > most:
            raise OptionError(f"Option {MIN_OFFSETS.name} ({least}) is above {MAX_OFFSETS.name} ({most})")
        return
    _refuse(STARTING_OFFSETS, options.get(STARTING_OFFSETS), LATEST)
    _refuse(ENDING_OFFSETS, options.get(ENDING_OFFSETS), EARLIEST)


def _refuse(option: Option[Limits], limits: Limits | None, end: int) -> None:
    if limits == end or (isinstance(limits, dict) and end in limits.values()):
        name = next(name for name, value in ENDS.items() if value == end)
        raise OptionError(f"Option {option.name} may not be {name} ({end}) in a batch query")
