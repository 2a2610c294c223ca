"""AlterPartition (key 56): the leader of partitions proposes their next ISR (KIP-497).

Versions 2 and 3: 2 names topics by id, 3 has the epochs of the members (KIP-903).
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.alter_partition_response import AlterPartitionResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(plane: ControllerContext, request: Request, message: AlterPartitionRequest) -> Reply:
    return decide(plane, request, message)


def error(
    message: AlterPartitionRequest, version: int, code: ErrorCode, text: str | None = None
) -> AlterPartitionResponse:
    return AlterPartitionResponse(error_code=code)
