"""AddRaftVoter (key 80): add a voter to the quorum (KIP-853). Refused: the voters of this quorum are static.

Versions 0 and 1: 1 may request the response before the change is committed (KIP-1186).
"""

from __future__ import annotations

from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.static_voters import refuse_at_broker, refuse_at_controller
from kraft.messages.add_raft_voter_request import AddRaftVoterRequest
from kraft.messages.add_raft_voter_response import AddRaftVoterResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.ADD_RAFT_VOTER,
    versions={ListenerType.BROKER: (0, 1), ListenerType.CONTROLLER: (0, 1)},
    permissions=((Operation.ALTER, Resource.CLUSTER),),
    forwardable=True,
)

at_broker = refuse_at_broker
at_controller = refuse_at_controller


def error(message: AddRaftVoterRequest, version: int, code: ErrorCode, text: str | None = None) -> AddRaftVoterResponse:
    return AddRaftVoterResponse(error_code=code, error_message=text)
