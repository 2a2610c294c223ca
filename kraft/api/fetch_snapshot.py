"""FetchSnapshot (key 59): read a part of a snapshot, for replicas behind the start of the log (KIP-630).

Versions 0 and 1: 1 has directory ids and the endpoint of the leader (KIP-853).

A part may begin and end at any byte. The error is SNAPSHOT_NOT_FOUND if the snapshot was deleted, and
POSITION_OUT_OF_RANGE beyond its end.
"""

from __future__ import annotations

from kraft.api.quorum_requests import submit_to_quorum
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

at_controller = submit_to_quorum


def error(
    message: FetchSnapshotRequest, version: int, code: ErrorCode, text: str | None = None
) -> FetchSnapshotResponse:
    return FetchSnapshotResponse(error_code=code)
