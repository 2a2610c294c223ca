"""AlterPartitionReassignments (key 45): other replicas, as brokers pass it on (KIP-455).

Versions 0 and 1: as at a broker.
"""

from __future__ import annotations

from kraft.api.alter_partition_reassignments import error as error
from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: AlterPartitionReassignmentsRequest) -> Reply:
    return decide(plane, request, message)
