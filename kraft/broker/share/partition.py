"""The pure state of one partition for one share group, at the partition's leader (KIP-932).

Records from the start offset to the end offset are in flight: each is available, acquired by a member until its lock
ends, or at its end, acknowledged or archived. The start offset follows the records at their end. Records from the end
offset on were never delivered. ``now`` is any clock in seconds.

A record is delivered ``max_deliveries`` times at most, and never to two members at a time. An acknowledgement begins a
:class:`ShareTransition`, which holds once the share coordinator has written it. The end of a lock holds at once: if its
write is lost, the next leader delivers the record once more.

Apache's ``SharePartition`` keeps the log's batches, and splits one only for acknowledgements of its parts. Here every
batch is a run of offsets, and runs are split as needed. ``max_in_flight`` bounds all work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import attrs

from kraft.broker.share.runs import NO_LOCK, RecordState, Run, Runs, ShareTransition, StateChange
from kraft.wire.errors import ErrorCode, KafkaError

RENEW = 4
ACKNOWLEDGEMENT_TYPES = {1: "Accept", 2: "Release", 3: "Reject", RENEW: "Renew"}
"""Kafka's names of the types. A gap is none of them."""
_OUTCOMES = {0: RecordState.ARCHIVED, 1: RecordState.ACKNOWLEDGED, 2: RecordState.AVAILABLE, 3: RecordState.ARCHIVED}
"""The outcomes by the types of acknowledgements: gap, accept, release, reject."""
_MIN_DELIVERIES_TO_THROTTLE = 2
"""Apache's ``MINIMUM_THROTTLE_RECORDS_DELIVERY_LIMIT``."""


@attrs.frozen
class SharePartitionSettings:
    """Settings of the group, or else of the broker."""

    max_deliveries: int = 5
    lock_duration_s: float = 30.0
    max_in_flight: int = 2000


class Acquired(NamedTuple):
    """Records that a member may process."""

    first_offset: int
    last_offset: int
    delivery_count: int


@attrs.frozen
class Acquisition:
    """A member's request for records of the batches that its Fetch read, from ``fetch_offset`` on.

    ``batches`` are their first and last offsets. ``aborted`` are those of the batches of aborted transactions, which a
    group with read_committed does not see. ``keeps_limit`` never takes more than ``max_records`` (KIP-1206). Otherwise
    a batch is taken whole. ``batch_size`` is the number of records for which a batch of its own begins.
    """

    member_id: str
    fetch_offset: int
    batches: Sequence[tuple[int, int]]
    max_records: int
    batch_size: int = 500
    keeps_limit: bool = False
    aborted: Sequence[tuple[int, int]] = ()


