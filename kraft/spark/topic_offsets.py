"""Offsets of a source's partitions, read on the driver: which partitions there are, where a query begins and ends."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping

import trio

from kraft.client.cluster import TIMEOUT_S, Cluster
from kraft.client.fetching import IsolationLevel
from kraft.client.retry import GaveUp
from kraft.spark.options import Option, OptionError, Options
from kraft.spark.topic_options import (
    ASSIGN,
    EARLIEST,
    ENDING_OFFSETS,
    ENDING_OFFSETS_BY_TIMESTAMP,
    ENDING_TIMESTAMP,
    ISOLATION_LEVEL,
    LATEST,
    RETRIES,
    RETRY_INTERVAL_MS,
    STARTING_OFFSETS,
    STARTING_OFFSETS_BY_TIMESTAMP,
    STARTING_STRATEGY,
    STARTING_TIMESTAMP,
    SUBSCRIBE,
    SUBSCRIBE_PATTERN,
    Limits,
    PartitionOffsets,
    TopicPartition,
)
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.spark")


def isolation_level(options: Options) -> IsolationLevel:
    """Return the value of ``kafka.isolation.level``."""
    return IsolationLevel[options[ISOLATION_LEVEL].upper()]


class TopicOffsets:
    """Reads offsets for one source. Its methods run in the client's loop."""

    def __init__(self, cluster: Cluster, options: Options) -> None:
        self._cluster = cluster
        self._options = options

    async def partitions(self) -> list[TopicPartition]:
        """Return the partitions of the source, which may grow. Raises KafkaError for a topic that does not exist."""
        assigned = self._options.get(ASSIGN)
        topics = [topic for topic, _ in assigned] if assigned else self._options.get(SUBSCRIBE)
        if topics is None:
            pattern = re.compile(self._options[SUBSCRIBE_PATTERN])
            found = await self._cluster.retried(lambda: self._cluster.metadata(None), "topics", TIMEOUT_S)
            named = [topic for topic in found.topics if topic.name is not None and not topic.is_internal]
            matching = [topic for topic in named if pattern.fullmatch(topic.name or "")]
        else:
            matching = [await self._cluster.topic(name) for name in sorted(set(topics))]
        existing = {(topic.name or "", each.partition_index) for topic in matching for each in topic.partitions}
        if assigned and (missing := set(assigned) - existing):
            raise OptionError(f"Option {ASSIGN.name} has partitions that do not exist: {named_partitions(missing)}")
        return list(assigned) if assigned else sorted(existing)

    async def at(self, times: Mapping[TopicPartition, int], *, skip_deleted: bool = False) -> PartitionOffsets:
        """Return the offset at a time (EARLIEST, LATEST or ms) for each partition; -1 if no record is so late.

        Raises KafkaError for a topic that does not exist. With ``skip_deleted`` its partitions are left out.
        """
        by_topic: dict[str, dict[int, int]] = {}
        for (topic, partition), time in times.items():
            by_topic.setdefault(topic, {})[partition] = time
        level = isolation_level(self._options)
        found: PartitionOffsets = {}
        for topic, wanted in by_topic.items():
            try:
                offsets = await self._cluster.offsets(topic, wanted, isolation_level=level)
            except KafkaError as error:
                if not skip_deleted or error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
                continue
            found |= {(topic, partition): offset for partition, offset in offsets.items()}
        return found

    async def latest(self, known: PartitionOffsets) -> PartitionOffsets:
        """Return the latest offsets of all partitions.

        The brokers may be away for a while, and a leader that was elected just now may return an offset below a
        ``known`` one: ask again ``fetchOffset.numRetries`` times. Raises GaveUp of the last attempt.
        """
        retries = self._options[RETRIES]
        while True:
            try:
                found = await self.at(dict.fromkeys(await self.partitions(), LATEST))
                back = [each for each, offset in found.items() if offset < known.get(each, 0)]
                if not back or retries == 0:
                    return found
                trouble = f"latest offsets of {named_partitions(back)} went backwards"
            except GaveUp as failure:
                if retries == 0:
                    raise
                trouble = str(failure)
            logger.warning("%s; asking again", trouble)
            retries -= 1
            await trio.sleep(self._options[RETRY_INTERVAL_MS] / 1000)

    async def starting(self, default: int) -> PartitionOffsets:
        """Return where the query begins: an offset for each partition, or LATEST."""
        chosen = _chosen_times(self._options, STARTING_TIMESTAMP, STARTING_OFFSETS_BY_TIMESTAMP)
        partitions = await self.partitions()
        if chosen is None:
            limits = self._options.get(STARTING_OFFSETS, default)
            return await self._resolved(_for_each(partitions, limits, STARTING_OFFSETS))
        option, times = chosen
        found = await self.at(_for_each(partitions, times, option))
        late = [each for each, offset in found.items() if offset < 0]
        if late and self._options[STARTING_STRATEGY] == "error":
            raise OptionError(
                f"Option {option.name}: {named_partitions(late)} has no record of that time or later. "
                f"Set {STARTING_STRATEGY.name} to latest to begin there at the latest offset"
            )
        return found

    async def ending(self) -> PartitionOffsets:
        """Return where a batch query ends."""
        chosen = _chosen_times(self._options, ENDING_TIMESTAMP, ENDING_OFFSETS_BY_TIMESTAMP)
        partitions = await self.partitions()
        if chosen is None:
            found = await self._resolved(_for_each(partitions, self._options[ENDING_OFFSETS], ENDING_OFFSETS))
        else:
            found = await self.at(_for_each(partitions, chosen[1], chosen[0]))
        return await self.without_latest(found)

    async def without_latest(self, limits: PartitionOffsets) -> PartitionOffsets:
        """Replace LATEST by offsets."""
        return limits | await self.at({each: LATEST for each, offset in limits.items() if offset == LATEST})

    async def _resolved(self, limits: PartitionOffsets) -> PartitionOffsets:
        """Replace EARLIEST by offsets, and keep LATEST."""
        return limits | await self.at({each: EARLIEST for each, offset in limits.items() if offset == EARLIEST})


def _chosen_times(
    options: Options, of_all: Option[int], of_each: Option[PartitionOffsets]
) -> tuple[Option[int] | Option[PartitionOffsets], Limits] | None:
    """Return the option that gives times, and its value. One time for all goes before a time for each."""
    if of_all in options:
        return of_all, options[of_all]
    return (of_each, options[of_each]) if of_each in options else None


def _for_each(
    partitions: Iterable[TopicPartition],
    limits: Limits,
    option: Option[int] | Option[PartitionOffsets] | Option[Limits],
) -> PartitionOffsets:
    """Return the limit of each partition. Raises OptionError unless the option names exactly these partitions."""
    if isinstance(limits, int):
        return dict.fromkeys(partitions, limits)
    if limits.keys() != set(partitions):
        raise OptionError(
            f"Option {option.name} must name all partitions and no others. "
            f"It names {named_partitions(limits)}; there are {named_partitions(partitions)}"
        )
    return limits


def named_partitions(partitions: Iterable[TopicPartition]) -> str:
    """Return partitions for an error or a log line."""
    names = [f"{topic}-{partition}" for topic, partition in sorted(partitions)]
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "") or "none"
