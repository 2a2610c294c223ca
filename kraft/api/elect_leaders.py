"""ElectLeaders (key 43): elect the preferred leaders, or leaders outside the ISR for leaderless partitions (KIP-183).

Versions 0 to 2: 1 has unclean elections (KIP-460), 2 is flexible.
"""

from __future__ import annotations

from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.mapped import mapped
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.elect_leaders_response import ElectLeadersResponse, PartitionResult, ReplicaElectionResult
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.ELECT_LEADERS,
    versions={ListenerType.BROKER: (0, 2), ListenerType.CONTROLLER: (0, 2)},
    # As ControllerApis.handleElectLeaders asks; the table of Kafka's documentation has CLUSTER_ACTION.
    permissions=((Operation.ALTER, Resource.CLUSTER),),
    forwardable=True,
)

at_broker = forward
at_controller = decide


def error(message: ElectLeadersRequest, version: int, code: ErrorCode, text: str | None = None) -> ElectLeadersResponse:
    """Version 1 and newer have the error at the top too."""
    results = mapped(
        message.topic_partitions or (),
        lambda topic: ReplicaElectionResult(
            topic.topic, mapped(topic.partitions, lambda index: PartitionResult(index, code, text))
        ),
    )
    return ElectLeadersResponse(error_code=code if version >= 1 else 0, replica_election_results=results)
