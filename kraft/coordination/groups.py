"""The group coordinator of a broker: one shard for each partition of ``__consumer_offsets`` that the broker leads."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import attrs
import trio

from kraft.coordination.shard import Shard
from kraft.coordinator.groups.core import ExpireOffsets, ForgetTopics, GroupCoordinator, coordinator_partition
from kraft.coordinator.groups.rebalance import CoordinatorSettings
from kraft.metadata.image import Image
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from kraft.world.turns import SLICE_BYTES, Turns, in_slices
from kraft.world.world import World

logger = logging.getLogger("kraft.coordinator")

_RELOAD_AFTER_S = 1.0
"""Not a Kafka setting. The pause between a failed append or load and the next attempt to load the partition."""
_STEP_BYTES = 100
_SCANNED_BYTES = 8
"""The cost of a step and of each record that it appends, and the cost of each offset that it scans. The unit is the
time to load one byte of records.
"""


@attrs.define(eq=False)
class Groups:
    """All groups that this broker coordinates."""

    replicas: Replicas
    world: World
    settings: CoordinatorSettings
    retention_check_interval_ms: int
    _shards: dict[int, Shard] = attrs.Factory(dict)
    _starting: list[Shard] = attrs.Factory(list)
    _started: trio.Event = attrs.Factory(trio.Event)
    _loading: trio.Lock = attrs.Factory(trio.Lock)
    """Loads one partition at a time. Otherwise each partition would take a slice in every round of the scheduler."""
    _deleted: set[str] = attrs.Factory(set)
    """Deleted topics, until their offsets are deleted."""
    _deleted_changed: trio.Event = attrs.Factory(trio.Event)

    # Called by request handlers.

    def shard_of(self, group_id: str) -> Shard:
        """Return the active shard that holds the group.

        Raises:
            KafkaError: COORDINATOR_NOT_AVAILABLE while ``__consumer_offsets`` does not exist, NOT_COORDINATOR if
                another broker leads the partition, COORDINATOR_LOAD_IN_PROGRESS until the partition is loaded.
        """
        count = self.replicas.partition_count(OFFSETS_TOPIC)
        if not count:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        index = coordinator_partition(group_id, count)
        try:
            self.replicas.leader_of(OFFSETS_TOPIC, index)
        except KafkaError:
            raise KafkaError(ErrorCode.NOT_COORDINATOR) from None
        shard = self._shards.get(index)
        if shard is None or not shard.is_active:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return shard

    def shard_of_member(self, group_id: str) -> Shard:
        """:meth:`shard_of` for the requests of a member.

        Raises:
            KafkaError: INVALID_GROUP_ID for an empty id, or any error of :meth:`shard_of`.
        """
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        return self.shard_of(group_id)

    def shards(self) -> list[Shard]:
        """Return the shards of all partitions that this broker leads.

        Raises:
            KafkaError: COORDINATOR_LOAD_IN_PROGRESS until all of them are loaded.
        """
        if not all(shard.is_active for shard in self._shards.values()):
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return list(self._shards.values())

    # Called for metadata changes.

    def apply(self, led: LeaderChanges, deleted: Iterable[str] = ()) -> None:
        """Resign from lost partitions, take over gained ones, and begin to delete the offsets of ``deleted`` topics."""
        for partition in led.lost:
            if partition.topic == OFFSETS_TOPIC:
                self.resign(partition.index, KafkaError(ErrorCode.NOT_COORDINATOR))
        names = set(deleted)
        if names:
            self.forget_topics(names)
        for partition in led.gained:
            if partition.topic == OFFSETS_TOPIC:
                self.load(partition.index)

    def load(self, index: int) -> None:
        """Begin to coordinate a partition: at once if its log is empty, otherwise once it is loaded."""
        partition = self.replicas.leader_of(OFFSETS_TOPIC, index)
        core = GroupCoordinator(
            self.settings,
            lambda: str(self.world.new_uuid()),
            lambda: _has_enough_in_sync(partition),
            lambda: partition.log.config.max_message_bytes,
        )
        shard = Shard(index, partition, core, self.world.clock)
        shard.is_active = partition.log.log_start_offset == partition.log.log_end_offset
        self._shards[index] = shard
        self._starting.append(shard)
        self._started.set()

    def resign(self, index: int, reason: KafkaError) -> None:
        """Stop coordinating a partition. Requests that are parked in its groups fail with ``reason``."""
        shard = self._shards.pop(index, None)
        if shard is not None:
            shard.resign(reason)

    def forget_topics(self, names: set[str]) -> None:
        """Begin to delete the offsets of deleted topics."""
        self._deleted |= names
        self._announce_deleted()

    async def forgotten(self, image: Image) -> None:
        """Wait while the offsets of a deleted topic remain whose name a new topic of ``image`` has.

        Records of offsets have no topic ids, so a commit for the new topic would be deleted, too.
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
        """Delete the offsets of deleted topics. A shard that is not active yet does it at the end of its load."""
        active = []
        for shard in self._shards.values():
            if shard.is_active:
                active.append(shard)
            else:
                shard.deleted |= names
        for shard in active:
            await _perform_all(shard, (ForgetTopics(each, names.__contains__) for each in _offset_groups(shard)))

    async def run(self) -> None:
        """Run the shards, delete the offsets of deleted topics, and expire offsets every
        ``offsets.retention.check.interval.ms``.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._expire_offsets, name="offsets expiry")
            nursery.start_soon(self._forget_deleted, name="deleted topics")
            while True:
                starting, self._starting = self._starting, []
                for shard in starting:
                    nursery.start_soon(self._coordinate, shard, name=f"{OFFSETS_TOPIC}-{shard.index}")
                await self._started.wait()
                self._started = trio.Event()

    async def _coordinate(self, shard: Shard) -> None:
        """Load one partition and serve it until :meth:`resign`.

        Error handling: a partition that cannot be loaded completely is not served. A group without its last records
        would continue from a state that it never had.
        """
        with shard.scope:
            try:
                if not shard.is_active:
                    await self._load(shard)
            except OSError as error:
                logger.error("cannot load %s: %s; tries again in %g s", shard.partition.name, error, _RELOAD_AFTER_S)
                shard.must_reload = True
            except (DecodeError, KafkaError) as error:
                if self._shards.get(shard.index) is shard:
                    logger.error(
                        "cannot load %s: %s; its groups are unavailable until its next election",
                        shard.partition.name,
                        error,
                    )
                    del self._shards[shard.index]
                return
            else:
                await shard.serve()
        await in_slices(shard.core.unload())
        if shard.must_reload:
            await trio.sleep(_RELOAD_AFTER_S)
            if self._shards.get(shard.index) is shard and shard.partition.is_leader:
                self.load(shard.index)

    async def _load(self, shard: Shard) -> None:
        """Raises DecodeError for a damaged record, KafkaError if the leadership ended, OSError from the log."""
        async with self._loading:
            await shard.load()
        await shard.committed()
        await in_slices(shard.core.begin(self.world.clock.now_s()))
        await self._forget_missing(shard)
        shard.is_active = not shard.scope.cancel_called

    async def _forget_missing(self, shard: Shard) -> None:
        """Delete the offsets of topics that were deleted while no coordinator served the partition.

        The image cannot lack a new topic. The previous coordinator accepted commits only for topics of its own
        metadata. The record that ended its leadership came later in the metadata log, and this broker has applied that
        record. A ZooKeeper-era controller gives no such promise: its UpdateMetadata omits topics without a leader.
        """
        deleted: set[str] = set()

        def is_gone(name: str) -> bool:
            return name in deleted or (not self.replicas.is_commanded and self.replicas.image.topic(name) is None)

        while True:
            deleted, shard.deleted = shard.deleted, set()
            await _perform_all(shard, (ForgetTopics(each, is_gone) for each in _offset_groups(shard)))
            if not shard.deleted:
                return

    async def _expire_offsets(self) -> None:
        while True:
            await trio.sleep(self.retention_check_interval_ms / 1000)
            for shard in list(self._shards.values()):
                if shard.is_active:
                    await _perform_all(shard, map(ExpireOffsets, list(shard.core.groups)))


def _has_enough_in_sync(partition: HostedPartition) -> bool:
    """Return whether enough replicas are in sync for ``acks=all`` (``min.insync.replicas``)."""
    leadership = partition.leadership
    return leadership is not None and len(leadership.isr) >= leadership.min_isr


def _offset_groups(shard: Shard) -> list[str]:
    return list({**shard.core.offsets.by_group, **shard.core.offsets.pending})


async def _perform_all(shard: Shard, events: Iterable[ForgetTopics | ExpireOffsets]) -> None:
    """Repeat each event until it appends nothing more or the shard resigned, with turns for other tasks."""
    turns = Turns(SLICE_BYTES)
    for event in events:
        appended = 1
        while appended and not shard.scope.cancel_called:
            appended = await shard.perform(event)
            scanned = len(shard.core.offsets.of(event.group_id))
            await turns.spend(_STEP_BYTES * (1 + appended) + _SCANNED_BYTES * scanned)
