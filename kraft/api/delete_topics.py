"""DeleteTopics (key 20): delete topics with all their records.

Versions 1 to 6: 4 is flexible, 5 has error messages, 6 names topics by id.
"""

from __future__ import annotations

from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.mapped import mapped
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
    return DeleteTopicsResponse(
        responses=mapped(
            message.topics or mapped(message.topic_names, lambda name: DeleteTopicState(name=name)),
            lambda topic: DeletableTopicResult(topic.name, topic.topic_id, code, text),
        )
    )
