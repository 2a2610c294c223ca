"""CreateTopics (key 19): topics with partitions, replicas and settings.

Versions 2 to 7: 4 lets the broker choose the counts (KIP-464), 5 is flexible and tells what was created, 6 may say
THROTTLING_QUOTA_EXCEEDED, 7 tells topic ids.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.forwarding import forward
from kraft.messages.create_topics_request import CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(broker: BrokerContext, request: Request, message: CreateTopicsRequest) -> Reply:
    return forward(broker, request, message)


def error(message: CreateTopicsRequest, version: int, code: ErrorCode, text: str | None = None) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(name=topic.name, error_code=code, error_message=text) for topic in message.topics]
    )
