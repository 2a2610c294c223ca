"""AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter: refused while kraft.version is 0 (KIP-853)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from kraft.messages.add_raft_voter_request import AddRaftVoterRequest
from kraft.messages.add_raft_voter_request import Listener as NewListener
from kraft.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.messages.update_raft_voter_request import KRaftVersionFeature, UpdateRaftVoterRequest
from kraft.messages.update_raft_voter_request import Listener as ToldListener
from kraft.quorum.outbound_requests import request_message
from kraft.raft import messages as raft
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from kraft.wire.uuids import ZERO_UUID
from tests.api.serving import VOTER_1, VOTER_2, Serving
from tests.support.cluster_id import CLUSTER_ID
from tests.support.nodes import connected, connected_to_controller
from tests.support.quorums import identity

Change = Callable[..., Any]


DIRECTORY = UUID(int=7)


def addition(**more: Any) -> AddRaftVoterRequest:
    listeners = [NewListener("CONTROLLER", "127.0.0.1", 9093)]
    good = {"cluster_id": CLUSTER_ID, "voter_id": 7, "voter_directory_id": DIRECTORY, "listeners": listeners}
    return AddRaftVoterRequest(**{**good, **more})


def removal(**more: Any) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(**{"cluster_id": CLUSTER_ID, "voter_id": 7, "voter_directory_id": DIRECTORY, **more})


def update(epoch: int, **more: Any) -> UpdateRaftVoterRequest:
    good: dict[str, Any] = {
        "cluster_id": CLUSTER_ID,
        "current_leader_epoch": epoch,
        "voter_id": 2,
        "voter_directory_id": DIRECTORY,
        "listeners": [ToldListener("CONTROLLER", "127.0.0.1", 9093)],
    }
    return UpdateRaftVoterRequest(**{**good, **more})


@pytest.mark.parametrize("change", [addition, removal], ids=["add", "remove"])
async def test_the_voters_are_those_of_the_configuration(active: Serving, standby: Serving, change: Change) -> None:
    """The leader sends the reason. Another node answers that it is not the leader. Neither does so for another
    cluster.
    """
    answer = await active.ask(change())
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert "kraft.version" in answer.error_message
    assert (await active.ask(change(cluster_id=None))).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert (await active.ask(change(cluster_id="another"))).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert (await standby.ask(change())).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("change", [addition, removal, partial(update, 0)], ids=["add", "remove", "update"])
async def test_a_voter_is_identified_by_its_id_and_its_directory(active: Serving, change: Change) -> None:
    """KIP-853: INVALID_REQUEST, also where no voter can be changed, as with Apache Kafka."""
    told = {"current_leader_epoch": active.plane.quorum.epoch} if isinstance(change, partial) else {}
    for lack in ({"voter_id": -1}, {"voter_directory_id": ZERO_UUID}):
        assert (await active.ask(change(**lack, **told))).error_code == ErrorCode.INVALID_REQUEST


async def test_a_new_voter_sends_its_endpoint(active: Serving) -> None:
    for listeners in ([], [NewListener("OTHER", "127.0.0.1", 9093)]):
        assert (await active.ask(addition(listeners=listeners))).error_code == ErrorCode.INVALID_REQUEST


async def test_a_static_voter_cannot_update_itself(active: Serving) -> None:
    epoch = active.plane.quorum.epoch
    upside_down = KRaftVersionFeature(1, 0)
    for change, error in [
        (update(epoch), ErrorCode.UNSUPPORTED_VERSION),
        (update(epoch - 1), ErrorCode.FENCED_LEADER_EPOCH),
        (update(epoch + 1), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (update(epoch, kraft_version_feature=upside_down), ErrorCode.INVALID_REQUEST),
    ]:
        answer = await active.ask(change)
        assert answer.error_code == error
        leader = answer.current_leader
        assert (leader.leader_id, leader.leader_epoch, leader.port) == (1, epoch, VOTER_1.port)


async def test_a_response_of_a_follower_names_the_leader(standby: Serving) -> None:
    begin = request_message(
        raft.BeginQuorumEpochRequest(100, 2), identity(2, VOTER_1, VOTER_2), 1, standby.connection.versions
    )
    assert isinstance(begin.message, BeginQuorumEpochRequest)
    await standby.ask(begin.message, begin.version)
    answer = await standby.ask(UpdateRaftVoterRequest(cluster_id=CLUSTER_ID, current_leader_epoch=100))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answer.current_leader.leader_id, answer.current_leader.port) == (2, VOTER_2.port)


async def test_a_broker_refuses_what_the_leader_refuses() -> None:
    wrong: list[dict[str, Any]] = [
        {},
        {"cluster_id": "another"},
        {"voter_id": -1},
        {"voter_directory_id": ZERO_UUID},
    ]
    unreachable = ({"listeners": []}, {"listeners": [NewListener("OTHER", "127.0.0.1", 9093)]})
    codes = [
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]
    changes = [
        (make(**{"cluster_id": None, **more}), code)
        for make in (addition, removal)
        for more, code in zip(wrong, codes, strict=True)
    ]
    changes += [(addition(cluster_id=None, **more), ErrorCode.INVALID_REQUEST) for more in unreachable]
    async with embedded_node() as node, connected(node) as broker, connected_to_controller(node) as leader:
        for change, code in changes:
            answer = await broker.request(change)
            assert answer.error_code == code, change
            assert await leader.request(change) == answer
