"""FetchSnapshot (key 59): a piece of a snapshot, for who is too far behind (KIP-630).

Versions 0 and 1: 1 has directory ids and says where the leader is (KIP-853).

Pieces may begin and end anywhere. SNAPSHOT_NOT_FOUND if it is gone, POSITION_OUT_OF_RANGE beyond its end.
"""

from __future__ import annotations

from kraft.api.quorum_requests import ask_quorum
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.fetch_snapshot_request import FetchSnapshotRequest
from kraft.messages.fetch_snapshot_response import FetchSnapshotResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.FETCH_SNAPSHOT,
    versions={ListenerType.CONTROLLER: (0, 1)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)

at_controller = ask_quorum


def error(
    message: FetchSnapshotRequest, version: int, code: ErrorCode, text: str | None = None
) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(error_code=code)
