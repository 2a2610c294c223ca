"""The fetchers of this broker: one task and one connection for each leader that it follows.

::

    fetchers
    ├── fetcher 2
    └── fetcher 3

A Fetch request names the end offset and the last epoch of the follower's log. If they diverge from the leader's log,
the response names the diverging epoch; the follower truncates its log and fetches again. The leader tracks the progress
of each follower.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Final
from uuid import UUID

import attrs
import trio

from kraft.broker.following import truncation_offset
from kraft.config.broker import NodeConfig
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from kraft.messages.fetch_response import FetchResponse, PartitionData
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.list_offsets_response import ListOffsetsResponse
from kraft.metadata.image import BrokerEndpoint
from kraft.records.batch import CorruptBatch, check_batch, whole_batches
from kraft.replication.appending import AT_ONCE_BYTES
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.replication.throttle import REST_S, Throttle
from kraft.rpc.client import Connect, Connection, Disconnected, reason
from kraft.storage.checkpoint import LOG_START_OFFSET
from kraft.storage.index import fits_index
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.varint import Buffer
from kraft.world.clock import Clock
from kraft.world.slices import Slices

logger = logging.getLogger("kraft.fetchers")

FETCH_VERSION = 17
NO_SESSION_EPOCH = -1
LATEST, EARLIEST = -1, -2
_SHORT_REST_S = 0.1
_FETCHED_AT_ONCE: Final = 40_000
"""Not a Kafka setting. The partitions of one request. A leader refuses a request of more than 100,000 elements, and a
partition of a topic of its own has two.
"""
_SLICE_BYTES = 4 << 20
_PARTITION_BYTES = 64 * 1024
_BATCH_BYTES = 8 * 1024
"""The cost of a partition and of a batch beside its bytes. The unit is the time to check and write one byte."""

#: Errors that a metadata update of the leader or of the follower will cure.
_SOON_OVER = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


@attrs.define(eq=False)
class Fetchers:
    """The fetchers of all leaders that this broker follows."""

    config: NodeConfig
    replicas: Replicas
    clock: Clock
    connect: Connect
    throttle: Throttle

    async def run(self) -> None:
        """Follow the leaders in the metadata until cancelled.

        Error handling: an error of a leader is logged and retried; it never leaves this function.
        """
        fetchers: dict[int, Fetcher] = {}
        async with trio.open_nursery() as nursery:
            while True:
                changed = self.replicas.roles_changed
                followed: dict[int, list[HostedPartition]] = {leader: [] for leader in fetchers}
                for leader, partition in self.replicas.followed():
                    followed.setdefault(leader, []).append(partition)
                for leader, partitions in followed.items():
                    fetcher = fetchers.get(leader)
                    if fetcher is None:
                        fetcher = fetchers[leader] = Fetcher(
                            leader, self.config, self.replicas, self.clock, self.connect, self.throttle
                        )
                        nursery.start_soon(fetcher.run, name=f"fetcher {leader}")
                    fetcher.follow(partitions)
                await changed.wait()


@attrs.frozen(eq=False)
class _Requested:
    """The state of a partition when it was fetched. The response is used only if that state is unchanged."""

    partition: HostedPartition
    leader_epoch: int
    offset: int


@attrs.define(eq=False)
class Fetcher:
    """The fetcher of one leader, for the partitions that this broker follows there."""

    leader_id: int
    config: NodeConfig
    replicas: Replicas
    clock: Clock
    connect: Connect
    throttle: Throttle
    _followed: dict[HostedPartition, int] = attrs.Factory(dict)
    """The partitions with their leader epochs, in the order of the next Fetch request."""
    _resting: dict[HostedPartition, float] = attrs.Factory(dict)
    _in_sync: set[HostedPartition] = attrs.Factory(set)
    """The partitions that had all committed records after their last response. The throttle leaves them alone."""
    _changed: trio.Event = attrs.Factory(trio.Event)
    _is_reached: bool = True

    def follow(self, partitions: Iterable[HostedPartition]) -> None:
        """Fetch these partitions from now on. A change of a leader epoch ends the pause of its partition."""
        now = {partition: partition.state.leader_epoch for partition in partitions}
        if now == self._followed:
            return
        self._resting = {
            each: until for each, until in self._resting.items() if now.get(each) == self._followed.get(each)
        }
        self._in_sync &= {each for each, epoch in now.items() if epoch == self._followed.get(each)}
        kept = {each: now[each] for each in self._followed if each in now}
        self._followed = {**kept, **now}
        self._changed.set()
        self._changed = trio.Event()

    async def run(self) -> None:
        """Fetch while there are partitions to follow; otherwise wait for some. Runs until cancelled."""
        while True:
            changed = self._changed
            endpoint = self._endpoint()
            if self._followed and endpoint is not None:
                await self._fetch_from(endpoint)
            with trio.move_on_after(self._backoff_s if self._followed else float("inf")):
                await changed.wait()

    @property
    def _backoff_s(self) -> float:
        return self.config.replication.replica_fetch_backoff_ms / 1000

    def _endpoint(self) -> BrokerEndpoint | None:
        return self.replicas.image.endpoint(self.leader_id, self.config.listeners.inter_broker or "")

    async def _fetch_from(self, endpoint: BrokerEndpoint) -> None:
        timeout_s = self.config.replication.replica_socket_timeout_ms / 1000
        client_id = f"broker-{self.config.node_id}-fetcher-{self.leader_id}"
        try:
            async with self.connect(endpoint.host, endpoint.port, client_id, timeout_s) as connection:
                logger.info("fetching from broker %d", self.leader_id)
                self._is_reached = True
                while self._followed:
                    await self._fetch_once(connection)
        except (OSError, trio.TooSlowError, KafkaError) as failure:
            level = logging.INFO if self._is_reached else logging.DEBUG
            logger.log(level, "cannot fetch from broker %d, trying again: %s", self.leader_id, reason(failure))
            self._is_reached = False

    async def _fetch_once(self, connection: Connection) -> None:
        """Send one Fetch request and apply its response.

        Raises:
            Disconnected, trio.TooSlowError: The connection failed.
            KafkaError: The leader rejected the whole request.
        """
        changed = self._changed
        requested = self.due()
        if not all(each.partition.is_start_durable for each in requested.values()):
            await self._write_starts()
            requested = self.due()
        if not requested:
            with trio.move_on_at(min(self._resting.values(), default=float("inf"))):
                await changed.wait()
            return
        request = self._request(requested.values())
        version = min(FETCH_VERSION, connection.highest_common_version(request))
        response = await connection.request(request, version)
        assert isinstance(response, FetchResponse)
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code))
        slices = Slices(_SLICE_BYTES)
        for topic in response.responses:
            for data in topic.partitions:
                wanted = requested.get((topic.topic_id, data.partition_index))
                if wanted is not None and self._is_current(wanted):
                    await self._take(connection, wanted, data, slices)
                await slices.spend(_PARTITION_BYTES)
        await trio.lowlevel.checkpoint()

    async def _write_starts(self) -> None:
        """Make the log start offsets durable. The Fetch reports them, and the leader then answers DeleteRecords
        (KIP-107). Partitions whose disk is full pause.
        """
        try:
            await self.replicas.checkpoints.write((LOG_START_OFFSET,))
        except OSError as failure:
            until = trio.current_time() + self._backoff_s
            paused = {each: until for each in self._followed if not each.is_start_durable}
            self._resting |= paused
            what = "%d partitions of broker %d wait until their log start can be written: %s"
            logger.warning(what, len(paused), self.leader_id, failure)

    def due(self) -> dict[tuple[UUID, int], _Requested]:
        """Return the partitions to fetch now: all that do not pause, or the first of very many. The throttle may begin
        pauses of others.
        """
        now = trio.current_time()
        for partition in [each for each, until in self._resting.items() if until <= now]:
            del self._resting[partition]
        if self.throttle.is_exceeded:
            behind = self._followed.keys() - self._in_sync
            self._resting |= {each: now + REST_S for each in behind if self.throttle.applies_to(each)}
        due = [each for each in self._followed if each not in self._resting]
        if len(due) > _FETCHED_AT_ONCE:
            del due[_FETCHED_AT_ONCE:]
            for each in due:
                self._followed[each] = self._followed.pop(each)  # so that others come first
        return {
            (each.topic_id, each.index): _Requested(each, self._followed[each], each.log.log_end_offset) for each in due
        }

    def _request(self, requested: Iterable[_Requested]) -> FetchRequest:
        settings = self.config.replication
        topics: dict[UUID, FetchTopic] = {}
        for each in requested:
            log, topic_id = each.partition.log, each.partition.topic_id
            wanted = FetchPartition(
                partition=each.partition.index,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                last_fetched_epoch=log.epochs.latest,
                log_start_offset=log.log_start_offset,
                partition_max_bytes=settings.replica_fetch_max_bytes,
            )
            topics.setdefault(topic_id, FetchTopic(topic_id=topic_id)).partitions.append(wanted)
        return FetchRequest(
            replica_state=ReplicaState(self.config.node_id, self.replicas.broker_epoch),
            max_wait_ms=settings.replica_fetch_wait_max_ms,
            min_bytes=settings.replica_fetch_min_bytes,
            max_bytes=settings.replica_fetch_response_max_bytes,
            session_epoch=NO_SESSION_EPOCH,
            topics=list(topics.values()),
        )

    def _is_current(self, requested: _Requested) -> bool:
        partition = requested.partition
        return (
            self._followed.get(partition) == requested.leader_epoch == partition.state.leader_epoch
            and not partition.is_leader
            and self.replicas.holds(partition)
            and partition.log.log_end_offset == requested.offset
        )

    async def _take(self, connection: Connection, requested: _Requested, data: PartitionData, slices: Slices) -> None:
        """Apply the response for one partition. After an error of the partition, pause it for a while.

        Raises:
            Disconnected, trio.TooSlowError: The connection failed.
        """
        partition = requested.partition
        code = ErrorCode(data.error_code)
        try:
            if code is ErrorCode.OFFSET_OUT_OF_RANGE:
                await self._start_over(connection, requested)
            elif code:
                raise KafkaError(code)
            elif data.diverging_epoch.end_offset >= 0 or data.diverging_epoch.epoch >= 0:
                await self._cut(requested, data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
            else:
                await self._append(requested, data, slices)
        except Disconnected:
            raise
        except (KafkaError, CorruptBatch, OSError) as failure:
            soon = isinstance(failure, KafkaError) and failure.code in _SOON_OVER
            logger.log(
                logging.DEBUG if soon else logging.WARNING, "%s from %d: %s", partition.name, self.leader_id, failure
            )
            pause_s = min(_SHORT_REST_S, self._backoff_s) if soon else self._backoff_s
            self._resting[partition] = trio.current_time() + pause_s

    async def _append(self, requested: _Requested, data: PartitionData, slices: Slices) -> None:
        """Append the whole batches of a response in slices. Raises CorruptBatch, KafkaError, OSError."""
        partition = requested.partition
        records = data.records or b""
        assert isinstance(records, bytes | bytearray | memoryview), "what was received is in memory"
        if records:
            await self.replicas.make_ids_durable([partition])
        for piece in _pieces(records, requested.leader_epoch):
            if not self._is_current(requested):
                return
            await self._append_piece(requested, piece.base_offset, piece.batches)
            if partition in self._followed:
                self._followed[partition] = self._followed.pop(partition)  # so that others come first
            requested = attrs.evolve(requested, offset=piece.end_offset)
            await slices.spend(piece.cost)
        await self.replicas.flush_due([partition])
        if self.throttle.applies_to(partition):
            self.throttle.record(len(records))
        if self._is_current(requested):
            is_in_sync = partition.log.log_end_offset >= data.high_watermark
            (self._in_sync.add if is_in_sync else self._in_sync.discard)(partition)
            partition.learn(data.high_watermark, data.log_start_offset)

    async def _append_piece(self, requested: _Requested, base_offset: int, batches: memoryview) -> None:
        """Append batches to a log that ends where they begin. Raises KafkaError, OSError."""
        partition = requested.partition
        if partition.begins_within(base_offset):
            async with self.replicas.checkpoints.cutting(partition, base_offset):
                if self._is_current(requested):
                    partition.append_fetched(batches, self.clock.now_ms())
        elif len(batches) > AT_ONCE_BYTES:
            async with partition.appending():
                now_ms = self.clock.now_ms()
                await partition.log.write_ahead_as_follower(batches, now_ms)
                if self._is_current(requested):
                    partition.append_fetched(batches, now_ms)
                else:
                    partition.log.drop_ahead()
        else:
            partition.append_fetched(batches, self.clock.now_ms())

    async def _cut(self, requested: _Requested, epoch: int, end_offset: int) -> None:
        """Truncate the log to the last offset that the leader may share.

        Raises:
            KafkaError: The truncation changed nothing.
            OSError: The log or a checkpoint cannot be written.
        """
        partition, log = requested.partition, requested.partition.log
        before = log.log_end_offset, log.epochs.latest
        offset = truncation_offset(
            epoch, end_offset, log.end_offset_for_epoch, log.log_end_offset, partition.high_watermark
        )
        async with self.replicas.checkpoints.cutting(partition, log.end_if_cut(offset)):
            if not self._is_current(requested):
                return
            partition.truncate_to(offset, self.clock.now_ms())
        if (log.log_end_offset, log.epochs.latest) == before:
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR, f"truncating to epoch {epoch}, offset {end_offset} changes nothing"
            )
        logger.info(
            "%s: truncated to offset %d, where it diverged from broker %d",
            partition.name,
            log.log_end_offset,
            self.leader_id,
        )

    async def _start_over(self, connection: Connection, requested: _Requested) -> None:
        """Handle an end offset outside of the leader's log.

        It is beyond the leader's end after an unclean election, or before the leader's start.

        Raises:
            Disconnected, trio.TooSlowError: The connection failed.
            KafkaError: The leader returned an error, or the log did not change.
            OSError: The log or a checkpoint cannot be written.
        """
        partition = requested.partition
        end_offset = await self._offset(connection, requested, LATEST)
        start_offset = await self._offset(connection, requested, EARLIEST)
        if not self._is_current(requested):
            return
        if end_offset < requested.offset:
            async with self.replicas.checkpoints.cutting(partition, partition.log.end_if_cut(end_offset)):
                if not self._is_current(requested):
                    return
                partition.truncate_to(end_offset, self.clock.now_ms())
        if start_offset > partition.log.log_end_offset:
            partition.restart_at(start_offset)
        if partition.log.log_end_offset == requested.offset:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)

    async def _offset(self, connection: Connection, requested: _Requested, timestamp: int) -> int:
        """Ask the leader for the first or the last offset of its log. Raises KafkaError, Disconnected,
        trio.TooSlowError.
        """
        partition = requested.partition
        wanted = ListOffsetsPartition(
            partition_index=partition.index, current_leader_epoch=requested.leader_epoch, timestamp=timestamp
        )
        topic = ListOffsetsTopic(name=partition.topic, partitions=[wanted])
        response = await connection.request(ListOffsetsRequest(replica_id=self.config.node_id, topics=[topic]))
        assert isinstance(response, ListOffsetsResponse)
        answers = [each for topic in response.topics for each in topic.partitions]
        if len(answers) != 1:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the ListOffsets response has not one partition")
        if answers[0].error_code:
            raise KafkaError(ErrorCode(answers[0].error_code))
        offset: int = answers[0].offset
        return offset


@attrs.frozen
class _Piece:
    """Whole and checked batches that are appended in one slice."""

    base_offset: int
    end_offset: int
    batches: memoryview
    cost: int


def _pieces(records: Buffer, leader_epoch: int) -> Iterator[_Piece]:
    """Yield the whole batches of a response in pieces. A truncated last batch is skipped.

    Raises CorruptBatch.
    """
    start = end = base_offset = end_offset = cost = 0
    for position, header in whole_batches(records):
        check_batch(records, position, header)
        if header.leader_epoch > leader_epoch:
            raise CorruptBatch(f"batch of epoch {header.leader_epoch} from the leader of {leader_epoch}")
        if position > start and not fits_index(header.last_offset, base_offset):  # it needs a segment of its own
            yield _Piece(base_offset, end_offset, memoryview(records)[start:end], cost)
            start, cost = end, 0
        if position == start:
            base_offset = header.base_offset
        end, end_offset = position + header.size, header.next_offset
        cost += _BATCH_BYTES + header.size
        if cost >= _SLICE_BYTES:
            yield _Piece(base_offset, end_offset, memoryview(records)[start:end], cost)
            start, cost = end, 0
    if cost:
        yield _Piece(base_offset, end_offset, memoryview(records)[start:end], cost)
