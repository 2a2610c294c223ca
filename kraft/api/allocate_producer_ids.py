"""AllocateProducerIds (key 67): a block of producer ids for one broker (KIP-730).

Version 0.
"""

from __future__ import annotations

from kraft.api.controller_requests import ask_controller, decide
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.ALLOCATE_PRODUCER_IDS,
    versions={ListenerType.CONTROLLER: (0, 0), ListenerType.ZK_BROKER: (0, 0)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    forwardable=True,
)

at_controller = decide
at_zk_broker = ask_controller


def error(
    message: AllocateProducerIdsRequest, version: int, code: ErrorCode, text: str | None = None
) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(error_code=code)
