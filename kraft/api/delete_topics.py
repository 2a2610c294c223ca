"""DeleteTopics (key 20): delete topics with all their records.

Versions 1 to 6: 4 is flexible, 5 has error messages, 6 names topics by id.

With ZooKeeper the controller responds once its own metadata does not show the topics any more. Their logs are deleted
afterwards. A deletion that takes longer than ``timeout_ms`` gets REQUEST_TIMED_OUT, and goes on.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import ZkBrokerContext
from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.propagation import check_size, not_shown
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.DELETE_TOPICS,
    versions={ListenerType.BROKER: (1, 6), ListenerType.ZK_BROKER: (1, 6), ListenerType.CONTROLLER: (1, 6)},
    permissions=((Operation.DELETE, Resource.TOPIC),),
    quota=Quota.CONTROLLER_MUTATION,
    forwardable=True,
)

at_broker = forward
at_controller = decide


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: DeleteTopicsRequest) -> Reply:
    check_size(len(message.topics or message.topic_names))
    return Parked(partial(_delete, broker, request.api_version, message))


async def _delete(broker: ZkBrokerContext, version: int, message: DeleteTopicsRequest) -> DeleteTopicsResponse:
    response: DeleteTopicsResponse = await broker.controller.answer(message, version)
    deleted = [each for each in response.responses if each.error_code == ErrorCode.NONE]
    names = {each.name for each in deleted if each.name is not None}
    late = await not_shown(broker, names, message.timeout_ms, lambda image, name: image.topic(name) is None)
    for topic in deleted:
        if topic.name in late:
            topic.error_code = ErrorCode.REQUEST_TIMED_OUT
    return response


def error(message: DeleteTopicsRequest, version: int, code: ErrorCode, text: str | None = None) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=mapped(
            message.topics or mapped(message.topic_names, lambda name: DeleteTopicState(name=name)),
            lambda topic: DeletableTopicResult(topic.name, topic.topic_id, code),
        )
    )
