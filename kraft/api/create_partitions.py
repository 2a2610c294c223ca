"""CreatePartitions (key 37): more partitions for a topic; never fewer.

Versions 0 to 3: 2 is flexible.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.forwarding import forward
from kraft.messages.create_partitions_request import CreatePartitionsRequest
from kraft.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: CreatePartitionsRequest) -> Reply:
    return forward(broker, request, message)


def error(
    message: CreatePartitionsRequest, version: int, code: ErrorCode, text: str | None = None
) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=text)
            for topic in message.topics
        ]
    )
