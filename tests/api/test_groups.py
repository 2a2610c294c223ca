"""Classic consumer groups over the wire: join, sync, commit, leave, and what of it survives a stop and a kill."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_groups_response import DescribedGroup
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kraft.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.rpc.client import Connection, connect
from kraft.testing import EmbeddedCluster
from kraft.wire.errors import ErrorCode
from tests.support.nodes import node_in
from tests.support.talk import create

PROTOCOLS = [JoinGroupRequestProtocol("range", b"subscription")]


def join_request(group: str, member_id: str = "", instance_id: str | None = None) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=PROTOCOLS,
    )


async def join(broker: Connection, group: str, instance_id: str | None = None) -> JoinGroupResponse:
    """Both steps of a join (KIP-394); a static member needs but one."""
    first: JoinGroupResponse = await broker.request(join_request(group, instance_id=instance_id))
    if instance_id is None:
        assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
        first = await broker.request(join_request(group, first.member_id))
    assert first.error_code == 0
    return first


async def sync(broker: Connection, group: str, joined: JoinGroupResponse, *assignments: str) -> SyncGroupResponse:
    response: SyncGroupResponse = await broker.request(
        SyncGroupRequest(
            group_id=group,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(each, each.encode()) for each in assignments],
        )
    )
    return response


async def heartbeat(broker: Connection, group: str, joined: JoinGroupResponse) -> ErrorCode:
    request = HeartbeatRequest(group, joined.generation_id, joined.member_id)
    return ErrorCode((await broker.request(request)).error_code)


async def commit(
    broker: Connection, group: str, topic: str, offset: int, generation: int = -1, member: str = "", version: int = 9
) -> ErrorCode:
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, offset)])],
    )
    return ErrorCode((await broker.request(request, version)).topics[0].partitions[0].error_code)


async def committed(broker: Connection, group: str, topic: str) -> int:
    wanted = OffsetFetchRequestGroup(group, topics=[OffsetFetchRequestTopics(topic, partition_indexes=[0])])
    response = await broker.request(OffsetFetchRequest(groups=[wanted]), 9)
    offset: int = response.groups[0].topics[0].partitions[0].committed_offset
    return offset


async def described(broker: Connection, group: str) -> DescribedGroup:
    found: DescribedGroup = (await broker.request(DescribeGroupsRequest([group]), 5)).groups[0]
    return found


async def test_the_life_of_a_group(
    kraft_shared_cluster: EmbeddedCluster, broker: Connection, group: str, topic: str
) -> None:
    one = await join(broker, group)
    assert (one.leader, one.protocol_name, len(one.members)) == (one.member_id, "range", 1)
    assert (await sync(broker, group, one, one.member_id)).assignment == one.member_id.encode()
    assert await heartbeat(broker, group, one) == 0
    assert await commit(broker, group, topic, 5, one.generation_id, one.member_id) == 0

    host, port = kraft_shared_cluster.bootstrap_servers.split(":")
    async with connect(host, int(port), client_id="second") as other:
        answers: list[JoinGroupResponse] = []

        async def join_second() -> None:
            answers.append(await join(other, group))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(join_second)
            while await heartbeat(broker, group, one) != ErrorCode.REBALANCE_IN_PROGRESS:
                await trio.lowlevel.checkpoint()
            one = await broker.request(join_request(group, one.member_id))
        two = answers[0]
        assert one.generation_id == two.generation_id == 2
        assert len(one.members) == 2
        assert two.members == []
        assert await commit(broker, group, topic, 6, 1, one.member_id) == ErrorCode.ILLEGAL_GENERATION

        parts: list[bytes] = []

        async def wait_for_part() -> None:
            parts.append((await sync(other, group, two)).assignment)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_for_part)
            await sync(broker, group, one, one.member_id, two.member_id)
        assert parts == [two.member_id.encode()]
        found = await described(broker, group)
        assert (found.group_state, found.protocol_type, found.protocol_data) == ("Stable", "consumer", "range")
        assert {each.client_id for each in found.members} == {"test", "second"}
        assert (await broker.request(DeleteGroupsRequest([group]))).results[0].error_code == ErrorCode.NON_EMPTY_GROUP

    leaving = [MemberIdentity(one.member_id), MemberIdentity(two.member_id), MemberIdentity("nobody")]
    left = await broker.request(LeaveGroupRequest(group, members=leaving))
    assert [each.error_code for each in left.members] == [0, 0, ErrorCode.UNKNOWN_MEMBER_ID]
    assert (await described(broker, group)).group_state == "Empty"
    assert await committed(broker, group, topic) == 5
    assert (await broker.request(DeleteGroupsRequest([group]))).results[0].error_code == 0
    assert await committed(broker, group, topic) == -1
    assert (await broker.request(DeleteGroupsRequest([group]))).results[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("version", range(2, 10))
async def test_every_version_commits_and_fetches(broker: Connection, group: str, topic: str, version: int) -> None:
    assert await commit(broker, group, topic, version, version=version) == 0
    assert await committed(broker, group, topic) == version


@pytest.mark.parametrize("version", range(1, 8))
async def test_the_older_offset_fetch(broker: Connection, group: str, topic: str, version: int) -> None:
    """One group, and from version 2 on null topics for all."""
    assert await commit(broker, group, topic, 44) == 0
    named = OffsetFetchRequest(group_id=group, topics=[OffsetFetchRequestTopic(topic, [0, 7])])
    response = await broker.request(named, version)
    assert [each.committed_offset for each in response.topics[0].partitions] == [44, -1]
    if version >= 2:
        everything = await broker.request(OffsetFetchRequest(group_id=group, topics=None), version)
        assert [(each.name, each.partitions[0].committed_offset) for each in everything.topics] == [(topic, 44)]


async def test_unknown_partitions_are_not_committed(broker: Connection, group: str, topic: str) -> None:
    assert await commit(broker, group, "nowhere", 1) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    request = OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(
                topic, partitions=[OffsetCommitRequestPartition(9, 1), OffsetCommitRequestPartition(0, 3)]
            )
        ],
    )
    (answer,) = (await broker.request(request, 9)).topics
    codes = {each.partition_index: each.error_code for each in answer.partitions}
    assert codes == {9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0: 0}
    assert await committed(broker, group, topic) == 3


@pytest.mark.parametrize("retention_ms", [-1, 0, 2**63 - 1, -(2**63)])
async def test_any_retention_may_be_asked_for(broker: Connection, group: str, topic: str, retention_ms: int) -> None:
    """Up to version 4 the client says how long the offset is to be kept: forever may be said in many ways."""
    partition = OffsetCommitRequestPartition(0, 3)
    request = OffsetCommitRequest(
        group_id=group,
        retention_time_ms=retention_ms,
        topics=[OffsetCommitRequestTopic(topic, partitions=[partition])],
    )
    response = await broker.request(request, 4)
    assert response.topics[0].partitions[0].error_code == 0
    assert await committed(broker, group, topic) == 3


async def test_offsets_are_forgotten_one_by_one(broker: Connection, group: str, topic: str) -> None:
    """KIP-496."""
    assert await commit(broker, group, topic, 3) == 0
    topics = [OffsetDeleteRequestTopic(topic, [OffsetDeleteRequestPartition(0)])]
    response = await broker.request(OffsetDeleteRequest(group, topics))
    assert (response.error_code, response.topics[0].partitions[0].error_code) == (0, 0)
    assert await committed(broker, group, topic) == -1


async def test_groups_are_listed_by_state(broker: Connection, group: str, topic: str) -> None:
    """KIP-518."""
    assert await commit(broker, group, topic, 3) == 0
    empty = {each.group_id for each in (await broker.request(ListGroupsRequest(states_filter=["Empty"]))).groups}
    stable = {each.group_id for each in (await broker.request(ListGroupsRequest(states_filter=["Stable"]))).groups}
    assert group in empty - stable


async def test_empty_group_ids(broker: Connection, group: str, topic: str) -> None:
    joined = await broker.request(join_request(""))
    assert joined.error_code == ErrorCode.INVALID_GROUP_ID
    assert (await broker.request(HeartbeatRequest(""))).error_code == ErrorCode.INVALID_GROUP_ID


async def test_a_static_member_comes_back_without_a_rebalance(broker: Connection, group: str) -> None:
    """KIP-345."""
    one = await join(broker, group, "instance")
    await sync(broker, group, one, one.member_id)
    again = await join(broker, group, "instance")
    assert again.member_id != one.member_id
    assert again.generation_id == one.generation_id
    assert (await sync(broker, group, again)).assignment == one.member_id.encode()
    fenced = await broker.request(HeartbeatRequest(group, one.generation_id, one.member_id, "instance"))
    assert fenced.error_code == ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
async def test_groups_and_offsets_survive(tmp_path: Path, kill: bool) -> None:
    async with node_in(tmp_path) as node:
        await create(node.broker, "orders")
        await node.broker.request(FindCoordinatorRequest(coordinator_keys=["readers"]))
        joined = await join(node.broker, "readers")
        await sync(node.broker, "readers", joined, joined.member_id)
        for offset in range(10):
            assert await commit(node.broker, "readers", "orders", offset, joined.generation_id, joined.member_id) == 0
        if kill:
            node.kill()
    async with node_in(tmp_path) as node:
        assert await committed(node.broker, "readers", "orders") == 9
        found = await described(node.broker, "readers")
        assert (found.group_state, [each.member_id for each in found.members]) == ("Stable", [joined.member_id])
        assert await heartbeat(node.broker, "readers", joined) == 0, "the member goes on as if nothing had been"
        assert found.members[0].member_assignment == joined.member_id.encode()


async def test_offsets_of_a_deleted_topic_are_gone(broker: Connection, group: str, new_name: str) -> None:
    from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState

    request = CreateTopicsRequest(topics=[CreatableTopic(new_name, 1, 1)])
    await broker.request(request)
    assert await commit(broker, group, new_name, 3) == 0
    await broker.request(DeleteTopicsRequest(topics=[DeleteTopicState(new_name)], timeout_ms=5000), 6)
    await broker.request(request)
    assert await committed(broker, group, new_name) == -1
