"""AddRaftVoter and RemoveRaftVoter at a broker: refused while kraft.version is 0, as the leader would (KIP-853)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kraft.messages.add_raft_voter_request import AddRaftVoterRequest, Listener
from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import ZERO_UUID
from tests.support.nodes import connected, connected_to_controller

Change = Callable[..., Any]


def addition(**more: Any) -> AddRaftVoterRequest:
    listeners = [Listener("CONTROLLER", "127.0.0.1", 9093)]
    good = {"cluster_id": None, "voter_id": 7, "voter_directory_id": UUID(int=7), "listeners": listeners}
    return AddRaftVoterRequest(**{**good, **more})


def removal(**more: Any) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(**{"cluster_id": None, "voter_id": 7, "voter_directory_id": UUID(int=7), **more})


@pytest.mark.parametrize(
    ("change", "more", "error"),
    [
        (change, more, error)
        for change in (addition, removal)
        for more, error in [
            ({}, ErrorCode.UNSUPPORTED_VERSION),
            ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
            ({"voter_id": -1}, ErrorCode.INVALID_REQUEST),
            ({"voter_directory_id": ZERO_UUID}, ErrorCode.INVALID_REQUEST),
        ]
    ]
    + [
        (addition, {"listeners": []}, ErrorCode.INVALID_REQUEST),
        (addition, {"listeners": [Listener("OTHER", "127.0.0.1", 9093)]}, ErrorCode.INVALID_REQUEST),
    ],
)
async def test_a_broker_refuses_what_the_leader_refuses(change: Change, more: dict[str, Any], error: ErrorCode) -> None:
    async with embedded_node() as node, connected(node) as broker, connected_to_controller(node) as leader:
        answer = await broker.request(change(**more))
        assert answer.error_code == error
        assert await leader.request(change(**more)) == answer
