"""ListPartitionReassignments (key 46): replicas on the move, as brokers pass it on (KIP-455).

Version 0.
"""

from __future__ import annotations

from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.node.control_plane import ControlPlane
from kraft.node.controller_handlers.deciding import decide
from kraft.node.handlers.list_partition_reassignments import error as error
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControlPlane, request: Request, message: ListPartitionReassignmentsRequest) -> Reply:
    return decide(plane, request, message)
