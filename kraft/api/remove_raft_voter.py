"""RemoveRaftVoter (key 81): remove a voter from the quorum (KIP-853). Refused: the voters of this quorum are static.

Version 0.
"""

from __future__ import annotations

from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.static_voters import refuse_at_broker, refuse_at_controller
from kraft.messages.registry import ApiKey
from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.messages.remove_raft_voter_response import RemoveRaftVoterResponse
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.REMOVE_RAFT_VOTER,
    versions={ListenerType.BROKER: (0, 0), ListenerType.CONTROLLER: (0, 0)},
    permissions=((Operation.ALTER, Resource.CLUSTER),),
    forwardable=True,
)

at_broker = refuse_at_broker
at_controller = refuse_at_controller


def error(
    message: RemoveRaftVoterRequest, version: int, code: ErrorCode, text: str | None = None
) -> RemoveRaftVoterResponse:
    return RemoveRaftVoterResponse(error_code=code, error_message=text)
