"""The share coordinator of a broker: a shard for each partition of ``__share_group_state`` that it leads."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.coordination.shard import ReplySlot, Shard
from kraft.coordination.shards import Shards
from kraft.coordinator.share.core import ShareCoordinator, ShareStateRequest, ShareWorld, TidyShareStates
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.wire.internal_topics import SHARE_STATE_TOPIC
from kraft.world.world import World

_TIDY_INTERVAL_S = 300.0
"""Apache's internal ``share.coordinator.cold.partition.snapshot.interval.ms``."""


@attrs.define(eq=False)
class ShareStates:
    """The states of all share partitions that this broker coordinates."""

    config: NodeConfig
    replicas: Replicas
    world: World
    _shards: Shards[ShareCoordinator] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._shards = Shards(
            SHARE_STATE_TOPIC,
            self.replicas,
            self.world,
            self._new_core,
            self.config.share.share_coordinator_write_timeout_ms / 1000,
            now=self.world.clock.system_s,
        )

    def _new_core(self, partition: HostedPartition) -> ShareCoordinator:
        return ShareCoordinator(
            ShareWorld(
                self._partition_count,
                partition.has_enough_in_sync,
                lambda: partition.log.config.max_message_bytes,
                self.config.share.share_coordinator_snapshot_update_records_per_snapshot,
                _TIDY_INTERVAL_S,
            )
        )

    def _partition_count(self, topic_id: UUID) -> int:
        topic = self.replicas.image.topics.get(topic_id)
        return 0 if topic is None else len(topic.partitions)

    def request(self, request: ShareStateRequest) -> ReplySlot:
        """Begin one element of a request, and return the pending reply.

        Raises KafkaError as :meth:`Shards.shard_of`.
        """
        return self._shards.shard_of(request.share_partition.coordinator_key).request(request)

    def shard_of(self, coordinator_key: str) -> Shard[ShareCoordinator]:
        """Return the active shard of a share partition. Raises KafkaError as :meth:`Shards.shard_of`."""
        return self._shards.shard_of(coordinator_key)

    def report_loads(self, report: Callable[[float], None]) -> None:
        """Have the seconds of each further load of a partition reported."""
        self._shards.report_load = report

    def apply(self, led: LeaderChanges) -> None:
        """Resign from lost partitions, and take over gained ones."""
        self._shards.apply(led)

    async def _tidy(self) -> None:
        while True:
            await trio.sleep(_TIDY_INTERVAL_S)
            for shard in self._shards.all():
                while shard.is_active and await shard.perform(TidyShareStates()):
                    pass
                if shard.is_active:
                    self._prune(shard)

    def _prune(self, shard: Shard[ShareCoordinator]) -> None:
        """Delete the records before the oldest snapshot (``performRecordPruning``). The topic is not compacted."""
        partition, offset = shard.partition, shard.core.redundant_offset
        if partition.log.log_start_offset < offset <= partition.high_watermark:
            partition.log.delete_records(offset)
            partition.wake()

    async def run(self) -> None:
        """Run the shards and tidy their states, forever."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._tidy, name="share states expiry")
            await self._shards.run()
