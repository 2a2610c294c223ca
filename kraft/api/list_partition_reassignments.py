"""ListPartitionReassignments (key 46): the partitions whose replicas are being moved (KIP-455).

Version 0.
"""

from __future__ import annotations

from kraft.api.controller_requests import ask_controller, decide
from kraft.api.forwarding import forward
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    versions={ListenerType.BROKER: (0, 0), ListenerType.ZK_BROKER: (0, 0), ListenerType.CONTROLLER: (0, 0)},
    permissions=((Operation.DESCRIBE, Resource.CLUSTER),),
    forwardable=True,
)

at_broker = forward
at_controller = decide
at_zk_broker = ask_controller


def error(
    message: ListPartitionReassignmentsRequest, version: int, code: ErrorCode, text: str | None = None
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_code=code, error_message=text)
