"""kraft.zookeeper.controller.core: elections of the controller, and resignations."""

from __future__ import annotations

import json

from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.messages.update_metadata_response import UpdateMetadataResponse
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller.core import NO_CONTROLLER
from kraft.zookeeper.controller.effects import (
    ApiRequest,
    BrokerResponded,
    OperationsPerformed,
    RoleChanged,
    SessionExpired,
    SessionStarted,
)
from kraft.zookeeper.operations import Check, Delete, Multi, ZnodeChanged
from kraft.zookeeper.znodes.brokers import BROKER_IDS
from kraft.zookeeper.znodes.controllers import CONTROLLER_EPOCH
from tests.support.legacy_cluster import LegacyClusterModel


def test_the_first_broker_becomes_the_controller_and_the_others_follow() -> None:
    """KafkaZkClient.registerControllerAndIncrementControllerEpoch: "Create /controller and update /controller_epoch
    atomically"."""
    cluster = LegacyClusterModel(3)
    cluster.start(2)
    assert json.loads(cluster.tree.data("/controller"))["brokerid"] == 2
    assert cluster.tree.data("/controller_epoch") == b"1"
    cluster.start(1, 3)
    assert [broker.core.controller_id for broker in cluster.brokers.values()] == [2, 2, 2]
    assert cluster.controller.broker_id == 2


def test_after_the_controllers_session_another_broker_has_a_higher_epoch() -> None:
    cluster = LegacyClusterModel(3)
    cluster.start(1, 2, 3)
    cluster.stop(1)
    active = cluster.controller.core.active
    assert active is not None
    assert (active.epoch, cluster.tree.data("/controller_epoch")) == (2, b"2")
    assert sorted(active.cluster.brokers) == [2, 3]


def test_two_brokers_never_win_the_same_epoch() -> None:
    """The transaction is conditional on the version of /controller_epoch."""
    cluster = LegacyClusterModel(2)
    cluster.start(1)
    cluster.stop(1)
    one, two = cluster.brokers[1], cluster.brokers[2]
    reads = [broker.core.step(0, SessionStarted()).operations for broker in (one, two)]
    wins = []
    for broker, operations in zip((one, two), reads, strict=True):
        results = tuple(cluster.tree.perform(broker.session, each) for each in operations)
        wins.append(broker.core.step(0, OperationsPerformed(results)).operations)
    for broker, operations in zip((one, two), wins, strict=True):
        assert isinstance(operations[0], Multi)
        results = tuple(cluster.tree.perform(broker.session, each) for each in operations)
        broker.core.step(0, OperationsPerformed(results))
    assert one.core.active is not None
    assert two.core.active is None
    assert cluster.tree.data("/controller_epoch") == b"2"


def test_a_lost_response_to_the_own_transaction_is_a_success() -> None:
    """KafkaZkClient.checkControllerAndEpoch: "If the epoch is the same as newControllerEpoch, it is safe to
    infer that the returned epoch zkVersion is associated with the current broker"."""
    cluster = LegacyClusterModel(1)
    broker = cluster.brokers[1]
    effects = broker.core.step(0, SessionStarted())
    performed = 0
    while effects.operations and broker.core.active is None:
        results = tuple(cluster.tree.perform(broker.session, each) for each in effects.operations)
        if isinstance(effects.operations[0], Multi):  # The connection was lost, and the driver tried again.
            results = tuple(cluster.tree.perform(broker.session, each) for each in effects.operations)
            performed += 1
        effects = broker.core.step(0, OperationsPerformed(results))
    assert broker.core.active is not None
    assert (performed, broker.core.active.epoch) == (1, 1)


def test_every_write_of_the_controller_checks_its_epoch() -> None:
    """KAFKA-6082: a controller that lost its session must not overwrite the decisions of the next one."""
    cluster = LegacyClusterModel(3)
    cluster.start(1, 2, 3)
    cluster.operations.clear()
    cluster.create_topic("t", (1, 2, 3), (2, 3, 1))
    cluster.stop(3)
    guarded = [each for each in cluster.operations if isinstance(each, Multi)]
    assert len(guarded) > 4
    assert all(each.writes[0] == Check("/controller_epoch", 1) for each in guarded)


