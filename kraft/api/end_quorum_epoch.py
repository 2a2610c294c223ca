"""EndQuorumEpoch (key 54): a leader resigns, and lists its preferred successors (KIP-595).

Versions 0 and 1: 1 is flexible and has directory ids and endpoints (KIP-853).
"""

from __future__ import annotations

from kraft.api.quorum_requests import submit_to_quorum
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from kraft.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.END_QUORUM_EPOCH,
    versions={ListenerType.CONTROLLER: (0, 1)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)

at_controller = submit_to_quorum


def error(
    message: EndQuorumEpochRequest, version: int, code: ErrorCode, text: str | None = None
) -> EndQuorumEpochResponse:
    return EndQuorumEpochResponse(error_code=code)
