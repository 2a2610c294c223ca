"""The metrics of the group coordinator, under Kafka's names.

Each read of a gauge counts over the groups of this broker. A consumer group keeps its state until it changes, so that a
scrape does not look at all members again. Source: ``GroupCoordinatorMetrics``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kraft.coordination.groups import Groups
from kraft.coordinator.groups.consumer.group import ConsumerGroupState
from kraft.coordinator.groups.core import GroupCoordinator
from kraft.coordinator.groups.effects import Counted
from kraft.coordinator.groups.group import GroupState
from kraft.coordinator.groups.share.group import ShareGroupState
from kraft.metrics import Registry
from kraft.metrics.window import Window

_OLD = ("kafka.coordinator.group", "GroupMetadataManager")
_NEW = ("kafka.server", "group-coordinator-metrics")


def declare_group_metrics(registry: Registry, groups: Groups) -> None:
    """Declare the gauges of a broker's groups. They live as long as ``registry``."""

    def total(count: Callable[[GroupCoordinator], int]) -> int:
        return sum(count(core) for core in groups.active_cores())

    gauges: dict[str, Callable[[GroupCoordinator], int]] = {
        "NumGroups": lambda core: len(core.groups),
        "NumOffsets": lambda core: sum(map(len, core.offsets.by_group.values())),
    }
    for state in GroupState:
        gauges[f"NumGroups{state.value}"] = partial(_in_state, state=state)
    for name, count in gauges.items():
        registry.gauge(*_OLD, name, partial(total, count))
    protocols: dict[str, Callable[[GroupCoordinator], int]] = {
        "classic": lambda core: len(core.groups),
        "consumer": lambda core: len(core.consumers.committed),
        "share": lambda core: len(core.shares.committed),
    }
    for protocol, count in protocols.items():
        registry.gauge(*_NEW, "group-count", partial(total, count), protocol=protocol)
    for consumer_state in ConsumerGroupState:
        count = partial(_consumers_in_state, state=consumer_state)
        registry.gauge(*_NEW, "consumer-group-count", partial(total, count), state=consumer_state.value)
    for share_state in ShareGroupState:
        count = partial(_sharers_in_state, state=share_state)
        registry.gauge(*_NEW, "share-group-count", partial(total, count), state=share_state.value)
    for is_active, name in ((True, "active"), (False, "loading")):
        registry.gauge(*_NEW, "num-partitions", partial(groups.partition_count, is_active=is_active), state=name)


def declare_group_rates(registry: Registry) -> Callable[[Counted, int], None]:
    """Declare how often something happens per second, and how often it has. The returned function counts events."""
    rates = {what: Window(registry.clock) for what in Counted}
    counts = dict.fromkeys(Counted, 0)
    for what, rate in rates.items():
        registry.gauge(*_NEW, f"{what.value}-rate", partial(getattr, rate, "rate"))
        registry.gauge(*_NEW, f"{what.value}-count", partial(counts.__getitem__, what))

    def count(what: Counted, number: int) -> None:
        rates[what].record(number)
        counts[what] += number

    return count


def declare_load_times(registry: Registry, coordinator: str) -> Callable[[float], None]:
    """Declare how long partitions took to load, in milliseconds. The returned function takes the seconds of one load.

    Sources: ``CoordinatorRuntimeMetricsImpl`` and ``TransactionStateManager``.
    """
    times = Window(registry.clock)
    where = ("kafka.server", f"{coordinator}-coordinator-metrics")
    registry.gauge(*where, "partition-load-time-avg", lambda: times.average)
    registry.gauge(*where, "partition-load-time-max", lambda: times.maximum)
    return lambda seconds: times.record(seconds * 1000)


def _in_state(core: GroupCoordinator, *, state: GroupState) -> int:
    return sum(group.state is state for group in core.groups.values())


def _consumers_in_state(core: GroupCoordinator, *, state: ConsumerGroupState) -> int:
    return sum(group.state is state for group in core.consumers.committed.values())


def _sharers_in_state(core: GroupCoordinator, *, state: ShareGroupState) -> int:
    return sum(group.state() is state for group in core.shares.committed.values())
