"""AlterPartition: valid and invalid proposals (KIP-497, KIP-841, KIP-903)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kraft.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from kraft.wire.errors import ErrorCode
from tests.controller.toy import ToyCluster


def propose(toy: ToyCluster, isr: list[int], *, leader: int = 1, version: int = 3, **fields: Any) -> Any:
    """A proposal of ``leader`` about the present state of partition 0, changed by ``fields``."""
    topic = toy.image.topic("t")
    assert topic is not None
    partition = topic.partitions[0]
    epochs = fields.pop("epochs", {})
    values = {"leader_epoch": partition.leader_epoch, "partition_epoch": partition.partition_epoch, **fields}
    named = TopicData(topic_id=values.pop("topic_id", topic.id))
    if version < 2:
        named = TopicData(topic_name=values.pop("topic_name", topic.name))
    epoch = values.pop("broker_epoch", toy.image.brokers[leader].epoch)
    if version < 3:
        data = PartitionData(new_isr=isr, **values)
    else:
        members = [BrokerState(broker_id=id, broker_epoch=epochs.get(id, toy.image.brokers[id].epoch)) for id in isr]
        data = PartitionData(new_isr_with_epochs=members, **values)
    named.partitions = [data]
    return toy.ask(AlterPartitionRequest(broker_id=leader, broker_epoch=epoch, topics=[named]), version)


def cluster() -> ToyCluster:
    toy = ToyCluster()
    toy.start(1, 2, 3, 4)
    toy.create(assignment={0: [1, 2, 3]})
    return toy


def outcome(response: Any) -> Any:
    return response.topics[0].partitions[0]


def test_a_smaller_and_a_larger_isr() -> None:
    toy = cluster()
    accepted = outcome(propose(toy, [1, 2]))
    assert (accepted.error_code, accepted.isr, accepted.partition_epoch, accepted.leader_epoch) == (0, [1, 2], 1, 0)
    assert toy.partition().isr == (1, 2)
    assert outcome(propose(toy, [1, 2, 3])).partition_epoch == 2


def test_the_same_isr_changes_nothing() -> None:
    toy = cluster()
    before = len(toy.log)
    assert outcome(propose(toy, [1, 2, 3])).partition_epoch == 0
    assert len(toy.log) == before


@pytest.mark.parametrize(
    ("isr", "fields", "code"),
    [
        ([1, 2], {"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ([1, 2], {"partition_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ([1, 2], {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ([1, 2], {"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ([1, 2], {"leader": 2}, ErrorCode.INVALID_REQUEST),
        ([1, 4], {}, ErrorCode.INVALID_REQUEST),
        ([1, 1], {}, ErrorCode.INVALID_REQUEST),
        ([2, 3], {}, ErrorCode.INVALID_REQUEST),
        ([1], {"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ([1], {"leader_recovery_state": 7}, ErrorCode.INVALID_REQUEST),
        ([1, 2], {"epochs": {2: 0}}, ErrorCode.INELIGIBLE_REPLICA),
        ([1, 2], {"epochs": {2: -1}}, ErrorCode.NONE),
        ([1, 2], {"partition_index": 5}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([1, 2], {"topic_id": UUID(int=5)}, ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
def test_refused_requests(isr: list[int], fields: dict[str, Any], code: ErrorCode) -> None:
    toy = cluster()
    before = len(toy.log)
    assert outcome(propose(toy, isr, **fields)).error_code == code
    assert (len(toy.log) > before) == (code is ErrorCode.NONE)


def test_a_broker_that_is_not_active_may_not_join() -> None:
    """KIP-841: fenced brokers and those in controlled shutdown are not eligible for an ISR."""
    toy = cluster()
    propose(toy, [1, 2])
    toy.heartbeat(3, fence=True)
    assert outcome(propose(toy, [1, 2, 3])).error_code == ErrorCode.INELIGIBLE_REPLICA


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_proposal_without_the_epochs_of_the_members(version: int) -> None:
    """v2 names the topic by id, v0 and v1 by name; the epochs come with v3 (KIP-903)."""
    toy = cluster()
    response = propose(toy, [1, 2], version=version)
    assert (outcome(response).error_code, response.topics[0].topic_name) == (0, "t" if version < 2 else "")
    assert toy.partition().isr == (1, 2)


@pytest.mark.parametrize(
    ("version", "unknown", "ineligible"),
    [
        (1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED),
        (2, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_errors_that_old_versions_do_not_know(version: int, unknown: ErrorCode, ineligible: ErrorCode) -> None:
    """KIP-841."""
    toy = cluster()
    other = {"topic_name": "other"} if version < 2 else {"topic_id": UUID(int=5)}
    assert outcome(propose(toy, [1], version=version, **other)).error_code == unknown
    toy.heartbeat(3, fence=True)
    assert outcome(propose(toy, [1, 3], version=version)).error_code == ineligible


@pytest.mark.parametrize(("version", "code"), [(1, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.NEW_LEADER_ELECTED)])
def test_a_proposal_that_costs_the_lead_is_carried_out(version: int, code: ErrorCode) -> None:
    """KIP-455: the new ISR completes a reassignment in which the leader goes."""
    toy = cluster()
    partition = ReassignablePartition(partition_index=0, replicas=[4])
    toy.ask(AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name="t", partitions=[partition])]))
    assert outcome(propose(toy, [1, 2, 3, 4], version=version)).error_code == code
    assert (toy.partition().leader, toy.partition().isr) == (4, (4,))


def test_a_partition_named_twice() -> None:
    toy = cluster()
    data = [PartitionData(leader_epoch=0, new_isr=isr) for isr in ([1, 2], [1, 3])]
    request = AlterPartitionRequest(
        broker_id=1,
        broker_epoch=toy.image.brokers[1].epoch,
        topics=[TopicData(topic_id=toy.topic().id, partitions=data)],
    )
    answers = toy.ask(request, 2).topics[0].partitions
    assert [answer.error_code for answer in answers] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert toy.partition().isr == (1, 2)


def test_a_heartbeat_of_another_broker_epoch_is_ignored() -> None:
    response = propose(cluster(), [1, 2], broker_epoch=0)
    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_recovery_ends_with_the_leaders_proposal() -> None:
    """KIP-704: after an unclean election the leader reports the end of its recovery; until then it is alone in the
    ISR.
    """
    toy = ToyCluster()
    toy.start(1, 2)
    toy.create(assignment={0: [1, 2]}, configs={"unclean.leader.election.enable": "true"})
    for broker_id in (1, 2):
        toy.heartbeat(broker_id, fence=True)
    toy.heartbeat(1)
    toy.heartbeat(2)
    assert toy.partition().leader_recovery_state == 1
    leader = toy.partition().leader
    assert outcome(propose(toy, [1, 2], leader=leader, leader_recovery_state=1)).error_code == ErrorCode.INVALID_REQUEST
    recovered = outcome(propose(toy, [leader], leader=leader, leader_recovery_state=0))
    assert (recovered.error_code, recovered.leader_recovery_state) == (ErrorCode.NONE, 0)
    assert toy.partition().leader_recovery_state == 0
