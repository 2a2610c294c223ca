"""The coordinators of a broker and their helpers: made together, run in one nursery.

:mod:`kraft.coordination.lazy_coordinators` imports this module. Nothing that a starting node needs may do so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.config.group import group_limits
from kraft.coordination.group_metrics import declare_group_metrics, declare_group_rates, declare_load_times
from kraft.coordination.groups import Groups
from kraft.coordination.marker_writer import MarkerWriter
from kraft.coordination.share_channel import ShareStateChannel
from kraft.coordination.share_metrics import ShareMetrics
from kraft.coordination.share_offsets import ShareOffsets
from kraft.coordination.share_partitions import SharePartitions
from kraft.coordination.share_states import ShareStates
from kraft.coordination.transactions import Transactions
from kraft.coordination.verification import TransactionVerification
from kraft.coordinator.groups.rebalance import ConsumerProtocolSettings, CoordinatorSettings, ShareProtocolSettings
from kraft.metadata.image import Image
from kraft.metrics import Registry
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.rpc.client import connect
from kraft.wire.internal_topics import SHARE_STATE_TOPIC
from kraft.world.world import World

_MINUTE_MS: Final = 60_000


@attrs.frozen(eq=False)
class BrokerCoordinators:
    """All of them. Metadata changes reach them together, in order."""

    groups: Groups
    transactions: Transactions
    verification: TransactionVerification
    marker_writer: MarkerWriter
    share_states: ShareStates
    share_offsets: ShareOffsets
    shares: SharePartitions

    def apply(self, led: LeaderChanges, deleted: Iterable[str] = ()) -> None:
        """Resign from lost partitions, take over gained ones, and begin to delete the offsets of ``deleted`` topics."""
        self.groups.apply(led, deleted)
        self.transactions.apply(led)
        self.share_states.apply(led)
        self.shares.apply(led)

    async def offsets_deleted(self, image: Image) -> None:
        """Wait until no offsets are left of a deleted topic whose name a topic of ``image`` has."""
        await self.groups.offsets_deleted(image)

    async def run(self) -> None:
        """Run their tasks, forever."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.groups.run, name="groups")
            nursery.start_soon(self.transactions.run, name="transactions")
            nursery.start_soon(self.verification.run, name="transaction verification")
            nursery.start_soon(self.share_states.run, name="share states")
            nursery.start_soon(self.shares.run, name="share partitions")


def make_coordinators(
    config: NodeConfig,
    replicas: Replicas,
    world: World,
    registry: Registry,
    new_producer_id: Callable[[], int],
    create_topics: Callable[[Iterable[str]], object],
) -> BrokerCoordinators:
    """Make the coordinators of a broker and declare their metrics. None of them runs yet.

    ``new_producer_id`` returns an id or raises KafkaError. ``create_topics`` begins to create internal topics.
    """
    connect_to = partial(connect, dial=world.dial)
    share_states = ShareStates(config, replicas, world)
    channel = ShareStateChannel(config, replicas, share_states, connect_to, lambda: create_topics([SHARE_STATE_TOPIC]))
    interval_ms = config.groups.offsets_retention_check_interval_ms
    groups = Groups(replicas, world, group_settings(config), interval_ms, channel.request)
    writer = MarkerWriter(config, replicas, groups)
    transactions = Transactions(config, replicas, world, new_producer_id, connect_to, writer.write)
    declare_group_metrics(registry, groups)
    groups.report_counts(declare_group_rates(registry))
    groups.report_loads(declare_load_times(registry, "group"))
    transactions.report_loads(declare_load_times(registry, "transaction"))
    share_states.report_loads(declare_load_times(registry, "share"))
    return BrokerCoordinators(
        groups,
        transactions,
        TransactionVerification(config, replicas, transactions, connect_to, registry),
        writer,
        share_states,
        ShareOffsets(config, replicas, connect_to, channel.request),
        SharePartitions(config, replicas, world, channel, ShareMetrics(registry)),
    )


def group_settings(config: NodeConfig) -> CoordinatorSettings:
    """Translate the configuration into the settings of the group coordinator."""
    groups = config.groups
    policy = groups.group_consumer_migration_policy.lower()
    return CoordinatorSettings(
        group_min_session_timeout_s=groups.group_min_session_timeout_ms / 1000,
        group_max_session_timeout_s=groups.group_max_session_timeout_ms / 1000,
        group_initial_rebalance_delay_s=groups.group_initial_rebalance_delay_ms / 1000,
        group_max_size=groups.group_max_size,
        offset_metadata_max_bytes=groups.offset_metadata_max_bytes,
        offsets_retention_ms=groups.offsets_retention_minutes * _MINUTE_MS,
        offsets_commit_timeout_s=groups.offsets_commit_timeout_ms / 1000,
        consumer=ConsumerProtocolSettings(
            session_timeout_s=groups.group_consumer_session_timeout_ms / 1000,
            heartbeat_interval_s=groups.group_consumer_heartbeat_interval_ms / 1000,
            max_size=groups.group_consumer_max_size,
            assignment_interval_s=groups.group_consumer_assignment_interval_ms / 1000,
            may_upgrade=policy in ("upgrade", "bidirectional"),
            may_downgrade=policy in ("downgrade", "bidirectional"),
            regex_refresh_interval_s=groups.group_consumer_regex_refresh_interval_ms / 1000,
        ),
        share=ShareProtocolSettings(
            session_timeout_s=groups.group_share_session_timeout_ms / 1000,
            heartbeat_interval_s=groups.group_share_heartbeat_interval_ms / 1000,
            max_size=groups.group_share_max_size,
            assignment_interval_s=groups.group_share_assignment_interval_ms / 1000,
            initialize_retry_interval_s=max(
                groups.group_share_initialize_retry_interval_ms, groups.offsets_commit_timeout_ms
            )
            / 1000,
        ),
        group_limits=group_limits((groups, config.share)),
    )
