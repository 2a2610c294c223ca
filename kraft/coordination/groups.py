"""The driver of the group coordinator core: performs its effects and wakes it when a deadline comes.

The core is stepped in the task of the request itself: nothing is awaited between the step, the append and the
replies, so no other task sees a state between them, and a commit costs no task switch. Only the passing of time has a
task.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from typing import Any

import attrs
import trio

from kraft.controller.internal_topics import OFFSETS_TOPIC
from kraft.coordinator.core import (
    Event,
    ExpireOffsets,
    GroupCoordinator,
    Timeout,
    TopicsDeleted,
    coordinator_partition,
)
from kraft.coordinator.effects import Append, Effects, GroupRequest
from kraft.coordinator.group import NO_DEADLINE
from kraft.coordinator.rebalance import GroupSettings
from kraft.records.record import Record, encode_batch
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.clock import Clock

logger = logging.getLogger("kraft.coordinator")


Uncommitted = list[tuple[HostedPartition, int]]
"""What an answer rests on: partitions, and the offsets below which they must be committed."""


class ReplySlot:
    """Where the answer to one group request goes, or the KafkaError that refuses it; also its token in the core."""

    __slots__ = ("_arrived", "_commit_timeout_s", "_uncommitted", "answer")

    def __init__(self, commit_timeout_s: float) -> None:
        self.answer: Any = None
        self._arrived: trio.Event | None = None
        self._commit_timeout_s = commit_timeout_s
        self._uncommitted: Uncommitted = []

    def put(self, answer: Any, uncommitted: Uncommitted) -> None:
        self.answer = answer
        self._uncommitted = uncommitted
        if self._arrived is not None:
            self._arrived.set()

    @property
    def is_ready(self) -> bool:
        """Whether the answer may go out at once."""
        return self.answer is not None and not self._uncommitted

    def get(self) -> Any:
        """Raises: KafkaError, if that is the answer."""
        if isinstance(self.answer, KafkaError):
            raise self.answer
        return self.answer

    async def wait(self) -> Any:
        """The answer, once it is there and what it rests on is committed (``offsets.commit.timeout.ms``).

        Raises:
            KafkaError: if that is the answer; NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE if it is not committed.
        """
        if self.answer is None:
            self._arrived = trio.Event()
            await self._arrived.wait()
        with trio.move_on_after(self._commit_timeout_s):
            for partition, offset in self._uncommitted:
                try:
                    await partition.committed(offset)
                except KafkaError as refused:
                    lost = refused.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
                    code = ErrorCode.NOT_COORDINATOR if lost else ErrorCode.COORDINATOR_NOT_AVAILABLE
                    raise KafkaError(code) from refused
            return self.get()
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)


@attrs.define(eq=False)
class Groups:
    """All groups that this broker coordinates. ``commit_timeout_ms`` is ``offsets.commit.timeout.ms``."""

    replicas: Replicas
    clock: Clock
    settings: GroupSettings
    retention_check_interval_ms: int
    commit_timeout_ms: int = 5_000
    core: GroupCoordinator = attrs.field(init=False)
    _changed: trio.Event = attrs.Factory(trio.Event)
    _deadline_ms: int = NO_DEADLINE
    _loaded: set[int] = attrs.Factory(set)
    _count: int = 0
    """Partitions of the topic when it was last loaded: it may be deleted by the time they are let go of."""

    def __attrs_post_init__(self) -> None:
        self.core = GroupCoordinator(self.settings, lambda: str(uuid.uuid4()))

    def partition_of(self, group_id: str) -> HostedPartition:
        """The partition of ``__consumer_offsets`` that holds the group, led and loaded here.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE while there is no such topic, NOT_COORDINATOR if another broker leads,
                COORDINATOR_LOAD_IN_PROGRESS until the partition has been read.
        """
        count = self.replicas.partition_count(OFFSETS_TOPIC)
        if not count:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        index = coordinator_partition(group_id, count)
        try:
            partition = self.replicas.leader_of(OFFSETS_TOPIC, index)
        except KafkaError:
            raise KafkaError(ErrorCode.NOT_COORDINATOR) from None
        if index not in self._loaded:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return partition

    def check_member(self, group_id: str) -> None:
        """A request of a member can be served here.

        Raises:
            KafkaError: INVALID_GROUP_ID for an empty id, or as :meth:`partition_of`.
        """
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        self.partition_of(group_id)

    def submit(self, request: Request, message: Any) -> Reply:
        """Give one request to the core: its answer, or Parked until a rebalance brings one.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE if what was decided could not be written.
        """
        slot = ReplySlot(self.commit_timeout_ms / 1000)
        event = GroupRequest(slot, message, request.api_version, request.client_id or "", f"/{request.connection.host}")
        self._step(event)
        return slot.get() if slot.is_ready else Parked(slot.wait)

    def _step(self, event: Event) -> None:
        effects = self.core.step(self.clock.now_ms(), event)
        try:
            uncommitted = self._append(effects.append)
        except (KafkaError, OSError) as error:
            self._append_failed(effects, error)
            return
        for slot, answer in effects.replies:
            assert isinstance(slot, ReplySlot)
            slot.put(answer, uncommitted)
        if effects.deadline_ms != self._deadline_ms:
            self._deadline_ms = effects.deadline_ms
            self._changed.set()

    def _append(self, appends: list[Append]) -> Uncommitted:
        """One batch per partition, in the order in which the core decided; what of it is not committed at once.

        Raises:
            KafkaError: NOT_LEADER_OR_FOLLOWER, or as the log. OSError.
        """
        if not appends:
            return []
        uncommitted: Uncommitted = []
        now_ms = self.clock.now_ms()
        by_partition: dict[int, list[Append]] = {}
        for each in appends:
            by_partition.setdefault(coordinator_partition(each.group_id, self._count), []).append(each)
        for index, entries in by_partition.items():
            partition = self.replicas.leader_of(OFFSETS_TOPIC, index)
            records = [
                Record(offset=i, timestamp=now_ms, key=entry.key, value=entry.value, headers=())
                for i, entry in enumerate(entries)
            ]
            end_offset = partition.append(bytearray(encode_batch(records)), now_ms).last_offset + 1
            if partition.high_watermark < end_offset:
                uncommitted.append((partition, end_offset))
        return uncommitted

    def _append_failed(self, effects: Effects, error: Exception) -> None:
        """What the core decided is not on disk, so it must not stand: read the partitions concerned anew, and close on
        the waiting clients, who then ask again."""
        logger.error("cannot write to %s: %s", OFFSETS_TOPIC, error)
        refused = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        for slot, _ in effects.replies:
            assert isinstance(slot, ReplySlot)
            slot.put(refused, [])
        for index in {coordinator_partition(each.group_id, self._count) for each in effects.append}:
            self.resign(index, refused)
            self.load(index)

    def load(self, index: int) -> None:
        """Take a partition over by reading it from its start. What cannot be read whole is not served in part: a group
        that has lost its last records would go on from a state that never was."""
        self._count = self.replicas.partition_count(OFFSETS_TOPIC) or self._count
        try:
            partition = self.replicas.leader_of(OFFSETS_TOPIC, index)
            self.core.load(self.clock.now_ms(), _pairs(partition))
        except (DecodeError, KafkaError, OSError) as error:
            logger.error("%s-%d cannot be loaded: %s", OFFSETS_TOPIC, index, error)
            self.resign(index, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        self._loaded.add(index)
        self._deadline_ms = self.core.deadline_ms
        self._changed.set()

    def resign(self, index: int, reason: KafkaError) -> None:
        """Let go of a partition; requests that are parked in its groups are answered with ``reason``."""
        self._loaded.discard(index)
        count = self._count
        for slot in self.core.unload(lambda group_id: coordinator_partition(group_id, count) == index):
            assert isinstance(slot, ReplySlot)
            slot.put(reason, [])

    def forget_topics(self, names: frozenset[str]) -> None:
        """These topics were deleted."""
        self._step(TopicsDeleted(names))

    async def run(self) -> None:
        """Wake the core when its deadline comes, and let it forget old offsets now and then."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._expire_offsets, name="offsets expiry")
            while True:
                self._changed = trio.Event()
                with trio.move_on_after(max(self._deadline_ms - self.clock.now_ms(), 0) / 1000):
                    await self._changed.wait()
                if self._deadline_ms <= self.clock.now_ms():
                    self._step(Timeout())

    async def _expire_offsets(self) -> None:
        while True:
            await trio.sleep(self.retention_check_interval_ms / 1000)
            self._step(ExpireOffsets())


def _pairs(partition: HostedPartition) -> Iterator[tuple[bytes | None, bytes | None]]:
    for record in partition.records():
        yield record.key, record.value
