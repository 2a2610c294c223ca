"""The partition metrics of a broker, ``kafka.server:type=ReplicaManager``, under Kafka's names.

Each read of a gauge counts over all partitions of the broker.
"""

from __future__ import annotations

from collections.abc import Callable

from kraft.broker.leadership import Leadership
from kraft.metrics import Registry
from kraft.replication.replicas import Replicas

GROUP = ("kafka.server", "ReplicaManager")


def declare_replica_metrics(registry: Registry, replicas: Replicas) -> None:
    """Declare the gauges of a broker. They live as long as ``registry``."""

    def led(so: Callable[[Leadership], bool]) -> int:
        return sum(1 for each in replicas.all() if each.leadership is not None and so(each.leadership))

    gauges: dict[str, Callable[[], int]] = {
        "PartitionCount": lambda: sum(1 for _ in replicas.all()),
        "LeaderCount": lambda: led(lambda leadership: True),
        "UnderReplicatedPartitions": lambda: led(lambda leadership: len(leadership.isr) < len(leadership.replicas)),
        "UnderMinIsrPartitionCount": lambda: led(lambda leadership: len(leadership.isr) < leadership.min_isr),
        "AtMinIsrPartitionCount": lambda: led(lambda leadership: len(leadership.isr) == leadership.min_isr),
    }
    for name, read in gauges.items():
        registry.gauge(*GROUP, name, read)
