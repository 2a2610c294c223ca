"""Requests that name one thing again and again: a handler looks for that in slices, and bounds what is always few."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.api.describe_configs import MAX_KEYS
from kraft.api.join_group import MAX_PROTOCOLS
from kraft.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
)
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.describe_groups_request import DescribeGroupsRequest
from kraft.messages.join_group_request import JoinGroupRequestProtocol
from kraft.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from tests.api.configs import BROKER, TOPIC
from tests.api.groups import join_request
from tests.support.nodes import connected
from tests.support.steps import steps_of_tasks

TIMES = 30_000
DECODED_AT_ONCE = 1_000


@pytest.mark.parametrize(
    ("request_", "version", "slice_"),
    [
        pytest.param(DeleteGroupsRequest(["g"] * TIMES), 2, 500, id="DeleteGroups"),
        pytest.param(DescribeGroupsRequest(["g"] * TIMES), 5, 500, id="DescribeGroups"),
        pytest.param(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g")] * TIMES), 8, 500, id="OffsetFetch"),
        pytest.param(
            AlterUserScramCredentialsRequest(deletions=[ScramCredentialDeletion("ann", 1)] * TIMES),
            0,
            1_000,
            id="AlterUserScramCredentials",
        ),
        pytest.param(
            DescribeConfigsRequest([DescribeConfigsResource(BROKER, "x", ["a"])] * TIMES), 4, 500, id="DescribeConfigs"
        ),
    ],
)
async def test_repetitions_are_looked_for_in_slices(request_: Any, version: int, slice_: int) -> None:
    """Slices: "Long work lets other tasks of the event loop run": also before its first result."""
    async with embedded_node() as node, connected(node) as broker:
        async with steps_of_tasks("handler") as steps:
            await broker.request(request_, version)
        assert steps.count >= TIMES // DECODED_AT_ONCE + TIMES // slice_


async def test_a_resource_has_no_more_settings(broker: Connection, topic: str) -> None:
    """ "A request for more settings than a resource has is INVALID_REQUEST.\""""
    for count, code in ((MAX_KEYS, ErrorCode.NONE), (MAX_KEYS + 1, ErrorCode.INVALID_REQUEST)):
        wanted = DescribeConfigsResource(TOPIC, topic, [f"k{number}" for number in range(count)])
        [result] = (await broker.request(DescribeConfigsRequest([wanted]), 4)).results
        assert result.error_code == code


async def test_a_client_has_few_protocols(broker: Connection, group: str) -> None:
    """JoinGroup: "A client with more than ``MAX_PROTOCOLS`` gets INCONSISTENT_GROUP_PROTOCOL"."""
    for count, code in (
        (MAX_PROTOCOLS, ErrorCode.MEMBER_ID_REQUIRED),
        (MAX_PROTOCOLS + 1, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ):
        request = join_request(group)
        request.protocols = [JoinGroupRequestProtocol(f"p{number}", b"") for number in range(count)]
        assert (await broker.request(request)).error_code == code
