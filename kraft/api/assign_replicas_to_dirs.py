"""AssignReplicasToDirs (key 73): a broker tells in which of its directories it keeps replicas (KIP-858).

Version 0.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.messages.assign_replicas_to_dirs_request import AssignReplicasToDirsRequest
from kraft.messages.assign_replicas_to_dirs_response import AssignReplicasToDirsResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(plane: ControllerContext, request: Request, message: AssignReplicasToDirsRequest) -> Reply:
    return decide(plane, request, message)


def error(
    message: AssignReplicasToDirsRequest, version: int, code: ErrorCode, text: str | None = None
) -> AssignReplicasToDirsResponse:
    return AssignReplicasToDirsResponse(error_code=code)
