"""The partition metrics of a broker, ``kafka.server:type=ReplicaManager``, under Kafka's names.

Each read of a gauge counts over all partitions of the broker.
"""

from __future__ import annotations

from collections.abc import Callable

from kraft.broker.leadership import Leadership
from kraft.metrics import Registry
from kraft.replication.replicas import Replicas

GROUP = ("kafka.server", "ReplicaManager")


_LATE_BUFFER_MS = 5 * 60 * 1000
"""The time that a transaction has to end after its timeout, as in Kafka's ``ProducerStateManager``."""


def declare_replica_metrics(registry: Registry, replicas: Replicas, max_transaction_timeout_ms: int) -> None:
    """Declare the gauges of a broker. They live as long as ``registry``.

    A transaction is late some time after ``max_transaction_timeout_ms``: its coordinator does not end it.
    """

    def led(so: Callable[[Leadership], bool]) -> int:
        return sum(1 for each in replicas.all() if each.leadership is not None and so(each.leadership))

    def late_transactions() -> int:
        now_ms, max_age_ms = replicas.world.clock.now_ms(), max_transaction_timeout_ms + _LATE_BUFFER_MS
        led = (each for each in replicas.all() if each.is_leader)
        return sum(1 for each in led if each.log.producers.has_late_transaction(now_ms, max_age_ms))

    gauges: dict[str, Callable[[], int]] = {
        "PartitionCount": lambda: sum(1 for _ in replicas.all()),
        "LeaderCount": lambda: led(lambda leadership: True),
        "UnderReplicatedPartitions": lambda: led(lambda leadership: len(leadership.isr) < len(leadership.replicas)),
        "UnderMinIsrPartitionCount": lambda: led(lambda leadership: len(leadership.isr) < leadership.min_isr),
        "AtMinIsrPartitionCount": lambda: led(lambda leadership: len(leadership.isr) == leadership.min_isr),
        "PartitionsWithLateTransactionsCount": late_transactions,
        "ProducerIdCount": lambda: sum(len(each.log.producers) for each in replicas.all()),
    }
    for name, read in gauges.items():
        registry.gauge(*GROUP, name, read)
