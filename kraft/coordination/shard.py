"""One coordinated partition: load, decide, append, wait for the commit, then replay and reply.

The task of a request steps the core and appends without an ``await`` in between. So no other task sees a decision that
is not in the log. Records that are not committed wait in a queue in log order. The shard's own task replays them once
the high watermark has passed them, and steps the core at its deadlines.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import trio

from kraft.broker.leadership import Leadership
from kraft.coordinator.core import Committed, Event, GroupCoordinator, GroupDeadlineReached
from kraft.coordinator.effects import CoordinatorEffects, GroupRequest
from kraft.coordinator.records import CoordinatorRecord
from kraft.records.record import Record, encode_batch
from kraft.replication.partition import HostedPartition
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.clock import Clock
from kraft.world.turns import in_slices

logger = logging.getLogger("kraft.coordinator")


class ReplySlot:
    """The pending reply to one group request: a response, or the KafkaError of a refusal. Also the request's token."""

    __slots__ = ("_arrived", "answer", "deadline_s")

    def __init__(self) -> None:
        self.answer: Any = None
        self.deadline_s = math.inf
        self._arrived: trio.Event | None = None

    def put(self, answer: Any) -> None:
        self.answer = answer
        if self._arrived is not None:
            self._arrived.set()

    def get(self) -> Any:
        """Return the response. Raises KafkaError if the request was refused."""
        if isinstance(self.answer, KafkaError):
            raise self.answer
        return self.answer

    async def wait(self) -> Any:
        """Wait for the response, at most until ``deadline_s``.

        Raises:
            KafkaError: the reason of a refusal, or COORDINATOR_NOT_AVAILABLE if the records are not committed in time.
        """
        if self.answer is None:
            self._arrived = trio.Event()
            with trio.move_on_at(self.deadline_s):
                await self._arrived.wait()
        if self.answer is None:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return self.get()


@attrs.frozen
class Written:
    """The records that one step appended, up to ``end_offset``, and the replies that wait for their commit."""

    end_offset: int
    records: list[CoordinatorRecord]
    replies: list[tuple[object, Any]]


