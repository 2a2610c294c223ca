"""AssignReplicasToDirs (key 73): a broker reports the directory of each replica (KIP-858).

Version 0.
"""

from __future__ import annotations

from kraft.api.controller_requests import decide
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from kraft.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.ASSIGN_REPLICAS_TO_DIRS,
    versions={ListenerType.CONTROLLER: (0, 0)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)

at_controller = decide


def error(
    message: AssignReplicasToDirsRequest, version: int, code: ErrorCode, text: str | None = None
) -> AssignReplicasToDirsResponse:
    return AssignReplicasToDirsResponse(error_code=code)
