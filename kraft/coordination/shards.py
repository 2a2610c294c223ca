"""The partitions of an internal topic that this broker coordinates: a shard for each one that it leads."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic, TypeVar

import attrs
import trio

from kraft.coordination.shard import C, Shard
from kraft.coordination.task_starter import TaskStarter
from kraft.coordinator.partitions import coordinator_partition
from kraft.metadata.steps import Steps
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices, in_slices
from kraft.world.world import World

logger = logging.getLogger("kraft.coordinator")

T = TypeVar("T")

_RELOAD_AFTER_S = 1.0
"""Not a Kafka setting. The pause between a failed append or load and the next attempt to load the partition."""


async def _nothing(shard: Shard[Any]) -> None:
    await trio.lowlevel.checkpoint()


@attrs.define(eq=False)
class Shards(Generic[C]):
    """The shards of ``topic``. ``new_core`` makes the core of a partition that this broker begins to lead.

    ``committed`` returns once a loaded partition may be served: when its whole log is committed, because the previous
    leader may have replied from any record. ``before_service`` runs then, before the first request.
    :class:`Shard` describes ``perform_own``, ``commit_timeout_s`` and ``now``. ``report_load`` gets the seconds of
    each load.
    """

    topic: str
    replicas: Replicas
    world: World
    new_core: Callable[[HostedPartition], C]
    commit_timeout_s: float
    perform_own: Callable[[Shard[C], Any], None] = lambda shard, effects: None
    committed: Callable[[HostedPartition], Awaitable[None]] = HostedPartition.all_committed
    before_service: Callable[[Shard[C]], Awaitable[None]] = _nothing
    now: Callable[[], float] = attrs.Factory(lambda self: self.world.clock.now_s, takes_self=True)
    report_load: Callable[[float], None] = lambda seconds: None
    _by_index: dict[int, Shard[C]] = attrs.Factory(dict)
    _tasks: TaskStarter = attrs.Factory(TaskStarter)
    _loading: trio.Lock = attrs.Factory(trio.Lock)
    """Loads one partition at a time. Otherwise each partition would take a slice in every round of the scheduler."""

    # Called by request handlers.

    def shard_of(self, key: str) -> Shard[C]:
        """Return the active shard that holds a group or a transactional id.

        Raises KafkaError NOT_COORDINATOR while the topic does not exist here (Apache's
        ``CoordinatorRuntime.contextOrThrow``), or any error of :meth:`shard_at`.
        """
        count = self.replicas.partition_count(self.topic)
        if not count:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return self.shard_at(coordinator_partition(key, count))

    def shard_at(self, index: int) -> Shard[C]:
        """Return the active shard of a partition.

        Raises KafkaError NOT_COORDINATOR if another broker leads the partition, or if it cannot be loaded (Apache's
        ``CoordinatorRuntime`` has state FAILED then); COORDINATOR_LOAD_IN_PROGRESS until it is loaded.
        """
        try:
            self.replicas.leader_of(self.topic, index)
        except KafkaError:
            raise KafkaError(ErrorCode.NOT_COORDINATOR) from None
        shard = self._by_index.get(index)
        if shard is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if not shard.is_active:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return shard

    async def read_all(self, read: Callable[[C], Steps[list[T]]], slices: Slices) -> list[T]:
        """Return what ``read`` finds in all partitions that this broker leads, without those that cannot be loaded.

        A partition whose leadership ends meanwhile is omitted, as in Apache's ``GroupCoordinatorService``.

        Raises KafkaError COORDINATOR_LOAD_IN_PROGRESS until all of them are loaded.
        """
        if not all(shard.is_active for shard in self._by_index.values()):
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        found = list[T]()
        for shard in self.all():
            try:
                found += await shard.read(read(shard.core), slices)
            except KafkaError as refused:
                if refused.code != ErrorCode.NOT_COORDINATOR:
                    raise
        return found

    def all(self) -> list[Shard[C]]:
        """Return the shards of all partitions that this broker leads. Some may not be active yet."""
        return list(self._by_index.values())

    # Called for metadata changes.

    def apply(self, led: LeaderChanges) -> None:
        """Resign from lost partitions, and take over gained ones."""
        for partition in led.lost:
            if partition.topic == self.topic:
                self.resign(partition.index, KafkaError(ErrorCode.NOT_COORDINATOR))
        for partition in led.gained:
            if partition.topic == self.topic:
                self.load(partition.index)

    def load(self, index: int) -> None:
        """Begin to coordinate a partition: at once if its log is empty, otherwise once it is loaded."""
        partition = self.replicas.leader_of(self.topic, index)
        core = self.new_core(partition)
        shard = Shard(index, partition, core, self.world.clock, self.now, self.commit_timeout_s, self.perform_own)
        shard.is_active = partition.log.log_start_offset == partition.log.log_end_offset
        self._by_index[index] = shard
        self._tasks.start(partial(self._coordinate, shard), partition.name)

    def resign(self, index: int, reason: KafkaError) -> None:
        """Stop coordinating a partition. Its parked requests fail with ``reason``."""
        shard = self._by_index.pop(index, None)
        if shard is not None:
            shard.resign(reason)

    # Tasks.

    async def run(self) -> None:
        """Run the shards, forever."""
        await self._tasks.run()

    async def _coordinate(self, shard: Shard[C]) -> None:
        """Load one partition and serve it until :meth:`resign`.

        Error handling: a partition that cannot be loaded completely is not served. State without its last records
        would continue from a point that it never had.
        """
        with shard.scope:
            try:
                if not shard.is_active:
                    await self._load(shard)
            except OSError as error:
                logger.error("cannot load %s: %s; tries again in %g s", shard.partition.name, error, _RELOAD_AFTER_S)
                shard.must_reload = True
            except (DecodeError, KafkaError) as error:
                if self._by_index.get(shard.index) is shard:
                    logger.error(
                        "cannot load %s: %s; its clients get NOT_COORDINATOR until its next election",
                        shard.partition.name,
                        error,
                    )
                    del self._by_index[shard.index]
                return
            else:
                await shard.serve()
        await in_slices(shard.core.unload())
        if shard.must_reload:
            await trio.sleep(_RELOAD_AFTER_S)
            if self._by_index.get(shard.index) is shard and shard.partition.is_leader:
                self.load(shard.index)

    async def _load(self, shard: Shard[C]) -> None:
        """Raises DecodeError for a damaged record, KafkaError if the leadership ended, OSError from the log."""
        async with self._loading:
            began_s = self.world.seconds()
            await shard.load()
            self.report_load(self.world.seconds() - began_s)
        await self.committed(shard.partition)
        await shard.begin()
        await self.before_service(shard)
        shard.is_active = not shard.scope.cancel_called
