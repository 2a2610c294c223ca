"""The share partitions of a broker: for each partition that it leads, and each share group that reads it, one state.

The first ShareFetch loads the state from the share coordinator, with the leader epoch, which fences the former leader.
Changes are written in order, and those that arrive during a write share the next one. The tasks here write them: the
connection of the member that caused a change may end before.
"""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import attrs
import trio

from kraft.broker.leadership import Leadership
from kraft.broker.share.partition import SharePartition, SharePartitionSettings
from kraft.broker.share.runs import NO_LOCK, ShareTransition, StateChange
from kraft.broker.share.session import SessionKey, ShareSessionCache
from kraft.config import offset_reset
from kraft.config.broker import NodeConfig
from kraft.config.group import GroupLimits, group_limits, group_value
from kraft.coordination.share_channel import ShareStateChannel
from kraft.coordination.share_metrics import ShareMetrics
from kraft.coordinator.share.core import ShareStateRequest
from kraft.coordinator.share.state import NO_START_OFFSET, SharePartitionKey
from kraft.messages import (
    read_share_group_state_request as read_request,
)
from kraft.messages import (
    write_share_group_state_request as write_request,
)
from kraft.metadata.image import ResourceType
from kraft.replication.partition import HostedPartition, Watcher
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices
from kraft.world.world import World

logger = logging.getLogger("kraft.share")

_MAX_SHARE_PARTITIONS = 100_000
"""Not a Kafka setting. The share partitions that a broker has loaded at most."""
_SLICE_RUNS = 500
_ERRORS: Final = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.GROUP_ID_NOT_FOUND: ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_LEADER_OR_FOLLOWER,
}
"""The errors of members, by those of the share coordinator (``SharePartition.fetchPersisterError``)."""
_FENCING: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
"""After these errors the state is loaded again, if this broker still leads the partition."""


@attrs.define(eq=False)
class PendingWrite:
    """Changes to write, with the transition that they end, and its outcome."""

    changes: list[StateChange]
    transition: ShareTransition | None = None
    failure: KafkaError | None = None
    done: trio.Event = attrs.Factory(trio.Event)

    async def wait(self) -> None:
        """Wait until the changes are written. Raises KafkaError if they are not."""
        await self.done.wait()
        if self.failure is not None:
            raise self.failure.anew()


