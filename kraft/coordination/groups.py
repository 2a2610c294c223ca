"""The group coordinator of a broker: one shard for each partition of ``__consumer_offsets`` that the broker leads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

import attrs
import trio

from kraft.broker.leadership import Leadership
from kraft.coordination.regexes import RegexSearches
from kraft.coordination.shard import ReplySlot, Shard
from kraft.coordination.shards import Shards
from kraft.coordination.share_groups import AskShareCoordinator, StateRequests
from kraft.coordinator.groups.consumer.regexes import RegexesResolved
from kraft.coordinator.groups.core import ExpireOffsets, ForgetTopics, GroupCoordinator
from kraft.coordinator.groups.effects import Counted, GroupEffects
from kraft.coordinator.groups.rebalance import CoordinatorSettings
from kraft.coordinator.groups.share.effects import StatesAnswered
from kraft.coordinator.groups.transactions import EndTransaction
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.records.control import EndTransactionMarker
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from kraft.wire.uuids import ZERO_UUID
from kraft.world.slices import SLICE_BYTES, Slices
from kraft.world.world import World

T = TypeVar("T")
GroupShard = Shard[GroupCoordinator]
_STEP_BYTES = 100
_SCANNED_BYTES = 8
"""The cost of a step and of each record that it appends, and the cost of each offset that it scans. The unit is the
time to load one byte of records.
"""


async def _committed_or_stalled(partition: HostedPartition) -> None:
    """Below ``min.insync.replicas`` a shard serves its log uncommitted, as Apache's ``GroupMetadataManager`` does. A
    commit that is lost after all only makes its consumer read records again.
    """
    await partition.committed_or_stalled(partition.log.log_end_offset)


@attrs.define(eq=False)
class Groups:
    """All groups that this broker coordinates."""

    replicas: Replicas
    world: World
    settings: CoordinatorSettings
    retention_check_interval_ms: int
    ask_share_coordinator: AskShareCoordinator
    _shards: Shards[GroupCoordinator] = attrs.field(init=False)
    _searches: RegexSearches = attrs.field(init=False)
    _state_requests: StateRequests = attrs.field(init=False)
    _count: Callable[[Counted, int], None] = lambda what, number: None
    _deleted: set[str] = attrs.Factory(set)
    """Deleted topics, until their offsets are deleted."""
    _deleted_changed: trio.Event = attrs.Factory(trio.Event)
    _deleted_in_load: WeakKeyDictionary[Leadership, set[str]] = attrs.Factory(WeakKeyDictionary)
    """The topics that were deleted while the shard of a leadership was not active."""

    def __attrs_post_init__(self) -> None:
        self._searches = RegexSearches(self.world)
        self._state_requests = StateRequests(self.ask_share_coordinator)
        self._shards = Shards(
            OFFSETS_TOPIC,
            self.replicas,
            self.world,
            self._new_core,
            self.settings.offsets_commit_timeout_s,
            self._perform_own,
            committed=_committed_or_stalled,
            before_service=self._forget_missing,
        )

    def _new_core(self, partition: HostedPartition) -> GroupCoordinator:
        return GroupCoordinator(
            self.settings,
            lambda: str(self.world.new_uuid()),
            partition.has_enough_in_sync,
            lambda: partition.log.config.max_message_bytes,
            lambda: self.replicas.image,
            partial(_check_producer, partition),
            self._topic_id,
            lambda _: self.world.clock.now_ms(),
        )

    def _topic_id(self, name: str) -> UUID:
        """Return the id that is stored with offsets of a topic. Coordinators of the ZooKeeper era store none."""
        return ZERO_UUID if self.replicas.is_commanded else self.replicas.image.topic_ids.get(name, ZERO_UUID)

    def _perform_own(self, shard: GroupShard, effects: GroupEffects) -> None:
        def report(event: RegexesResolved | StatesAnswered) -> None:
            if shard.is_active:
                shard.take(event)

        for what, number in effects.counted:
            self._count(what, number)
        for search in effects.searches:
            self._searches.begin(search, report)
        for request in effects.state_requests:
            if request.token is not None:
                assert isinstance(request.token, ReplySlot)
                request.token.limit(math.inf)  # the share coordinator's answer has a limit of its own
            self._state_requests.begin(request, report)

    # Called by request handlers.

    def shard_of(self, group_id: str) -> GroupShard:
        """Return the active shard that holds the group. Raises KafkaError as :meth:`Shards.shard_of`."""
        return self._shards.shard_of(group_id)

    def shard_of_member(self, group_id: str) -> GroupShard:
        """:meth:`shard_of` for the requests of a member.

        Raises KafkaError INVALID_GROUP_ID for an empty id, or any error of :meth:`shard_of`.
        """
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        return self.shard_of(group_id)

    async def read_all(self, read: Callable[[GroupCoordinator], Steps[list[T]]], slices: Slices) -> list[T]:
        """Return what ``read`` finds in all partitions. Raises KafkaError as :meth:`Shards.read_all`."""
        return await self._shards.read_all(read, slices)

    def active_cores(self) -> list[GroupCoordinator]:
        """Return the cores of all loaded partitions that this broker leads."""
        return [shard.core for shard in self._shards.all() if shard.is_active]

    def report_loads(self, report: Callable[[float], None]) -> None:
        """Have the seconds of each further load of a partition reported."""
        self._shards.report_load = report

    def report_counts(self, report: Callable[[Counted, int], None]) -> None:
        """Have further events reported, each kind with its number, once their records are committed."""
        self._count = report

    def partition_count(self, *, is_active: bool) -> int:
        """Return how many partitions this broker coordinates, or still loads."""
        return sum(shard.is_active is is_active for shard in self._shards.all())

    def end_transaction(self, index: int, ending: EndTransaction) -> ReplySlot:
        """Begin to write a marker to one partition, and return the pending reply.

        Raises KafkaError as :meth:`Shards.shard_at`.
        """
        return self._shards.shard_at(index).request(ending)

    # Called for metadata changes.

    def apply(self, led: LeaderChanges, deleted: Iterable[str] = ()) -> None:
        """Resign from lost partitions, take over gained ones, and begin to delete the offsets of ``deleted`` topics."""
        names = set(deleted)
        if names:
            self.forget_topics(names)
        self._shards.apply(led)

    def forget_topics(self, names: set[str]) -> None:
        """Begin to delete the offsets of deleted topics."""
        self._deleted |= names
        self._announce_deleted()

    async def offsets_deleted(self, image: Image) -> None:
        """Wait until no offsets are left of a deleted topic whose name a topic of ``image`` has.

        Offsets are deleted by the topic's name, so a commit for the new topic would be deleted, too.
        """
        while any(image.topic(name) is not None for name in self._deleted):
            await self._deleted_changed.wait()

    def _announce_deleted(self) -> None:
        self._deleted_changed.set()
        self._deleted_changed = trio.Event()

    # Tasks.

    async def _forget_deleted(self) -> None:
        while True:
            names = frozenset(self._deleted)
            if names:
                await self._forget(names)
                self._deleted -= names
                self._announce_deleted()
            else:
                await self._deleted_changed.wait()

    async def _forget(self, names: frozenset[str]) -> None:
        """Delete the offsets of deleted topics. A shard that is not active yet, or whose append fails, does it at the
        end of its load.
        """
        for shard in self._shards.all():
            if shard.is_active:
                await _forget_in(shard, names.__contains__)
            if not shard.is_active and shard.leadership is not None:
                self._deleted_in_load.setdefault(shard.leadership, set()).update(names)

    async def run(self) -> None:
        """Run the shards, search for topics, delete the offsets of deleted topics, and expire offsets every
        ``offsets.retention.check.interval.ms``.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._expire_offsets, name="offsets expiry")
            nursery.start_soon(self._searches.run, name="regular expressions")
            nursery.start_soon(self._state_requests.run, name="share state requests")
            nursery.start_soon(self._forget_deleted, name="deleted topics")
            await self._shards.run()

    async def _forget_missing(self, shard: GroupShard) -> None:
        """Delete the offsets of topics that were deleted while no coordinator served the partition, also of those that
        were created again.

        The image cannot lack a new topic. The previous coordinator accepted commits only for topics of its own
        metadata. The record that ended its leadership came later in the metadata log, and this broker has applied that
        record. A ZooKeeper-era controller gives no such promise: its UpdateMetadata omits topics without a leader.
        """
        leadership = shard.leadership
        assert leadership is not None
        deleted: set[str] = set()

        def is_gone(name: str) -> bool:
            return name in deleted or (not self.replicas.is_commanded and self.replicas.image.topic(name) is None)

        while True:
            deleted = self._deleted_in_load.pop(leadership, set())
            await _forget_in(shard, is_gone)
            if leadership not in self._deleted_in_load:
                return

    async def _expire_offsets(self) -> None:
        while True:
            await trio.sleep(self.retention_check_interval_ms / 1000)
            for shard in self._shards.all():
                if shard.is_active:
                    await _perform_all(shard, map(ExpireOffsets, shard.core.group_ids()))


