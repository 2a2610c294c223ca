"""Classic consumer groups over the wire: join, sync, commit, leave, and what of it survives a stop and a kill."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from kraft.api import leave_group
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from kraft.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from kraft.rpc.channel import response_of
from kraft.rpc.client import Connection, connect
from kraft.testing import EmbeddedCluster
from kraft.wire.errors import ErrorCode
from tests.api.groups import commit, committed, coordinated, described, heartbeat, join, join_request, sync
from tests.support.nodes import node_in
from tests.support.talk import create


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
        await coordinated(node.broker, "readers")
        joined = await join(node.broker, "readers")
        await sync(node.broker, "readers", joined, joined.member_id)
        for offset in range(10):
            assert await commit(node.broker, "readers", "orders", offset, joined.generation_id, joined.member_id) == 0
        if kill:
            node.kill()
    async with node_in(tmp_path) as node:
        await coordinated(node.broker, "readers")
        assert await committed(node.broker, "readers", "orders") == 9
        found = await described(node.broker, "readers")
        assert (found.group_state, [each.member_id for each in found.members]) == ("Stable", [joined.member_id])
        assert await heartbeat(node.broker, "readers", joined) == 0, "the member goes on as if nothing had been"
        assert found.members[0].member_assignment == joined.member_id.encode()


async def test_a_group_that_is_named_again_is_described_once(broker: Connection, group: str) -> None:
    """A group may have thousands of members, and its name costs a few bytes."""
    response = await broker.request(DescribeGroupsRequest(groups=[group, "other"] * 1000), 5)
    assert [each.group_id for each in response.groups] == [group, "other"]


async def test_more_members_leave_at_once_than_a_slice_has(broker: Connection, group: str, topic: str) -> None:
    """KIP-345: the response has each member of the request, in its order."""
    joined = await broker.request(join_request(group), 3)
    ids = [*(f"unknown-{number}" for number in range(2500)), joined.member_id]
    members = [MemberIdentity(member_id=member_id) for member_id in ids]
    left = await broker.request(LeaveGroupRequest(group, members=members))
    assert [each.member_id for each in left.members] == ids
    assert [each.error_code for each in left.members] == [ErrorCode.UNKNOWN_MEMBER_ID] * 2500 + [0]


async def test_the_parts_of_a_long_leave_have_their_error() -> None:
    """A request of more than 1,000 members is decided in parts."""
    parts = iter(
        [LeaveGroupResponse(members=[MemberResponse("m0")]), LeaveGroupResponse(error_code=ErrorCode.NOT_COORDINATOR)]
    )
    shard = SimpleNamespace(submit=lambda request, part: next(parts))
    groups = SimpleNamespace(shard_of_member=lambda group_id: shard)
    context: Any = SimpleNamespace(coordinators=SimpleNamespace(groups=groups))
    request: Any = SimpleNamespace(api_version=5)
    message = LeaveGroupRequest("g", members=[MemberIdentity(f"m{number}") for number in range(1001)])
    response = await response_of(await leave_group.at_broker(context, request, message))
    assert (response.error_code, len(response.members)) == (ErrorCode.NOT_COORDINATOR, 1)
