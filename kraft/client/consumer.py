"""Consume one topic without a group: fetch from the leaders of its partitions, whoever they are meanwhile."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

from kraft.client.cluster import Cluster, check
from kraft.client.retry import PASSING, passes, retried
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.fetch_response import PartitionData
from kraft.records.batch import TruncatedBatch, check_batch, iter_headers
from kraft.records.record import Record, read_records
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError

RETRY_TIMEOUT_S = 60.0
"""``default.api.timeout.ms``: how long a leader is looked for that answers."""
FETCH_BYTES = 8 * 2**20
MAX_BATCH_BYTES = 256 * 2**20


class Consumed(NamedTuple):
    """A record and the partition that it is from."""

    partition: int
    record: Record


class Consumer:
    """Reads the partitions of one topic; used by one task. ``positions`` are the next offsets by partition."""

    def __init__(self, cluster: Cluster, topic: str, *, retry_timeout_s: float = RETRY_TIMEOUT_S) -> None:
        self.positions: dict[int, int] = {}
        self._cluster = cluster
        self._topic = topic
        self._retry_timeout_s = retry_timeout_s
        self._leaders: dict[int, int] = {}

    async def start(
        self, start: int, *, partitions: Collection[int] | None = None, positions: Mapping[int, int] | None = None
    ) -> None:
        """Begin in these partitions, or all, at ``positions``, and where there is none at ``start``.

        ``start`` is an offset, EARLIEST_TIMESTAMP or LATEST_TIMESTAMP. Raises KafkaError, GaveUp.
        """
        existing = [each.partition_index for each in (await self._cluster.topic(self._topic)).partitions]
        chosen = existing if partitions is None else partitions
        if unknown := set(chosen) - set(existing):
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {self._topic} has no partition {min(unknown)}"
            )
        known = positions or {}
        rest = dict.fromkeys((partition for partition in chosen if partition not in known), start)
        found = rest if start >= 0 else await self._cluster.offsets(self._topic, rest)
        self.positions = {partition: known[partition] for partition in chosen if partition in known} | found

    async def poll(self, max_wait_s: float, max_records: float = math.inf) -> list[Consumed]:
        """Return the records at the positions, and move these behind them; an empty list after about ``max_wait_s``.

        Raises:
            KafkaError: a leader refused the fetch, as for an offset that is not in its log; or a batch is damaged
                (CORRUPT_MESSAGE), and the records before it were returned by earlier calls.
            GaveUp: no leader of a partition answered within ``retry_timeout_s``.
        """
        return await retried(
            lambda: self._attempt(max_wait_s, max_records), f"topic {self._topic}", self._retry_timeout_s
        )

    async def _attempt(self, max_wait_s: float, max_records: float) -> list[Consumed]:
        """Fetch from one leader after the other; those that fail are passed over while others have records."""
        if not self.positions.keys() <= self._leaders.keys():
            self._leaders = await self._cluster.leaders(self._topic)
        by_leader: dict[int | None, list[int]] = {}
        for partition in self.positions:
            by_leader.setdefault(self._leaders.get(partition), []).append(partition)
        failure: Exception | None = None
        found: list[Consumed] = []
        positions = dict(self.positions)
        for leader, partitions in by_leader.items():
            try:
                answers = await self._fetch(leader, partitions, 0 if found else max_wait_s / len(by_leader))
            except Exception as error:
                if not passes(error):
                    raise
                failure = error
                self._forget_leaders(partitions)
                continue
            for answer in answers:
                if answer.error_code in PASSING:
                    failure = KafkaError(ErrorCode(answer.error_code))
                    self._forget_leaders([answer.partition_index])
                    continue
                check(answer.error_code, self._why(answer))
                records, positions[answer.partition_index] = self._read(answer, max_records - len(found))
                found += (Consumed(answer.partition_index, record) for record in records)
        self.positions = positions
        if failure is not None and not found:
            raise failure
        return found

    async def _fetch(self, leader: int | None, partitions: Collection[int], wait_s: float) -> list[PartitionData]:
        if leader is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        asked = [
            FetchPartition(partition=index, fetch_offset=self.positions[index], partition_max_bytes=FETCH_BYTES)
            for index in partitions
        ]
        request = FetchRequest(
            max_wait_ms=int(wait_s * 1000),
            min_bytes=1,
            max_bytes=FETCH_BYTES,
            topics=[FetchTopic(topic=self._topic, partitions=asked)],
        )
        response = await self._cluster.request(request, leader)
        check(response.error_code)
        return [partition for topic in response.responses for partition in topic.partitions]

    def _forget_leaders(self, partitions: Collection[int]) -> None:
        for partition in partitions:
            self._leaders.pop(partition, None)

    def _read(self, answer: PartitionData, limit: float) -> tuple[list[Record], int]:
        """Return at most ``limit`` records, and the position behind them.

        It is behind a whole batch if that was read to its end, which may be a control record or one that compaction
        has removed.
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
            pass  # the answer was cut where it was full
        except DecodeError as error:
            if not records:  # else the next fetch begins with the damage
                where = f"{self._topic}-{answer.partition_index}"
                why = f"partition {where} has a batch that cannot be read: {error}"
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, why) from None
        return records, position

    def _why(self, answer: PartitionData) -> str | None:
        if answer.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
            return None
        where = f"{self._topic}-{answer.partition_index}"
        return f"offset {self.positions[answer.partition_index]} is not in the log of {where}"
