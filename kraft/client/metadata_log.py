"""Read ``__cluster_metadata`` from a live quorum of controllers, as an observer without an id (KIP-595, KIP-630).

The leader serves a replica id of -1 and keeps no state for it. A response names the leader if another controller
has the leadership, so the reader follows every change of leader. It returns whole batches below the high watermark: a
record above it may still be truncated.

A leader answers with the id of its newest snapshot if its log no longer has the wanted offset. It also does so for
offset 0, whatever its log has. The reader then continues at offset 1: the record at offset 0 is the LeaderChange of the
first epoch.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import IO, Any

import attrs
import trio

from kraft.client.cluster import TIMEOUT_S, Address, check
from kraft.client.retry import ClusterUnreachable, retried
from kraft.config.listeners import address, parse_host_port
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.fetch_response import FetchResponse, PartitionData
from kraft.messages.fetch_snapshot_request import FetchSnapshotRequest, PartitionSnapshot, TopicSnapshot
from kraft.messages.fetch_snapshot_request import SnapshotId as WireSnapshotId
from kraft.messages.fetch_snapshot_response import FetchSnapshotResponse
from kraft.messages.registry import ApiKey
from kraft.raft.messages import SnapshotId
from kraft.records.batch import HEADER_SIZE, BatchHeader, CorruptBatch, check_batch, parse_header
from kraft.rpc.client import Connection, open_connection, reason
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC, METADATA_TOPIC_ID
from kraft.wire.schema import Message
from kraft.wire.varint import Buffer

MAX_RESPONSE_BYTES = 8 * 2**20
"""The maximum size of a Fetch or FetchSnapshot response. The controllers use the same."""
MAX_SNAPSHOT_BYTES = 8 * 2**30
"""The maximum size of a snapshot that is downloaded."""
_REPLICA_ID = -1
_PARTITION = 0
_OLDEST_FETCH = 12
"""The first version of Fetch with diverging epochs and snapshot ids."""
RESPONSE_TIMEOUT_S = 5.0
"""The maximum time for a connection, and for a response beyond the wait of its request. Then the reader fetches
from another controller."""
_MAX_WAIT_S = 0.5
_HOPS = 4
_LEADER_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)


class LogDiverged(Exception):
    """The quorum's log lacks records that were read from it. The text names offset and epoch."""


@attrs.frozen
class FetchedLog:
    """Part of the log from a wanted offset on.

    ``data`` has whole batches below ``high_watermark``; ``batches`` has (position, header) of each. The first one may
    begin below the wanted offset. ``snapshot`` is the id of the leader's newest snapshot if its log does not serve the
    wanted offset any more; then there are no batches.
    """

    data: Buffer
    batches: Sequence[tuple[int, BatchHeader]]
    high_watermark: int
    log_start_offset: int
    snapshot: SnapshotId | None = None

    @property
    def end_offset(self) -> int | None:
        """The offset behind the last batch, or None without batches."""
        return self.batches[-1][1].next_offset if self.batches else None


@asynccontextmanager
async def open_metadata_log(
    controllers: str, client_id: str = "kraft", timeout_s: float = TIMEOUT_S
) -> AsyncIterator[MetadataLogReader]:
    """Read the metadata log of the quorum that has one of ``controllers`` (``host:port,…``).

    Every method of the reader waits at most ``timeout_s`` for a leader. All connections are closed at the end.

    Raises ConfigError: an address is not ``host:port``.
    """
    servers = [
        parse_host_port("bootstrap controllers", text.strip(), "Value must be host:port")
        for text in controllers.split(",")
    ]
    reader = MetadataLogReader(servers, client_id, timeout_s)
    try:
        yield reader
    finally:
        reader.close()


