"""ElectLeaders (key 43): back to the preferred leaders, or to leaders out of sync where there is no other (KIP-183).

Versions 0 to 2: 1 has unclean elections (KIP-460), 2 is flexible.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.forwarding import forward
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.elect_leaders_response import ElectLeadersResponse, PartitionResult, ReplicaElectionResult
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: ElectLeadersRequest) -> Reply:
    return forward(broker, request, message)


def error(message: ElectLeadersRequest, version: int, code: ErrorCode, text: str | None = None) -> ElectLeadersResponse:
    """Version 1 and newer have it at the top too."""
    results = [
        ReplicaElectionResult(topic.topic, [PartitionResult(index, code, text) for index in topic.partitions])
        for topic in message.topic_partitions or ()
    ]
    return ElectLeadersResponse(error_code=code if version >= 1 else 0, replica_election_results=results)
