"""Reads that ZooKeeper refuses (NoAuth, ThrottledOp, SystemError and others): the znode may exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kraft.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller.api_requests import LEGACY_HANDLERS
from kraft.zookeeper.operations import Children, Get, ZnodeChanged
from kraft.zookeeper.znodes.admin import REASSIGN_PARTITIONS
from kraft.zookeeper.znodes.brokers import BROKER_IDS, broker_path
from kraft.zookeeper.znodes.cluster import FEATURE, config_path, encode_config
from kraft.zookeeper.znodes.topics import NO_LEADER, TOPICS, PartitionState, partitions_path, topic_path
from tests.support.legacy_cluster import LegacyClusterModel

READS = [Children(BROKER_IDS), Get(broker_path(2)), Children(TOPICS)]


def running() -> LegacyClusterModel:
    cluster = LegacyClusterModel(3)
    cluster.start(1, 2, 3)
    cluster.create_topic("t", (1, 2), (2, 3), (3, 1))
    return cluster


def states(cluster: LegacyClusterModel) -> list[PartitionState]:
    return [cluster.state("t", index) for index in range(3)]


def refuse(cluster: LegacyClusterModel, kind: type, path: str, times: int = 1) -> None:
    """The next reads of this kind fail."""
    left = iter(range(times))
    cluster.tree.refuses = lambda each: isinstance(each, kind) and each.path == path and next(left, None) is not None


@pytest.mark.parametrize("read", READS, ids=str)
def test_a_refused_read_changes_nothing_and_is_repeated(read: Get | Children) -> None:
    """KafkaZkClient.getChildren, getAllBrokerAndEpochsInCluster: "case NONODE => …; case _ => throw"."""
    cluster = running()
    before = states(cluster)
    refuse(cluster, type(read), read.path, times=2)
    cluster.create_topic("new", (2,))  # fires the watch of the topics
    cluster.step(cluster.controller, ZnodeChanged(BROKER_IDS))
    cluster.settle()
    active = cluster.controller.core.active
    assert active is not None
    for _ in range(2):
        assert states(cluster) == before
        assert sorted(active.cluster.brokers) == [1, 2, 3]
        assert "t" in active.cluster.topics
        assert cluster.notes[-1] == f"ZooKeeper refused to read {read.path}; the decision is repeated"
        cluster.end_pause()
    assert cluster.repeated == []
    assert sorted(active.cluster.topics) == ["new", "t"]
    assert cluster.controller.core.active is active
    assert len(cluster.notes) == 2


def test_a_broker_that_stopped_meanwhile_is_noticed_after_the_pause() -> None:
    """The watch is gone with the refused read, so nothing else would report the change."""
    cluster = running()
    refuse(cluster, Children, BROKER_IDS, times=2)  # the watches of the list and of the znode fire
    cluster.stop(2)
    assert [each.leader for each in states(cluster)] == [1, 2, 3]
    cluster.end_pause()
    assert [(each.leader, each.isr) for each in states(cluster)] == [(1, (1,)), (3, (3,)), (3, (3, 1))]


def test_a_request_that_needs_a_refused_read_fails_and_the_controller_stays() -> None:
    """KafkaController.process: an error of an event ends no controller. The callback gets UNKNOWN_SERVER_ERROR."""
    cluster = running()
    active = cluster.controller.core.active
    cluster.tree.refuses = lambda each: True
    request = AllocateProducerIdsRequest(broker_id=2, broker_epoch=cluster.epoch(2))
    assert cluster.request(request, 0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert cluster.controller.core.active is active
    assert cluster.repeated == []
    assert cluster.notes == ["ZooKeeper refused to read /latest_producer_id_block; the request fails"]


@pytest.mark.parametrize("code", [ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_the_error_of_a_request_is_in_each_of_its_results(code: ErrorCode) -> None:
    """The responses of CreateTopics, CreatePartitions and DeleteTopics have no error of the whole request."""
    for request in (
        CreateTopicsRequest(topics=[CreatableTopic(name="t")]),
        DeleteTopicsRequest(topics=[DeleteTopicState(name="t")]),
        ElectLeadersRequest(topic_partitions=None),
    ):
        response = LEGACY_HANDLERS[type(request)].error(request, 1, code)
        results = getattr(response, "topics", None) or getattr(response, "responses", None) or [response]
        assert [each.error_code for each in results] == [code]


@pytest.mark.parametrize("path", [FEATURE, topic_path("t")])
def test_a_new_controller_that_cannot_read_the_cluster_resigns(path: str) -> None:
    """KafkaController.elect: after an error in onControllerFailover, triggerControllerMove."""
    cluster = running()
    refuse(cluster, Get, path, times=2)  # one is for each of two brokers
    cluster.stop(1)
    assert [each.core.active for each in cluster.brokers.values()] == [None] * 3
    cluster.end_pause()
    cluster.end_pause()
    assert cluster.controller.core.active is not None
    assert (states(cluster)[0].leader, states(cluster)[0].isr) == (2, (2,))
    assert "a decision failed after it had changed something" in {each.reason for each in cluster.roles}
    assert "its last decision failed, and there was no controller" in {each.reason for each in cluster.roles}


@pytest.mark.parametrize("path", ["/controller", "/controller_epoch"])
def test_an_election_that_cannot_be_read_is_repeated(path: str) -> None:
    """A /controller that cannot be read is not a missing one."""
    cluster = running()
    refuse(cluster, Get, path, times=2)
    cluster.stop(1)
    assert [each.core.active for each in cluster.brokers.values()] == [None] * 3
    cluster.end_pause()
    assert cluster.controller.core.active is not None
    assert states(cluster)[0].leader == 2


def test_settings_that_cannot_be_read_allow_no_unclean_leader_before_the_next_read() -> None:
    """KafkaZkClient.getLogConfigs: the topics whose settings cannot be read fail, and the others go on."""
    cluster = running()
    path = config_path("topics", "t")
    cluster.tree.put(path, encode_config({"unclean.leader.election.enable": "true"}))
    cluster.stop(2)
    cluster.stop(3)  # the last of the ISR of partition 1
    cluster.tree.refuses = lambda each: each.path == path
    cluster.start(2)
    assert cluster.state("t", 1).leader == NO_LEADER
    cluster.tree.refuses = lambda each: False
    cluster.end_pause()
    assert (cluster.state("t", 1).leader, cluster.unclean_elections) == (2, 1)


def test_a_deletion_whose_partitions_cannot_be_listed_goes_on_after_the_pause() -> None:
    """kraft.zookeeper.controller.deletion: the topic stays in the deletions."""
    cluster = running()
    refuse(cluster, Children, partitions_path("t"))
    delete(cluster, "t")
    assert topic_path("t") in cluster.tree.znodes
    cluster.end_pause()
    assert topic_path("t") not in cluster.tree.znodes


def alter_isr(cluster: LegacyClusterModel, *isr: int) -> int:
    state = cluster.state("t")
    proposal = PartitionData(
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=each, broker_epoch=-1) for each in isr],
    )
    topic = TopicData(topic_id=UUID(int=1), partitions=[proposal])
    request = AlterPartitionRequest(broker_id=1, broker_epoch=cluster.epoch(1), topics=[topic])
    return int(cluster.request(request, 3).error_code)


def reassign(cluster: LegacyClusterModel, *replicas: int) -> int:
    named = [
        ReassignableTopic(name="t", partitions=[ReassignablePartition(partition_index=0, replicas=list(replicas))])
    ]
    return int(cluster.request(AlterPartitionReassignmentsRequest(topics=named), 0).error_code)


def delete(cluster: LegacyClusterModel, topic: str) -> int:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=topic)])
    return int(cluster.request(request, 6).responses[0].error_code)


def a_day(cluster: LegacyClusterModel) -> Iterator[Callable[[], int | None]]:
    """Actions that need reads of most kinds; each returns an error code, or None."""
    yield lambda: cluster.start(1, 2, 3)
    yield lambda: cluster.create_topic("t", (1, 2), (2, 3), (3, 1))
    yield lambda: cluster.create_topic("gone", (2, 3))
    yield lambda: delete(cluster, "gone")
    yield lambda: cluster.stop(3)
    yield lambda: cluster.start(3, 4)
    yield lambda: cluster.tree.put(REASSIGN_PARTITIONS, b'{"version":1,"partitions":[]}')
    yield lambda: reassign(cluster, 1, 4)
    yield lambda: alter_isr(cluster, 1, 2, 4)
    yield lambda: cluster.stop(1)


def live(refused: int | None) -> tuple[int, LegacyClusterModel]:
    """Run the day; this read of it is refused. Return the number of reads."""
    cluster, reads = LegacyClusterModel(4), 0

    def count(read: Get | Children) -> bool:
        nonlocal reads
        reads += 1
        return reads - 1 == refused

    cluster.tree.refuses = count
    for action in a_day(cluster):
        code: int | None = ErrorCode.UNKNOWN_SERVER_ERROR
        while code == ErrorCode.UNKNOWN_SERVER_ERROR:  # clients repeat their requests
            code = action()
            cluster.settle()
            while cluster.repeated:
                cluster.end_pause()
        assert not code
    return reads, cluster


def test_no_refused_read_keeps_the_cluster_from_its_state() -> None:
    """Each read of a day is refused once. After the pauses all is as without that: brokers, topics, leaders, ISRs."""
    reads, undisturbed = live(None)
    expected = [(each.leader, each.isr) for each in states(undisturbed)]
    assert reads > 50
    for refused in range(reads):
        _, cluster = live(refused)
        active = cluster.controller.core.active
        assert active is not None
        assert (sorted(active.cluster.brokers), sorted(active.cluster.topics)) == ([2, 3, 4], ["t"]), refused
        assert [(each.leader, each.isr) for each in states(cluster)] == expected, (refused, cluster.notes)
