"""AlterPartitionReassignments and ListPartitionReassignments (KIP-455), and how AlterPartition completes them."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kraft.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kraft.wire.errors import ErrorCode
from tests.controller.toy import ToyCluster


def cluster(*replicas: int, configs: dict[str, str | None] | None = None) -> ToyCluster:
    toy = ToyCluster()
    toy.start(1, 2, 3, 4, 5, 6)
    toy.create(assignment={0: list(replicas) or [1, 2, 3]}, configs=configs)
    return toy


def move(toy: ToyCluster, *replicas: int, name: str = "t", index: int = 0, same_factor: bool = False) -> ErrorCode:
    return alter(toy, list(replicas), name=name, index=index, same_factor=same_factor).error_code


def cancel(toy: ToyCluster) -> ErrorCode:
    return alter(toy, None).error_code


def alter(
    toy: ToyCluster, replicas: list[int] | None, *, name: str = "t", index: int = 0, same_factor: bool = False
) -> Any:
    partition = ReassignablePartition(partition_index=index, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        allow_replication_factor_change=not same_factor, topics=[ReassignableTopic(name=name, partitions=[partition])]
    )
    response = toy.ask(request)
    assert response.error_code == ErrorCode.NONE
    return response.responses[0].partitions[0]


def state(toy: ToyCluster) -> tuple[Any, ...]:
    """(replicas, adding, removing, isr, leader)."""
    p = toy.partition()
    return p.replicas, p.adding_replicas, p.removing_replicas, p.isr, p.leader


def test_new_replicas_are_added_and_the_old_ones_stay_until_they_are_in_sync() -> None:
    toy = cluster()
    assert move(toy, 4, 5, 6) == ErrorCode.NONE
    assert state(toy) == ((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3), (1, 2, 3), 1)
    assert toy.partition().leader_epoch == 0, "nobody has left"
    for newcomers in ((4,), (4, 5)):
        assert toy.in_sync(1, 2, 3, *newcomers).error_code == ErrorCode.NONE
        assert toy.partition().is_reassigned


def test_a_leader_removed_by_its_own_proposal_gets_an_error() -> None:
    """KIP-841: NEW_LEADER_ELECTED, though the proposal is carried out."""
    toy = cluster()
    move(toy, 4, 5, 6)
    assert toy.in_sync(1, 2, 3, 4, 5, 6).error_code == ErrorCode.NEW_LEADER_ELECTED
    assert state(toy) == ((4, 5, 6), (), (), (4, 5, 6), 4)
    assert toy.partition().leader_epoch == 1


def test_a_leader_that_stays_gets_a_new_epoch_as_replicas_leave() -> None:
    toy = cluster()
    move(toy, 4, 1)
    answer = toy.in_sync(1, 2, 3, 4)
    assert (answer.error_code, answer.leader_id, answer.leader_epoch, answer.isr) == (ErrorCode.NONE, 1, 1, [1, 4])
    assert state(toy) == ((4, 1), (), (), (1, 4), 1)


def test_removed_replicas_need_not_be_in_sync() -> None:
    toy = cluster()
    move(toy, 4)
    assert toy.in_sync(1, 4).error_code == ErrorCode.NEW_LEADER_ELECTED
    assert state(toy) == ((4,), (), (), (4,), 4)


@pytest.mark.parametrize(("replicas", "leader_epoch"), [((3, 2, 1), 0), ((2, 1), 1)])
def test_a_reassignment_without_new_replicas_completes_at_once(replicas: tuple[int, ...], leader_epoch: int) -> None:
    toy = cluster()
    assert move(toy, *replicas) == ErrorCode.NONE
    assert not toy.partition().is_reassigned
    assert toy.partition().replicas == replicas
    assert (toy.partition().leader, toy.partition().leader_epoch) == (1, leader_epoch)


def test_a_reassignment_completes_without_a_lost_broker() -> None:
    toy = cluster(1, 2)
    move(toy, 2, 3)
    toy.heartbeat(3, fence=True)
    toy.heartbeat(1, fence=True)
    assert toy.partition().is_reassigned
    toy.heartbeat(3)
    toy.in_sync(2, 3)
    assert state(toy) == ((2, 3), (), (), (2, 3), 2)


def test_cancelled_it_is_as_it_was() -> None:
    toy = cluster()
    move(toy, 4, 5, 6)
    toy.in_sync(1, 2, 3, 4)
    assert cancel(toy) == ErrorCode.NONE
    assert state(toy) == ((1, 2, 3), (), (), (1, 2, 3), 1)
    assert cancel(toy) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


@pytest.mark.parametrize("allowed", [False, True])
def test_going_back_to_replicas_out_of_sync_is_an_unclean_election(allowed: bool) -> None:
    toy = cluster(1, 2, configs={"unclean.leader.election.enable": str(allowed).lower()})
    move(toy, 3, 4)
    toy.in_sync(1, 2, 3)
    for broker_id in (1, 2):
        toy.heartbeat(broker_id, fence=True)
    toy.heartbeat(1)
    assert state(toy) == ((3, 4, 1, 2), (3, 4), (1, 2), (3,), 3)
    assert cancel(toy) == (ErrorCode.NONE if allowed else ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    assert (toy.partition().leader, toy.partition().isr) == ((1, (1,)) if allowed else (3, (3,)))


def test_another_target_takes_the_place_of_the_first() -> None:
    """KIP-455: a new reassignment overrides the one under way."""
    toy = cluster()
    move(toy, 4, 5, 6)
    toy.in_sync(1, 2, 3, 4)
    assert move(toy, 4, 1, 2) == ErrorCode.NONE
    assert state(toy)[:3] == ((4, 1, 2), (), ())
    move(toy, 5)
    move(toy, 6)
    assert state(toy)[:3] == ((6, 1, 2, 4), (6,), (1, 2, 4))
    assert cancel(toy) == ErrorCode.NONE
    assert state(toy)[:3] == ((1, 2, 4), (), ())


def test_a_replaced_reassignment_leaves_no_replica() -> None:
    """KIP-455: what the former reassignment added goes at once, so a cancellation restores the former replicas."""
    toy = cluster()
    move(toy, 4, 5)
    toy.in_sync(1, 2, 3, 4)
    move(toy, 5, 6)
    assert state(toy)[:3] == ((5, 6, 1, 2, 3), (5, 6), (1, 2, 3))
    assert toy.partition().isr == (1, 2, 3)
    cancel(toy)
    assert state(toy)[:3] == ((1, 2, 3), (), ())


def test_a_replaced_reassignment_keeps_the_only_replicas_in_sync() -> None:
    toy = cluster()
    move(toy, 4, 5)
    toy.in_sync(1, 2, 3, 4)
    toy.pass_time(20.0, alive=(4, 5, 6))
    assert state(toy)[3:] == ((4,), 4)
    move(toy, 5, 6)
    assert state(toy)[:3] == ((5, 6, 1, 2, 3, 4), (5, 6), (1, 2, 3, 4))
    assert toy.partition().isr == (4,)


def test_the_same_target_again_changes_nothing() -> None:
    toy = cluster()
    move(toy, 1, 2, 3, 4)
    before = len(toy.log)
    assert move(toy, 1, 2, 3, 4) == ErrorCode.NONE
    assert len(toy.log) == before
    assert toy.partition().adding_replicas == (4,)


def test_a_new_replica_on_a_broker_with_one_directory_has_it() -> None:
    """KIP-858: with one directory there is no choice to be made."""
    toy = cluster()
    move(toy, 1, 2, 4)
    assert toy.partition().directory(4) == toy.image.brokers[4].log_dirs[0]


@pytest.mark.parametrize(
    ("replicas", "fields", "code"),
    [
        ([1, 2, 4], {"name": "other"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([1, 2, 4], {"index": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([1, 2, 9], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 1, 2], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 2], {"same_factor": True}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ([1, 2, 4], {"same_factor": True}, ErrorCode.NONE),
    ],
)
def test_refused_requests(replicas: list[int], fields: dict[str, Any], code: ErrorCode) -> None:
    """KIP-860: v1 can forbid that the replication factor changes."""
    assert move(cluster(), *replicas, **fields) == code


def test_the_replication_factor_is_that_of_the_target_under_way() -> None:
    toy = cluster()
    move(toy, 4, 5)
    assert move(toy, 5, 6, 1, same_factor=True) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert move(toy, 5, 6, same_factor=True) == ErrorCode.NONE


def test_a_partition_named_twice() -> None:
    toy = cluster()
    partitions = [ReassignablePartition(partition_index=0, replicas=[id]) for id in (4, 5)]
    topic = ReassignableTopic(name="t", partitions=partitions)
    answer = toy.ask(AlterPartitionReassignmentsRequest(topics=[topic])).responses[0].partitions
    assert [each.error_code for each in answer] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert toy.partition().adding_replicas == (4,)


def listed(toy: ToyCluster, *named: tuple[str, list[int]]) -> dict[str, list[Any]]:
    topics = [ListPartitionReassignmentsTopics(name=name, partition_indexes=indexes) for name, indexes in named]
    answer = toy.ask(ListPartitionReassignmentsRequest(topics=topics if named else None))
    return {topic.name: [each.partition_index for each in topic.partitions] for topic in answer.topics}


def test_reassignments_in_progress_are_listed() -> None:
    toy = cluster()
    toy.create("u", assignment={0: [1], 1: [1], 2: [1]})
    move(toy, 2, name="u", index=2)
    move(toy, 2, name="u", index=0)
    assert listed(toy) == {"u": [0, 2]}
    assert listed(toy, ("u", [2, 1, 2]), ("t", [0]), ("none", [0])) == {"u": [2]}
    assert listed(toy, ("u", [1])) == listed(toy, ("u", []), ("none", [])) == {}
    answer = toy.ask(ListPartitionReassignmentsRequest(topics=None)).topics[0].partitions[0]
    assert (answer.replicas, answer.adding_replicas, answer.removing_replicas) == ([2, 1], [2], [1])
    toy.in_sync(1, 2, name="u", index=0)
    assert listed(toy) == {"u": [2]}
