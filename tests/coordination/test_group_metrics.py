"""The metrics of groups: the names are those of ``GroupCoordinatorMetrics``."""

from __future__ import annotations

from typing import cast

import attrs

from kraft.coordination.group_metrics import declare_group_metrics
from kraft.coordination.groups import Groups
from kraft.coordinator.groups.core import GroupCoordinator
from kraft.metrics import Registry
from tests.coordinator.groups.consumer.desk import ConsumerDesk, Member
from tests.coordinator.groups.desk import Desk


@attrs.frozen
class Cores:
    cores: list[GroupCoordinator]

    def active_cores(self) -> list[GroupCoordinator]:
        return self.cores

    def partition_count(self, *, is_active: bool) -> int:
        return len(self.cores) if is_active else 0


def test_groups_are_counted_by_protocol_and_state() -> None:
    classic, consumer = Desk(), ConsumerDesk(t=2)
    registry = Registry()
    declare_group_metrics(registry, cast(Groups, Cores([classic.core, consumer.core])))

    def counts(type_and_name: str, *tags: str) -> list[float]:
        return [registry.get(f"{type_and_name},{tag}").value for tag in tags]

    def states() -> list[float]:
        names = ("Empty", "Assigning", "Reconciling", "Stable")
        return counts(f"{new},name=consumer-group-count", *(f"state={name}" for name in names))

    old, new = "kafka.coordinator.group:type=GroupMetadataManager", "kafka.server:type=group-coordinator-metrics"
    assert classic.commit(7) == 0
    first = Member(consumer, "m1")
    protocols = [f"protocol={name}" for name in ("classic", "consumer", "share")]
    assert counts(f"{new},name=group-count", *protocols) == [1, 1, 0]
    names = [f"name={name}" for name in ("NumGroups", "NumOffsets", "NumGroupsEmpty", "NumGroupsStable")]
    assert counts(old, *names) == [1, 1, 1, 0]
    assert states() == [0, 0, 0, 1]
    second = Member(consumer, "m2")
    assert states() == [0, 0, 1, 0]
    consumer.settle_all(first, second)
    assert states() == [0, 0, 0, 1]
    for member in (first, second):
        consumer.beat(member.member_id, -1)
    assert states() == [1, 0, 0, 0]
    classic.stable()
    assert counts(old, *names) == [1, 1, 0, 1]
