"""A sample of the attacks, small enough for every run: bounds on the work done, none on the time.

The long form is ``python -m tests.abuse``, and ``tests/process/test_abuse.py`` has a sample of it on three nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
import trio

from kraft.messages.add_partitions_to_txn_request import AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from kraft.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from kraft.messages.describe_topic_partitions_request import TopicRequest as NamedTopic
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_delete_request import OffsetDeleteRequest, OffsetDeleteRequestTopic
from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kraft.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.testing import EmbeddedCluster, embedded_node
from kraft.wire.schema import Message
from tests.abuse import attacks
from tests.abuse.attack import Attack, whole
from tests.abuse.campaign import Outcome, neighbour, strike
from tests.abuse.state import coordinator
from tests.api.groups import coordinated
from tests.fuzz.strike import Address, Neighbour
from tests.support.nodes import connected


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with EmbeddedCluster() as cluster:
        host, port = cluster.bootstrap_servers.split(":")
        yield host, int(port)


@pytest.fixture(scope="module")
def friend(address: Address) -> Iterator[Neighbour]:
    """A client on a connection from before the attacks."""
    with neighbour(address) as friend:
        friend.prepare()
        yield friend


@contextmanager
def struck(address: Address, friend: Neighbour, attack: Attack) -> Iterator[Outcome]:
    """The outcome of an attack, after which the neighbour writes and reads its records."""
    attack.prepare(friend)
    yield strike(address, list(attack.frames()))
    friend.live()


@pytest.mark.parametrize(
    "attack",
    [
        Attack("tags in the header", lambda: attacks.tags_in_header(1 << 14)),
        Attack("tags in the body", lambda: attacks.tags_in_body(1 << 14)),
        Attack("empty names", lambda: attacks.empty_names(1 << 20)),
        Attack("partition numbers", lambda: attacks.numbers(2 << 20)),
    ],
    ids=lambda attack: attack.name,
)
def test_more_elements_than_any_client_sends_close_the_connection(
    address: Address, friend: Neighbour, attack: Attack
) -> None:
    """Bytes that become a hundred times as many are refused while they are decoded (``MAX_ELEMENTS``)."""
    with struck(address, friend, attack) as outcome:
        assert outcome.closed


def test_the_largest_honest_requests_are_answered(address: Address, friend: Neighbour) -> None:
    """100,000 topics in one Metadata request: more than any cluster has."""
    with struck(address, friend, Attack("", lambda: attacks.unknown_topics(100_000))) as outcome:
        assert outcome.frames == 1
        assert outcome.received_bytes > 100_000 * len("unknown-1")


COUNT = 10_000
NAMES = [f"name-{number}" for number in range(COUNT)]
NUMBERS = list(range(COUNT))
IDS = [UUID(int=number) for number in range(1, COUNT)]
LONG_IDS = [f"{number}".ljust(32_000, "x") for number in range(30)]
"""The partition of a group comes from a hash of each character of its id."""
UNKNOWN_OFFSETS = [OffsetCommitRequestPartition(number) for number in NUMBERS]
LARGE: list[tuple[Message, int]] = [
    (FindCoordinatorRequest(coordinator_keys=LONG_IDS), 4),
    (DescribeGroupsRequest(groups=LONG_IDS), 5),
    (DeleteGroupsRequest(groups_names=LONG_IDS), 2),
    (OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name) for name in LONG_IDS]), 8),
    (MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in NAMES], allow_auto_topic_creation=False), 9),
    (FindCoordinatorRequest(coordinator_keys=NAMES), 4),
    (ListGroupsRequest(states_filter=NAMES), 5),
    (ListGroupsRequest(types_filter=NAMES), 5),
    (DescribeConfigsRequest([DescribeConfigsResource(2, name, None) for name in NAMES]), 4),
    (DescribeGroupsRequest(groups=NAMES), 5),
    (DeleteGroupsRequest(groups_names=NAMES), 2),
    (DescribeProducersRequest(topics=[TopicRequest("t", NUMBERS)]), 0),
    (OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name) for name in NAMES]), 8),
    (OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic("t", [*NUMBERS, *range(COUNT, 2 * COUNT)])]), 5),
    (OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name) for name in NAMES]), 8),
    (OffsetDeleteRequest("g", [OffsetDeleteRequestTopic(name) for name in NAMES]), 0),
    (LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=name) for name in NAMES]), 4),
    (DeleteRecordsRequest([DeleteRecordsTopic("t", [DeleteRecordsPartition(n) for n in NUMBERS])]), 2),
    (
        OffsetForLeaderEpochRequest(
            topics=[OffsetForLeaderTopic("t", [OffsetForLeaderPartition(partition=n) for n in NUMBERS])]
        ),
        4,
    ),
    (OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(name) for name in NAMES]), 4),
    (DescribeProducersRequest(topics=[TopicRequest(name) for name in NAMES]), 0),
    (DescribeTopicPartitionsRequest(topics=[NamedTopic(name) for name in NAMES]), 0),
    (OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name) for name in NAMES]), 5),
    (OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions=UNKNOWN_OFFSETS)]), 8),
    (OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic(topic_id=topic_id) for topic_id in IDS]), 10),
    (
        OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup("g", topics=[OffsetFetchRequestTopics(topic_id=each) for each in IDS])]
        ),
        10,
    ),
    (ListOffsetsRequest(topics=[ListOffsetsTopic("t", [ListOffsetsPartition(n, timestamp=-1) for n in NUMBERS])]), 7),
    (
        ProduceRequest(
            acks=1, topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(n) for n in NUMBERS])]
        ),
        9,
    ),
]


class HandlerSteps(trio.abc.Instrument):
    """Counts the steps of a node's handlers, or of its other tasks of a name."""

    def __init__(self, name: str = "handler") -> None:
        self._name = name
        self.count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += task.name.startswith(self._name)


