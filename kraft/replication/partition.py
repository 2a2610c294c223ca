"""One partition that this broker holds: its log, its place in the metadata, its role, and who waits for it to grow."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from uuid import UUID

import attrs
import trio

from kraft.broker.leadership import Appended, Assignment, Conditions, Event, Fetched, Leadership, Proposal
from kraft.config.topic import LogConfig
from kraft.metadata.partitions import Partition
from kraft.records.batch import BatchHeader, iter_headers, parse_header
from kraft.records.produced import ProduceRules
from kraft.records.record import Record, read_records
from kraft.storage.checkpoint import TopicPartition
from kraft.storage.log import AppendInfo, Log
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.varint import Buffer

logger = logging.getLogger("kraft.replicas")

_READ_BYTES = 1 << 20
_MAX_DECOMPRESSED_BYTES = 256 << 20


def _keep(partition: HostedPartition, proposal: Proposal) -> None:
    """For a partition of one replica there is nothing to propose."""


@attrs.define(eq=False)
class HostedPartition:
    """The log of one partition on this broker, and this broker's part in it.

    ``high_watermark`` and ``last_stable_offset`` bound what consumers see. ``leadership`` is there for as long as this
    broker leads the partition; else it follows ``state.leader``, or nobody. ``propose`` takes an ISR to the controller.
    """

    topic: str
    topic_id: UUID
    index: int
    log: Log
    state: Partition
    high_watermark: int = 0
    checkpointed_start_offset: int = 0
    """The entry in ``log-start-offset-checkpoint``: the log begins there or at its first segment after a kill."""
    cleaned_offset: int = 0
    """Everything below is compacted."""
    propose: Callable[[HostedPartition, Proposal], None] = _keep
    leadership: Leadership | None = None
    flushed_at_ms: int = 0
    """When the log was last made durable because of ``flush.ms``."""
    produce_rules: tuple[LogConfig, ProduceRules] | None = None
    """What a client may append, and the configuration that says so."""
    _waiting: set[trio.Event] = attrs.Factory(set)
    _waiting_for_more: set[trio.Event] = attrs.Factory(set)

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def where(self) -> TopicPartition:
        """Its key in the checkpoint files."""
        return self.topic, self.index

    @property
    def is_leader(self) -> bool:
        return self.leadership is not None

    @property
    def last_stable_offset(self) -> int:
        return self.high_watermark

    @property
    def highest_checkpoint(self) -> int:
        """No checkpoint has a higher offset for this partition."""
        return max(self.log.recovery_point, self.log.log_start_offset, self.high_watermark, self.cleaned_offset)

    @property
    def is_start_durable(self) -> bool:
        """Whether the log begins at the same offset again after a kill: a checkpoint says so, or its first segment."""
        return self.log.log_start_offset == max(self.checkpointed_start_offset, self.log.segments[0].base_offset)

    # Roles.

    def lead(self, conditions: Conditions, state: Partition, now_ms: float) -> None:
        """Be the leader of ``state``, or go on being it."""
        self.state = state
        if len(state.replicas) > 1 and self.log.epochs.latest < state.leader_epoch:
            # A follower may have records of an epoch that this log never saw: it must find one that is newer (KIP-279).
            try:
                self.log.epochs.assign(state.leader_epoch, self.log.log_end_offset)
            except OSError as error:  # the first append tries again
                logger.error("%s: cannot write down the leader epoch: %s", self.name, error)
        assignment = Assignment(state.replicas, state.isr, state.leader_epoch, state.partition_epoch)
        if self.leadership is None:
            self.leadership = Leadership(conditions, assignment, self.log.log_end_offset, self.high_watermark, now_ms)
            self.high_watermark = self.leadership.high_watermark
        else:
            self.step(now_ms, assignment)
        self.wake()

    def follow(self, state: Partition) -> None:
        """Lead no more, if this broker did."""
        self.state = state
        self.leadership = None
        self.wake()

    def step(self, now_ms: float, event: Event) -> None:
        """Tell the leadership what happened, and do what it says. Nothing, if there is none any more."""
        if self.leadership is None:
            return
        effects = self.leadership.step(now_ms, event)
        if effects.high_watermark is not None:
            self.high_watermark = effects.high_watermark
            self._set(self._waiting)
        if effects.proposal is not None:
            self.propose(self, effects.proposal)

    def fetched(self, now_ms: float, event: Fetched) -> None:
        """Count what a follower says of itself by asking; the leadership has checked that it may."""
        if self.leadership is None:
            return
        before = self.leadership.followers[event.replica_id].log_start_offset
        self.step(now_ms, event)
        if event.log_start_offset != before:
            self._set(self._waiting)

    def check_epoch(self, current_leader_epoch: int) -> None:
        """Compare the epoch that a client believes in with ours (KIP-320); a negative one means that it has no belief.

        Raises:
            KafkaError: FENCED_LEADER_EPOCH for an older one, UNKNOWN_LEADER_EPOCH for one from the future.
        """
        if current_leader_epoch < 0 or current_leader_epoch == self.state.leader_epoch:
            return
        older = current_leader_epoch < self.state.leader_epoch
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Largest known epoch not above ``epoch``, and where it ends (KIP-320); -1 for both if ``epoch`` is unknown."""
        if epoch == self.state.leader_epoch:
            return epoch, self.log.log_end_offset  # the epoch of now may not have written anything yet
        return self.log.end_offset_for_epoch(epoch)

    def append(
        self, buffer: bytearray | memoryview, now_ms: int, headers: list[tuple[int, BatchHeader]] | None = None
    ) -> AppendInfo:
        """Append batches as the leader and wake those who wait for them."""
        if headers is None:
            headers = list(iter_headers(buffer))
        appended = self.log.append_as_leader(buffer, headers, self.state.leader_epoch, now_ms)
        self._set(self._waiting_for_more)
        self.step(now_ms, Appended(appended.last_offset + 1))
        return appended

    def append_fetched(self, batches: Buffer, now_ms: int) -> None:
        """Append whole and checked batches of the leader, that follow what this log has.

        Raises:
            KafkaError: OFFSET_OUT_OF_RANGE if they do not. OSError.
        """
        log = self.log
        base_offset = parse_header(batches).base_offset
        if self.begins_within(base_offset):
            start_offset = log.log_start_offset
            log.truncate_fully_and_start_at(base_offset)
            log.append_as_follower(batches, now_ms)
            log.delete_records(min(start_offset, log.log_end_offset))
            self._cut_to(log.log_end_offset)
        else:
            log.append_as_follower(batches, now_ms)

    def begins_within(self, base_offset: int) -> bool:
        """Whether the leader's log begins within a batch (KIP-107); its records that were deleted come along.

        The log, which has nothing yet, then begins anew at ``base_offset``.
        """
        return base_offset < self.log.log_end_offset == self.log.log_start_offset

    def learn(self, high_watermark: int, log_start_offset: int) -> None:
        """Take over from the leader what is committed and what is deleted, as far as it is here."""
        high_watermark = min(high_watermark, self.log.log_end_offset)
        if high_watermark > self.high_watermark:
            self.high_watermark = high_watermark
        if log_start_offset > self.log.log_start_offset:
            self.log.delete_records(min(log_start_offset, self.high_watermark))

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Drop what the leader does not have. Raises: OSError."""
        if offset < self.high_watermark:
            logger.warning("%s: cut to %d, below what was committed, %d", self.name, offset, self.high_watermark)
        self.log.truncate_to(offset, now_ms)
        self._cut_to(self.log.log_end_offset)

    def restart_at(self, offset: int) -> None:
        """Drop everything and go on at ``offset``, where the leader's log begins. Raises: OSError."""
        logger.warning("%s: the leader's log begins at %d: nothing here is kept", self.name, offset)
        self.log.truncate_fully_and_start_at(offset)
        self.high_watermark = offset
        self._cut_to(offset)

    def _cut_to(self, end_offset: int) -> None:
        self.high_watermark = min(self.high_watermark, end_offset)
        self.cleaned_offset = min(self.cleaned_offset, end_offset)

    # Waiting.

    def wake(self) -> None:
        """Something changed that whoever waits may want to see."""
        self._set(self._waiting)
        self._set(self._waiting_for_more)

    def _set(self, events: set[trio.Event]) -> None:
        for event in events:
            event.set()

    async def committed(self, offset: int) -> None:
        """Return once everything below ``offset``, which is in the log, is committed. The caller bounds the wait.

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER if this leadership has ended before, NOT_ENOUGH_REPLICAS_AFTER_APPEND if
                fewer replicas are in sync by now than ``min.insync.replicas`` wants.
        """
        leadership = await self._as_leader(lambda leadership: self.high_watermark >= offset)
        if len(leadership.maximal_isr) < leadership.min_isr:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    async def deleted(self, offset: int) -> int:
        """Return the low watermark once no replica that is alive begins below ``offset``. The caller bounds the wait.

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER if this leadership has ended before.
        """

        def low_watermark(leadership: Leadership) -> int:
            return leadership.low_watermark(self.log.log_start_offset)

        return low_watermark(await self._as_leader(lambda leadership: low_watermark(leadership) >= offset))

    async def _as_leader(self, so: Callable[[Leadership], bool]) -> Leadership:
        """Wait until ``so`` is true of the present leadership. Raises: KafkaError NOT_LEADER_OR_FOLLOWER."""
        leadership = self.leadership
        while leadership is not None and self.leadership is leadership:
            if so(leadership):
                return leadership
            changed = trio.Event()
            stop = self.watch(changed)
            try:
                await changed.wait()
            finally:
                stop()
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def check_min_insync(self) -> None:
        """With acks=all the in-sync set must be large enough (``min.insync.replicas``).

        Raises:
            KafkaError: NOT_ENOUGH_REPLICAS.
        """
        if self.leadership is not None and len(self.leadership.isr) < self.leadership.min_isr:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)

    def watch(self, event: trio.Event, *, uncommitted: bool = False) -> Callable[[], None]:
        """Set ``event`` when more can be seen here, also if ``uncommitted``; call what is returned to end that."""
        watchers = self._waiting_for_more if uncommitted else self._waiting
        watchers.add(event)
        return lambda: watchers.discard(event)

    def records(self) -> Iterator[Record]:
        """Every record of the log that is not a control record, from its start to its end now."""
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
                if not header.is_control:
                    for record in read_records(data, position, header, max_bytes=_MAX_DECOMPRESSED_BYTES):
                        if record.offset >= offset:
                            yield record
                offset = header.next_offset
                position += header.size
