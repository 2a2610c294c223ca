"""ListPartitionReassignments (key 46): which replicas are on the move (KIP-455).

Version 0.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.forwarding import forward
from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: ListPartitionReassignmentsRequest) -> Reply:
    return forward(broker, request, message)


def error(
    message: ListPartitionReassignmentsRequest, version: int, code: ErrorCode, text: str | None = None
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=code, error_message=text)
