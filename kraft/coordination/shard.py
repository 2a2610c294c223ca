"""One coordinated partition: load, decide, append, wait for the commit, then replay and reply.

A shard does one piece of work at a time, in the order of arrival, as Apache's ``CoordinatorRuntime`` does: it decides
on an event, encodes and appends the records, and replays what is committed. The task of a request does its work at
once. If that is longer than a slice, or if other work waits, the shard's own task does it, in slices. Records that are
not committed wait in a queue in log order.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar, cast

import attrs
import trio

from kraft.broker.leadership import Leadership
from kraft.coordinator.core import (
    Committed,
    CoordinatorCore,
    CoordinatorDeadlineReached,
    CoordinatorEffects,
    CoordinatorRequest,
    StoredRecord,
    Token,
    TransactionalBatch,
)
from kraft.metadata.steps import Steps
from kraft.records.batch import NO_PRODUCER_ID
from kraft.records.control import EndTransactionMarker
from kraft.records.record import encode_pairs
from kraft.replication.partition import HostedPartition
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.clock import Clock
from kraft.world.slices import Slices, in_slices

logger = logging.getLogger("kraft.coordinator")

_SLICE = 400
"""Not a Kafka setting. The cost of the steps of a shard before other tasks run: a few milliseconds of work."""
_STEPS = _SLICE >> 4
"""Not a Kafka setting. The cost of the steps after which the shard looks at its slice, and whether it has resigned."""
_FEW_WAITING = 1000
"""Not a Kafka setting. Up to so many replies may wait for a commit before those past their deadline are dropped."""


C = TypeVar("C", bound=CoordinatorCore[Any, Any])
T = TypeVar("T")
Effects = CoordinatorEffects[Any]


_NOT_AVAILABLE = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
_NO_PRODUCER = TransactionalBatch(NO_PRODUCER_ID, -1)


class ReplySlot:
    """The pending reply to one request: a response, or the KafkaError of a refusal. Also the request's token."""

    __slots__ = ("_arrived", "_scope", "answer", "deadline_s")

    def __init__(self) -> None:
        self.answer: Any = None
        self.deadline_s = math.inf
        self._arrived: trio.Event | None = None
        self._scope: trio.CancelScope | None = None

    def limit(self, deadline_s: float) -> None:
        """Let the reply be waited for until ``deadline_s`` at most, also if the wait has begun."""
        self.deadline_s = deadline_s
        if self._scope is not None:
            self._scope.deadline = deadline_s

    def put(self, answer: Any) -> None:
        self.answer = answer
        if self._arrived is not None:
            self._arrived.set()

    def get(self) -> Any:
        """Return the response. Raises KafkaError if the request was refused."""
        if isinstance(self.answer, KafkaError):
            raise self.answer.anew()
        return self.answer

    async def wait(self) -> Any:
        """Wait for the response, at most until ``deadline_s``.

        Raises KafkaError with the reason of a refusal, or COORDINATOR_NOT_AVAILABLE if the records are not committed in
        time.
        """
        if self.answer is None:
            self._arrived = trio.Event()
            with trio.move_on_at(self.deadline_s) as self._scope:
                await self._arrived.wait()
        if self.answer is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return self.get()


@attrs.frozen
class Written:
    """The effects of a step whose records were appended, up to ``end_offset``, and are not replayed yet."""

    end_offset: int
    effects: Effects


@attrs.define(eq=False)
class Work:
    """The steps of one event, or of the replay of committed records if ``event`` is None.

    ``effects`` are those of the event, then those of the commits that were replayed.
    """

    event: Any
    effects: list[Effects]
    steps: Steps[None]
    finished: trio.Event | None = None

    def refuse(self, reason: KafkaError) -> None:
        """Fail the requests whose responses wait for the end of the work."""
        if isinstance(self.event, CoordinatorRequest):
            _refuse([self.event.token], reason)
        for effects in self.effects:
            _refuse_all(effects, reason)
        self.end()

    def end(self) -> None:
        if self.finished is not None:
            self.finished.set()


