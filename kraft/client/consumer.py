"""Consume one topic without a group: fetch from the leaders of its partitions, and follow changes of leader."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import trio

from kraft.client.cluster import EARLIEST_TIMESTAMP, LOOKUP_TIMEOUT_S, METADATA_MAX_AGE_S, Cluster, check
from kraft.client.fetching import FETCH_MAX_WAIT_S, fetch
from kraft.client.retry import PASSING, passes
from kraft.messages.fetch_response import PartitionData
from kraft.records.batch import TruncatedBatch, check_batch, iter_headers
from kraft.records.record import Record, read_records
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError

RETRY_TIMEOUT_S = 60.0
"""``default.api.timeout.ms``: for how long a fetch is retried until a leader responds."""
MAX_BATCH_BYTES = 256 * 2**20
_NOT_ASKED, _RETURNED_NOTHING, _ADVANCED = range(3)
"""The order of the partitions in the next fetches, by their part in the last ones."""


class Consumed(NamedTuple):
    """A record and its partition."""

    partition: int
    record: Record


class Consumer:
    """Reads the partitions of one topic. For use by one task. ``positions`` has the next offset of each partition."""

    def __init__(self, cluster: Cluster, topic: str, *, retry_timeout_s: float = RETRY_TIMEOUT_S) -> None:
        self.positions: dict[int, int] = {}
        self._cluster = cluster
        self._topic = topic
        self._retry_timeout_s = retry_timeout_s
        self._leaders: dict[int, int] = {}
        self._look_up_at_s = -math.inf
        self._takes_added = False

    async def start(
        self, start: int, *, partitions: Collection[int] | None = None, positions: Mapping[int, int] | None = None
    ) -> None:
        """Begin to consume these partitions, or all: at ``positions``, or at ``start`` for a partition without a
        position. With all, a partition that is added to the topic later begins at its earliest offset.

        ``start`` is an offset, EARLIEST_TIMESTAMP or LATEST_TIMESTAMP. Raises KafkaError for an unknown topic or
        partition, GaveUp if the offsets cannot be read in time.
        """
        existing = [each.partition_index for each in (await self._cluster.topic(self._topic)).partitions]
        chosen = existing if partitions is None else partitions
        if unknown := set(chosen) - set(existing):
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {self._topic} has no partition {min(unknown)}"
            )
        self._takes_added = partitions is None
        known = positions or {}
        rest = dict.fromkeys((partition for partition in chosen if partition not in known), start)
        found = rest if start >= 0 else await self._cluster.offsets(self._topic, rest)
        self.positions = {partition: known[partition] for partition in chosen if partition in known} | found

    async def poll(self, max_wait_s: float, max_records: float = math.inf) -> list[Consumed]:
        """Return the records at the positions, and advance the positions; return an empty list after about
        ``max_wait_s``, which may be longer than the timeout of a request. The next call begins with partitions of which
        this one returned no records.

        Raises:
            KafkaError: a leader refused the fetch, for example because an offset is not in its log. CORRUPT_MESSAGE: a
                batch is damaged; earlier calls returned the records before it.
            GaveUp: no leader of a partition responded within ``retry_timeout_s``.
        """
        deadline = trio.current_time() + max_wait_s

        async def attempt() -> list[Consumed]:
            wait_s = min(max(0, deadline - trio.current_time()), FETCH_MAX_WAIT_S)
            return await self._attempt(wait_s, max_records)

        while True:
            found = await self._cluster.retried(attempt, f"topic {self._topic}", self._retry_timeout_s)
            if found or not self.positions or trio.current_time() >= deadline:
                return found

    async def _attempt(self, max_wait_s: float, max_records: float) -> list[Consumed]:
        """Fetch from one leader after another. Ignore a leader's failure if another leader has records."""
        lookup_failure = await self._look_up_if_due()
        failure = lookup_failure if self._lacks_a_leader() else None
        by_leader: dict[int | None, list[int]] = {}
        for partition in self.positions:
            by_leader.setdefault(self._leaders.get(partition), []).append(partition)
        found: list[Consumed] = []
        positions, turns = dict(self.positions), dict[int, int]()
        for leader, partitions in by_leader.items():
            if len(found) >= max_records:
                break
            turns |= dict.fromkeys(partitions, _RETURNED_NOTHING)
            try:
                asked = {partition: self.positions[partition] for partition in partitions}
                wait_s = 0 if found else max_wait_s / len(by_leader)
                answers = await fetch(self._cluster, leader, self._topic, asked, wait_s=wait_s)
            except Exception as error:
                if not passes(error):
                    raise
                failure = failure or error
                self._forget_leaders(partitions)
                continue
            for answer in answers:
                if answer.error_code in PASSING:
                    failure = failure or KafkaError(ErrorCode(answer.error_code))
                    self._forget_leaders([answer.partition_index])
                    continue
                check(answer.error_code, self._why(answer))
                index = answer.partition_index
                records, positions[index] = self._read(answer, max_records - len(found))
                found += (Consumed(index, record) for record in records)
                if positions[index] > self.positions[index]:
                    turns[index] = _ADVANCED
        # As SubscriptionState.movePartitionToEnd does: otherwise a busy partition would starve those behind it.
        in_turn = sorted(positions, key=lambda index: turns.get(index, _NOT_ASKED))
        self.positions = {index: positions[index] for index in in_turn}
        if failure is not None and not found:
            raise failure
        if failure is not None or lookup_failure is not None:
            self._cluster.change_server()
        return found

    def _lacks_a_leader(self) -> bool:
        return not self.positions.keys() <= self._leaders.keys()

    async def _look_up_if_due(self) -> Exception | None:
        """Look up the leaders if one is unknown or the metadata is old. Return a failure that passes.

        Without new metadata the known leaders still have records.
        """
        if not self._lacks_a_leader() and trio.current_time() < self._look_up_at_s:
            return None
        self._look_up_at_s = trio.current_time() + LOOKUP_TIMEOUT_S  # after a failure
        try:
            self._leaders = await self._cluster.leaders(self._topic)
            if self._takes_added:
                await self._begin_added()
        except Exception as error:
            if not passes(error):
                raise
            return error
        self._look_up_at_s = trio.current_time() + METADATA_MAX_AGE_S
        return None

    async def _begin_added(self) -> None:
        for partition, leader in self._leaders.items():
            if partition not in self.positions:
                earliest = {partition: EARLIEST_TIMESTAMP}
                self.positions |= await self._cluster.leader_offsets(leader, self._topic, earliest)

    def _forget_leaders(self, partitions: Collection[int]) -> None:
        for partition in partitions:
            self._leaders.pop(partition, None)

    def _read(self, answer: PartitionData, limit: float) -> tuple[list[Record], int]:
        """Return at most ``limit`` records, and the next position.

        After a completely read batch this is the offset after the batch: its last record may be a control record, or
        compaction may have removed it.
        """
        position = self.positions[answer.partition_index]
        data = bytes(answer.records or b"")  # type: ignore[arg-type]
        records: list[Record] = []
        try:
            for at, header in iter_headers(data):
                check_batch(data, at, header)
                for record in () if header.is_control else read_records(data, at, header, max_bytes=MAX_BATCH_BYTES):
                    if record.offset >= position:
                        if len(records) >= limit:
                            return records, position
                        records.append(record)
                        position = record.offset + 1
                position = max(position, header.next_offset)
        except TruncatedBatch:
            pass  # the leader cut the response at its maximum size
        except DecodeError as error:
            if not records:  # with records in hand, return these; the next fetch then starts at the damage
                where = f"{self._topic}-{answer.partition_index}"
                why = f"partition {where} has a batch that cannot be read: {error}"
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, why) from None
        return records, position

    def _why(self, answer: PartitionData) -> str | None:
        if answer.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
            return None
        where = f"{self._topic}-{answer.partition_index}"
        return f"offset {self.positions[answer.partition_index]} is not in the log of {where}"