@pytest.mark.parametrize(("request_", "version"), LARGE, ids=lambda value: type(value).__name__)
async def test_the_handler_of_a_large_request_lets_other_tasks_run(request_: Message, version: int) -> None:
    """The decoder has ten slices, and the handler has more of its own: at most a thousand elements in each.

    The hash of an id of 32,000 characters takes as long as a slice.
    """
    async with embedded_node() as node, connected(node) as broker:
        await coordinated(broker, "g")
        steps = HandlerSteps()
        trio.lowlevel.add_instrument(steps)
        await broker.request(request_, version)
        trio.lowlevel.remove_instrument(steps)
    assert steps.count >= 20


async def test_many_transactions_of_a_broker_are_looked_at_in_slices() -> None:
    """33,000 of them took a step of 280 ms of the task of their connection."""
    transactions = [AddPartitionsToTxnTransaction(name) for name in NAMES]
    async with embedded_node() as node, connected(node) as broker:
        steps = HandlerSteps("connection ")
        trio.lowlevel.add_instrument(steps)
        response = await broker.request(AddPartitionsToTxnRequest(transactions=transactions), 5)
        trio.lowlevel.remove_instrument(steps)
    assert len(response.results_by_transaction) == COUNT
    assert steps.count >= COUNT // 125


async def test_names_that_repeat_are_found_in_slices() -> None:
    """Metadata of one topic 100,000 times took a step of 40 ms. Here the decoder has twenty slices, and then the
    handler as many.
    """
    async with embedded_node() as node, connected(node) as broker:
        steps = HandlerSteps()
        request = MetadataRequest(topics=[MetadataRequestTopic(name="t")] * 20_000, allow_auto_topic_creation=False)
        trio.lowlevel.add_instrument(steps)
        assert len((await broker.request(request, 9)).topics) == 1
        trio.lowlevel.remove_instrument(steps)
    assert steps.count >= 40


async def test_the_handler_lets_other_tasks_run_within_a_wide_topic() -> None:
    """The partitions of one topic took one step: 14 ms for 9,990 of them."""
    async with embedded_node() as node, connected(node) as broker:
        topic = CreatableTopic("wide", num_partitions=2_000, replication_factor=1)
        await broker.request(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 6)
        steps = HandlerSteps()
        trio.lowlevel.add_instrument(steps)
        response = await broker.request(MetadataRequest(topics=None), 9)
        trio.lowlevel.remove_instrument(steps)
    assert steps.count >= len(response.topics[0].partitions) // 200


def test_a_commit_for_many_unknown_partitions_is_answered(address: Address, friend: Neighbour) -> None:
    """A list of the unknown ones, searched for each partition, takes minutes in one step of the handler."""
    partitions = [OffsetCommitRequestPartition(index, 1, committed_metadata="") for index in range(99_000)]
    topics = [OffsetCommitRequestTopic("orders", partitions=partitions)]
    request = OffsetCommitRequest("g", generation_id_or_member_epoch=-1, member_id="", topics=topics)
    coordinator(friend)
    with struck(address, friend, Attack("", lambda: whole(request, 8))) as outcome:
        assert outcome.frames == 1
