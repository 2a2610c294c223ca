"""AlterPartition: who may propose what (KIP-497, KIP-841, KIP-903)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraft.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from kraft.wire.errors import ErrorCode
from tests.controller.toy import ToyCluster


def propose(toy: ToyCluster, isr: list[int], *, leader: int = 1, **fields: Any) -> Any:
    """A proposal of ``leader`` about the present state of partition 0, but for ``fields``."""
    topic = toy.image.topic("t")
    assert topic is not None
    partition = topic.partitions[0]
    epochs = fields.pop("epochs", {})
    values = {"leader_epoch": partition.leader_epoch, "partition_epoch": partition.partition_epoch, **fields}
    topic_id = values.pop("topic_id", topic.id)
    epoch = values.pop("broker_epoch", toy.image.brokers[leader].epoch)
    members = [BrokerState(broker_id=id, broker_epoch=epochs.get(id, toy.image.brokers[id].epoch)) for id in isr]
    data = PartitionData(new_isr_with_epochs=members, **values)
    return toy.ask(
        AlterPartitionRequest(
            broker_id=leader, broker_epoch=epoch, topics=[TopicData(topic_id=topic_id, partitions=[data])]
        )
    )


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
def test_what_is_refused(isr: list[int], fields: dict[str, Any], code: ErrorCode) -> None:
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


def test_a_broker_of_another_epoch_is_not_heard() -> None:
    response = propose(cluster(), [1, 2], broker_epoch=0)
    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH


def test_recovery_ends_with_the_proposal_that_says_so() -> None:
    """KIP-704: after an unclean election the leader says when it has recovered; until then it is alone in the ISR."""
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
