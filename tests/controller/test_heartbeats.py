"""Heartbeats, fencing, controlled shutdown and failed directories (KIP-631, KIP-858)."""

from __future__ import annotations

from uuid import UUID

from kraft.controller.core import DeadlineReached
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_registration_request import Feature
from kraft.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from kraft.metadata.partitions import NO_LEADER
from kraft.wire.errors import ErrorCode
from tests.controller.toy import ToyCluster

SESSION_S = 9.0


def cluster(*broker_ids: int) -> ToyCluster:
    toy = ToyCluster()
    toy.start(*broker_ids)
    return toy


def test_a_broker_is_unfenced_once_it_has_replayed_its_registration() -> None:
    toy = ToyCluster()
    epoch = toy.register(1).broker_epoch
    behind = toy.ask(BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=epoch - 1))
    assert (behind.is_fenced, behind.is_caught_up) == (True, False)
    level = toy.ask(BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=epoch))
    assert (level.is_fenced, level.is_caught_up) == (False, True)


def test_heartbeats_of_strangers() -> None:
    toy = cluster(1)
    stale = BrokerHeartbeatRequest(broker_id=1, broker_epoch=toy.image.brokers[1].epoch - 1)
    assert toy.ask(stale).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert toy.ask(BrokerHeartbeatRequest(broker_id=9)).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_silent_broker_is_fenced_when_its_session_is_over() -> None:
    """broker.session.timeout.ms: how long a lease lasts without heartbeats."""
    toy = cluster(1, 2)
    toy.create(assignment={0: [1, 2]})
    toy.pass_time(SESSION_S - 0.5, alive=(2,))
    assert not toy.image.brokers[1].fenced
    toy.pass_time(0.5)
    assert toy.image.brokers[1].fenced
    assert not toy.image.brokers[2].fenced
    assert (toy.partition().leader, toy.partition().isr) == (2, (2,))


def test_the_last_one_in_sync_stays_in_the_isr() -> None:
    toy = cluster(1, 2)
    toy.create(assignment={0: [1, 2]})
    toy.pass_time(SESSION_S)
    partition = toy.partition()
    assert partition.leader == NO_LEADER
    assert len(partition.isr) == 1
    last = partition.isr[0]
    other = 3 - last
    toy.heartbeat(other)
    assert toy.partition().leader == NO_LEADER
    toy.heartbeat(last)
    assert toy.partition().leader == last


def test_unclean_election_where_the_topic_allows_it() -> None:
    """unclean.leader.election.enable: a replica out of sync rather than no leader; its log is then to be recovered."""
    toy = cluster(1, 2)
    toy.create(assignment={0: [1, 2]}, configs={"unclean.leader.election.enable": "true"})
    toy.heartbeat(2, fence=True)
    toy.heartbeat(1, fence=True)
    assert (toy.partition().leader, toy.partition().isr) == (NO_LEADER, (1,))
    toy.heartbeat(2)
    partition = toy.partition()
    assert (partition.leader, partition.isr, partition.leader_recovery_state) == (2, (2,), 1)


def test_controlled_shutdown_moves_leaders_and_waits_for_the_others() -> None:
    toy = cluster(1, 2)
    toy.create(assignment={0: [1, 2]})
    behind = len(toy.log) - 1
    response = toy.heartbeat(1, stop=True)
    assert (response.should_shut_down, toy.image.brokers[1].in_controlled_shutdown) == (False, True)
    assert (toy.partition().leader, toy.partition().isr) == (2, (2,))
    toy.ask(
        BrokerHeartbeatRequest(broker_id=2, broker_epoch=toy.image.brokers[2].epoch, current_metadata_offset=behind)
    )
    assert not toy.heartbeat(1, stop=True).should_shut_down
    toy.heartbeat(2)
    assert toy.heartbeat(1, stop=True).should_shut_down
    assert toy.image.brokers[1].fenced


def test_a_broker_fenced_on_its_way_out_comes_back_without_leading() -> None:
    """A broker in controlled shutdown is not active (KIP-631): that a late heartbeat unfences it changes nothing."""
    toy = cluster(1)
    toy.create()
    toy.heartbeat(1, stop=True)
    toy.pass_time(9.0)
    assert toy.image.brokers[1].fenced
    toy.heartbeat(1)
    assert toy.partition().leader == NO_LEADER


