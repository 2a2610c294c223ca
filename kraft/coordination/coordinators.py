"""The coordinators of a broker, which take and lose partitions with its leadership."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from kraft.coordination.group_metrics import declare_group_metrics, declare_group_rates, declare_load_times
from kraft.coordination.groups import Groups
from kraft.coordination.share_partitions import SharePartitions
from kraft.coordination.share_states import ShareStates
from kraft.coordination.transactions import Transactions
from kraft.metadata.image import Image
from kraft.metrics import Registry
from kraft.replication.replicas import LeaderChanges


@attrs.frozen(eq=False)
class BrokerCoordinators:
    """All of them. Metadata changes reach them together, in order."""

    groups: Groups
    transactions: Transactions
    share_states: ShareStates
    shares: SharePartitions

    def apply(self, led: LeaderChanges, deleted: Iterable[str] = ()) -> None:
        """Resign from lost partitions, take over gained ones, and begin to delete the offsets of ``deleted`` topics."""
        self.groups.apply(led, deleted)
        self.transactions.apply(led)
        self.share_states.apply(led)
        self.shares.apply(led)

    async def forgotten(self, image: Image) -> None:
        """Wait while the offsets of a deleted topic remain whose name a new topic of ``image`` has."""
        await self.groups.forgotten(image)


def declare_coordinator_metrics(
    registry: Registry, groups: Groups, transactions: Transactions, share_states: ShareStates
) -> None:
    """Declare the metrics of a broker's coordinators. They live as long as ``registry``."""
    declare_group_metrics(registry, groups)
    groups.report_counts(declare_group_rates(registry))
    groups.report_loads(declare_load_times(registry, "group"))
    transactions.report_loads(declare_load_times(registry, "transaction"))
    share_states.report_loads(declare_load_times(registry, "share"))
