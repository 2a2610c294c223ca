"""Decisions of the legacy controller about many partitions, which pause so that other tasks run meanwhile."""

from __future__ import annotations

from typing import Any

from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.zookeeper.controller.active import SLICE_US
from kraft.zookeeper.controller.effects import PAUSE, BrokerRequest, LegacyEffects, OperationsPerformed, SessionExpired
from kraft.zookeeper.operations import ZnodeChanged
from kraft.zookeeper.znodes.controllers import CONTROLLER
from tests.support.legacy_cluster import LegacyBroker, LegacyClusterModel

COUNT = 1500
"""Partitions. Each costs a new controller some 20 us, so its first decision has several slices."""


def abandoned() -> tuple[LegacyClusterModel, LegacyBroker, LegacyEffects]:
    """A cluster whose controller is gone, the broker that is about to be elected, and its first effects."""
    cluster = LegacyClusterModel(3)
    cluster.start(1, 2, 3)
    cluster.create_topic("t", *[(2, 3)] * COUNT)
    cluster.brokers[1].is_up = False
    cluster.expire(1)
    heir = cluster.brokers[2]
    return cluster, heir, heir.core.step(cluster.now, ZnodeChanged(CONTROLLER))


def proceed(cluster: LegacyClusterModel, heir: LegacyBroker, effects: LegacyEffects) -> LegacyEffects:
    results = tuple(cluster.tree.perform(heir.session, each) for each in effects.operations or ())
    return heir.core.step(cluster.now, OperationsPerformed(results))


def partitions(request: Any) -> int:
    return sum(len(topic.partition_states) for topic in request.topic_states)


def test_a_new_controller_pauses_and_sends_no_role_before_the_last_pause() -> None:
    cluster, heir, effects = abandoned()
    pauses, sent = 0, list[BrokerRequest]()
    while effects.operations is not None:
        pauses += effects.operations == PAUSE
        sent += effects.requests
        effects = proceed(cluster, heir, effects)
    sent += effects.requests
    assert pauses >= COUNT * 20 // SLICE_US
    assert [(each.broker_id, type(each.message), partitions(each.message)) for each in sent] == [
        (2, UpdateMetadataRequest, 0),
        (3, UpdateMetadataRequest, 0),
    ]


def test_the_first_request_for_roles_has_all_partitions() -> None:
    """KafkaController.onControllerFailover. A broker of Apache Kafka writes its high watermarks after the first
    LeaderAndIsr, and forgets those of partitions that the request lacks."""
    cluster, heir, effects = abandoned()
    cluster.perform(heir, effects)
    cluster.settle()
    for broker_id in (2, 3):
        received = [each.message for each in cluster.brokers[broker_id].received if each.message.controller_epoch == 2]
        first = next(each for each in received if isinstance(each, LeaderAndIsrRequest))
        assert partitions(first) == COUNT


def test_a_session_that_expires_in_a_pause_ends_the_decision() -> None:
    """No broker gets the requests that the controller had prepared."""
    cluster, heir, effects = abandoned()
    while heir.core.active is None or effects.operations != PAUSE:
        effects = proceed(cluster, heir, effects)
    effects = heir.core.step(cluster.now, SessionExpired())
    assert (effects.operations, effects.requests, heir.core.active) == (None, [], None)
