"""DescribeQuorum (key 55): who leads the metadata quorum, and how far each replica is (KIP-595).

Versions 0 to 2: 1 has timestamps (KIP-836), 2 directory ids and the voters' endpoints (KIP-853).

Only the leader of the quorum knows, so any broker passes it on.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.forwarding import forward
from kraft.messages.describe_quorum_request import DescribeQuorumRequest
from kraft.messages.describe_quorum_response import DescribeQuorumResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: DescribeQuorumRequest) -> Reply:
    return forward(broker, request, message)


def error(
    message: DescribeQuorumRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=code, error_message=text)
