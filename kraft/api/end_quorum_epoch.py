"""EndQuorumEpoch (key 54): a leader resigns, and lists its preferred successors (KIP-595).

Versions 0 and 1: 1 is flexible and has directory ids and endpoints (KIP-853).
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.quorum_requests import submit_to_quorum
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.end_quorum_epoch_request import EndQuorumEpochRequest
from kraft.messages.end_quorum_epoch_response import EndQuorumEpochResponse
from kraft.messages.registry import ApiKey
from kraft.quorum.rpcs import sole_partition
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

ROW = Api(
    ApiKey.END_QUORUM_EPOCH,
    versions={ListenerType.CONTROLLER: (0, 1)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
    quota=Quota.NONE,
)

MAX_SUCCESSORS = 1_000
"""Not a Kafka setting. The successors are the other voters, of which a quorum has some four."""


async def at_controller(controller: ControllerContext, request: Request, message: EndQuorumEpochRequest) -> Reply:
    """Do the same as ``submit_to_quorum``.

    Raises KafkaError INVALID_REQUEST for more than ``MAX_SUCCESSORS``, each of which the core would look at in one
    step.
    """
    partition = sole_partition(message.topics)
    if partition is not None:
        successors = partition.preferred_successors, partition.preferred_candidates
        if any(len(each or ()) > MAX_SUCCESSORS for each in successors):
            raise KafkaError(ErrorCode.INVALID_REQUEST)
    return await submit_to_quorum(controller, request, message)


def error(
    message: EndQuorumEpochRequest, version: int, code: ErrorCode, text: str | None = None
) -> EndQuorumEpochResponse:
    return EndQuorumEpochResponse(error_code=code)