def test_a_controller_with_an_old_epoch_resigns_at_its_next_write() -> None:
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    cluster.create_topic("t", (1, 2))
    old = cluster.brokers[1]
    cluster.tree.perform(None, Delete("/controller"))
    cluster.tree.changed = [each for each in cluster.tree.changed if each[0] != old.session]
    cluster.settle()
    assert cluster.brokers[2].core.active is not None
    before, sent = cluster.tree.data("/brokers/topics/t/partitions/0/state"), len(cluster.brokers[2].received)
    cluster.tree.perform(None, Delete("/brokers/ids/2"))
    cluster.tree.changed.clear()
    cluster.step(old, ZnodeChanged(BROKER_IDS))
    assert old.core.active is None
    assert old.core.controller_id == 2
    assert cluster.tree.data("/brokers/topics/t/partitions/0/state") == before
    assert len(cluster.brokers[2].received) == sent
    assert cluster.roles[-1] == RoleChanged(
        1, False, "ZooKeeper refused a write: another controller has raised the epoch"
    )


def test_each_change_of_role_has_its_reason() -> None:
    cluster = LegacyClusterModel(1)
    cluster.start(1)
    cluster.tree.put("/controller", cluster.tree.data("/controller").replace(b'"brokerid":1', b'"brokerid":2'))
    cluster.settle()
    cluster.tree.perform(None, Delete("/controller"))
    cluster.settle()
    cluster.stop(1)
    assert cluster.roles == [
        RoleChanged(1, True, "its session began, and there was no controller"),
        RoleChanged(1, False, "/controller has broker 2 now"),
        RoleChanged(2, True, "the znode of controller 2 changed or is gone, and there was no controller"),
        RoleChanged(2, False, "its session with ZooKeeper has ended"),
    ]


def test_an_expired_session_ends_a_decision_at_once() -> None:
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    broker = cluster.controller
    effects = broker.core.step(0, ZnodeChanged(BROKER_IDS))
    assert effects.operations
    effects = broker.core.step(0, SessionExpired())
    assert (effects.operations, effects.requests, broker.core.active) == (None, [], None)
    assert broker.core.controller_id == NO_CONTROLLER


def test_an_epoch_that_was_used_is_never_won_again() -> None:
    """A broker reads the epoch, and before its transaction another one is elected and dies."""
    cluster = LegacyClusterModel(2)
    slow = cluster.brokers[1]
    cluster.start(2)
    cluster.stop(2)
    read = slow.core.step(0, SessionStarted()).operations
    results = tuple(cluster.tree.perform(slow.session, each) for each in read)
    transaction = slow.core.step(0, OperationsPerformed(results))
    cluster.start(2)
    cluster.stop(2)
    assert cluster.tree.data("/controller_epoch") == b"2"
    cluster.perform(slow, transaction)
    assert slow.core.active is not None
    assert (slow.core.active.epoch, cluster.tree.data("/controller_epoch")) == (3, b"3")


def test_a_request_whose_decision_ends_with_the_session_gets_an_error() -> None:
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    request = AllocateProducerIdsRequest(broker_id=2, broker_epoch=cluster.epoch(2))
    assert cluster.controller.core.step(0, ApiRequest("token", request, 0)).operations
    ((token, response),) = cluster.controller.core.step(0, SessionExpired()).responses
    assert (token, response.error_code) == ("token", ErrorCode.NOT_CONTROLLER)


def test_a_controller_znode_left_by_this_broker_does_not_stop_an_election() -> None:
    """KafkaController.triggerControllerMove deletes /controller, so that a controller is elected."""
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    cluster.create_topic("t", (2, 1))
    cluster.tree.put("/controller_epoch", b"7")
    cluster.stop(2)
    active = cluster.controller.core.active
    assert active is not None
    assert (cluster.controller.broker_id, active.epoch) == (1, 8)
    assert cluster.state("t").leader == 1


