"""BeginQuorumEpoch (key 53): the leader of a new epoch announces itself (KIP-595).

Versions 0 and 1: 1 is flexible and has directory ids and endpoints (KIP-853).
"""

from __future__ import annotations

from kraft.api.quorum_requests import submit_to_quorum
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.begin_quorum_epoch_request import BeginQuorumEpochRequest
from kraft.messages.begin_quorum_epoch_response import BeginQuorumEpochResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.BEGIN_QUORUM_EPOCH,
    versions={ListenerType.CONTROLLER: (0, 1)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)

at_controller = submit_to_quorum


def error(
    message: BeginQuorumEpochRequest, version: int, code: ErrorCode, text: str | None = None
) -> BeginQuorumEpochResponse:
    return BeginQuorumEpochResponse(error_code=code)
