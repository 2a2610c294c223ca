"""kraft.zookeeper.controller.broker_queue."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kraft.messages.leader_and_isr_request import LeaderAndIsrPartitionState
from kraft.messages.stop_replica_request import StopReplicaPartitionState
from kraft.messages.update_metadata_request import UpdateMetadataPartitionState
from kraft.zookeeper.controller.broker_queue import (
    BrokerQueue,
    Waiting,
    WaitingLeaderAndIsr,
    WaitingStopReplica,
    WaitingUpdateMetadata,
)

ID = UUID(int=1)


def lead(queue: BrokerQueue, index: int = 0, epoch: int = 0, is_new: bool = False) -> None:
    state = LeaderAndIsrPartitionState(partition_index=index, leader_epoch=epoch, is_new=is_new)
    queue.add_leader_and_isr("t", ID, state)


def describe(queue: BrokerQueue, index: int = 0, epoch: int = 0) -> None:
    queue.add_metadata("t", ID, UpdateMetadataPartitionState(partition_index=index, leader_epoch=epoch))


def stop(queue: BrokerQueue, index: int = 0, epoch: int = 0, deletes: bool = False) -> None:
    state = StopReplicaPartitionState(partition_index=index, leader_epoch=epoch, delete_partition=deletes)
    queue.add_stop("t", ID, state)


def everything(queue: BrokerQueue) -> list[Waiting]:
    taken = []
    while (waiting := queue.take()) is not None:
        taken.append(waiting)
    return taken


def test_a_state_goes_before_its_metadata_and_live_brokers_before_both() -> None:
    """ControllerBrokerRequestBatch.sendRequestsToBrokers: LeaderAndIsr, UpdateMetadata, StopReplica."""
    queue = BrokerQueue(1)
    stop(queue, 1)
    describe(queue)
    lead(queue)
    queue.add_live_brokers(first=True)
    first, *kinds = everything(queue)
    assert first == WaitingUpdateMetadata({})
    assert [type(each) for each in kinds] == [WaitingLeaderAndIsr, WaitingUpdateMetadata, WaitingStopReplica]


def test_a_stop_waits_for_one_request_of_metadata() -> None:
    """ControllerChannelManager has a queue, and no request overtakes a StopReplica. Each ISR change of the cluster is
    metadata for every broker, so a broker of a large cluster always has some to take.
    """
    queue = BrokerQueue(1)
    stop(queue, 1, deletes=True)
    describe(queue)
    assert isinstance(queue.take(), WaitingUpdateMetadata)
    describe(queue)
    stop(queue, 2)
    lead(queue, 3)
    assert queue.requests == 4
    first, *kinds = everything(queue)
    assert isinstance(first, WaitingStopReplica)
    assert [index for _, index in first.states] == [1]
    assert [type(each) for each in kinds] == [WaitingLeaderAndIsr, WaitingUpdateMetadata, WaitingStopReplica]


def test_a_newer_state_replaces_one_that_waits_and_stays_new() -> None:
    """AbstractControllerBrokerRequestBatch: "alreadyNew"; a broker must still create the replica."""
    queue = BrokerQueue(1)
    lead(queue, epoch=1, is_new=True)
    lead(queue, epoch=2)
    (waiting,) = everything(queue)
    assert isinstance(waiting, WaitingLeaderAndIsr)
    ((_, state),) = waiting.states.values()
    assert (state.leader_epoch, state.is_new) == (2, True)


def test_a_replica_is_deleted_before_it_is_created_again() -> None:
    queue = BrokerQueue(1)
    stop(queue, epoch=1, deletes=True)
    lead(queue, epoch=2, is_new=True)
    first, second = everything(queue)
    assert (type(first), type(second)) == (WaitingStopReplica, WaitingLeaderAndIsr)


def test_a_stop_that_waits_is_void_once_the_replica_runs_again() -> None:
    queue = BrokerQueue(1)
    stop(queue, epoch=1)
    lead(queue, epoch=2)
    assert [type(each) for each in everything(queue)] == [WaitingLeaderAndIsr]


def test_a_deletion_is_not_weakened_by_a_later_stop() -> None:
    """AbstractControllerBrokerRequestBatch: "alreadyDelete || deletePartition"."""
    queue = BrokerQueue(1)
    stop(queue, epoch=1, deletes=True)
    stop(queue, epoch=2)
    (waiting,) = everything(queue)
    assert isinstance(waiting, WaitingStopReplica)
    ((_, state),) = waiting.states.values()
    assert (state.leader_epoch, state.delete_partition) == (2, True)


def describe_topic(queue: BrokerQueue, topic_id: UUID, leader: int, *indexes: int) -> None:
    for index in indexes:
        queue.add_metadata("t", topic_id, UpdateMetadataPartitionState(partition_index=index, leader=leader))


def test_a_deleted_topic_and_the_next_one_of_its_name_are_not_in_one_request() -> None:
    """ZkMetadataCache.updateMetadata removes the partitions that have LeaderDuringDelete, and ``topicIds ++=
    newTopicIds.toMap`` takes one id for a name."""
    queue = BrokerQueue(1)
    describe_topic(queue, ID, 1, 0, 1, 2)
    describe_topic(queue, ID, -2, 0, 1, 2)
    describe_topic(queue, UUID(int=2), 1, 0)
    lead(queue)
    assert queue.requests == 3
    former, roles, metadata = everything(queue)
    assert isinstance(former, WaitingUpdateMetadata)
    assert {
        index: (topic_id, state.leader) for (_, index), (topic_id, state) in former.states.items()
    } == dict.fromkeys((0, 1, 2), (ID, -2))
    assert isinstance(roles, WaitingLeaderAndIsr)
    assert isinstance(metadata, WaitingUpdateMetadata)
    assert [(each, topic_id) for each, (topic_id, _) in metadata.states.items()] == [(("t", 0), UUID(int=2))]
    describe_topic(queue, ID, 1, 0)
    assert len(everything(queue)) == 1


changes = st.lists(st.tuples(st.sampled_from(["lead", "describe", "stop", "delete"]), st.integers(0, 2)), max_size=60)


@given(changes)
def test_a_broker_that_does_not_respond_costs_memory_only_for_its_partitions(changes: list[tuple[str, int]]) -> None:
    """Whatever happens meanwhile, each partition waits at most once in each of four requests, and the last change of a
    replica is the last that the broker receives."""
    queue = BrokerQueue(1)
    last: dict[int, str] = {}
    for epoch, (kind, index) in enumerate(changes):
        if kind == "lead":
            lead(queue, index, epoch)
        elif kind == "describe":
            describe(queue, index, epoch)
        else:
            stop(queue, index, epoch, deletes=kind == "delete")
        if kind != "describe":
            last[index] = kind
    taken = everything(queue)
    assert len(taken) <= 4
    received: dict[int, str] = {}
    for waiting in taken:
        assert len(waiting.states) <= 3
        for (_, index), (_, state) in waiting.states.items():
            if isinstance(state, LeaderAndIsrPartitionState):
                received[index] = "lead"
            elif isinstance(state, StopReplicaPartitionState):
                received[index] = "delete" if state.delete_partition else "stop"
    assert received.keys() == last.keys()
    for index, kind in last.items():
        assert received[index] == kind or (kind, received[index]) == ("stop", "delete")