class MetadataLogReader:
    """A reader of the metadata log. For use by one task; made by :func:`open_metadata_log`."""

    def __init__(self, bootstrap: Sequence[Address], client_id: str, timeout_s: float) -> None:
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._next_server = 0
        self._connections: dict[Address, Connection] = {}
        self._leader: Address | None = None
        self._epoch = 0

    @property
    def leader(self) -> Address | None:
        """The controller that served the last request; None if that failed."""
        return self._leader

    def close(self) -> None:
        """Close all connections at once."""
        for connection in self._connections.values():
            connection.close()

    async def fetch(
        self,
        offset: int,
        epoch: int | None = None,
        *,
        needed: bool = False,
        max_wait_s: float = 0.0,
        max_bytes: int = MAX_RESPONSE_BYTES,
    ) -> FetchedLog:
        """Return batches from the one that contains ``offset`` on, or the id of a snapshot.

        ``epoch`` is that of the record before ``offset``. The leader compares it with its log; None skips that.
        If the log ends at ``offset``, the leader waits up to ``max_wait_s`` for a record. The result may have no
        batches all the same, unless the record is ``needed``: then this asks again until it is committed.

        Raises:
            LogDiverged: the log ends before ``offset``, or has another record before it.
            CorruptBatch: the response has an invalid batch.
            KafkaError: an error that cannot pass, such as a server that is no controller.
            GaveUp: no leader responded in time.
        """
        fetched = await self._fetch(offset, epoch, needed, max_wait_s, max_bytes)
        if fetched.snapshot is None or fetched.log_start_offset > offset:
            return fetched
        # The log has the offset. An unknown epoch has led to the snapshot, or offset 0 has.
        if fetched.snapshot.end_offset == offset:
            return await self._fetch(offset, fetched.snapshot.epoch, needed, max_wait_s, max_bytes)
        return await self._fetch(1, None, needed, max_wait_s, max_bytes) if offset == 0 else fetched

    async def _fetch(
        self, offset: int, epoch: int | None, needed: bool, max_wait_s: float, max_bytes: int
    ) -> FetchedLog:
        def request() -> FetchRequest:
            before = 0 if offset == 0 else self._epoch if epoch is None else epoch
            partition = FetchPartition(
                partition=_PARTITION,
                current_leader_epoch=self._epoch,
                fetch_offset=offset,
                # At most the leader's epoch: a greater one is invalid, and this one makes the leader name its epoch.
                last_fetched_epoch=min(before, self._epoch),
                partition_max_bytes=max_bytes,
            )
            topic = FetchTopic(CLUSTER_METADATA_TOPIC, METADATA_TOPIC_ID, [partition])
            return FetchRequest(
                replica_id=_REPLICA_ID,
                max_wait_ms=round((_MAX_WAIT_S if needed else max_wait_s) * 1000),
                max_bytes=max_bytes,
                topics=[topic],
            )

        def answered(partition: PartitionData) -> FetchedLog:
            if partition.high_watermark < 0:
                raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, "the new leader does not know the high watermark yet")
            fetched = _fetched(partition, offset, epoch)
            if needed and not fetched.batches and fetched.snapshot is None:
                raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, f"the high watermark is {fetched.high_watermark}")
            return fetched

        what = f"metadata log at {offset}"
        fetched: FetchedLog = await self._ask(request, lambda response: response.responses, answered, what)
        return fetched

    async def download(self, snapshot: SnapshotId, file: IO[bytes]) -> int:
        """Write a snapshot to ``file`` and return its size in bytes.

        Raises:
            KafkaError: SNAPSHOT_NOT_FOUND if the leader has deleted it, or another error that cannot pass.
            GaveUp: no leader responded in time.
        """
        position, size = 0, 1
        while position < size:
            data, size = await self._chunk(snapshot, position)
            if not data or size > MAX_SNAPSHOT_BYTES:
                raise CorruptBatch(f"{len(data)} bytes at {position} of a snapshot of {size}")
            file.write(data)
            position += len(data)
        return position

    async def has_snapshot(self, snapshot: SnapshotId) -> bool:
        """Return whether the leader has this snapshot. Raises as ``download``."""
        try:
            await self._chunk(snapshot, 0, 1)
        except KafkaError as error:
            if error.code is not ErrorCode.SNAPSHOT_NOT_FOUND:
                raise
            return False
        return True

    async def _chunk(
        self, snapshot: SnapshotId, position: int, max_bytes: int = MAX_RESPONSE_BYTES
    ) -> tuple[bytes, int]:
        def request() -> FetchSnapshotRequest:
            partition = PartitionSnapshot(
                partition=_PARTITION,
                current_leader_epoch=self._epoch,
                snapshot_id=WireSnapshotId(snapshot.end_offset, snapshot.epoch),
                position=position,
            )
            topics = [TopicSnapshot(CLUSTER_METADATA_TOPIC, [partition])]
            return FetchSnapshotRequest(replica_id=_REPLICA_ID, max_bytes=max_bytes, topics=topics)

        def answered(partition: Any) -> tuple[bytes, int]:
            found = SnapshotId(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
            if (found, partition.position) != (snapshot, position):
                raise CorruptBatch(f"the response is not about position {position} of {snapshot}")
            return bytes(partition.unaligned_records or b""), partition.size

        what = f"snapshot {snapshot}"
        chunk: tuple[bytes, int] = await self._ask(request, lambda response: response.topics, answered, what)
        return chunk

    async def _ask(
        self,
        request: Callable[[], Message],
        topics_of: Callable[[Any], Sequence[Any]],
        answered: Callable[[Any], Any],
        what: str,
    ) -> Any:
        """Return ``answered(partition)`` of the leader's response. Retry where the leadership moves."""

        async def attempt() -> Any:
            try:
                return await self._ask_leader(request, topics_of, answered)
            except Exception:
                # Another server may know the leader. Epoch 0 makes each one name the leader that it knows.
                self._leader, self._epoch = None, 0
                self._next_server = (self._next_server + 1) % len(self._bootstrap)
                raise

        return await retried(attempt, what, self._timeout_s)

    async def _ask_leader(
        self, request: Callable[[], Message], topics_of: Callable[[Any], Sequence[Any]], answered: Callable[[Any], Any]
    ) -> Any:
        where = self._leader or self._bootstrap[self._next_server]
        for _ in range(_HOPS):
            connection = await self._connection(where)
            message = request()
            wait_s = getattr(message, "max_wait_ms", 0) / 1000
            response: Any = await connection.request(message, timeout_s=wait_s + RESPONSE_TIMEOUT_S)
            assert isinstance(response, FetchResponse | FetchSnapshotResponse), "the response has its request's type"
            check(response.error_code)
            partition = _sole_partition(topics_of(response))
            if not partition.error_code:
                self._leader = where
                return answered(partition)
            leader = partition.current_leader
            if partition.error_code not in _LEADER_ELSEWHERE or leader.leader_id < 0:
                break
            if leader.leader_epoch != self._epoch:
                self._epoch = leader.leader_epoch  # the server may lead in that epoch itself, so fetch from it again
                continue
            named = [(each.host, each.port) for each in response.node_endpoints if each.node_id == leader.leader_id]
            if not named:
                break
            where = named[0]
        raise KafkaError(ErrorCode(partition.error_code))

    async def _connection(self, where: Address) -> Connection:
        known = self._connections.get(where)
        if known is None or known.closed:
            try:
                with trio.fail_after(RESPONSE_TIMEOUT_S):
                    known = await open_connection(*where, client_id=self._client_id)
            except (OSError, trio.TooSlowError) as error:
                raise ClusterUnreachable(f"Cannot connect to {address(*where)}: {reason(error)}") from None
            if ApiKey.FETCH_SNAPSHOT not in known.versions or known.versions[ApiKey.FETCH][1] < _OLDEST_FETCH:
                known.close()
                advice = "it is no controller of a KRaft quorum; give the address of a controller listener"
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{address(*where)}: {advice}")
            self._connections[where] = known
        return known


def _sole_partition(topics: Sequence[Any]) -> Any:
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise CorruptBatch("the response is not about the metadata log alone")
    return topics[0].partitions[0]


def _fetched(partition: PartitionData, offset: int, epoch: int | None) -> FetchedLog:
    start, high_watermark = partition.log_start_offset, partition.high_watermark
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    if diverging.epoch >= 0:
        known = "" if epoch is None else f" after epoch {epoch}"
        end = f"its epoch {diverging.epoch} ends at {diverging.end_offset}"
        text = f"the quorum's log has no offset {offset}{known}: {end}"
        raise LogDiverged(f"{text}; the log was replaced, or the offset is of another cluster")
    if snapshot.epoch >= 0 or snapshot.end_offset >= 0:
        newest = SnapshotId(snapshot.end_offset, snapshot.epoch)
        return FetchedLog(b"", (), high_watermark, start, newest)
    data = partition.records or b""
    assert not hasattr(data, "file"), "a response has bytes"
    batches = list(_committed(data, high_watermark))
    if batches and not batches[0][1].base_offset <= offset <= batches[0][1].last_offset:
        raise CorruptBatch(f"the first batch begins at offset {batches[0][1].base_offset}, expected {offset}")
    return FetchedLog(data, batches, high_watermark, start)


def _committed(data: Buffer, high_watermark: int) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of the checked batches below the high watermark. The last batch may be cut."""
    position, end, expected = 0, len(data), None
    while end - position >= HEADER_SIZE:
        header = parse_header(data, position)
        if header.size > end - position or header.next_offset > high_watermark:
            return
        check_batch(data, position, header)
        if expected is not None and header.base_offset != expected:
            raise CorruptBatch(f"a batch begins at offset {header.base_offset}, expected {expected}")
        yield position, header
        position, expected = position + header.size, header.next_offset
