"""One partition on this broker: its log, its metadata, its role, and the tasks that wait for its offsets to rise."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from typing import Protocol
from uuid import UUID

import attrs
import trio

from kraft.broker.leadership import Appended, Assignment, Conditions, Event, FollowerFetched, Leadership, Proposal
from kraft.broker.producer_state import EPOCH_BUMP_VERSION
from kraft.config.topic import LogConfig
from kraft.metadata.partitions import Partition
from kraft.records.batch import BatchHeader, iter_headers, parse_header
from kraft.records.control import EndTransactionMarker
from kraft.records.produced import ProduceRules
from kraft.records.record import Record, read_records
from kraft.storage.checkpoint import TopicPartition
from kraft.storage.log import AppendInfo, Log
from kraft.storage.lookup import MAX_DECOMPRESSED_BYTES
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.varint import Buffer
from kraft.world.clock import Clock

logger = logging.getLogger("kraft.replicas")

PARTITIONS_AT_ONCE = 1_000
"""Not a Kafka setting. The partitions that a task looks at before other tasks run: less than a millisecond of work."""

_READ_BYTES = 1 << 20


class Watcher(Protocol):
    """A task that waits for a change of a partition; often a ``trio.Event``."""

    def set(self) -> None:
        """Note the change, and wake the task."""


def _keep(partition: HostedPartition, proposal: Proposal) -> None:
    """Propose nothing. For a partition with one replica."""


@attrs.define(eq=False)
class HostedPartition:
    """The log of one partition on this broker, and the broker's role for it.

    ``high_watermark`` and ``last_stable_offset`` bound the records that consumers see. ``leadership`` is set while this
    broker leads the partition. Otherwise it follows ``state.leader``, if there is one. ``propose`` sends an ISR to the
    controller.
    """

    topic: str
    topic_id: UUID
    index: int
    log: Log
    state: Partition
    high_watermark: int = 0
    checkpointed_start_offset: int = 0
    """The entry in ``log-start-offset-checkpoint``. After a kill the log begins there or at its first segment."""
    cleaned_offset: int = 0
    """Everything below is compacted."""
    is_moving: bool = False
    """Whether the log is copied to another directory. Compaction waits for that, as in Kafka: it would remove
    tombstones and markers whose records the copy has.
    """
    is_being_compacted: bool = False
    """Whether the cleaner copies segments of the log. Retention waits for that, as in Kafka: without the first one the
    copies cannot be put in place.
    """
    propose: Callable[[HostedPartition, Proposal], None] = _keep
    leadership: Leadership | None = None
    clock: Clock = attrs.Factory(Clock)
    flushed_at_s: float = 0.0
    """When ``flush.ms`` last made the log durable."""
    produce_rules: tuple[LogConfig, ProduceRules] | None = None
    """The rules for produced records, with the configuration from which they were computed."""
    changes: int = 0
    """How often watchers were woken. While it stays the same, a read at the same offset returns the same answer."""
    _waiting: set[Watcher] = attrs.Factory(set)
    _waiting_for_more: set[Watcher] = attrs.Factory(set)
    _appending: trio.Lock | None = None

    def __attrs_post_init__(self) -> None:
        self._advance(self.high_watermark)

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def where(self) -> TopicPartition:
        """The key of the partition in the checkpoint files."""
        return self.topic, self.index

    @property
    def is_assigned(self) -> bool:
        """Whether a controller has sent the state. A broker with ZooKeeper opens its logs before it knows the settings
        of their topics: until then, nothing may remove records by them.
        """
        return self.state.leader_epoch >= 0

    @property
    def is_leader(self) -> bool:
        return self.leadership is not None

    @property
    def last_stable_offset(self) -> int:
        """Where a consumer with ``isolation.level=read_committed`` stops (KIP-98)."""
        return max(self.log.producers.last_stable_offset(self.high_watermark), self.log.log_start_offset)

    @property
    def highest_checkpoint(self) -> int:
        """The highest offset that any checkpoint may have for this partition."""
        return max(self.log.recovery_point, self.log.log_start_offset, self.high_watermark, self.cleaned_offset)

    @property
    def durable_start_offset(self) -> int:
        """Where the log begins after a kill, by a checkpoint or by its first segment."""
        return max(self.checkpointed_start_offset, self.log.segments[0].base_offset)

    @property
    def is_start_durable(self) -> bool:
        return self.log.log_start_offset == self.durable_start_offset

    def appending(self) -> trio.Lock:
        """The lock of the appends that let other tasks run. The others only look whether it ``is_appending``."""
        if self._appending is None:
            self._appending = trio.Lock()
        return self._appending

    @property
    def is_appending(self) -> bool:
        """Whether an append is under way, which others must not overtake."""
        return self._appending is not None and self._appending.locked()

    # Roles.

    def lead(self, conditions: Conditions, state: Partition, now: float) -> None:
        """Become the leader of ``state``, or apply it as the leader."""
        self.state = state
        if len(state.replicas) > 1 and self.log.epochs.latest < state.leader_epoch:
            # A follower may have records of an epoch that this log lacks. It must find a newer epoch here (KIP-279).
            try:
                self.log.epochs.assign(state.leader_epoch, self.log.log_end_offset)
            except OSError as error:  # the first append tries again
                logger.error("%s: cannot write the leader epoch, the first append tries again: %s", self.name, error)
        assignment = Assignment(state.replicas, state.isr, state.leader_epoch, state.partition_epoch)
        if self.leadership is None:
            self.leadership = Leadership(conditions, assignment, self.log.log_end_offset, self.high_watermark, now)
            self._advance(self.leadership.high_watermark)
        else:
            self.step(now, assignment)
        self.wake()

    def follow(self, state: Partition) -> None:
        """Apply ``state`` as a follower, and end the leadership, if any."""
        self.state = state
        self.leadership = None
        self.wake()

    def step(self, now: float, event: Event) -> None:
        """Pass an event to the leadership and perform its effects. Does nothing without a leadership."""
        if self.leadership is None:
            return
        isr = self.leadership.isr
        effects = self.leadership.step(now, event)
        if effects.high_watermark is not None:
            self._advance(effects.high_watermark)
        if effects.high_watermark is not None or self.leadership.isr != isr:
            self._set(self._waiting)
        if effects.proposal is not None:
            self.propose(self, effects.proposal)

    def change_conditions(self, now: float, conditions: Conditions) -> None:
        """Apply a change outside of the partition. A dead replica, or one more that must be in sync, may end a wait."""
        leadership = self.leadership
        if leadership is None:
            return
        start_offset = self.log.log_start_offset
        before = leadership.min_isr, leadership.low_watermark(start_offset)
        self.step(now, conditions)
        if (leadership.min_isr, leadership.low_watermark(start_offset)) != before:
            self._set(self._waiting)

    def fetched(self, now: float, event: FollowerFetched) -> None:
        """Apply the log end and log start of a follower, from its Fetch. The leadership has validated the request."""
        if self.leadership is None:
            return
        before = self.leadership.followers[event.replica_id].log_start_offset
        self.step(now, event)
        if event.log_start_offset != before:
            self._set(self._waiting)

    def check_epoch(self, current_leader_epoch: int) -> None:
        """Compare a client's leader epoch with ours (KIP-320). A negative epoch skips the check.

        Raises KafkaError FENCED_LEADER_EPOCH for an older epoch, UNKNOWN_LEADER_EPOCH for a newer one.
        """
        if current_leader_epoch < 0 or current_leader_epoch == self.state.leader_epoch:
            return
        older = current_leader_epoch < self.state.leader_epoch
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Return the largest known epoch not above ``epoch``, and its end offset (KIP-320); (-1, -1) for an unknown
        epoch.
        """
        current, latest = self.state.leader_epoch, self.log.epochs.latest
        if epoch == current:
            return epoch, self.log.log_end_offset  # the current epoch may have no records yet
        if latest < epoch < current:
            # Its leader has appended nothing. A reader may know the epoch from ListOffsets.
            return (latest if latest >= 0 else epoch), self.log.log_end_offset
        return self.log.end_offset_for_epoch(epoch)

    def append(
        self,
        buffer: bytearray | memoryview,
        now_ms: int,
        headers: list[tuple[int, BatchHeader]] | None = None,
        *,
        marker: EndTransactionMarker | None = None,
    ) -> AppendInfo:
        """Append batches as the leader, with the timestamp ``now_ms``, and wake the waiting tasks.

        ``marker`` is the marker in ``buffer``, if that is a control batch.
        """
        if headers is None:
            headers = list(iter_headers(buffer))
        appended = self.log.append_as_leader(buffer, headers, self.state.leader_epoch, now_ms)
        if marker is not None and marker.transaction_version >= EPOCH_BUMP_VERSION:
            self.log.producers.next_epoch_began(headers[0][1].producer_id)
        self._set(self._waiting_for_more)
        self.step(self.clock.now_s(), Appended(appended.last_offset + 1))
        return appended

    async def append_large(
        self, buffer: bytearray | memoryview, now_ms: int, headers: list[tuple[int, BatchHeader]]
    ) -> AppendInfo:
        """Append as :meth:`append`, but let other tasks run while the batch is written. Readers see none of it before
        all of it is there. The caller holds ``appending``.

        Raises KafkaError NOT_LEADER_OR_FOLLOWER if the leader epoch ends meanwhile. Nothing was appended.
        """
        leadership, epoch = self.leadership, self.state.leader_epoch
        await self.log.write_ahead_as_leader(buffer, headers, epoch, now_ms)
        if leadership is None or self.leadership is not leadership or self.state.leader_epoch != epoch:
            self.log.drop_ahead()
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return self.append(buffer, now_ms, headers)

    async def append_marker(self, producer_id: int, producer_epoch: int, marker: EndTransactionMarker) -> AppendInfo:
        """Append the end of a producer's transaction as the leader (KIP-98), behind an append that is under way.

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_EPOCH or
                TRANSACTION_COORDINATOR_FENCED. Nothing was appended.
            OSError: The log cannot be written.
        """
        if self.is_appending:
            async with self.appending():
                return self._append_marker(producer_id, producer_epoch, marker)
        # A free lock would let a round of other tasks pass, in which the producer's next request may come too early.
        return self._append_marker(producer_id, producer_epoch, marker)

    def _append_marker(self, producer_id: int, producer_epoch: int, marker: EndTransactionMarker) -> AppendInfo:
        if not self.is_leader:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.check_min_insync()
        now_ms = self.clock.now_ms()
        self.log.producers.check_marker(producer_id, producer_epoch, marker)
        return self.append(marker.batch(producer_id, producer_epoch, now_ms), now_ms, marker=marker)

    def append_fetched(self, batches: Buffer, now_ms: int) -> None:
        """Append whole and checked batches from the leader. They must follow the end of this log.

        Raises:
            KafkaError: OFFSET_OUT_OF_RANGE: The batches do not follow the end of the log.
            OSError: The log cannot be written.
        """
        log = self.log
        base_offset = parse_header(batches).base_offset
        if self.begins_within(base_offset):
            start_offset = log.log_start_offset
            try:
                log.truncate_fully_and_start_at(base_offset)
                log.append_as_follower(batches, now_ms)
                log.delete_records(min(start_offset, log.log_end_offset))
            finally:
                self._cut_to(log.log_end_offset)
        else:
            log.append_as_follower(batches, now_ms)

    def begins_within(self, base_offset: int) -> bool:
        """Whether the leader's log start lies within the batch at ``base_offset`` (KIP-107).

        The batch still contains the deleted records. This log, which is empty, must then begin again at
        ``base_offset``.
        """
        return base_offset < self.log.log_end_offset == self.log.log_start_offset

    def learn(self, high_watermark: int, log_start_offset: int) -> None:
        """Apply the leader's high watermark and log start offset, as far as this log reaches."""
        high_watermark = min(high_watermark, self.log.log_end_offset)
        if high_watermark > self.high_watermark:
            self._advance(high_watermark)
            self._set(self._waiting)
        if log_start_offset > self.log.log_start_offset:
            self.log.delete_records(min(log_start_offset, self.high_watermark))

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Drop the records from ``offset`` on, which the leader lacks. Raises OSError."""
        if offset < self.high_watermark:
            logger.warning(
                "%s: truncated to offset %d, below the high watermark %d", self.name, offset, self.high_watermark
            )
        try:
            self.log.truncate_to(offset, now_ms)
        finally:
            self._cut_to(self.log.log_end_offset)

    def restart_at(self, offset: int) -> None:
        """Drop everything and continue at ``offset``, the start of the leader's log. Raises OSError."""
        logger.warning("%s: the leader's log begins at offset %d: dropping the whole log here", self.name, offset)
        self.log.truncate_fully_and_start_at(offset)
        self.high_watermark = offset
        self._cut_to(offset)

    def _advance(self, high_watermark: int) -> None:
        """Set the high watermark. Transactions that ended below it no longer limit the last stable offset."""
        self.high_watermark = high_watermark
        producers = self.log.producers
        if producers.ended:
            producers.high_watermark_advanced(high_watermark)

    def _cut_to(self, end_offset: int) -> None:
        self._advance(min(self.high_watermark, end_offset))
        self.cleaned_offset = min(self.cleaned_offset, end_offset)
        self._set(self._waiting)

    # Waiting.

    def wake(self) -> None:
        """Wake all waiting tasks after a change of state."""
        self._set(self._waiting)
        self._set(self._waiting_for_more)

    def _set(self, watchers: set[Watcher]) -> None:
        self.changes += 1
        for watcher in watchers:
            watcher.set()

    async def committed(self, offset: int, leadership: Leadership | None) -> None:
        """Return once everything below ``offset``, which ``leadership`` has appended, is committed. The caller bounds
        the wait.

        Raises KafkaError NOT_LEADER_OR_FOLLOWER if ``leadership`` has ended, or ends first: another leader may have
        truncated the records, and a later leadership may have others at their offsets. NOT_ENOUGH_REPLICAS_AFTER_APPEND
        if fewer replicas than ``min.insync.replicas`` are in sync by then.
        """
        leadership = await self._until(lambda leadership: self.high_watermark >= offset, leadership)
        if len(leadership.maximal_isr) < leadership.min_isr:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    async def all_committed(self) -> None:
        """Return once the present log is committed, however many replicas are in sync then.

        Raises KafkaError NOT_LEADER_OR_FOLLOWER if this leadership ends first.
        """
        end_offset = self.log.log_end_offset
        await self._until(lambda leadership: self.high_watermark >= end_offset, self.leadership)

    async def committed_or_stalled(self, offset: int) -> None:
        """Return once everything below ``offset`` is committed, or will not be for now: below ``min.insync.replicas``
        the high watermark stays (KIP-966).

        Raises KafkaError NOT_LEADER_OR_FOLLOWER if this leadership ends first.
        """
        await self._until(lambda its: self.high_watermark >= offset or len(its.isr) < its.min_isr, self.leadership)

    async def deleted(self, offset: int) -> int:
        """Return the low watermark once every live replica's log begins at ``offset`` or later. The caller bounds the
        wait.

        Raises KafkaError NOT_LEADER_OR_FOLLOWER if this leadership ends first.
        """

        def low_watermark(leadership: Leadership) -> int:
            return leadership.low_watermark(self.log.log_start_offset)

        return low_watermark(await self._until(lambda its: low_watermark(its) >= offset, self.leadership))

    async def _until(self, condition: Callable[[Leadership], bool], leadership: Leadership | None) -> Leadership:
        """Wait until ``condition`` is true of ``leadership``, and return this. Raises KafkaError
        NOT_LEADER_OR_FOLLOWER if it has ended, or ends first.
        """
        while leadership is not None and self.leadership is leadership:
            if condition(leadership):
                return leadership
            changed = trio.Event()
            stop = self.watch(changed)
            try:
                await changed.wait()
            finally:
                stop()
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def check_min_insync(self) -> None:
        """Check the ISR before an append with acks=all (``min.insync.replicas``).

        Raises KafkaError NOT_ENOUGH_REPLICAS if the ISR is too small.
        """
        if self.leadership is not None and len(self.leadership.isr) < self.leadership.min_isr:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)

    def has_enough_in_sync(self) -> bool:
        """Return whether this broker leads, and enough replicas are in sync for ``acks=all``."""
        leadership = self.leadership
        return leadership is not None and len(leadership.isr) >= leadership.min_isr

    def watch(self, watcher: Watcher, *, uncommitted: bool = False) -> Callable[[], None]:
        """Set ``watcher`` when more records become visible or the ISR changes; with ``uncommitted`` already when they
        are appended.

        Returns a function that ends the watch.
        """
        watchers = self._waiting_for_more if uncommitted else self._waiting
        watchers.add(watcher)
        return lambda: watchers.discard(watcher)

    def records(self) -> Iterator[Record]:
        """Yield every record of the log, from its start to its present end, without control records."""
        return (record for header, record in self.all_records() if not header.is_control)

    def all_records(self) -> Iterator[tuple[BatchHeader, Record]]:
        """Yield every record of the log with the header of its batch, from its start to its present end."""
        offset = self.log.log_start_offset
        end = self.log.log_end_offset
        while offset < end:
            piece = self.log.read(offset, _READ_BYTES, end)
            if not piece.length:
                return  # compaction has emptied the end of the log
            data = os.pread(piece.file.fileno(), piece.length, piece.position)
            position = 0
            while position < len(data):
                header = parse_header(data, position)
                if position + header.size > len(data):
                    break
                for record in read_records(data, position, header, max_bytes=MAX_DECOMPRESSED_BYTES):
                    if record.offset >= offset:
                        yield header, record
                offset = header.next_offset
                position += header.size