@attrs.define(eq=False)
class LedSharePartition:
    """One share partition while this broker leads its partition.

    ``loaded`` is set once ``core`` has its state, or ``failure`` says why it has none. ``wakes_at`` is when its locks
    will be looked at. All reads and writes have the ``leader_epoch`` of the beginning, as in Apache's
    ``SharePartition``: so a leader between two elections, which this broker may not have seen, fences the writes.
    """

    key: SharePartitionKey
    hosted: HostedPartition
    leadership: Leadership | None
    leader_epoch: int
    core: SharePartition | None = None
    failure: KafkaError | None = None
    loaded: trio.Event = attrs.Factory(trio.Event)
    wakes_at: float = NO_LOCK
    writes: list[PendingWrite] = attrs.Factory(list)
    is_writing: bool = False
    _watchers: set[Watcher] = attrs.Factory(set)

    @property
    def is_current(self) -> bool:
        return self.leadership is not None and self.hosted.leadership is self.leadership

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Set ``watcher`` when records become available, or the leadership ends.

        Returns a function that ends the watch.
        """
        self._watchers.add(watcher)
        return lambda: self._watchers.discard(watcher)

    def wake(self) -> None:
        for watcher in self._watchers:
            watcher.set()


@attrs.define(eq=False)
class SharePartitions:
    """All share partitions and share sessions of a broker."""

    config: NodeConfig
    replicas: Replicas
    world: World
    channel: ShareStateChannel
    metrics: ShareMetrics
    sessions: ShareSessionCache = attrs.field(init=False)
    _limits: GroupLimits = attrs.field(init=False)
    _by_key: dict[SharePartitionKey, LedSharePartition] = attrs.Factory(dict)
    _by_group: dict[str, dict[SharePartitionKey, LedSharePartition]] = attrs.Factory(dict)
    _loads: list[LedSharePartition] = attrs.Factory(list)
    _writers: list[LedSharePartition] = attrs.Factory(list)
    _deadlines: list[tuple[float, int, LedSharePartition]] = attrs.Factory(list)
    """A heap of the times at which locks end. One that is not the ``wakes_at`` of its share partition is over."""
    _numbers: Iterator[int] = attrs.Factory(itertools.count)
    _woken: trio.Event = attrs.Factory(trio.Event)

    def __attrs_post_init__(self) -> None:
        self.sessions = ShareSessionCache(self.config.share.group_share_max_share_sessions)
        self._limits = group_limits((self.config.groups, self.config.share))

    # Settings.

    def settings(self, group_id: str) -> SharePartitionSettings:
        """Return the settings of a group: its own, or else those of the broker."""
        own, share, limits = self.group_config(group_id), self.config.share, self._limits
        count = group_value(own, "share.delivery.count.limit", limits)
        duration_ms = group_value(own, "share.record.lock.duration.ms", limits)
        locks = group_value(own, "share.partition.max.record.locks", limits)
        return SharePartitionSettings(
            share.group_share_delivery_count_limit if count is None else count,
            (share.group_share_record_lock_duration_ms if duration_ms is None else duration_ms) / 1000,
            share.group_share_partition_max_record_locks if locks is None else locks,
        )

    def group_config(self, group_id: str) -> Mapping[str, str]:
        """Return the settings of the config resource of a group."""
        return self.replicas.image.config(ResourceType.GROUP, group_id)

    @property
    def loaded_count(self) -> int:
        """The number of share partitions that are loaded, or being loaded."""
        return len(self._by_key)

    # Called by request handlers.

    def find(self, key: SharePartitionKey) -> tuple[LedSharePartition, SharePartition]:
        """Return a loaded share partition. Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION if it is not loaded."""
        led = self._by_key.get(key)
        if led is None or led.core is None or not led.is_current:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return led, led.core

    def open(self, key: SharePartitionKey, topic: str) -> LedSharePartition:
        """Return a share partition, and begin to load its state if it has none.

        Raises KafkaError if this broker does not lead the partition, or has too many.
        """
        hosted = self.replicas.leader_of(topic, key.partition)
        led = self._by_key.get(key)
        if led is None or not led.is_current or led.hosted is not hosted:
            if led is not None:
                self._drop(led)
            if self.loaded_count >= _MAX_SHARE_PARTITIONS:
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            led = self._by_key[key] = LedSharePartition(key, hosted, hosted.leadership, hosted.state.leader_epoch)
            self._by_group.setdefault(key.group_id, {})[key] = led
            self._loads.append(led)
            self._woken.set()
        return led

    async def _state_of(self, led: LedSharePartition) -> SharePartition:
        hosted, key = led.hosted, led.key
        began_s = self.world.seconds()
        data = read_request.PartitionData(key.partition, led.leader_epoch)
        state = await self.channel.request(ShareStateRequest(key, data))
        start_offset = state.start_offset
        if start_offset == NO_START_OFFSET:
            start_offset = await self._reset_offset(key.group_id, hosted)
        core = SharePartition(lambda: self.settings(key.group_id), start_offset, state.state_epoch)
        core.load(
            StateChange(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
            for each in state.state_batches
        )
        if not led.is_current:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        core.move_start(hosted.log.log_start_offset)
        self.metrics.loaded(key, hosted.topic, core, self.world.seconds() - began_s)
        return core

    async def _reset_offset(self, group_id: str, hosted: HostedPartition) -> int:
        """Return where a new group begins (``share.auto.offset.reset``): at the end, if no record is as young.

        Raises KafkaError KAFKA_STORAGE_ERROR, or as ``Log.offset_for_timestamp``.
        """
        reset = group_value(self.group_config(group_id), offset_reset.NAME) or offset_reset.LATEST
        if reset == offset_reset.EARLIEST:
            return hosted.log.log_start_offset
        if reset.startswith(offset_reset.BY_DURATION):
            period_ms = offset_reset.duration_ms(reset.removeprefix(offset_reset.BY_DURATION)) or 0
            since_ms = max(self.world.clock.now_ms() - period_ms, 0)
            try:
                found = await hosted.log.offset_for_timestamp(since_ms, self.world.compute)
            except OSError as error:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
            if found is not None:
                return min(found.offset, hosted.high_watermark)
        return hosted.high_watermark

    def write(
        self, led: LedSharePartition, changes: list[StateChange], transition: ShareTransition | None = None
    ) -> PendingWrite:
        """Begin to write changes. Their transition ends when they are written, or cannot be."""
        pending = PendingWrite(changes, transition)
        if changes:
            led.writes.append(pending)
            if not led.is_writing:
                led.is_writing = True
                self._writers.append(led)
                self._woken.set()
        else:
            pending.done.set()
        return pending

    def note_locks(self, led: LedSharePartition) -> None:
        """Have the locks of a share partition looked at when the first of them ends."""
        if led.core is not None and led.core.deadline < led.wakes_at:
            led.wakes_at = led.core.deadline
            heapq.heappush(self._deadlines, (led.wakes_at, next(self._numbers), led))
            if self._deadlines[0][2] is led:
                self._woken.set()

    def release(self, key: SessionKey) -> None:
        """Close the session of a member, and free the records that it holds, also those of partitions that it forgot.

        Raises KafkaError SHARE_SESSION_NOT_FOUND.
        """
        if self.sessions.close(key) is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        group_id, member_id = key
        for led in list(self._by_group.get(group_id, {}).values()):
            if led.core is not None:
                transition = led.core.release(member_id)
                self.write(led, transition.changes, transition)
                self._forget_idle(led)

    # Called for metadata changes.

    def apply(self, led: LeaderChanges) -> None:
        """Forget the share partitions of partitions that this broker does not lead any more."""
        if led.lost:
            for each in [each for each in self._by_key.values() if not each.is_current]:
                self._drop(each)

    def _forget_idle(self, led: LedSharePartition) -> None:
        """Forget a share partition whose group has no sessions here and holds no records. The next member loads it."""
        is_used = led.key.group_id in self.sessions.members or led.is_writing or led.core is None
        if not is_used and led.core is not None and not led.core.is_held:
            self._drop(led)

    def _drop(self, led: LedSharePartition) -> None:
        if self._by_key.get(led.key) is led:
            del self._by_key[led.key]
            of_group = self._by_group[led.key.group_id]
            del of_group[led.key]
            if not of_group:
                del self._by_group[led.key.group_id]
            self.metrics.dropped(led.key, led.hosted.topic)
        led.leadership = None
        led.wake()

    # Tasks.

    async def run(self) -> None:
        """Send to other coordinators, load states, write changes and end locks, forever."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.channel.run, name="share state channel")
            while True:
                self._woken = trio.Event()
                loads, self._loads = self._loads, []
                for led in loads:
                    nursery.start_soon(self._load, led, name=f"share load {led.hosted.name}")
                writers, self._writers = self._writers, []
                for led in writers:
                    nursery.start_soon(self._write, led, name=f"share writes {led.hosted.name}")
                await self._expire()
                with trio.move_on_at(self._deadlines[0][0] if self._deadlines else NO_LOCK):
                    await self._woken.wait()

    async def _load(self, led: LedSharePartition) -> None:
        try:
            led.core = await self._state_of(led)
        except KafkaError as refused:
            led.failure = _of_members(refused)
        except Exception:  # a defect is an error for the members, as in a request handler, and no end of the broker
            logger.exception("cannot load the state of %s for group %s", led.hosted.name, led.key.group_id)
            led.failure = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if led.failure is not None:
            self._drop(led)
        led.loaded.set()
        self._forget_idle(led)

    async def _expire(self) -> None:
        """End the locks whose time is over."""
        slices = Slices(_SLICE_RUNS)
        now = trio.current_time()
        while self._deadlines and self._deadlines[0][0] <= now:
            deadline, _, led = heapq.heappop(self._deadlines)
            if deadline != led.wakes_at:
                continue
            led.wakes_at = NO_LOCK
            if led.core is not None and self._by_key.get(led.key) is led:
                changes = led.core.expire(now)
                self.metrics.locks_ended(led.key, led.hosted.topic, changes)
                self.write(led, changes)
                led.wake()
                self.note_locks(led)
                await slices.spend(1 + len(changes))

    async def _write(self, led: LedSharePartition) -> None:
        """Write all changes of one share partition, in order."""
        core = led.core
        assert core is not None, "only a loaded share partition changes"
        while led.writes:
            sent, led.writes = led.writes, []
            failure = await self._write_once(led, core, [change for each in sent for change in each.changes])
            for each in sent:
                if each.transition is not None:
                    core.finish(trio.current_time(), each.transition, committed=failure is None)
                each.failure = failure
                each.done.set()
            self.note_locks(led)
            led.wake()
            if failure is not None and failure.code in _FENCING:
                self._drop(led)
        led.is_writing = False
        self._forget_idle(led)

    async def _write_once(
        self, led: LedSharePartition, core: SharePartition, changes: list[StateChange]
    ) -> KafkaError | None:
        if not led.is_current:
            return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        data = write_request.PartitionData(
            led.key.partition,
            core.state_epoch,
            led.leader_epoch,
            core.start_offset,
            core.delivery_complete_count,
            [write_request.StateBatch(*each) for each in changes],
        )
        try:
            await self.channel.request(ShareStateRequest(led.key, data))
        except KafkaError as refused:
            logger.warning("cannot write the state of %s for group %s: %s", led.hosted.name, led.key.group_id, refused)
            return _of_members(refused)
        return None


def _of_members(refused: KafkaError) -> KafkaError:
    return KafkaError(_ERRORS.get(refused.code, ErrorCode.UNKNOWN_SERVER_ERROR), refused.message)
