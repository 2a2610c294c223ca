"""AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter: refused while kraft.version is 0 (KIP-853)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kraft.messages.add_raft_voter_request import AddRaftVoterRequest
from kraft.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.messages.update_raft_voter_request import UpdateRaftVoterRequest
from kraft.node.quorum.wire import request_message
from kraft.raft import messages as raft
from kraft.wire.errors import ErrorCode
from tests.node.controller_handlers.serving import VOTER_1, VOTER_2, Serving
from tests.node.quorums import CLUSTER_ID, identity

Change = Callable[..., Any]


@pytest.mark.parametrize("change", [AddRaftVoterRequest, RemoveRaftVoterRequest], ids=["add", "remove"])
async def test_the_voters_are_those_of_the_configuration(active: Serving, standby: Serving, change: Change) -> None:
    """The leader says why; whoever does not lead says that; and neither to another cluster."""
    answer = await active.ask(change(cluster_id=CLUSTER_ID, voter_id=7))
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert "kraft.version" in answer.error_message
    assert (await active.ask(change(cluster_id=None))).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert (await active.ask(change(cluster_id="another"))).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert (await standby.ask(change(cluster_id=CLUSTER_ID))).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_voter_cannot_change_what_is_known_of_it(active: Serving) -> None:
    epoch = active.plane.quorum.epoch
    for told, error in [
        (epoch, ErrorCode.UNSUPPORTED_VERSION),
        (epoch - 1, ErrorCode.FENCED_LEADER_EPOCH),
        (epoch + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ]:
        answer = await active.ask(UpdateRaftVoterRequest(cluster_id=CLUSTER_ID, current_leader_epoch=told))
        assert answer.error_code == error
        leader = answer.current_leader
        assert (leader.leader_id, leader.leader_epoch, leader.port) == (1, epoch, VOTER_1.port)


async def test_who_does_not_lead_says_who_does(standby: Serving) -> None:
    begin = request_message(
        raft.BeginQuorumEpochRequest(100, 2), identity(2, VOTER_1, VOTER_2), 1, standby.connection.versions
    )
    assert isinstance(begin.message, BeginQuorumEpochRequest)
    await standby.ask(begin.message, begin.version)
    answer = await standby.ask(UpdateRaftVoterRequest(cluster_id=CLUSTER_ID, current_leader_epoch=100))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answer.current_leader.leader_id, answer.current_leader.port) == (2, VOTER_2.port)