class Acknowledgement(NamedTuple):
    """The outcomes of records: one type for all, or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]


@attrs.define(eq=False)
class SharePartition:
    """The records in flight. ``settings`` may change at any time."""

    settings: Callable[[], SharePartitionSettings]
    start_offset: int
    state_epoch: int = 0
    end_offset: int = attrs.field(init=False)
    runs: Runs = attrs.field(init=False, factory=Runs)
    _may_be_free: bool = False
    """Whether a run below the end offset may be available."""
    _deadline: float = NO_LOCK

    def __attrs_post_init__(self) -> None:
        self.end_offset = self.start_offset

    def load(self, batches: Iterable[StateChange]) -> None:
        """Take over the state that the former leader wrote. Records of which it wrote nothing are available.

        Raises KafkaError UNKNOWN_SERVER_ERROR for a state that no leader writes.
        """
        for first, last, state, deliveries in batches:
            if not self.end_offset <= first <= last or state not in (0, 2, 4):
                text = f"the state of the share partition is damaged: {(first, last, state, deliveries)}"
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
            if self.end_offset < first:
                self.runs.items.append(Run(self.end_offset, first - 1))
            self.runs.items.append(Run(first, last, RecordState(state), deliveries))
            self.end_offset = last + 1
        self._may_be_free = True
        self._advance()

    @property
    def deadline(self) -> float:
        """When to call :meth:`expire` at the latest."""
        return self._deadline

    @property
    def delivery_complete_count(self) -> int:
        """The records in flight that are at their end (KIP-1226)."""
        return sum(len(run) for run in self.runs if run.state.is_terminal)

    @property
    def is_held(self) -> bool:
        """Whether a member holds any record, or a transition of one is under way."""
        return any(run.state is RecordState.ACQUIRED or run.transition is not None for run in self.runs)

    # Delivering.

    def next_fetch_offset(self) -> int:
        """Return the first offset that a member may acquire."""
        if self._may_be_free:
            for run in self.runs:
                if run.is_free:
                    return run.first
            self._may_be_free = False
        return self.end_offset

    @property
    def can_acquire(self) -> bool:
        """Whether any record may be acquired: not while too many are in flight."""
        in_flight = self.end_offset - self.start_offset
        return self.next_fetch_offset() != self.end_offset or in_flight < self.settings().max_in_flight

    def acquire(self, now: float, wanted: Acquisition) -> list[Acquired]:
        """Lock records for a member: available ones first, then new ones."""
        if not wanted.batches:
            return []
        self._archive_missing(wanted.fetch_offset, wanted.batches[0][0])
        settings = self.settings()
        base, last = max(wanted.batches[0][0], self.start_offset), wanted.batches[-1][1]
        limit = min(wanted.max_records, settings.max_in_flight - (self.end_offset - self.start_offset))
        if limit <= 0:
            limit, last = wanted.max_records, min(last, self.end_offset - 1)
        if limit <= 0 or last < base:
            return []
        acquired, left = self._acquire_again(now, wanted, base, last, limit)
        if left > 0:
            acquired += self._acquire_new(now, wanted, max(base, self.end_offset), last, left)
        for first, last in wanted.aborted:
            acquired = self._archive_aborted(acquired, first, last)
        return acquired

    def _archive_missing(self, fetch_offset: int, base: int) -> None:
        """Archive available records that the log does not have any more: the read skipped them."""
        if fetch_offset < base:
            for run in self.runs.cut(fetch_offset, base - 1):
                if run.is_free:
                    run.leave(RecordState.ARCHIVED)
            self._advance()

    def _acquire_again(
        self, now: float, wanted: Acquisition, base: int, last: int, limit: int
    ) -> tuple[list[Acquired], int]:
        """Lock available records. Return them, and how many new records may follow."""
        acquired: list[Acquired] = []
        for run in self.runs.overlapping(base, last):
            if limit <= 0:
                break
            if not run.is_free:
                continue
            first = max(run.first, base)
            size = min(run.last, last) - first + 1
            allowance = self._allowance(run)
            if allowance is not None and acquired:
                return acquired, 0
            if wanted.keeps_limit:
                size = min(size, limit)
            if allowance is not None:
                size = min(size, allowance)
            (cut,) = self.runs.cut(first, first + size - 1)
            self._lock(now, cut, wanted.member_id)
            acquired.append(Acquired(cut.first, cut.last, cut.deliveries))
            if allowance is not None:
                return acquired, 0
            limit -= size
        return acquired, limit

    @property
    def _throttle_from(self) -> int:
        return max(_MIN_DELIVERIES_TO_THROTTLE, math.ceil(self.settings().max_deliveries / 2))

    def _allowance(self, run: Run) -> int | None:
        """Return how many records of a run are delivered together; None for all.

        A record that makes its consumer fail takes those with it that are delivered beside it. So each further delivery
        has half as many, and the last one has one, as in Apache.
        """
        excess = run.deliveries - self._throttle_from
        if excess < 0:
            return None
        max_deliveries = self.settings().max_deliveries
        if max_deliveries > _MIN_DELIVERIES_TO_THROTTLE and run.deliveries >= max_deliveries - 1:
            return 1
        return max(1, len(run) >> (excess + 1))

    def _acquire_new(self, now: float, wanted: Acquisition, first: int, last: int, limit: int) -> list[Acquired]:
        if last < first:
            return []
        if limit < last - first + 1:
            aligned = next(end for base, end in wanted.batches if end >= first + limit - 1)
            last = first + limit - 1 if wanted.keeps_limit else aligned
        if first > self.end_offset and self.runs:
            self.runs.items.append(Run(self.end_offset, first - 1, RecordState.ARCHIVED))  # the log lacks these offsets
        elif first > self.end_offset:
            self.start_offset = first
        bounds = [first]
        for base, _ in wanted.batches:
            if base <= last and base - bounds[-1] >= wanted.batch_size and not wanted.keeps_limit:
                bounds.append(base)
        bounds.append(last + 1)
        self.end_offset = last + 1
        acquired = []
        for begin, end in pairwise(bounds):
            run = Run(begin, end - 1)
            self.runs.items.append(run)
            self._lock(now, run, wanted.member_id)
            acquired.append(Acquired(run.first, run.last, run.deliveries))
        return acquired

    def _lock(self, now: float, run: Run, member_id: str) -> None:
        until = now + self.settings().lock_duration_s
        run.lock(member_id, until)
        self._deadline = min(self._deadline, until)

    def _archive_aborted(self, acquired: list[Acquired], first: int, last: int) -> list[Acquired]:
        """Archive the records of an aborted transaction among the acquired ones, and return the others."""
        kept = []
        for each in acquired:
            begin, end = max(first, each.first_offset), min(last, each.last_offset)
            if begin > end:
                kept.append(each)
                continue
            for run in self.runs.cut(begin, end):
                run.leave(RecordState.ARCHIVED)
            if each.first_offset < begin:
                kept.append(each._replace(last_offset=begin - 1))
            if end < each.last_offset:
                kept.append(each._replace(first_offset=end + 1))
        self._advance()
        return kept

    # Outcomes.

    def acknowledge(self, now: float, member_id: str, batches: Iterable[Acknowledgement]) -> ShareTransition:
        """Begin the outcomes of acquired records, all or none of them.

        Raises KafkaError INVALID_RECORD_STATE for records that the member does not hold, INVALID_REQUEST for offsets
        that were never delivered.
        """
        transition = ShareTransition()
        try:
            for batch in batches:
                if batch.last_offset >= self.start_offset:
                    self._acknowledge(now, member_id, batch, transition)
        except KafkaError:
            self.finish(now, transition, committed=False)
            raise
        return transition

    def _acknowledge(self, now: float, member_id: str, batch: Acknowledgement, transition: ShareTransition) -> None:
        if not self.runs:
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, "No records are in flight.")
        if batch.last_offset >= self.end_offset:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The batch goes past the acquired records.")
        begin = max(batch.first_offset, self.start_offset)
        for first, last, kind in _outcomes(batch, begin):
            for run in self.runs.cut(first, last):
                if run.state is not RecordState.ACQUIRED or run.transition is not None:
                    raise KafkaError(ErrorCode.INVALID_RECORD_STATE, "A record of the batch is not acquired.")
                if run.member_id != member_id:
                    raise KafkaError(ErrorCode.INVALID_RECORD_STATE, "Another member holds a record of the batch.")
                if kind == RENEW:
                    run.locked_until = now + self.settings().lock_duration_s
                else:
                    run.begin(transition, self._outcome(run, _OUTCOMES[kind]))

    def _outcome(self, run: Run, state: RecordState) -> RecordState:
        return run.freed(self.settings().max_deliveries) if state is RecordState.AVAILABLE else state

    def release(self, member_id: str) -> ShareTransition:
        """Begin to free all records that a member holds, because its session ends."""
        transition = ShareTransition()
        for run in self.runs:
            if run.state is RecordState.ACQUIRED and run.member_id == member_id and run.transition is None:
                run.begin(transition, self._outcome(run, RecordState.AVAILABLE))
        return transition

    def finish(self, now: float, transition: ShareTransition, *, committed: bool) -> None:
        """End a transition: its changes are written, or taken back."""
        max_deliveries = self.settings().max_deliveries
        for run in transition.runs:
            run.finish(now, max_deliveries, committed=committed)
            self._deadline = min(self._deadline, run.locked_until)
        self._may_be_free = True
        self._advance()

    def expire(self, now: float) -> list[StateChange]:
        """Free the records whose locks ended, and return the changes to write.

        The lock of a record in a transition ends with the transition.
        """
        changes = []
        self._deadline = NO_LOCK
        for run in self.runs:
            if run.transition is not None:
                continue
            if run.locked_until <= now:
                run.leave(run.freed(self.settings().max_deliveries))
                changes.append(StateChange(run.first, run.last, run.state, run.deliveries))
                self._may_be_free = True
            else:
                self._deadline = min(self._deadline, run.locked_until)
        self._advance()
        return changes

    def move_start(self, log_start_offset: int) -> None:
        """Forget the records below the log's start offset: they are deleted."""
        if log_start_offset > self.start_offset:
            self.runs.drop_before(log_start_offset)
            self.start_offset = log_start_offset
            self.end_offset = max(self.end_offset, log_start_offset)
            self._advance()

    def _advance(self) -> None:
        """Move the start offset past the records that are at their end."""
        done = 0
        for run in self.runs:
            if not run.is_done:
                break
            self.start_offset = run.last + 1
            done += 1
        del self.runs.items[:done]


def _outcomes(batch: Acknowledgement, begin: int) -> Iterable[tuple[int, int, int]]:
    """Yield the offsets from ``begin`` on in groups of one type."""
    if len(batch.types) == 1:
        yield begin, batch.last_offset, batch.types[0]
        return
    first = begin
    for offset in range(begin, batch.last_offset + 1):
        kind = batch.types[offset - batch.first_offset]
        if offset == batch.last_offset or batch.types[offset + 1 - batch.first_offset] != kind:
            yield first, offset, kind
            first = offset + 1