def test_a_controller_that_was_elected_meanwhile_keeps_its_znode() -> None:
    """KafkaZkClient.deleteController checks the epoch: the znode of each controller has version 0."""
    cluster = LegacyClusterModel(2)
    cluster.start(1)
    slow = cluster.brokers[1]
    slow.core.step(0, SessionExpired())
    read = slow.core.step(0, SessionStarted()).operations  # its znode is still there
    deletion = slow.core.step(0, OperationsPerformed(tuple(cluster.tree.perform(slow.session, each) for each in read)))
    slow.is_up = False
    cluster.tree.expire(slow.session)
    cluster.start(2)
    cluster.perform(slow, deletion)
    assert slow.core.controller_id == cluster.controller.broker_id == 2
    assert cluster.tree.data("/controller_epoch") == b"2"


def test_a_state_of_a_later_controller_is_left_alone() -> None:
    """ZkPartitionStateMachine: "Aborted leader election for partition … already written by another controller"."""
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    cluster.create_topic("t", (2, 1))
    path = "/brokers/topics/t/partitions/0/state"
    later = cluster.tree.data(path).replace(b'"controller_epoch":1', b'"controller_epoch":9')
    cluster.tree.put(path, later)
    cluster.stop(2)
    assert cluster.tree.data(path) == later
    assert any("its controller epoch is higher" in note for note in cluster.notes)


def test_a_malformed_controller_znode_stops_elections_and_no_broker() -> None:
    cluster = LegacyClusterModel(1)
    cluster.tree.put("/controller", b"nonsense")
    cluster.start(1)
    assert cluster.brokers[1].core.controller_id == NO_CONTROLLER
    (note,) = cluster.notes
    assert note.startswith("malformed data in the znode /controller: not JSON: Expecting value")
    assert note.endswith("; no election until it changes")
    cluster.tree.perform(None, Delete("/controller"))
    cluster.settle()
    assert cluster.controller.broker_id == 1


def test_a_new_controller_sends_the_live_brokers_before_the_states_and_metadata_after_them() -> None:
    """KafkaController.onControllerFailover: "brokers need to receive the list of live brokers from
    UpdateMetadataRequest before they can process the LeaderAndIsrRequests"."""
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    cluster.create_topic("t", (2, 1))
    broker = cluster.brokers[2]
    broker.received.clear()
    cluster.expire(1)
    cluster.brokers[1].is_up = False
    cluster.settle()
    messages = [each.message for each in broker.received]
    assert [type(each) for each in messages] == [UpdateMetadataRequest, LeaderAndIsrRequest, UpdateMetadataRequest]
    assert [each.topic_states for each in messages[:1]] == [[]]
    assert [each.id for each in messages[0].live_brokers] == [2]
    assert all((each.controller_id, each.controller_epoch) == (2, 2) for each in messages)


def test_a_response_to_an_earlier_request_does_not_free_the_broker() -> None:
    """KIP-291, footnote 2: "the max number of inflight requests from controller to broker is hard coded to be 1"."""
    cluster = LegacyClusterModel(2)
    cluster.brokers[2].holds_responses = True
    cluster.start(1, 2)
    cluster.create_topic("t", (1, 2))
    waiting = cluster.brokers[2]
    assert len(waiting.received) == 1
    number = waiting.received[0].number
    cluster.step(cluster.controller, BrokerResponded(2, number - 1, UpdateMetadataResponse()))
    assert len(waiting.received) == 1
    cluster.step(cluster.controller, BrokerResponded(2, number, UpdateMetadataResponse()))
    assert len(waiting.received) == 2


def test_a_malformed_epoch_stops_elections_until_it_is_repaired() -> None:
    """The active controller cannot write any more, and resigns. The next epoch follows from the repaired one."""
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    cluster.tree.put(CONTROLLER_EPOCH, b"one")
    cluster.create_topic("t", (1, 2))
    assert [each.core.active for each in cluster.brokers.values()] == [None, None]
    assert len(cluster.notes) == len(set(cluster.notes)) == 1
    assert cluster.notes[0].startswith("malformed data in the znode /controller_epoch: 'one' is not a number")
    cluster.tree.put(CONTROLLER_EPOCH, b"7")
    cluster.settle()
    assert cluster.controller.core.active is not None
    assert cluster.controller.core.active.epoch == 8
    assert cluster.state("t").controller_epoch == 8
