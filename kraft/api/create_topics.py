"""CreateTopics (key 19): create topics with partitions, replicas and settings.

Versions 2 to 7: 4 lets the broker choose the counts (KIP-464), 5 is flexible and returns what was created, 6 may
return THROTTLING_QUOTA_EXCEEDED, 7 returns topic ids.
"""

from __future__ import annotations

from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.mapped import mapped
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.create_topics_request import CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.CREATE_TOPICS,
    versions={ListenerType.BROKER: (2, 7), ListenerType.CONTROLLER: (2, 7)},
    permissions=((Operation.CREATE, Resource.CLUSTER), (Operation.CREATE, Resource.TOPIC)),
    quota=Quota.CONTROLLER_MUTATION,
    forwardable=True,
)

at_broker = forward
at_controller = decide


def error(message: CreateTopicsRequest, version: int, code: ErrorCode, text: str | None = None) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=mapped(
            message.topics,
            lambda topic: CreatableTopicResult(name=topic.name, error_code=code, error_message=text),
        )
    )
