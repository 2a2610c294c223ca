"""Metrics of share partitions with Kafka's names: ``SharePartitionMetrics`` and ``ShareGroupMetrics``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

import attrs

from kraft.broker.share.partition import ACKNOWLEDGEMENT_TYPES, Acknowledgement, SharePartition
from kraft.broker.share.runs import StateChange
from kraft.coordinator.share.state import SharePartitionKey
from kraft.metrics import MetricName, Registry

_GROUPS: Final = ("kafka.server", "ShareGroupMetrics")
_PARTITIONS: Final = ("kafka.server", "SharePartitionMetrics")
_LOCK_TIMEOUTS: Final = "AcquisitionLockTimeoutPerSec"
_IN_FLIGHT: Final[dict[str, Callable[[SharePartition], int]]] = {
    "InFlightMessageCount": lambda core: core.end_offset - core.start_offset,
    "InFlightBatchCount": lambda core: len(core.runs.items),
}


@attrs.frozen(eq=False)
class ShareMetrics:
    """Each loaded share partition has gauges of its records in flight. An in-flight batch is a run of offsets here."""

    registry: Registry

    def loaded(self, key: SharePartitionKey, topic: str, core: SharePartition, took_s: float) -> None:
        self.dropped(key, topic)
        for name, read in _IN_FLIGHT.items():
            self.registry.gauge(*_PARTITIONS, name, partial(read, core), **_tags(key, topic))
        self.registry.histogram(*_GROUPS, "PartitionLoadTimeMs", scale=0.001).record(int(took_s * 1e6))

    def dropped(self, key: SharePartitionKey, topic: str) -> None:
        for name in (*_IN_FLIGHT, _LOCK_TIMEOUTS):
            self.registry.remove(MetricName(*_PARTITIONS, name, tuple(_tags(key, topic).items())))

    def locks_ended(self, key: SharePartitionKey, topic: str, changes: Iterable[StateChange]) -> None:
        """Count the records whose acquisition locks timed out."""
        count = sum(change.last_offset - change.first_offset + 1 for change in changes)
        self.registry.meter(*_PARTITIONS, _LOCK_TIMEOUTS, **_tags(key, topic)).count += count

    def acknowledged(self, batches: Iterable[Acknowledgement]) -> None:
        """Count the records of acknowledgements that were not refused."""
        counts: Counter[int] = Counter()
        for first, last, types in batches:
            counts.update({types[0]: last - first + 1} if len(types) == 1 else Counter(types))
        for kind, count in counts.items():
            name = ACKNOWLEDGEMENT_TYPES.get(kind)
            if name is not None:
                self.registry.meter(*_GROUPS, "RecordAcknowledgementsPerSec", ackType=name).count += count


def _tags(key: SharePartitionKey, topic: str) -> dict[str, str]:
    return {"group": key.group_id, "topic": topic, "partition": str(key.partition)}