@attrs.define(eq=False)
class Shard:
    """One partition, from this broker's election until another replica leads.

    ``is_active`` is false while the partition is loaded. ``deleted`` are the topics deleted in the meantime.
    """

    index: int
    partition: HostedPartition
    core: GroupCoordinator
    clock: Clock
    is_active: bool = False
    must_reload: bool = False
    deleted: set[str] = attrs.Factory(set)
    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    _leadership: Leadership | None = attrs.field(init=False)
    _uncommitted: deque[Written] = attrs.Factory(deque)
    _deadline: float = 0.0
    _woken: trio.Event = attrs.Factory(trio.Event)
    """Wakes :meth:`serve`: when the high watermark advances, while records are uncommitted, and for an earlier
    deadline.
    """
    _stop_watching: Callable[[], None] = lambda: None

    def __attrs_post_init__(self) -> None:
        self._leadership = self.partition.leadership

    # Loading.

    async def load(self) -> None:
        """Load the whole log. Raises DecodeError for a damaged record, KafkaError or OSError from the log."""
        await in_slices(self.core.load(_pairs(self.partition)))

    async def committed(self) -> None:
        """Wait until the whole log is committed, or cannot be for now.

        The previous leader may have replied from any record of it. An earlier reply of this one could move offsets
        back. Below ``min.insync.replicas`` the shard serves the whole log uncommitted, as Apache's
        ``GroupMetadataManager`` does: a commit that is lost after all only makes its consumer read records again.

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER if the leadership ends.
        """
        await self.partition.committed_or_stalled(self.partition.log.log_end_offset)

    # Serving.

    def submit(self, request: Request, message: Any) -> Reply:
        """Step the core with one request. Return its response, or Parked until its records are committed or a rebalance
        ends.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE if the append failed.
        """
        slot = ReplySlot()
        self.step(
            GroupRequest(slot, message, request.api_version, request.client_id or "", f"/{request.connection.host}")
        )
        return Parked(slot.wait) if slot.answer is None else slot.get()

    def step(self, event: Event) -> int:
        """Step the core and perform its effects. Return the number of records appended."""
        effects = self.core.step(self.clock.now_s(), event)
        if effects.append:
            try:
                self._append(effects)
            except (KafkaError, OSError) as error:
                self._append_failed(effects, error)
                return 0
        else:
            _answer(effects.replies_once_committed)
        _answer(effects.replies)
        if self.core.deadline < self._deadline:
            self._woken.set()
        return len(effects.append)

    def _append(self, effects: CoordinatorEffects) -> None:
        """Append the records of a step as one batch.

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER if the leadership ended, or an error of the log.
            OSError: the log cannot be written.
        """
        if self.partition.leadership is not self._leadership:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        now_ms = self.clock.now_ms()
        records = [
            Record(offset=i, timestamp=now_ms, key=each.key, value=each.value, headers=())
            for i, each in enumerate(effects.append)
        ]
        end_offset = self.partition.append(bytearray(encode_batch(records)), now_ms).last_offset + 1
        if not self._uncommitted and self.partition.high_watermark >= end_offset:
            self.step(Committed(effects.append))
            _answer(effects.replies_once_committed)
            return
        deadline_s = trio.current_time() + self.core.settings.offsets_commit_timeout_s
        for slot, _ in effects.replies_once_committed:
            assert isinstance(slot, ReplySlot)
            slot.deadline_s = deadline_s
        if not self._uncommitted:
            self._stop_watching = self.partition.watch(self._woken)
        self._uncommitted.append(Written(end_offset, effects.append, effects.replies_once_committed))

    def _append_failed(self, effects: CoordinatorEffects, error: Exception) -> None:
        """Discard the core, whose state is ahead of the log, and reload the partition. Clients retry."""
        logger.error(
            "cannot append to %s: %s; its groups are unavailable until it is loaded again", self.partition.name, error
        )
        refused = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        for slot, _ in (*effects.replies, *effects.replies_once_committed):
            assert isinstance(slot, ReplySlot)
            slot.put(refused)
        self.resign(refused)
        self.must_reload = True

    def resign(self, reason: KafkaError) -> None:
        """Stop serving. Requests that are parked here fail with ``reason``."""
        self.is_active = False
        self.scope.cancel()
        self._stop_watching()
        for slot in self.core.waiting():
            assert isinstance(slot, ReplySlot)
            slot.put(reason)
        for written in self._uncommitted:
            _answer([(slot, reason) for slot, _ in written.replies])
        self._uncommitted.clear()

    async def serve(self) -> None:
        """Replay committed records, and step the core when its deadline passes."""
        while True:
            self._stop_watching()
            self._woken = trio.Event()
            self._replay_committed()
            if self._uncommitted:
                self._stop_watching = self.partition.watch(self._woken)
            if self.core.deadline <= self.clock.now_s():
                self.step(GroupDeadlineReached())
            self._deadline = self.core.deadline
            with trio.move_on_after(max(self._deadline - self.clock.now_s(), 0.0)):
                await self._woken.wait()

    def _replay_committed(self) -> None:
        """Replay records below the high watermark. After the leadership ended it replays none: another leader may have
        replaced them.
        """
        if self.partition.leadership is not self._leadership:
            return
        while self._uncommitted and self._uncommitted[0].end_offset <= self.partition.high_watermark:
            written = self._uncommitted.popleft()
            self.step(Committed(written.records))
            _answer(written.replies)


def _answer(replies: list[tuple[object, Any]]) -> None:
    for slot, answer in replies:
        assert isinstance(slot, ReplySlot)
        slot.put(answer)


def _pairs(partition: HostedPartition) -> Iterator[tuple[bytes | None, bytes | None]]:
    for record in partition.records():
        yield record.key, record.value