@attrs.define(eq=False)
class Shard(Generic[C]):
    """One partition, from this broker's election until another replica leads.

    ``perform_own`` performs the effects that only this kind of core has: at the end of the load, and of each step whose
    records are committed. It neither raises nor waits. A request waits for its commit for ``commit_timeout_s``.
    ``is_active`` is false while the partition is loaded. ``now`` returns the time of the core in seconds.
    """

    index: int
    partition: HostedPartition
    core: C
    clock: Clock
    now: Callable[[], float]
    commit_timeout_s: float
    perform_own: Callable[[Shard[C], Any], None] = lambda shard, effects: None
    is_active: bool = False
    must_reload: bool = False
    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    _loading: int = attrs.field(default=0, init=False)
    """The offset of the record that the core loads, or of the next one."""
    leadership: Leadership | None = attrs.field(init=False)
    _works: deque[Work] = attrs.Factory(deque)
    """The work under way, and the work that waits for its end."""
    _uncommitted: deque[Written] = attrs.Factory(deque)
    _most_waiting: int = _FEW_WAITING
    _deadline: float = 0.0
    _woken: trio.Event = attrs.Factory(trio.Event)
    """Wakes :meth:`serve`: when the high watermark advances, while records are uncommitted, for an earlier deadline,
    and for work.
    """
    _stop_watching: Callable[[], None] = lambda: None

    def __attrs_post_init__(self) -> None:
        self.leadership = self.partition.leadership

    # Loading.

    async def load(self) -> None:
        """Load the whole log.

        Raises:
            DecodeError: a record is damaged, or a newer Kafka wrote its value. The message has its offset.
            KafkaError, OSError: from the log.
        """
        try:
            await in_slices(self.core.load(self._records()))
        except DecodeError as error:
            raise DecodeError(f"the record at offset {self._loading}: {error}") from None

    def _records(self) -> Iterator[StoredRecord]:
        self._loading = self.partition.log.log_start_offset
        for header, record in self.partition.all_records():
            self._loading = record.offset
            if header.is_control:
                marker = EndTransactionMarker.from_record(record)
                if marker is not None:
                    yield StoredRecord(None, None, header.producer_id, marker.committed)
            else:
                producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
                yield StoredRecord(record.key, record.value, producer_id, offset=record.offset)
            self._loading += 1

    async def begin(self) -> None:
        """Start the loaded core, and perform what it left unfinished."""
        effects = self.core.new_effects()
        await in_slices(self.core.begin(self.now(), effects))
        self.perform_own(self, effects)

    # Serving.

    async def read(self, work: Steps[T], every: int | Slices) -> T:
        """Run ``work``, which reads the core, in slices. Return its result.

        Raises KafkaError if the partition stopped being served meanwhile, so that a part of the core was freed:
        NOT_COORDINATOR, or COORDINATOR_LOAD_IN_PROGRESS if it is loaded again.
        """
        found = await in_slices(work, every)
        if not self.is_active:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if self.must_reload else ErrorCode.NOT_COORDINATOR)
        return found

    def submit(self, request: Request, message: Any, version: int | None = None) -> Reply:
        """Perform a request. Return its response, or Parked until its records are committed or a rebalance ends.

        ``version`` is that of ``message``, if the request is of another API.

        Raises KafkaError COORDINATOR_NOT_AVAILABLE if the append failed.
        """
        host = f"/{request.connection.host}"
        version = request.api_version if version is None else version
        slot = self.request(message, version, request.client_id or "", host)
        return Parked(slot.wait) if slot.answer is None else slot.get()

    def request(self, message: Any, version: int = 0, client_id: str = "", client_host: str = "") -> ReplySlot:
        """Perform a request, of a client or of this broker itself, and return its pending reply."""
        slot = ReplySlot()
        self.take(CoordinatorRequest(slot, message, version, client_id, client_host))
        return slot

    def take(self, event: Any) -> Work:
        """Perform an event behind those before it: its first slice at once, if there are none."""
        effects: list[Effects] = [self.core.new_effects()]
        work = Work(event, effects, self._steps_of(event, effects))
        self._take(work)
        return work

    def _take(self, work: Work) -> None:
        if not self._works:
            try:
                if _ends_soon(work.steps):
                    return
            except Exception:
                self._failed()
                work.refuse(_NOT_AVAILABLE)
                return
        self._works.append(work)
        self._woken.set()

    def _failed(self) -> None:
        """Reload the partition, as after a failed append: an error that nobody foresaw may have left a change half
        done.
        """
        logger.exception("%s: an event failed; the partition is loaded again", self.partition.name)
        self._reload()

    async def perform(self, event: Any) -> int:
        """Perform an event of the broker, and return the number of records that it appended."""
        work = self.take(event)
        if not self.is_active:  # the caller is the task that loads the partition, and nobody else has work
            await self._work_off()
        elif work in self._works:
            work.finished = trio.Event()
            await work.finished.wait()
        return len(work.effects[0].append)

    def _steps_of(self, event: Any, done: list[Effects]) -> Steps[None]:
        """Step the core with an event, and perform its effects."""
        effects = done[0]
        yield from self.core.in_steps(self.now(), event, effects)
        if effects.append:
            try:
                yield from self._append(effects)
            except (KafkaError, OSError) as error:
                self._append_failed(effects, error)
                return
            yield from self._replay(done)
        elif self._uncommitted:
            # The responses may describe records of earlier steps (Apache: CoordinatorRuntime does the same).
            self._limit(effects)
            self._reply_once_committed(effects)
        else:
            yield from _answered(effects.replies_once_committed)
        yield from _answered(effects.replies)
        if not effects.append:
            self.perform_own(self, effects)
        if self.core.deadline < self._deadline:
            self._woken.set()

    def _reply_once_committed(self, effects: Effects) -> None:
        """Add the replies to those of the last uncommitted records, which may stay uncommitted for days. So the replies
        for which nobody waits any more are dropped each time that there are twice as many.
        """
        waiting = self._uncommitted[-1].effects.replies_once_committed
        waiting.extend(effects.replies_once_committed)
        if len(waiting) > self._most_waiting:
            now = trio.current_time()
            waiting[:] = (each for each in waiting if cast(ReplySlot, each[0]).deadline_s > now)
            self._most_waiting = max(2 * len(waiting), _FEW_WAITING)

    def _append(self, effects: Effects) -> Steps[None]:
        """Encode the records of a decision, then append them as one batch.

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER if the leadership ended, or an error of the log.
            OSError: the log cannot be written.
        """
        now_ms = self.clock.now_ms()
        pairs = ((each.key, each.value) for each in effects.append)
        producer = effects.transactional or _NO_PRODUCER
        batch = yield from encode_pairs(
            pairs,
            base_offset=0,
            leader_epoch=0,
            timestamp_ms=now_ms,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            control=producer.marker is not None,
        )
        if self.partition.leadership is not self.leadership:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        end_offset = self.partition.append(bytearray(batch), now_ms, marker=producer.marker).last_offset + 1
        if self.partition.log.must_flush:
            self.partition.log.flush_at_once()  # one batch, and nothing may overtake its response
        self._limit(effects)
        if not self._uncommitted:
            self._stop_watching = self.partition.watch(self._woken)
        self._uncommitted.append(Written(end_offset, effects))

    def _limit(self, effects: Effects) -> None:
        """Begin the time in which the records of the replies must be committed."""
        deadline_s = trio.current_time() + self.commit_timeout_s
        for slot in effects.waiting_for_commit():
            assert isinstance(slot, ReplySlot)
            slot.limit(deadline_s)

    def _append_failed(self, effects: Effects, error: Exception) -> None:
        """Discard the core, whose state is ahead of the log, and reload the partition. Clients retry."""
        logger.error("cannot append to %s: %s; its clients wait until it is loaded again", self.partition.name, error)
        self._reload(effects)

    def _reload(self, *unanswered: Effects) -> None:
        for effects in unanswered:
            _refuse_all(effects, _NOT_AVAILABLE)
        self.resign(_NOT_AVAILABLE)
        self.must_reload = True

    def resign(self, reason: KafkaError) -> None:
        """Stop serving. Requests that are parked here fail with ``reason``."""
        self.is_active = False
        self.scope.cancel()
        self._stop_watching()
        for work in self._works:
            work.refuse(reason)
        self._works.clear()
        _refuse(self.core.waiting(), reason)
        for written in self._uncommitted:
            _refuse([slot for slot, _ in written.effects.replies_once_committed], reason)
        self._uncommitted.clear()

    async def serve(self) -> None:
        """Do the work that waits, replay committed records, and step the core when its deadline passes."""
        while True:
            self._stop_watching()
            self._woken = trio.Event()
            await self._work_off()
            effects: list[Effects] = []
            self._take(Work(None, effects, self._replay(effects)))
            if self._uncommitted:
                self._stop_watching = self.partition.watch(self._woken)
            if self.core.deadline <= self.now():
                self.take(CoordinatorDeadlineReached())
            self._deadline = self.core.deadline
            with trio.move_on_after(max(self._deadline - self.now(), 0.0)):
                await self._woken.wait()

    async def _work_off(self) -> None:
        """Do the work that waits, in slices."""
        slices = Slices(_SLICE)
        while self._works:
            try:
                await in_slices(self._until_resigned(self._works[0].steps), slices)
            except Exception:
                self._failed()
            await trio.lowlevel.checkpoint_if_cancelled()
            self._works.popleft().end()

    def _until_resigned(self, steps: Steps[None]) -> Steps[None]:
        """Yield several steps as one, because most are shorter than a look at the slice.

        A task that is cancelled while others run may continue until its next checkpoint. The requests of
        this work have their responses then.
        """
        spent = 0
        for cost in steps:
            spent += cost
            if spent >= _STEPS:
                yield spent
                spent = 0
                if self.scope.cancel_called:
                    return
        yield spent

    def _replay(self, done: list[Effects]) -> Steps[None]:
        """Replay records below the high watermark. After the leadership ended it replays none: another leader may have
        replaced them.
        """
        while (
            self._uncommitted
            and self._uncommitted[0].end_offset <= self.partition.high_watermark
            and self.partition.leadership is self.leadership
        ):
            written = self._uncommitted[0]
            effects = self.core.new_effects()
            done.append(effects)
            records = written.effects.append
            committed = Committed(records, written.end_offset - len(records))
            yield from self.core.in_steps(self.now(), committed, effects)
            yield from _answered(effects.replies)
            self._uncommitted.popleft()
            yield from _answered(written.effects.replies_once_committed)
            self.perform_own(self, written.effects)
            self.perform_own(self, effects)


def _ends_soon(steps: Steps[None]) -> bool:
    """Run the first slice. Return whether it was the only one."""
    spent = 0
    for cost in steps:
        spent += cost
        if spent >= _SLICE:
            return False
    return True


def _answered(replies: list[tuple[Token, Any]]) -> Steps[None]:
    for slot, answer in replies:
        assert isinstance(slot, ReplySlot)
        slot.put(answer)
        yield 1


def _refuse_all(effects: Effects, reason: KafkaError) -> None:
    _refuse([slot for slot, _ in (*effects.replies, *effects.replies_once_committed)], reason)


def _refuse(slots: Iterable[Token], reason: KafkaError) -> None:
    """Fail the requests that have no response yet."""
    for slot in slots:
        assert isinstance(slot, ReplySlot)
        if slot.answer is None:
            slot.put(reason)
