"""DeleteTopics (key 20): delete topics with all their records.

Versions 1 to 6: 4 is flexible, 5 has error messages, 6 names topics by id.
"""

from __future__ import annotations

from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.DELETE_TOPICS,
    versions={ListenerType.BROKER: (1, 6), ListenerType.CONTROLLER: (1, 6)},
    permissions=((Operation.DELETE, Resource.TOPIC),),
    quota=Quota.CONTROLLER_MUTATION,
    forwardable=True,
)

at_broker = forward
at_controller = decide


def error(message: DeleteTopicsRequest, version: int, code: ErrorCode, text: str | None = None) -> DeleteTopicsResponse:
    names = message.topics or [DeleteTopicState(name=name) for name in message.topic_names]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(name=each.name, topic_id=each.topic_id, error_code=code, error_message=text)
            for each in names
        ]
    )
