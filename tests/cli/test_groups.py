"""``kraft groups``: the lags that ``describe`` prints."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence

import pytest
from click.testing import CliRunner

from kraft.cli.groups import lag_of
from kraft.cli.main import cli
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_groups_response import DescribedGroup, DescribeGroupsResponse
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.find_coordinator_response import FindCoordinatorResponse
from kraft.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kraft.messages.list_offsets_request import ListOffsetsRequest
from kraft.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kraft.messages.metadata_request import MetadataRequest
from kraft.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kraft.messages.offset_fetch_request import OffsetFetchRequest
from kraft.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode
from tests.support.stub_cluster import NODE_ID, StubCluster, stub_cluster


@pytest.mark.parametrize(("committed", "end", "lag"), [(3, 10, 7), (10, 3, 0), (None, 10, None), (3, None, None)])
def test_the_lag_is_never_negative_and_unknown_without_both_ends(
    committed: int | None, end: int | None, lag: int | None
) -> None:
    assert lag_of(committed, end) == lag


def test_a_partition_without_a_leader_has_no_end() -> None:
    """Kafka's tool asks only partitions with a leader for their ends (``filterNoneLeaderPartitions`` in
    ConsumerGroupCommand), and prints a dash for the others.
    """
    assert described_offsets(known={"orders"}, committed={"orders": (0, 1)}) == [
        ["orders", "0", "3", "10", "7"],
        ["orders", "1", "3", "-", "-"],
    ]


def test_a_deleted_topic_has_no_ends() -> None:
    """Members keep the partitions of a deleted topic until their group rebalances, and the coordinator may keep its
    offsets.
    """
    assert described_offsets(known={"orders"}, committed={"gone": (0,), "orders": (0,)}) == [
        ["gone", "0", "3", "-", "-"],
        ["orders", "0", "3", "10", "7"],
    ]


def described_offsets(known: Collection[str], committed: Mapping[str, Sequence[int]]) -> list[list[str]]:
    """Return the first columns that ``groups describe`` prints of a group without members, of these partitions.

    The ``known`` topics have a partition 0, which ends at offset 10, and a partition 1 without a leader.
    """
    stub: StubCluster

    def coordinator(request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(node_id=NODE_ID, host="127.0.0.1", port=port_of(stub))

    def metadata(request: MetadataRequest) -> MetadataResponse:
        (name,) = [each.name for each in request.topics or ()]
        led = MetadataResponsePartition(partition_index=0, leader_id=NODE_ID)
        leaderless = MetadataResponsePartition(ErrorCode.LEADER_NOT_AVAILABLE, partition_index=1, leader_id=-1)
        topic = MetadataResponseTopic(name=name, partitions=[led, leaderless])
        if name not in known:
            topic = MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name)
        return MetadataResponse(brokers=[MetadataResponseBroker(NODE_ID, "127.0.0.1", port_of(stub))], topics=[topic])

    def groups(request: DescribeGroupsRequest) -> DescribeGroupsResponse:
        return DescribeGroupsResponse(groups=[DescribedGroup(group_id="readers", group_state="Empty")])

    def offsets(request: OffsetFetchRequest) -> OffsetFetchResponse:
        topics = [
            OffsetFetchResponseTopic(name, [OffsetFetchResponsePartition(index, 3) for index in partitions])
            for name, partitions in committed.items()
        ]
        return OffsetFetchResponse(topics=topics)

    def ends(request: ListOffsetsRequest) -> ListOffsetsResponse:
        assert [each.partition_index for each in request.topics[0].partitions] == [0]
        return ListOffsetsResponse(
            topics=[ListOffsetsTopicResponse("orders", [ListOffsetsPartitionResponse(0, offset=10)])]
        )

    answers = {
        ApiKey.METADATA: (12, metadata),
        ApiKey.FIND_COORDINATOR: (3, coordinator),
        ApiKey.DESCRIBE_GROUPS: (5, groups),
        ApiKey.OFFSET_FETCH: (7, offsets),
        ApiKey.LIST_OFFSETS: (5, ends),
    }
    with stub_cluster(answers) as stub:
        arguments = ["groups", "describe", "readers", "-b", stub.bootstrap_servers]
        result = CliRunner(catch_exceptions=False).invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    return [line.split()[:5] for line in result.output.splitlines()[2:]]


def test_the_list_waits_for_a_coordinator_that_loads() -> None:
    """Kafka's ListGroupsHandler retries COORDINATOR_LOAD_IN_PROGRESS."""
    listed = ListedGroup(group_id="readers", group_state="Empty", group_type="Classic")
    found = deque(
        [
            ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
            ListGroupsResponse(groups=[listed]),
        ]
    )
    stub: StubCluster

    def metadata(request: MetadataRequest) -> MetadataResponse:
        return MetadataResponse(brokers=[MetadataResponseBroker(NODE_ID, "127.0.0.1", port_of(stub))])

    answers = {ApiKey.METADATA: (12, metadata), ApiKey.LIST_GROUPS: (5, lambda request: found.popleft())}
    with stub_cluster(answers) as stub:
        result = CliRunner(catch_exceptions=False).invoke(cli, ["groups", "list", "-b", stub.bootstrap_servers])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[1].split() == ["readers", "classic", "Empty"]
    assert not found


def port_of(cluster: StubCluster) -> int:
    return int(cluster.bootstrap_servers.rpartition(":")[2])
