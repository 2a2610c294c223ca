"""Brokers that are taken out of their partitions in several decisions."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraft.controller.context import ControllerConfig
from kraft.controller.core import DeadlineReached
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.broker_registration_request import Feature
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.metadata.image import Image
from kraft.metadata.levels import CORDONED_DIRECTORIES
from kraft.metadata.partitions import NO_LEADER
from kraft.wire.errors import ErrorCode
from tests.controller.toy import CLUSTER_ID, ToyCluster

SESSION_S = 9.0
ALL_AT_ONCE = 10**9


def config(at_once: int) -> ControllerConfig:
    return ControllerConfig(CLUSTER_ID, auto_leader_rebalance_enable=False, partitions_at_once=at_once)


def cluster(partitions: int = 10, *, at_once: int = 3) -> ToyCluster:
    """Brokers 1, 2 and 3; 1 and 2 have the topic, and 1 leads it."""
    toy = ToyCluster(config(at_once))
    toy.start(1, 2, 3)
    toy.create(assignment={index: [1, 2] for index in range(partitions)})
    toy.settles = False
    return toy


def be_silent(toy: ToyCluster, *alive: int) -> None:
    """The sessions of all others are over."""
    toy.now += SESSION_S
    for broker_id in alive:
        toy.heartbeat(broker_id)


def begin_to_fence(toy: ToyCluster) -> None:
    """1 is overdue, and out of the first partitions."""
    be_silent(toy, 2, 3)
    toy.send(DeadlineReached())
    assert 0 < left_to(toy, 1) < len(toy.topic().partitions)


def left_to(toy: ToyCluster, broker_id: int) -> int:
    return sum(1 for _ in toy.image.partitions_of(broker_id))


def check(image: Image) -> None:
    """The invariants for brokers and other controllers at any end of the log."""
    for _, _, partition in image.partitions():
        assert partition.isr
        if partition.leader != NO_LEADER:
            assert partition.leader in partition.isr
            assert all(image.brokers[member].active for member in partition.isr)


def test_a_broker_of_many_partitions_is_fenced_in_bounded_decisions() -> None:
    """broker.session.timeout.ms ends a lease; the leader of the quorum has to answer its followers all the while."""
    toy = ToyCluster()
    toy.start(1, 2, 3)
    for name in "tu":
        toy.create(name, assignment={index: [1, 2, 3] for index in range(5_000)})
    toy.settles = False
    be_silent(toy, 2, 3)
    sizes = []
    while toy.core.deadline <= toy.now:
        length = len(toy.log)
        assert not toy.image.brokers[1].fenced
        toy.send(DeadlineReached())
        sizes.append(len(toy.log) - length)
        if len(sizes) % 4 == 0:
            check(toy.image)
    assert max(sizes) <= toy.config.partitions_at_once
    assert sum(sizes) == 10_001
    assert toy.image.brokers[1].fenced
    assert isinstance(toy.log[-1], BrokerRegistrationChangeRecord), "what is said of the broker comes last"
    assert {partition.leader for _, _, partition in toy.image.partitions()} == {2}


def test_a_new_controller_begins_where_the_log_ends() -> None:
    toy = cluster()
    begin_to_fence(toy)
    length, left = len(toy.log), left_to(toy, 1)
    successor = ToyCluster(toy.config, log=toy.log)
    assert not successor.image.brokers[1].fenced
    successor.pass_time(SESSION_S - 0.5, alive=(2, 3))
    assert len(successor.log) == length, "it gives every broker a full session"
    successor.pass_time(0.5)
    changes = [record for record in successor.log[length:] if isinstance(record, PartitionChangeRecord)]
    assert (len(changes), successor.image.brokers[1].fenced, left_to(successor, 1)) == (left, True, 0)


def test_a_broker_with_a_late_heartbeat_is_fenced_and_unfenced_again() -> None:
    """No broker learns that it is fenced before it is."""
    toy = cluster()
    begin_to_fence(toy)
    response = toy.heartbeat(1)
    assert (response.error_code, response.is_fenced) == (ErrorCode.NONE, False)
    toy.settle()
    assert toy.image.brokers[1].fenced
    assert left_to(toy, 1) == 0
    assert not toy.heartbeat(1).is_fenced
    assert not toy.image.brokers[1].fenced


def test_a_goal_set_during_a_request_is_reached_after_it() -> None:
    toy = cluster()
    begin_to_fence(toy)
    response = toy.heartbeat(1, stop=True)
    assert (response.is_fenced, response.should_shut_down) == (False, False)
    toy.settle()
    response = toy.heartbeat(1, stop=True)
    assert (response.is_fenced, response.should_shut_down) == (True, True)


def test_nothing_comes_to_a_broker_that_is_leaving() -> None:
    """So that its transition ends."""
    toy = cluster()
    begin_to_fence(toy)
    gone = next(index for index, partition in toy.topic().partitions.items() if partition.leader == 2)
    assert toy.in_sync(2, 1, index=gone).error_code == ErrorCode.INELIGIBLE_REPLICA
    assert toy.create("new", assignment={0: [1, 2]}).error_code == ErrorCode.NONE
    assert (toy.partition("new").leader, toy.partition("new").isr) == (2, (2,))
    assert toy.create("alone", assignment={0: [1]}).error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert toy.create("placed", partitions=3, replication=1).error_code == ErrorCode.NONE
    toy.ask(ElectLeadersRequest(election_type=0, topic_partitions=None))
    assert toy.partition(index=gone).leader == 2
    left = left_to(toy, 1)
    toy.settle()
    changes = [record for record in toy.log[-left - 1 :] if isinstance(record, PartitionChangeRecord)]
    assert (len(changes), left_to(toy, 1)) == (left, 0)


def test_a_topic_deleted_meanwhile_is_passed_over() -> None:
    toy = cluster()
    begin_to_fence(toy)
    toy.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")]))
    toy.settle()
    assert toy.image.brokers[1].fenced


def test_two_brokers_at_once_are_taken_out_one_after_the_other() -> None:
    """As in ``maybeFenceOneStaleBroker``: the other one may become leader, and has left when it is fenced itself."""
    toy = ToyCluster(config(3))
    toy.start(1, 2, 3)
    toy.create(assignment={index: [1, 2, 3] for index in range(10)})
    toy.create("u", assignment={index: [2, 1] for index in range(10)})
    toy.settles = False
    be_silent(toy, 3)
    fenced = []
    while toy.core.deadline <= toy.now:
        toy.send(DeadlineReached())
        check(toy.image)
        fenced += [id for id in (1, 2) if toy.image.brokers[id].fenced and id not in fenced]
    assert fenced == [1, 2]
    assert {(p.leader, p.leader_epoch, p.isr) for p in toy.topic().partitions.values()} == {(3, 2, (3,))}
    assert {(p.leader, p.leader_epoch, p.isr) for p in toy.topic("u").partitions.values()} == {(NO_LEADER, 1, (2,))}


def test_a_new_incarnation_registers_when_the_former_is_out() -> None:
    """Brokers come again after DUPLICATE_BROKER_REGISTRATION."""
    toy = cluster()
    answers = [toy.register(1, incarnation=1, local=True).error_code for _ in range(4)]
    assert answers == [ErrorCode.DUPLICATE_BROKER_REGISTRATION] * 3 + [ErrorCode.NONE]
    assert (toy.image.brokers[1].fenced, left_to(toy, 1)) == (True, 0)


def test_the_former_incarnation_is_fenced_though_the_new_one_does_not_come_again() -> None:
    toy = cluster()
    toy.register(1, incarnation=1, local=True)
    toy.settle()
    assert toy.image.brokers[1].fenced
    assert toy.register(1, incarnation=1, local=True).error_code == ErrorCode.NONE


def test_a_leaving_broker_reports_its_cordoned_directories_once() -> None:
    """KIP-1066: the registration has them after the first heartbeat, though the transition began before it."""
    toy = ToyCluster(config(3), level=CORDONED_DIRECTORIES)
    newest = Feature(name="metadata.version", min_supported_version=7, max_supported_version=CORDONED_DIRECTORIES)
    toy.start(1, 2, 3, features=[newest])
    toy.create(assignment={index: [1, 2] for index in range(10)})
    toy.settles = False
    begin_to_fence(toy)
    (directory,) = toy.image.brokers[1].log_dirs
    for _ in range(2):
        toy.heartbeat(1, cordoned=[directory])
    changes = [record for record in toy.log if isinstance(record, BrokerRegistrationChangeRecord)]
    assert sum(record.cordoned_log_dirs == [directory] for record in changes) == 1
    toy.settle()
    assert toy.image.brokers[1].cordoned_log_dirs == (directory,)
    assert toy.image.brokers[1].fenced


def test_the_same_incarnation_waits_for_the_running_transition() -> None:
    toy = cluster()
    begin_to_fence(toy)
    assert toy.register(1).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    toy.settle()
    assert toy.register(1).error_code == ErrorCode.NONE
    assert toy.image.brokers[1].fenced


def test_unregistering_begins_with_the_partitions() -> None:
    """KIP-631: an admin client retries after REQUEST_TIMED_OUT."""
    toy = cluster()
    request = UnregisterBrokerRequest(broker_id=1)
    assert toy.ask(request).error_code == ErrorCode.REQUEST_TIMED_OUT
    toy.settle()
    assert toy.image.brokers[1].fenced
    assert toy.ask(request).error_code == ErrorCode.NONE
    assert 1 not in toy.image.brokers
    check(toy.image)


def test_controlled_shutdown_is_answered_when_others_lead() -> None:
    toy = cluster()
    response = toy.heartbeat(1, stop=True)
    assert (response.is_fenced, response.should_shut_down) == (False, False)
    assert not toy.image.brokers[1].in_controlled_shutdown
    check(toy.image)
    toy.settle()
    assert toy.image.brokers[1].in_controlled_shutdown
    assert {p.leader for p in toy.topic().partitions.values()} == {2}
    assert not toy.heartbeat(1, stop=True).should_shut_down, "2 may not have heard of it"
    for broker_id in (2, 3):
        toy.heartbeat(broker_id)
    assert toy.heartbeat(1, stop=True).should_shut_down


def test_a_broker_without_leaderships_may_stop_at_the_end() -> None:
    toy = cluster()
    assert not toy.heartbeat(2, stop=True).should_shut_down
    toy.settle()
    assert toy.image.brokers[2].fenced
    assert toy.heartbeat(2, stop=True).should_shut_down


def test_a_silent_broker_in_controlled_shutdown_is_fenced() -> None:
    toy = cluster()
    toy.heartbeat(1, stop=True)
    be_silent(toy, 2, 3)
    toy.settle()
    assert (toy.image.brokers[1].fenced, toy.image.brokers[1].in_controlled_shutdown) == (True, False)


def with_directories() -> tuple[ToyCluster, UUID, UUID]:
    """Broker 1 has two directories, and all of its partitions in the first of them."""
    toy = ToyCluster(config(3))
    first, second = UUID(int=501), UUID(int=502)
    toy.start(1, log_dirs=[first])
    toy.start(2, 3)
    toy.create(assignment={index: [1, 2] for index in range(10)})
    toy.register(1, log_dirs=[first, second])
    toy.settles = False
    return toy, first, second


def test_a_directory_that_fails_is_given_up_at_the_end() -> None:
    """KIP-858."""
    toy, first, second = with_directories()
    toy.heartbeat(1, offline=[first])
    assert (left_to(toy, 1), toy.image.brokers[1].log_dirs) == (7, (first, second))
    toy.heartbeat(1, offline=[first])
    assert left_to(toy, 1) == 7, "that is known"
    toy.heartbeat(2, fence=True)
    toy.settle()
    assert toy.image.brokers[1].log_dirs == (second,)
    isrs = [(p.leader, p.isr) for p in toy.topic().partitions.values()]
    assert isrs == [(NO_LEADER, (2,))] * 10, "1 was taken out before 2, and cannot lead what it has lost"


def test_the_last_directory_that_fails_takes_the_broker_along() -> None:
    toy, first, second = with_directories()
    toy.heartbeat(1, offline=[first])
    toy.heartbeat(1, offline=[first, second])
    toy.settle()
    assert toy.image.brokers[1].fenced
    assert left_to(toy, 1) == 0


BROKERS = (1, 2, 3, 4)
REPLICAS = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=3, unique=True)


def expire(broker_ids: set[int]) -> Callable[[ToyCluster], None]:
    return lambda toy: toy.pass_time(SESSION_S, alive=tuple(id for id in BROKERS if id not in broker_ids))


def beat(broker_id: int, stop: bool, fence: bool) -> Callable[[ToyCluster], None]:
    def do(toy: ToyCluster) -> None:
        toy.heartbeat(broker_id, stop=stop, fence=fence)

    return do


EVENTS = st.builds(expire, st.sets(st.sampled_from(BROKERS), min_size=1)) | st.builds(
    beat, st.sampled_from(BROKERS), st.booleans(), st.booleans()
)


@pytest.mark.parametrize("unclean", [False, True])
@settings(max_examples=60, deadline=None)
@given(
    assignment=st.lists(REPLICAS, min_size=1, max_size=8),
    events=st.lists(EVENTS, min_size=1, max_size=6),
    at_once=st.integers(1, 4),
)
def test_many_decisions_come_to_the_same_as_one(
    unclean: bool, assignment: list[list[int]], events: list[Callable[[ToyCluster], None]], at_once: int
) -> None:
    """If nothing else happens between them."""
    ends = []
    for size in (at_once, ALL_AT_ONCE):
        toy = ToyCluster(config(size))
        toy.start(*BROKERS)
        configs: dict[str, str | None] = {"unclean.leader.election.enable": "true"} if unclean else {}
        toy.create(assignment=dict(enumerate(assignment)), configs=configs)
        for event in events:
            event(toy)
            check(toy.image)
        ends.append(toy.image)
    assert ends[0].topics == ends[1].topics
    assert ends[0].brokers == ends[1].brokers
