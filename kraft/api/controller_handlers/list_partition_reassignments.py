"""ListPartitionReassignments (key 46): replicas on the move, as brokers pass it on (KIP-455).

Version 0.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.api.list_partition_reassignments import error as error
from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: ListPartitionReassignmentsRequest) -> Reply:
    return decide(plane, request, message)
