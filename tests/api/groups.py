"""Classic groups, as a client uses them."""

from __future__ import annotations

from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.describe_groups_response import DescribedGroup
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.heartbeat_request import HeartbeatRequest
from kraft.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kraft.messages.join_group_response import JoinGroupResponse
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kraft.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from kraft.messages.sync_group_response import SyncGroupResponse
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.support.eventually import eventually_async

PROTOCOLS = [JoinGroupRequestProtocol("range", b"subscription")]


async def coordinated(broker: Connection, group: str) -> None:
    """Return once the broker coordinates the group. The first request creates ``__consumer_offsets``."""

    async def is_found() -> bool:
        response = await broker.request(FindCoordinatorRequest(coordinator_keys=[group]), 4)
        return not response.coordinators[0].error_code

    async def is_loaded() -> bool:
        response = await broker.request(HeartbeatRequest(group, 0, "nobody"))
        return response.error_code == ErrorCode.UNKNOWN_MEMBER_ID

    await eventually_async(is_found)
    await eventually_async(is_loaded)


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
