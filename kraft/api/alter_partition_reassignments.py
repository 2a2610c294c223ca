"""AlterPartitionReassignments (key 45): move replicas to other brokers, or leave them where they were (KIP-455).

Versions 0 and 1: 1 may forbid a change of the replication factor (KIP-860).
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.forwarding import forward
from kraft.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from kraft.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: AlterPartitionReassignmentsRequest) -> Reply:
    return forward(broker, request, message)


def error(
    message: AlterPartitionReassignmentsRequest, version: int, code: ErrorCode, text: str | None = None
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        error_code=code,
        error_message=text,
        responses=[
            ReassignableTopicResponse(
                topic.name,
                [ReassignablePartitionResponse(each.partition_index, code, text) for each in topic.partitions],
            )
            for topic in message.topics
        ],
    )
