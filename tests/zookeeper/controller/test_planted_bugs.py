"""Bugs that are planted into the legacy controller: conditions of writes, the order of requests, the one request in
flight of KIP-291. The interleavings notice each of them.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import Phase, given, settings

from kraft.zookeeper.controller import active, partitions
from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.broker_queue import BrokerQueue, Waiting, WaitingUpdateMetadata
from kraft.zookeeper.controller.cluster import LegacyCluster
from kraft.zookeeper.controller.effects import Steps
from kraft.zookeeper.controller.elections import led_by
from kraft.zookeeper.operations import ANY_VERSION, Check, Set
from kraft.zookeeper.znodes.admin import TopicPartition
from kraft.zookeeper.znodes.topics import PartitionState
from tests.zookeeper.controller.test_interleavings import Action, check_interleaving, schedules

Planting = Callable[[pytest.MonkeyPatch], None]


def no_check_of_the_controller_epoch(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(active, "Check", lambda path, version: Check("/", 0))


def no_version_of_a_state(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(active, "Set", lambda path, data, version: Set(path, data, ANY_VERSION))


def metadata_before_roles(patch: pytest.MonkeyPatch) -> None:
    take = BrokerQueue.take

    def metadata_first(queue: BrokerQueue) -> Waiting | None:
        if queue._metadata:
            metadata, queue._metadata = queue._metadata, {}
            return WaitingUpdateMetadata(metadata)
        return take(queue)

    patch.setattr(BrokerQueue, "take", metadata_first)


def two_requests_in_flight(patch: pytest.MonkeyPatch) -> None:
    flush = ActiveController.flush

    def at_once(controller: ActiveController, now: float) -> Steps[None]:
        for queue in controller.queues.values():
            queue.in_flight = None
        yield from flush(controller, now)

    patch.setattr(ActiveController, "flush", at_once)


def a_leader_outside_the_isr(patch: pytest.MonkeyPatch) -> None:
    def offline(_: object) -> Callable[[LegacyCluster, TopicPartition, PartitionState], PartitionState | None]:
        def choose(cluster: LegacyCluster, partition: TopicPartition, state: PartitionState) -> PartitionState | None:
            online = cluster.online(partition)
            return led_by(state, online[-1], state.isr) if online else None

        return choose

    patch.setattr(partitions, "offline", offline)


PLANTED = (
    no_check_of_the_controller_epoch,
    no_version_of_a_state,
    metadata_before_roles,
    two_requests_in_flight,
    a_leader_outside_the_isr,
)


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_noticed(monkeypatch: pytest.MonkeyPatch, plant: Planting) -> None:
    plant(monkeypatch)

    @settings(max_examples=150, deadline=None, database=None, derandomize=True, phases=[Phase.generate])
    @given(schedules)
    def run(schedule: list[tuple[Action, int, int]]) -> None:
        check_interleaving(schedule)

    with pytest.raises(AssertionError):
        run()
