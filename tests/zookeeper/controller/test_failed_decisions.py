"""Errors of decisions that nobody foresaw: KafkaController.process logs every Throwable, and the broker lives on."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller import core
from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.api_requests import LEGACY_HANDLERS
from kraft.zookeeper.controller.broker_queue import Waiting
from kraft.zookeeper.controller.cluster import LiveBroker
from kraft.zookeeper.controller.effects import StandAgain, Steps
from kraft.zookeeper.operations import Create, Delete, Failure
from kraft.zookeeper.znodes.admin import delete_topic_path
from kraft.zookeeper.znodes.controllers import CONTROLLER
from kraft.zookeeper.znodes.topics import TOPICS
from tests.support.legacy_cluster import LegacyClusterModel
from tests.support.znode_tree import ZnodeTree

FAILED = "a decision failed after it had changed something"


def running() -> LegacyClusterModel:
    cluster = LegacyClusterModel(3)
    cluster.start(1, 2, 3)
    cluster.create_topic("t", (1, 2), (2, 3))
    cluster.tolerates_failures = True
    return cluster


def fail(*arguments: object) -> Steps[Any]:
    yield from ()
    raise ZeroDivisionError


def write_and_fail(active: ActiveController, *arguments: object) -> Steps[Any]:
    yield from active.write([Create(delete_topic_path("unknown"))])
    raise ZeroDivisionError


def request(cluster: LegacyClusterModel) -> int:
    message = AllocateProducerIdsRequest(broker_id=2, broker_epoch=cluster.epoch(2))
    return int(cluster.request(message, 0).error_code)


def is_paused(cluster: LegacyClusterModel) -> bool:
    """The controller has resigned, and no other one is elected before the end of the pause."""
    return is_without_controller(cluster) and [event for _, event in cluster.repeated] == [StandAgain()]


def is_without_controller(cluster: LegacyClusterModel) -> bool:
    return all(each.core.active is None for each in cluster.brokers.values())


def goes_on(cluster: LegacyClusterModel, epoch: int) -> bool:
    cluster.end_pause()
    active = cluster.controller.core.active
    assert active is not None
    cluster.create_topic("next", (2,))
    return active.epoch == epoch and cluster.state("next").leader == 2 and request(cluster) == ErrorCode.NONE


def plant(patch: pytest.MonkeyPatch, decide: Any) -> None:
    handler = LEGACY_HANDLERS[AllocateProducerIdsRequest]
    patch.setitem(LEGACY_HANDLERS, AllocateProducerIdsRequest, attrs.evolve(handler, decide=decide))


def test_a_request_that_fails_before_it_writes_gets_an_error_and_the_controller_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise a client could end each controller by repeating its request."""
    cluster = running()
    active = cluster.controller.core.active
    with monkeypatch.context() as patch:
        plant(patch, fail)
        assert request(cluster) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert cluster.controller.core.active is active
    assert cluster.repeated == []
    assert goes_on(cluster, epoch=1)


def test_a_request_that_fails_after_it_wrote_gets_an_error_and_the_controller_resigns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kraft.zookeeper.controller.core: "the broker resigns, and reads everything anew"."""
    cluster = running()
    with monkeypatch.context() as patch:
        plant(patch, write_and_fail)
        assert request(cluster) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert is_paused(cluster)
    assert cluster.roles[-1].reason == FAILED
    assert goes_on(cluster, epoch=2)


def test_a_change_that_is_not_taken_in_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch of the topics is gone, and memory may have half of the change."""
    cluster = running()
    with monkeypatch.context() as patch:
        patch.setitem(core._WATCHED, TOPICS, fail)
        cluster.create_topic("lost", (2, 3))
    assert is_paused(cluster)
    assert goes_on(cluster, epoch=2)
    assert cluster.state("lost").leader == 2


def test_a_response_that_is_not_taken_in_ends_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker counts as free by then, so the same response again would be ignored."""
    cluster = running()
    with monkeypatch.context() as patch:
        patch.setattr(core, "replicas_reported", fail)
        cluster.create_topic("other", (2, 3))
    assert is_paused(cluster)
    assert goes_on(cluster, epoch=2)


def test_a_request_to_a_broker_that_cannot_be_made_ends_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its contents are no longer in the queue of the broker, so the next controller sends all states. No other broker
    gets a request of the ended epoch."""
    cluster = running()
    message = ActiveController._message
    received = len(cluster.brokers[2].received)

    def fail_for_3(active: ActiveController, broker: LiveBroker, waiting: Waiting) -> Steps[Any]:
        return fail() if broker.registration.broker_id == 3 else message(active, broker, waiting)

    with monkeypatch.context() as patch:
        patch.setattr(ActiveController, "_message", fail_for_3)
        cluster.create_topic("other", (2, 3))
    assert is_paused(cluster)
    assert len(cluster.brokers[2].received) == received
    assert goes_on(cluster, epoch=2)
    sent = [each.message for each in cluster.brokers[3].received if each.message.controller_epoch == 2]
    assert any(topic.topic_name == "other" for each in sent for topic in each.topic_states)


def test_a_controller_that_cannot_begin_stands_again_after_each_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """KafkaController.elect calls triggerControllerMove after such an error, so that another broker may be elected. Its
    own election changes /controller and the epoch: neither may bring the next one before the pause is over."""
    cluster = running()
    with monkeypatch.context() as patch:
        patch.setattr(core, "initialise", fail)
        cluster.stop(1)
        for epoch in (2, 3, 4):
            assert is_paused(cluster)
            assert cluster.tree.data("/controller_epoch") == str(epoch).encode()
            cluster.end_pause()
    assert is_paused(cluster)
    assert goes_on(cluster, epoch=6)
    assert cluster.state("t").leader == 2


def test_an_election_that_zookeeper_refuses_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with too much to do refuses the transaction (ThrottledOp). /controller stays away, so no watch fires."""
    cluster = running()
    with monkeypatch.context() as patch:
        patch.setattr(ZnodeTree, "_multi", lambda *_: Failure.REFUSED)
        cluster.stop(1)
    assert is_without_controller(cluster)
    assert [event for _, event in cluster.repeated] == [StandAgain()] * 2  # of both brokers
    assert goes_on(cluster, epoch=2)
    assert cluster.repeated == []
    assert cluster.state("t").leader == 2


def test_a_new_session_does_not_wait_for_the_pause_of_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """KafkaController.processRegisterBrokerAndReelect: the next change of /controller is an election at once, too."""
    cluster = running()
    with monkeypatch.context() as patch:
        patch.setitem(core._WATCHED, TOPICS, fail)
        cluster.create_topic("other", (2, 3))
    cluster.repeated.clear()
    cluster.stop(2, 3)
    cluster.stop(1)
    cluster.start(1)
    assert cluster.controller.broker_id == 1
    cluster.tree.perform(None, Delete(CONTROLLER))
    cluster.settle()
    assert cluster.roles[-1].reason == "the znode of controller 1 changed or is gone, and there was no controller"
