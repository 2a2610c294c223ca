"""The coordinator of transactions of a broker: a shard for each partition of ``__transaction_state`` that it leads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.config.features import TRANSACTION_VERSION
from kraft.coordination.markers import MarkerSender, WriteMarkers
from kraft.coordination.shard import Shard
from kraft.coordination.shards import Shards
from kraft.coordinator.transactions.core import ExpireTransactionalIds, MarkersWritten, TransactionCoordinator
from kraft.coordinator.transactions.effects import TransactionEffects, TransactionMarkers
from kraft.coordinator.transactions.step import TransactionCoordinatorSettings, TransactionWorld
from kraft.coordinator.transactions.transaction import TransactionPartition
from kraft.metadata.steps import Steps
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.rpc.client import Connect
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import TRANSACTION_TOPIC
from kraft.world.slices import Slices
from kraft.world.world import World

T = TypeVar("T")
TransactionShard = Shard[TransactionCoordinator]


@attrs.define(eq=False)
class Transactions:
    """All transactions that this broker coordinates. ``write_own`` writes the markers of partitions that it leads."""

    config: NodeConfig
    replicas: Replicas
    world: World
    new_producer_id: Callable[[], int]
    connect: Connect
    write_own: WriteMarkers
    _shards: Shards[TransactionCoordinator] = attrs.field(init=False)
    _sender: MarkerSender = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._sender = MarkerSender(self.config, self.replicas, self.connect, self.write_own)
        self._shards = Shards(
            TRANSACTION_TOPIC,
            self.replicas,
            self.world,
            self._new_core,
            self.config.network.request_timeout_ms / 1000,
            self._send_markers,
            now=self.world.clock.system_s,
        )

    def _new_core(self, partition: HostedPartition) -> TransactionCoordinator:
        settings = self.config.transactions
        return TransactionCoordinator(
            TransactionWorld(
                TransactionCoordinatorSettings(
                    settings.transaction_max_timeout_ms / 1000,
                    settings.transaction_abort_timed_out_transaction_cleanup_interval_ms / 1000,
                    settings.transactional_id_expiration_ms,
                ),
                partition.state.leader_epoch,
                self.new_producer_id,
                lambda: self.replicas.image.features.get(TRANSACTION_VERSION, 0),
                partition.has_enough_in_sync,
                lambda: partition.log.config.max_message_bytes,
            )
        )

    def _send_markers(self, shard: TransactionShard, effects: TransactionEffects) -> None:
        def report(markers: TransactionMarkers, partitions: list[TransactionPartition]) -> None:
            shard.take(MarkersWritten(markers, partitions))

        for markers in effects.markers:
            self._sender.send(markers, report, lambda: not shard.scope.cancel_called)

    def shard_of(self, transactional_id: str) -> TransactionShard:
        """Return the active shard that holds the transactional id. Raises KafkaError as :meth:`Shards.shard_of`."""
        return self._shards.shard_of(transactional_id)

    async def read_all(self, read: Callable[[TransactionCoordinator], Steps[list[T]]], slices: Slices) -> list[T]:
        """Return what ``read`` finds in all partitions. Raises KafkaError as :meth:`Shards.read_all`."""
        return await self._shards.read_all(read, slices)

    def report_loads(self, report: Callable[[float], None]) -> None:
        """Have the seconds of each further load of a partition reported."""
        self._shards.report_load = report

    def apply(self, led: LeaderChanges) -> None:
        """Resign from lost partitions, and take over gained ones.

        A partition that this broker leads in a newer epoch is taken over anew (``TransactionCoordinator.onElection``).
        Another coordinator may have sent markers in between, whose epoch fences those of the earlier one. A broker with
        ZooKeeper sees each leader, and its leader epochs rise with each smaller ISR, too (``Partition.makeLeader``).
        """
        self._shards.apply(led)
        if self.replicas.is_commanded:
            return
        for shard in self._shards.all():
            partition, epoch = shard.partition, shard.core.world.coordinator_epoch
            if partition.is_leader and partition.state.leader_epoch != epoch:
                self._shards.resign(shard.index, KafkaError(ErrorCode.NOT_COORDINATOR))
                self._shards.load(shard.index)

    async def _expire(self) -> None:
        interval_ms = self.config.transactions.transaction_remove_expired_transaction_cleanup_interval_ms
        while True:
            await trio.sleep(interval_ms / 1000)
            for shard in self._shards.all():
                while shard.is_active and await shard.perform(ExpireTransactionalIds()):
                    pass

    async def run(self) -> None:
        """Run the shards, send their markers, and remove unused ids, forever."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._sender.run, name="transaction markers")
            nursery.start_soon(self._expire, name="transactional ids expiry")
            await self._shards.run()
