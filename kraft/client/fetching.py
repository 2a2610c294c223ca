"""Fetch whole record batches of one partition, undecoded: for readers that decode them in their own way."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from kraft.client.cluster import Cluster, check
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.fetch_response import PartitionData
from kraft.records.batch import BatchHeader, TruncatedBatch, check_batch, iter_headers
from kraft.records.control import ControlType, control_type
from kraft.records.record import read_records
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError

FETCH_BYTES = 8 * 2**20
FETCH_MAX_WAIT_S = 0.5
"""``fetch.max.wait.ms``"""


class IsolationLevel(IntEnum):
    """``isolation.level``, as in Fetch and ListOffsets."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class WholeBatches(NamedTuple):
    """Complete batches of a partition, without control batches and aborted transactions."""

    data: bytes
    batches: list[tuple[int, BatchHeader]]
    """Position in ``data`` and header of each batch. The first one may begin below the offset of the fetch."""
    next_offset: int
    high_watermark: int


async def fetch(
    cluster: Cluster,
    leader: int | None,
    topic: str,
    positions: Mapping[int, int],
    *,
    wait_s: float,
    max_bytes: int = FETCH_BYTES,
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> list[PartitionData]:
    """Fetch from these offsets by partition. Raises as ``Cluster.request``, and LEADER_NOT_AVAILABLE for no leader."""
    if leader is None:
        raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
    asked = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)
        for index, offset in positions.items()
    ]
    request = FetchRequest(
        max_wait_ms=int(wait_s * 1000),
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        topics=[FetchTopic(topic=topic, partitions=asked)],
    )
    response = await cluster.request(request, leader)
    check(response.error_code)
    return [partition for topic in response.responses for partition in topic.partitions]


class PartitionFetcher:
    """Reads one partition from an offset on, and follows changes of its leader. For use by one task."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        partition: int,
        offset: int,
        *,
        isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        max_bytes: int = FETCH_BYTES,
        retry_timeout_s: float,
    ) -> None:
        self.offset = offset
        """The offset of the next fetch."""
        self._cluster = cluster
        self._topic = topic
        self._partition = partition
        self._isolation_level = isolation_level
        self._max_bytes = max_bytes
        self._retry_timeout_s = retry_timeout_s
        self._leader: int | None = None

    async def next(self, max_wait_s: float) -> WholeBatches:
        """Return the batches at ``offset``, and advance it; return none after about ``max_wait_s``.

        Raises:
            KafkaError: the leader refused the fetch: OFFSET_OUT_OF_RANGE if its log does not have the offset,
                CORRUPT_MESSAGE if a batch has a damaged header.
            GaveUp: no attempt succeeded. The last one began within ``retry_timeout_s``.
        """
        name = f"{self._topic}-{self._partition}"
        return await self._cluster.retried(
            lambda: self._attempt(max_wait_s), f"fetch from {name}", self._retry_timeout_s, lets_finish=True
        )

    async def _attempt(self, max_wait_s: float) -> WholeBatches:
        leader, self._leader = self._leader, None  # after a failure the next attempt looks the leader up again
        if leader is None:
            leader = (await self._cluster.leaders(self._topic)).get(self._partition)
        (answer,) = await fetch(
            self._cluster,
            leader,
            self._topic,
            {self._partition: self.offset},
            wait_s=max_wait_s,
            max_bytes=self._max_bytes,
            isolation_level=self._isolation_level,
        )
        where = f"offset {self.offset} of {self._topic}-{self._partition}"
        check(answer.error_code, where)
        self._leader = leader
        return self._take(answer, where)

    def _take(self, answer: PartitionData, where: str) -> WholeBatches:
        data = bytes(answer.records or b"")  # type: ignore[arg-type]
        visible = Visibility(self._isolation_level, answer)
        batches: list[tuple[int, BatchHeader]] = []
        try:
            for at, header in iter_headers(data):
                if header.last_offset >= self.offset:
                    if visible(data, at, header):
                        batches.append((at, header))
                    self.offset = header.next_offset
        except TruncatedBatch:
            pass  # the leader cut the response at its maximum size
        except DecodeError as error:
            if not batches:  # else the next fetch begins at the damage
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"cannot read the batch at {where}: {error}") from None
        return WholeBatches(data, batches, self.offset, answer.high_watermark)


class Visibility:
    """Selects the batches of one response that a consumer sees (KIP-98): no control batches, and with READ_COMMITTED no
    batches of aborted transactions. The response names those by producer and first offset.

    It is called with each batch in turn: the data, the batch's position in it, and its header. It raises CorruptBatch
    for a damaged end of an aborted transaction.
    """

    def __init__(self, level: IsolationLevel, answer: PartitionData) -> None:
        aborted = answer.aborted_transactions if level is IsolationLevel.READ_COMMITTED else None
        self._aborted = sorted((each.first_offset, each.producer_id) for each in aborted or ())
        self._aborting: set[int] = set()

    def __call__(self, data: bytes, at: int, header: BatchHeader) -> bool:
        while self._aborted and self._aborted[0][0] <= header.last_offset:
            self._aborting.add(self._aborted.pop(0)[1])
        if not header.is_control:
            return not (header.is_transactional and header.producer_id in self._aborting)
        if header.producer_id in self._aborting:
            check_batch(data, at, header)
            for record in read_records(data, at, header, max_bytes=header.size):
                if control_type(record) is ControlType.ABORT:
                    self._aborting.discard(header.producer_id)
        return False
