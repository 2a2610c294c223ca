"""The controller as a whole: activation, producer ids, leaders on request, and any history of requests."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kraft.controller.context import ControllerConfig
from kraft.controller.core import (
    HANDLERS_IN_STEPS,
    Activated,
    ControllerCore,
    ControllerRequest,
    DeadlineReached,
)
from kraft.messages.abort_transaction_record import AbortTransactionRecord
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.messages.alter_configs_request import AlterConfigsResource as LegacyResource
from kraft.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kraft.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from kraft.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest, DirectoryData
from kraft.messages.assign_replicas_to_dirs_request import PartitionData as DirectoryPartition
from kraft.messages.assign_replicas_to_dirs_request import TopicData as DirectoryTopic
from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.controller_registration_request import ControllerRegistrationRequest, Listener
from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.incremental_alter_configs_request import AlterConfigsResource, IncrementalAlterConfigsRequest
from kraft.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kraft.messages.topic_record import TopicRecord
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.messages.zk_migration_state_record import ZkMigrationStateRecord
from kraft.metadata.delta import MetadataError
from kraft.metadata.frame import decode_record, encode_record
from kraft.metadata.index import LEADERLESS, NOT_PREFERRED, REASSIGNED
from kraft.metadata.levels import record_version
from kraft.metadata.loader import Loader
from kraft.metadata.partitions import NO_LEADER, Partition
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode
from tests.controller.toy import CLUSTER_ID, ToyCluster

T = TypeVar("T")
PREFERRED, UNCLEAN = 0, 1
LEVELS = (7, 12, 16, 17, 21)


def test_an_empty_log_begins_with_one_transaction() -> None:
    """KIP-868: bootstrap records are written as a metadata transaction."""
    assert [type(record).__name__ for record in ToyCluster().log] == [
        "BeginTransactionRecord",
        "FeatureLevelRecord",
        "ZkMigrationStateRecord",
        "EndTransactionRecord",
    ]


def test_a_log_with_metadata_gets_nothing() -> None:
    log = ToyCluster().log
    assert ToyCluster(log=log).log == log


@pytest.mark.parametrize(
    ("level", "names"),
    [(7, ["FeatureLevelRecord"]), (8, ["FeatureLevelRecord", "ZkMigrationStateRecord"])],
)
def test_before_there_were_transactions(level: int, names: list[str]) -> None:
    """Metadata transactions come with level 13, the migration state with level 8 (KIP-866)."""
    assert [type(record).__name__ for record in ToyCluster(level=level).log] == names


def test_a_beginning_that_was_not_finished_is_made_again() -> None:
    first = ToyCluster().log
    successor = ToyCluster(log=first[:2])
    assert [type(record) for record in successor.log[2:]] == [
        AbortTransactionRecord,
        *(type(record) for record in first),
    ]
    assert successor.image.metadata_version == 21
    again = ToyCluster(log=[*first[:2], AbortTransactionRecord()])
    assert again.image.metadata_version == 21


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (TopicRecord(name="t", topic_id=UUID(int=1000)), "before 3.3"),
        (ZkMigrationStateRecord(zk_migration_state=1), "ZooKeeper"),
        (ZkMigrationStateRecord(zk_migration_state=2), "ZooKeeper"),
    ],
)
def test_a_log_that_this_controller_cannot_go_on_with(record: Any, reason: str) -> None:
    with pytest.raises(MetadataError, match=reason):
        ToyCluster(log=[record])


def test_an_empty_log_without_a_level_to_begin_at_is_refused() -> None:
    """KIP-778: ``bootstrap.checkpoint`` has the level; a log that is truncated to nothing may need it again."""
    core = ControllerCore(ControllerConfig("toy"), Loader(), 0, uuid4, random.Random(7), 0.0)
    with pytest.raises(MetadataError, match=r"bootstrap\.checkpoint is missing"):
        core.step(0.0, Activated(()))


def test_a_migration_that_is_over_is_no_hindrance() -> None:
    log = [*ToyCluster().log, ZkMigrationStateRecord(zk_migration_state=3)]
    assert ToyCluster(log=log).log == log


def test_a_transaction_that_was_left_open_is_aborted() -> None:
    log = [*ToyCluster().log, BeginTransactionRecord(name="x")]
    successor = ToyCluster(log=log)
    assert [type(record) for record in successor.log[len(log) :]] == [AbortTransactionRecord]


MANY = 30_000
UNKNOWN = UUID(int=77)


def large_requests() -> Iterator[Any]:
    """A request of each kind that is decided in steps, with many parts or many new partitions."""
    yield CreateTopicsRequest(topics=[CreatableTopic(f"{number}/", 0, 1) for number in range(MANY)])
    yield CreateTopicsRequest(topics=[CreatableTopic("large", 4_000, 1)])
    yield CreateTopicsRequest(
        topics=[CreatableTopic("t", 1, 1, configs=[CreatableTopicConfig("retention.ms", "1")] * MANY)]
    )
    yield CreatePartitionsRequest(topics=[CreatePartitionsTopic(str(number), 2) for number in range(MANY)])
    yield CreatePartitionsRequest(topics=[CreatePartitionsTopic("topic", 6_000)])
    yield DeleteTopicsRequest(topics=[DeleteTopicState(str(number)) for number in range(MANY)])
    yield DeleteTopicsRequest(topics=[DeleteTopicState("topic")])
    yield AlterConfigsRequest(resources=[LegacyResource(2, str(number)) for number in range(MANY)])
    yield IncrementalAlterConfigsRequest(resources=[AlterConfigsResource(2, str(number)) for number in range(MANY)])
    yield AlterPartitionRequest(
        topics=[TopicData(topic_id=UNKNOWN, partitions=[PartitionData(partition_index=1)] * MANY)]
    )
    yield AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic("t", [ReassignablePartition(n) for n in range(MANY)])]
    )
    yield ListPartitionReassignmentsRequest(topics=[ListPartitionReassignmentsTopics("topic", list(range(MANY)))])
    yield AssignReplicasToDirsRequest(
        directories=[DirectoryData(UNKNOWN, [DirectoryTopic(UNKNOWN, [DirectoryPartition(1)] * MANY)])]
    )
    yield ElectLeadersRequest(topic_partitions=[TopicPartitions("topic", list(range(MANY)))])


@pytest.mark.no_cover
def test_no_slice_of_a_large_decision_is_long() -> None:
    """The driver lets other tasks run after steps with costs of 400. A slice is bounded by its calls, which do not
    depend on the machine: one call for each of 30,000 parts would be too many.
    """
    kinds = set()
    for message in large_requests():
        kinds.add(type(message))
        toy = ToyCluster()
        toy.start(1)
        toy.create("topic", 2_000)
        if hasattr(message, "broker_id"):
            message.broker_id, message.broker_epoch = 1, toy.image.brokers[1].epoch
        event = ControllerRequest(message, message.VALID_VERSIONS[1])
        decision, calls = longest_slice(toy.core.decide_in_steps(toy.now, event))
        _, replaying = longest_slice(toy.core.replay_in_steps(decision.records, len(toy.log) + 1, 1, 0))
        assert max(calls, replaying) < 25_000, type(message).__name__
    assert kinds == set(HANDLERS_IN_STEPS)


def longest_slice(work: Steps[T]) -> tuple[T, int]:
    """The result of the work, and the most function calls between two pauses."""
    calls = longest = cost = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    profiler = sys.getprofile()
    sys.setprofile(count)
    try:
        while True:
            cost += next(work)
            if cost >= 400:
                longest, calls, cost = max(longest, calls), 0, 0
    except StopIteration as end:
        return end.value, max(longest, calls)
    finally:
        sys.setprofile(profiler)


def test_producer_ids_are_given_once() -> None:
    """KIP-730: blocks of 1000, each to one broker."""
    toy = ToyCluster()
    toy.start(1, 2)
    starts = []
    for broker_id in (1, 2, 1):
        epoch = toy.image.brokers[broker_id].epoch
        response = toy.ask(AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch))
        assert (response.error_code, response.producer_id_len) == (0, 1000)
        starts.append(response.producer_id_start)
    assert starts == [0, 1000, 2000]
    stale = toy.ask(AllocateProducerIdsRequest(broker_id=1, broker_epoch=0))
    assert stale.error_code == ErrorCode.STALE_BROKER_EPOCH
    assert ToyCluster(log=toy.log).image.next_producer_id == 3000


def test_a_controller_is_registered_once_per_incarnation() -> None:
    toy = ToyCluster()
    request = ControllerRegistrationRequest(controller_id=1, incarnation_id=UUID(int=5))
    toy.ask(request)
    length = len(toy.log)
    assert toy.ask(request).error_code == ErrorCode.NONE
    assert len(toy.log) == length
    assert toy.image.controllers[1].incarnation_id == UUID(int=5)


def test_a_registration_of_a_controller_has_a_largest_size() -> None:
    """A record that the log refuses would let the controller resign. Kafka: RecordBatchTooLargeException, an answer."""
    toy = ToyCluster()
    listeners = [Listener(name="L" * 30_000, host="h", port=1) for _ in range(300)]
    request = ControllerRegistrationRequest(controller_id=1, incarnation_id=UUID(int=5), listeners=listeners)
    assert toy.ask(request).error_code == ErrorCode.RECORD_LIST_TOO_LARGE
    assert 1 not in toy.image.controllers


BROKERS = st.integers(1, 4)
TOPICS = st.sampled_from(["a", "b", "c"])
REPLICAS = st.lists(BROKERS, min_size=1, max_size=3, unique=True)


def directories_of(broker_id: int) -> list[UUID]:
    return [UUID(int=10_000 + 10 * broker_id + number) for number in range(1 + broker_id % 2)]


class AnyHistory(RuleBasedStateMachine):
    """The invariants while brokers start and stop, directories fail, partitions move, and topics are created, altered
    and deleted.

    Each decision may cover few partitions or many, and its continuation may end before the next event or later. The
    naive model has the topics and their partition counts, from the responses alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self.toy = ToyCluster(level=LEVELS[0])
        self.incarnations = 0
        self.model: dict[str, int] = {}
        self.seen: dict[tuple[UUID, int], Partition] = {}

    @initialize(
        replication=st.integers(1, 3),
        level=st.sampled_from(LEVELS),
        at_once=st.sampled_from([1, 2, 500]),
        settles=st.booleans(),
    )
    def begin_with_a_topic(self, replication: int, level: int, at_once: int, settles: bool) -> None:
        self.toy = ToyCluster(ControllerConfig(CLUSTER_ID, partitions_at_once=at_once), level=level)
        for broker_id in (1, 2, 3):
            self.toy.start(broker_id, log_dirs=directories_of(broker_id))
        assert self.toy.create("a", 2, replication).error_code == ErrorCode.NONE
        self.model["a"] = 2
        self.toy.settles = settles

    @rule()
    def go_on(self) -> None:
        if self.unfinished:
            self.toy.send(DeadlineReached())

    @property
    def unfinished(self) -> bool:
        return self.toy.core.deadline == -math.inf

    @rule(broker_id=BROKERS, local=st.booleans())
    def register(self, broker_id: int, local: bool) -> None:
        self.incarnations += 1
        known = self.toy.image.brokers.get(broker_id)
        directories = directories_of(broker_id)
        response = self.toy.register(broker_id, incarnation=self.incarnations, local=local, log_dirs=directories)
        if response.error_code == ErrorCode.NONE:
            assert known is None or response.broker_epoch > known.epoch
            assert self.toy.image.brokers[broker_id].fenced

    @rule(broker_id=BROKERS, fence=st.booleans(), stop=st.booleans(), failed=st.none() | st.integers(0, 1))
    def heartbeat(self, broker_id: int, fence: bool, stop: bool, failed: int | None) -> None:
        if broker_id in self.toy.image.brokers:
            offline = [] if failed is None else directories_of(broker_id)[failed : failed + 1]
            settles, self.toy.settles = self.toy.settles, False
            response = self.toy.heartbeat(broker_id, fence=fence, stop=stop, offline=offline)
            assert response.is_fenced == self.toy.image.brokers[broker_id].fenced
            self.toy.settles = settles
            if settles:
                self.toy.settle()

    @rule(seconds=st.sampled_from([1.0, 5.0, 9.0]), alive=st.sets(BROKERS))
    def pass_time(self, seconds: float, alive: set[int]) -> None:
        self.toy.pass_time(seconds, alive=tuple(id for id in sorted(alive) if id in self.toy.image.brokers))

    @rule(broker_id=BROKERS)
    def unregister(self, broker_id: int) -> None:
        known = broker_id in self.toy.image.brokers
        response = self.toy.ask(UnregisterBrokerRequest(broker_id=broker_id))
        if response.error_code == ErrorCode.REQUEST_TIMED_OUT:
            self.toy.settle()
            response = self.toy.ask(UnregisterBrokerRequest(broker_id=broker_id))
        assert (response.error_code == ErrorCode.NONE) == known

    @rule(name=TOPICS, partitions=st.integers(-1, 3), replication=st.integers(0, 3), unclean=st.booleans())
    def create(self, name: str, partitions: int, replication: int, unclean: bool) -> None:
        configs: dict[str, str | None] = {"unclean.leader.election.enable": "true"} if unclean else {}
        self.toy.settle()  # else there may be brokers that are not active any more, and do not look it
        result = self.toy.create(name, partitions, replication, configs=configs)
        active = [broker for broker in self.toy.image.brokers.values() if broker.active]
        possible = name not in self.model and partitions != 0 and 0 < replication <= len(self.toy.image.brokers)
        assert (result.error_code == ErrorCode.NONE) == bool(possible and active)
        if result.error_code == ErrorCode.NONE:
            self.model[name] = abs(partitions)

    @rule(name=TOPICS, index=st.integers(0, 2), replicas=st.none() | REPLICAS)
    def reassign(self, name: str, index: int, replicas: list[int] | None) -> None:
        partition = ReassignablePartition(partition_index=index, replicas=replicas)
        topic = ReassignableTopic(name=name, partitions=[partition])
        answer = self.toy.ask(AlterPartitionReassignmentsRequest(topics=[topic])).responses[0].partitions[0]
        if answer.error_code == ErrorCode.NONE and replicas is not None:
            partition = self.toy.partition(name, index)
            assert [id for id in partition.replicas if id not in partition.removing_replicas] == replicas

    @rule(broker_id=BROKERS, name=TOPICS, index=st.integers(0, 2), number=st.integers(0, 1))
    def assign(self, broker_id: int, name: str, index: int, number: int) -> None:
        broker, topic = self.toy.image.brokers.get(broker_id), self.toy.image.topic(name)
        if broker is None or topic is None:
            return
        chosen = [DirectoryTopic(topic_id=topic.id, partitions=[DirectoryPartition(partition_index=index)])]
        directory = DirectoryData(id=directories_of(broker_id)[-1 - number :][0], topics=chosen)
        request = AssignReplicasToDirsRequest(broker_id=broker_id, broker_epoch=broker.epoch, directories=[directory])
        self.toy.ask(request)

    @rule(level=st.sampled_from(LEVELS))
    def update_features(self, level: int) -> None:
        update = FeatureUpdateKey(feature="metadata.version", max_version_level=level)
        self.toy.ask(UpdateFeaturesRequest(feature_updates=[update]))

    @rule(name=TOPICS)
    def delete(self, name: str) -> None:
        response = self.toy.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=name)]))
        assert (response.responses[0].error_code == ErrorCode.NONE) == (self.model.pop(name, None) is not None)

    @rule(name=TOPICS, count=st.integers(1, 5))
    def grow(self, name: str, count: int) -> None:
        topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
        result = self.toy.ask(CreatePartitionsRequest(topics=[topic])).results[0]
        if result.error_code == ErrorCode.NONE:
            assert count > self.model[name]
            self.model[name] = count

    @rule(name=TOPICS, isr=st.sets(BROKERS, min_size=1), leader=BROKERS, epoch=st.integers(-1, 1))
    def alter_partition(self, name: str, isr: set[int], leader: int, epoch: int) -> None:
        topic, broker = self.toy.image.topic(name), self.toy.image.brokers.get(leader)
        if topic is None or broker is None:
            return
        partition = topic.partitions[0]
        data = PartitionData(
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch + epoch,
            new_isr_with_epochs=[BrokerState(broker_id=id, broker_epoch=-1) for id in sorted(isr)],
        )
        request = AlterPartitionRequest(
            broker_id=leader, broker_epoch=broker.epoch, topics=[TopicData(topic_id=topic.id, partitions=[data])]
        )
        outcome = self.toy.ask(request).topics[0].partitions[0]
        if outcome.error_code == ErrorCode.NONE:
            assert epoch == 0
            assert set(outcome.isr) == isr == set(self.toy.partition(name).isr)

    @rule(kind=st.sampled_from([PREFERRED, UNCLEAN]))
    def elect_leaders(self, kind: int) -> None:
        self.toy.ask(ElectLeadersRequest(election_type=kind, topic_partitions=None))

    @rule()
    def a_new_controller_takes_over(self) -> None:
        """It replays the log, and knows the same."""
        image = self.toy.image
        log = [decode_record(encode_record(record, record_version(record))) for record in self.toy.log]
        now = self.toy.now
        self.toy = ToyCluster(self.toy.config, log=log, settles=False)
        self.toy.now = now
        assert self.toy.image.topics == image.topics
        assert self.toy.image.brokers == image.brokers
        assert self.toy.image.configs == image.configs

    @invariant()
    def topics_are_as_the_answers_said(self) -> None:
        assert {topic.name: len(topic.partitions) for topic in self.toy.image.topics.values()} == self.model

    @invariant()
    def partitions_are_sound(self) -> None:
        for topic, index, partition in self.toy.image.partitions():
            assert partition.isr, "an ISR is never empty"
            assert set(partition.isr) <= set(partition.replicas)
            assert partition.leader == NO_LEADER or partition.leader in partition.isr
            if partition.leader != NO_LEADER:
                assert self.toy.image.brokers[partition.leader].active
                assert all(self.toy.image.brokers[member].active for member in partition.isr)
            else:
                brokers = [self.toy.image.brokers[id] for id in partition.isr if id in self.toy.image.brokers]
                able = [b.id for b in brokers if b.active and b.has_online(partition.directory(b.id))]
                assert self.unfinished or not able, "someone could lead"
            staying = set(partition.replicas) - set(partition.removing_replicas)
            assert not partition.is_reassigned or not staying <= set(partition.isr), "the reassignment is complete"
            before = self.seen.get((topic.id, index))
            if before is not None and before != partition:
                assert partition.partition_epoch > before.partition_epoch
                assert partition.leader_epoch >= before.leader_epoch
                assert partition.leader_epoch > before.leader_epoch or partition.leader == before.leader
            self.seen[topic.id, index] = partition

    @invariant()
    def the_index_is_what_a_look_at_all_would_find(self) -> None:
        image = self.toy.image
        everything = list(image.partitions())
        conditions: dict[int, Callable[[Partition], bool]] = {
            LEADERLESS: lambda p: p.leader == NO_LEADER,
            NOT_PREFERRED: lambda p: not p.has_preferred_leader,
            REASSIGNED: lambda p: p.is_reassigned,
        }
        for broker_id in range(1, 5):
            conditions[broker_id] = lambda p, broker_id=broker_id: broker_id in p.isr
        for key, holds in conditions.items():
            assert list(image.partitions_of(key)) == [each for each in everything if holds(each[2])]

    @invariant()
    def records_are_of_their_level(self) -> None:
        """No record is in a version that Apache Kafka does not write at the level of the cluster."""
        level = 0
        for record in self.toy.log:
            if isinstance(record, FeatureLevelRecord):
                level = record.feature_level
            highest = 3 if level >= 17 else 2 if level >= 8 else 1
            highest = {"RegisterBrokerRecord": highest, "BrokerRegistrationChangeRecord": 2 if level >= 17 else 1}.get(
                type(record).__name__, int(level >= 17)
            )
            assert record_version(record) <= highest

    @invariant()
    def replay_is_deterministic(self) -> None:
        loader = Loader()
        loader.load(self.toy.log, len(self.toy.log) - 1, 1, 0)
        assert loader.image == self.toy.image


AnyHistory.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestAnyHistory = pytest.mark.no_cover(AnyHistory.TestCase)
