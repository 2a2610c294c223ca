"""UpdateRaftVoter (key 82): a voter sends its endpoints and versions (KIP-853). Refused: the voters are static.

Version 0.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.api.static_voters import refusal_of_controller
from kraft.messages.registry import ApiKey
from kraft.messages.update_raft_voter_request import UpdateRaftVoterRequest
from kraft.messages.update_raft_voter_response import CurrentLeader, UpdateRaftVoterResponse
from kraft.quorum.rpcs import NOBODY
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.UPDATE_RAFT_VOTER,
    versions={ListenerType.CONTROLLER: (0, 0)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)


async def at_controller(controller: ControllerContext, request: Request, message: UpdateRaftVoterRequest) -> Reply:
    quorum = controller.quorum
    refused = refusal_of_controller(controller, message)
    current = CurrentLeader(NOBODY if quorum.leader_id is None else quorum.leader_id, quorum.epoch)
    leader = quorum.identity.voters.get(current.leader_id)
    if leader is not None:
        current.host, current.port = leader.host, leader.port
    return UpdateRaftVoterResponse(error_code=refused.code, current_leader=current)


def error(
    message: UpdateRaftVoterRequest, version: int, code: ErrorCode, text: str | None = None
) -> UpdateRaftVoterResponse:
    return UpdateRaftVoterResponse(error_code=code)
