"""AssignReplicasToDirs, and directories that fail (KIP-858)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraft.messages.assign_replicas_to_dirs_request import (
    AssignReplicasToDirsRequest,
    DirectoryData,
    PartitionData,
    TopicData,
)
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.metadata.image import DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED
from kraft.metadata.partitions import NO_LEADER
from kraft.wire.errors import ErrorCode
from tests.controller.toy import ToyCluster

A, B, UNKNOWN = UUID(int=1001), UUID(int=1002), UUID(int=1003)


def cluster() -> ToyCluster:
    """Broker 1 has two directories, broker 2 has one; partition 0 is led by 1, partition 1 by 2."""
    toy = ToyCluster()
    toy.start(1, log_dirs=[A, B])
    toy.start(2)
    toy.create(assignment={0: [1, 2], 1: [2, 1]})
    return toy


def assign(toy: ToyCluster, *wanted: tuple[UUID, int], broker_id: int = 1, **fields: Any) -> Any:
    topic_id = fields.pop("topic_id", None) or toy.topic().id
    epoch = fields.pop("epoch", toy.image.brokers[broker_id].epoch)
    directories = [
        DirectoryData(
            id=directory, topics=[TopicData(topic_id=topic_id, partitions=[PartitionData(partition_index=index)])]
        )
        for directory, index in wanted
    ]
    return toy.ask(AssignReplicasToDirsRequest(broker_id=broker_id, broker_epoch=epoch, directories=directories))


def code(response: Any) -> ErrorCode:
    assert response.error_code == ErrorCode.NONE
    return response.directories[0].topics[0].partitions[0].error_code


def test_a_broker_with_a_choice_makes_it_later() -> None:
    toy = cluster()
    assert toy.partition().directories == (DIRECTORY_UNASSIGNED, UUID(int=10_002))
    before = toy.partition()
    assert code(assign(toy, (B, 0))) == ErrorCode.NONE
    partition = toy.partition()
    assert (partition.directory(1), partition.leader_epoch, partition.isr) == (B, before.leader_epoch, before.isr)
    length = len(toy.log)
    assign(toy, (B, 0))
    assert len(toy.log) == length, "what is known already gets no record"


def test_the_last_of_two_choices_counts() -> None:
    toy = cluster()
    assign(toy, (A, 0), (B, 0))
    assert toy.partition().directory(1) == B


def test_a_replica_in_a_directory_out_of_reach_leaves_the_isr() -> None:
    toy = cluster()
    assert code(assign(toy, (UNKNOWN, 0))) == ErrorCode.NONE
    partition = toy.partition()
    assert (partition.directory(1), partition.isr, partition.leader, partition.leader_epoch) == (UNKNOWN, (2,), 2, 1)


@pytest.mark.parametrize(
    ("index", "fields", "expected"),
    [
        (7, {}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (0, {"topic_id": UUID(int=5)}, ErrorCode.UNKNOWN_TOPIC_ID),
        (0, {"broker_id": 3}, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_refused_requests(index: int, fields: dict[str, Any], expected: ErrorCode) -> None:
    toy = cluster()
    toy.start(3)
    length = len(toy.log)
    assert code(assign(toy, (A, index), **fields)) == expected
    assert len(toy.log) == length


def test_a_heartbeat_of_another_broker_epoch_is_ignored() -> None:
    assert assign(cluster(), (A, 0), epoch=0).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_there_are_no_directories_before_their_level() -> None:
    toy = ToyCluster(level=16)
    toy.start(1)
    toy.create()
    assert toy.partition().directories == (DIRECTORY_MIGRATING,)
    assert assign(toy, (A, 0)).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_failed_directory_takes_its_replicas_out_of_isr_and_leadership() -> None:
    toy = cluster()
    assign(toy, (A, 0), (B, 1))
    toy.heartbeat(1, offline=[A])
    assert toy.image.brokers[1].log_dirs == (B,)
    assert (toy.partition(index=0).leader, toy.partition(index=0).isr) == (2, (2,))
    assert toy.partition(index=1).isr == (2, 1), "the other directory is well"
    length = len(toy.log)
    toy.heartbeat(1, offline=[A, UNKNOWN])
    assert len(toy.log) == length, "that is known already"


def test_a_replica_in_a_failed_directory_cannot_lead() -> None:
    toy = cluster()
    assign(toy, (A, 0), (A, 1))
    toy.heartbeat(2, fence=True)
    assert toy.partition(index=1).leader == 1
    toy.heartbeat(1, offline=[A])
    assert [toy.partition(index=index).leader for index in (0, 1)] == [NO_LEADER, NO_LEADER]
    toy.heartbeat(2)
    assert toy.partition(index=1).leader == NO_LEADER, "2 was not in sync, and 1 is out of reach"


def test_a_directory_that_fails_as_the_broker_comes_back() -> None:
    toy = cluster()
    assign(toy, (A, 0), (B, 1))
    toy.heartbeat(2, fence=True)
    toy.heartbeat(1, fence=True)
    toy.heartbeat(1, offline=[A])
    assert [toy.partition(index=index).leader for index in (0, 1)] == [NO_LEADER, 1]


def test_a_directory_that_fails_as_the_broker_goes() -> None:
    toy = cluster()
    assign(toy, (A, 0))
    toy.heartbeat(1, fence=True, offline=[A])
    assert toy.image.brokers[1].fenced
    assert toy.image.brokers[1].log_dirs == (B,)
    assert toy.partition().partition_epoch == 2, "assigned, and once out of the ISR"


def test_a_broker_without_any_directory_is_fenced() -> None:
    """Apache Kafka's broker halts by then; a record of no directories would mean that nothing changed."""
    toy = cluster()
    assign(toy, (A, 0), (B, 1))
    for _ in range(2):
        assert toy.heartbeat(1, offline=[A, B]).is_fenced
    assert toy.image.brokers[1].fenced
    assert [toy.partition(index=index).isr for index in (0, 1)] == [(2,), (2,)]
    changes = [record for record in toy.log if isinstance(record, BrokerRegistrationChangeRecord) and record.log_dirs]
    assert not changes
