"""A string on the wire holds at most 32,767 bytes. An answer that repeats one that was sent must still fit."""

from __future__ import annotations

from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kraft.rpc.client import Connection, connect
from kraft.testing import EmbeddedCluster
from kraft.wire.errors import ErrorCode
from tests.api.groups import join_request

LONG = "é" * 16_383 + "x"


async def test_names_in_error_messages(broker: Connection, topic: str) -> None:
    described = await broker.request(DescribeConfigsRequest([DescribeConfigsResource(4, LONG)]))
    assert described.results[0].error_code == ErrorCode.INVALID_REQUEST
    assert described.results[0].resource_name == LONG
    for config in (AlterableConfig(LONG, 0, "1"), AlterableConfig("retention.ms", 0, LONG)):
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(2, topic, [config])])
        altered = (await broker.request(request)).responses[0]
        assert altered.error_code == ErrorCode.INVALID_CONFIG
        assert len(altered.error_message or "") < 2_000


async def test_unknown_groups(broker: Connection, new_name: str) -> None:
    found = (await broker.request(DescribeGroupsRequest([LONG]), 6)).groups[0]
    assert found.group_id == LONG
    assert found.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NOT_COORDINATOR)


async def test_member_ids(kraft_shared_cluster: EmbeddedCluster, group: str) -> None:
    """A member id begins with the client's id, or with that of a static member."""
    host, port = kraft_shared_cluster.bootstrap_servers.split(":")
    async with connect(host, int(port), client_id=LONG) as connection:
        first = await connection.request(join_request(group))
        assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
        joined = await connection.request(join_request(group, first.member_id))
        assert joined.error_code == 0
    async with connect(host, int(port)) as connection:
        static = JoinGroupRequest(
            group_id=f"{group}-static",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            group_instance_id=LONG,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol("range", b"")],
        )
        assert (await connection.request(static)).error_code == 0
