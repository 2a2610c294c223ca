"""Share groups on a node: the level of ``share.version`` decides, and the offsets' APIs reach the share coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.delete_share_group_offsets_request import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from kraft.messages.describe_share_group_offsets_request import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.share_group_describe_request import ShareGroupDescribeRequest
from kraft.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.groups import coordinated
from tests.support.eventually import eventually_async

GROUP = "g"
TOPIC = "orders"


def heartbeat(epoch: int) -> ShareGroupHeartbeatRequest:
    topics = [TOPIC] if epoch == 0 else None
    return ShareGroupHeartbeatRequest(GROUP, "m", epoch, subscribed_topic_names=topics)


def alter(offset: int) -> AlterShareGroupOffsetsRequest:
    partition = AlterShareGroupOffsetsRequestPartition(0, offset)
    return AlterShareGroupOffsetsRequest(GROUP, [AlterShareGroupOffsetsRequestTopic(TOPIC, [partition])])


def forget() -> DeleteShareGroupOffsetsRequest:
    return DeleteShareGroupOffsetsRequest(GROUP, [DeleteShareGroupOffsetsRequestTopic(TOPIC)])


def offsets(topics: list[DescribeShareGroupOffsetsRequestTopic] | None = None) -> DescribeShareGroupOffsetsRequest:
    return DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(GROUP, topics)])


async def upgrade(broker: Connection) -> None:
    await coordinated(broker, GROUP)
    update = FeatureUpdateKey(feature="share.version", max_version_level=1, upgrade_type=1)
    response = await broker.request(UpdateFeaturesRequest(timeout_ms=10_000, feature_updates=[update]))
    assert response.error_code == 0


@pytest.mark.parametrize("message", [heartbeat(0), alter(0), forget(), offsets(), ShareGroupDescribeRequest([GROUP])])
async def test_share_version_0_has_no_share_groups(broker: Connection, message: Any) -> None:
    """Apache: ``KafkaApis`` answers UNSUPPORTED_VERSION below share.version 1."""
    response = await broker.request(message)
    groups = getattr(response, "groups", [])
    codes = [group.error_code for group in groups] or [response.error_code]
    assert codes == [ErrorCode.UNSUPPORTED_VERSION]


async def test_a_member_joins_shares_a_partition_and_is_described(own: Connection) -> None:
    await upgrade(own)
    epoch = 0
    shared: list[list[int]] = []

    async def has_partition() -> bool:
        nonlocal epoch, shared
        told = await own.request(heartbeat(epoch))
        assert told.error_code == 0
        epoch = told.member_epoch
        if told.assignment is not None:
            shared = [topic.partitions for topic in told.assignment.topic_partitions]
        return shared == [[0]]

    await eventually_async(has_partition)
    first, second = (await own.request(ShareGroupDescribeRequest([GROUP, "x", GROUP], True))).groups
    assert (first.group_state, [member.member_id for member in first.members]) == ("Stable", ["m"])
    assert first.authorized_operations > 0
    assert second.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    (listed,) = (await own.request(ListGroupsRequest(types_filter=["Share"]))).groups
    assert (listed.group_id, listed.protocol_type, listed.group_type, listed.group_state) == (
        GROUP,
        "share",
        "share",
        "Stable",
    )
    assert (await own.request(ListGroupsRequest(types_filter=["consumer"]))).groups == []
    assert (await own.request(DeleteGroupsRequest([GROUP]))).results[0].error_code == ErrorCode.NON_EMPTY_GROUP


async def test_offsets_are_altered_described_and_deleted(own: Connection) -> None:
    """KIP-932, "Admin": the offsets of a group are in the states of its share partitions."""
    await upgrade(own)
    altered = await own.request(alter(7))
    assert [each.error_code for each in altered.responses[0].partitions] == [0]
    (group,) = (await own.request(offsets())).groups
    (partition,) = group.topics[0].partitions
    assert (group.topics[0].topic_name, partition.start_offset, partition.error_code) == (TOPIC, 7, 0)
    named = [DescribeShareGroupOffsetsRequestTopic(TOPIC, [0, 5]), DescribeShareGroupOffsetsRequestTopic("x", [1])]
    (group,) = (await own.request(offsets(named))).groups
    found = {
        (topic.topic_name, each.partition_index): (each.start_offset, each.lag, each.error_code)
        for topic in group.topics
        for each in topic.partitions
    }
    assert found.keys() == {(TOPIC, 0), (TOPIC, 5), ("x", 1)}
    assert found[TOPIC, 5] == found["x", 1] == (-1, -1, 0)
    forgotten = await own.request(forget())
    assert [(each.topic_name, each.error_code) for each in forgotten.responses] == [(TOPIC, 0)]
    assert (await own.request(offsets())).groups[0].topics == []
    deleted = await own.request(DeleteGroupsRequest([GROUP]))
    assert [each.error_code for each in deleted.results] == [0]
    assert (await own.request(ListGroupsRequest())).groups == []


async def test_a_bad_request_gets_its_error(own: Connection) -> None:
    await upgrade(own)
    assert (await own.request(AlterShareGroupOffsetsRequest(""))).error_code == ErrorCode.INVALID_GROUP_ID
    assert (await own.request(forget())).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert (await own.request(heartbeat(3))).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    named = [DescribeShareGroupOffsetsRequestTopic(TOPIC, [0])]
    unknown = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup("", named)])
    assert (await own.request(unknown)).groups[0].error_code == ErrorCode.INVALID_GROUP_ID