def _check_producer(
    partition: HostedPartition,
    producer_id: int,
    producer_epoch: int,
    *,
    verified_at: int | None = None,
    marker: EndTransactionMarker | None = None,
) -> None:
    """Raises KafkaError as the methods ``check_…`` of :class:`ProducerStates`."""
    producers = partition.log.producers
    if marker is not None:
        producers.check_marker(producer_id, producer_epoch, marker)
        return
    producers.check_epoch(producer_id, producer_epoch)
    if verified_at is not None:
        producers.check_transaction(producer_id, producer_epoch, verified_at)


async def _forget_in(shard: GroupShard, is_gone: Callable[[str], bool]) -> None:
    """Delete the offsets of topics, also those of commits that wait behind other work: their groups may be new."""
    await shard.perform(ForgetTopics("", is_gone))
    await _perform_all(shard, (ForgetTopics(each, is_gone) for each in shard.core.offsets.groups()))


async def _perform_all(shard: GroupShard, events: Iterable[ForgetTopics | ExpireOffsets]) -> None:
    """Repeat each event until it appends nothing more or the shard resigned, in slices."""
    slices = Slices(SLICE_BYTES)
    for event in events:
        appended = 1
        while appended and not shard.scope.cancel_called:
            appended = await shard.perform(event)
            scanned = len(shard.core.offsets.of(event.group_id))
            await slices.spend(_STEP_BYTES * (1 + appended) + _SCANNED_BYTES * scanned)
