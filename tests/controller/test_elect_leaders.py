"""ElectLeaders: preferred and unclean leaders on request (KIP-183, KIP-460)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraft.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from kraft.metadata.partitions import NO_LEADER
from kraft.wire.errors import ErrorCode
from tests.controller.toy import ToyCluster

PREFERRED, UNCLEAN = 0, 1


def ask(toy: ToyCluster, kind: int, *partitions: int, name: str = "t") -> Any:
    wanted = [TopicPartitions(topic=name, partitions=list(partitions))] if partitions else None
    return toy.ask(ElectLeadersRequest(election_type=kind, topic_partitions=wanted))


def elect(toy: ToyCluster, kind: int, *partitions: int, name: str = "t") -> dict[int, int]:
    response = ask(toy, kind, *partitions, name=name)
    assert response.error_code == ErrorCode.NONE
    results = [result for topic in response.replica_election_results for result in topic.partition_result]
    return {result.partition_id: result.error_code for result in results}


def test_back_to_the_preferred_leader() -> None:
    toy = ToyCluster()
    toy.start(1, 2)
    toy.create(assignment={0: [1, 2], 1: [2, 1]})
    toy.heartbeat(1, fence=True)
    assert toy.partition().leader == 2
    assert elect(toy, PREFERRED, 0) == {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    assert elect(toy, PREFERRED) == {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    toy.heartbeat(1)
    toy.in_sync(1, 2)
    assert elect(toy, PREFERRED) == {0: ErrorCode.NONE}, "of all, those that needed it"
    assert toy.partition().leader == 1
    assert elect(toy, PREFERRED) == {}
    assert elect(toy, PREFERRED, 0, 7, 0) == {
        0: ErrorCode.ELECTION_NOT_NEEDED,
        7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_partition_that_is_named_again_has_one_election() -> None:
    """The answer names it each time, as Apache's does, and the leader epoch rises once."""
    toy = ToyCluster()
    toy.start(1, 2)
    toy.create(assignment={0: [1, 2]})
    toy.heartbeat(1, fence=True)
    toy.heartbeat(1)
    toy.in_sync(1, 2)
    epoch = toy.partition().leader_epoch
    wanted = [TopicPartitions(topic="t", partitions=each) for each in ([0, 0], [0])]
    response = toy.ask(ElectLeadersRequest(election_type=PREFERRED, topic_partitions=wanted))
    codes = [[each.error_code for each in topic.partition_result] for topic in response.replica_election_results]
    assert codes == [[ErrorCode.NONE] * 2, [ErrorCode.NONE]]
    assert (toy.partition().leader, toy.partition().leader_epoch) == (1, epoch + 1)


def test_an_unclean_leader() -> None:
    toy = ToyCluster()
    toy.start(1, 2)
    toy.create(assignment={0: [1, 2]})
    toy.heartbeat(2, fence=True)
    toy.heartbeat(1, fence=True)
    assert elect(toy, UNCLEAN, 0) == {0: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}
    toy.heartbeat(2)
    assert toy.partition().leader == NO_LEADER
    assert elect(toy, UNCLEAN) == {0: ErrorCode.NONE}
    partition = toy.partition()
    assert (partition.leader, partition.isr, partition.leader_recovery_state) == (2, (2,), 1)
    assert elect(toy, UNCLEAN, 0) == {0: ErrorCode.ELECTION_NOT_NEEDED}


@pytest.mark.parametrize("kind", [-1, 2])
def test_an_unknown_kind_of_election(kind: int) -> None:
    """v0 has no error for the request as a whole, so each partition has it too."""
    response = ask(ToyCluster(), kind, 0)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.replica_election_results[0].partition_result[0].error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("unclean", ["false", "true"])
def test_an_unclean_leader_on_a_replaced_disk(unclean: str) -> None:
    """``Replicas._check_directory``: a broker does not report an empty log of the last member of an ISR. Otherwise no
    election would bring back a partition with one replica whose disk was replaced.
    """
    toy = ToyCluster()
    toy.start(1)
    toy.create(assignment={0: [1]}, configs={"unclean.leader.election.enable": unclean})
    toy.pass_time(10)
    toy.start(1, incarnation=1, log_dirs=[UUID(int=5_000)])
    toy.pass_time(5, alive=(1,))
    assert toy.partition().leader == NO_LEADER, "the setting does not choose a directory that may have failed"
    assert elect(toy, UNCLEAN) == {0: ErrorCode.NONE}
    partition = toy.partition()
    assert (partition.leader, partition.isr, partition.leader_recovery_state) == (1, (1,), 1)


def test_an_unclean_leader_is_rather_out_of_sync_than_on_a_replaced_disk() -> None:
    """``Election.UNCLEAN``: a replica that is out of sync has some of the records, a new disk has none."""
    toy = ToyCluster()
    toy.start(1, 2)
    toy.create(assignment={0: [1, 2]})
    toy.heartbeat(2, fence=True)
    toy.pass_time(10)
    toy.start(1, incarnation=1, log_dirs=[UUID(int=5_000)])
    toy.heartbeat(2)
    assert (toy.partition().leader, toy.partition().isr) == (NO_LEADER, (1,))
    assert elect(toy, UNCLEAN) == {0: ErrorCode.NONE}
    assert (toy.partition().leader, toy.partition().isr) == (2, (2,))
