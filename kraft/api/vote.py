"""Vote (key 52): a candidate requests a vote, or whether it would get one (KIP-595, KIP-996).

Versions 0 to 2: 1 has directory ids and the endpoint of the leader (KIP-853), 2 the pre-vote.
"""

from __future__ import annotations

from kraft.api.quorum_requests import submit_to_quorum
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.registry import ApiKey
from kraft.messages.vote_request import VoteRequest
from kraft.messages.vote_response import VoteResponse
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.VOTE,
    versions={ListenerType.CONTROLLER: (0, 2)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)

at_controller = submit_to_quorum


def error(message: VoteRequest, version: int, code: ErrorCode, text: str | None = None) -> VoteResponse:
    return VoteResponse(error_code=code)