def test_a_broker_alone_may_stop_although_its_partitions_have_no_other() -> None:
    toy = cluster(1)
    toy.create()
    assert not toy.heartbeat(1, stop=True).should_shut_down
    assert toy.heartbeat(1, stop=True).should_shut_down


def test_a_fenced_broker_may_stop_at_once() -> None:
    toy = ToyCluster()
    toy.register(1)
    assert toy.heartbeat(1, stop=True).should_shut_down


def test_brokers_whose_sessions_ended_together_are_fenced_one_after_the_other() -> None:
    """ReplicationControlManager.maybeFenceOneStaleBroker: "we will process fencing one at a time so that the effect of
    fencing each broker is visible to the system prior to processing the next one". Here the process stood still for
    longer than a session, and the heartbeats of two brokers are handled right after it goes on.
    """
    toy = ToyCluster(settles=False)
    toy.start(1, 2, 3)
    toy.ask(
        CreateTopicsRequest(
            topics=[
                CreatableTopic(
                    name="t",
                    num_partitions=-1,
                    replication_factor=-1,
                    assignments=[CreatableReplicaAssignment(0, [1, 2, 3])],
                )
            ],
            timeout_ms=1000,
        )
    )
    toy.now += 20
    toy.send(DeadlineReached())
    for broker_id in (2, 3):
        assert not toy.heartbeat(broker_id).is_fenced
    while toy.core.deadline <= toy.now:
        toy.send(DeadlineReached())
    partition = toy.image.topic("t").partitions[0]
    assert (partition.leader, partition.isr) == (2, (2, 3))
    assert [broker.id for broker in toy.image.brokers.values() if broker.fenced] == [1]


def test_a_new_controller_gives_every_broker_a_full_session() -> None:
    toy = cluster(1)
    successor = ToyCluster(log=toy.log)
    assert successor.core.deadline == SESSION_S
    assert successor.register(1, incarnation=1).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    successor.pass_time(SESSION_S)
    assert successor.image.brokers[1].fenced


def test_cordoned_directories_take_no_new_replicas() -> None:
    """KIP-1066: heartbeats report them; a broker whose directories are all cordoned gets no replica of a new topic."""
    toy = ToyCluster(level=30)
    features = [Feature(name="metadata.version", min_supported_version=7, max_supported_version=30)]
    toy.start(1, 2, features=features)
    (directory,) = toy.image.brokers[1].log_dirs
    toy.heartbeat(1, cordoned=[directory])
    assert toy.image.brokers[1].cordoned_log_dirs == (directory,)
    length = len(toy.log)
    toy.heartbeat(1, cordoned=[directory])
    toy.heartbeat(1)
    assert len(toy.log) == length, "nothing changed"
    toy.create(partitions=3)
    assert {partition.replicas for partition in toy.topic().partitions.values()} == {(2,)}
    toy.heartbeat(1, cordoned=[])
    assert toy.image.brokers[1].takes_replicas


def test_cordoned_directories_have_a_largest_size() -> None:
    """A record that the log refuses would let the controller resign, and the next one, too."""
    toy = ToyCluster(level=30)
    toy.start(1, features=[Feature(name="metadata.version", min_supported_version=7, max_supported_version=30)])
    length = len(toy.log)
    refused = toy.heartbeat(1, stop=True, cordoned=[UUID(int=1000 + number) for number in range(100_000)])
    assert (refused.error_code, len(toy.log)) == (ErrorCode.RECORD_LIST_TOO_LARGE, length)
    assert toy.heartbeat(1).error_code == ErrorCode.NONE
    assert toy.image.brokers[1].active


def test_cordoned_directories_need_level_30() -> None:
    """MetadataVersion.isCordonedLogDirsSupported: no record of a lower level has them."""
    toy = ToyCluster(level=29)
    toy.start(1, features=[Feature(name="metadata.version", min_supported_version=7, max_supported_version=30)])
    toy.heartbeat(1, cordoned=list(toy.image.brokers[1].log_dirs))
    assert toy.image.brokers[1].cordoned_log_dirs is None
