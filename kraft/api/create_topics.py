"""CreateTopics (key 19): create topics with partitions, replicas and settings.

Versions 2 to 7: 4 lets the broker choose the counts (KIP-464), 5 is flexible and returns what was created, 6 may
return THROTTLING_QUOTA_EXCEEDED, 7 returns topic ids.

With ZooKeeper the controller responds once its own metadata shows a leader for each new partition. A topic that takes
longer than ``timeout_ms`` gets REQUEST_TIMED_OUT, and is created all the same.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import ZkBrokerContext
from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.propagation import check_size, has_leaders, not_shown
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.create_topics_request import CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

UNKNOWN_COUNT = -1

ROW = Api(
    ApiKey.CREATE_TOPICS,
    versions={ListenerType.BROKER: (2, 7), ListenerType.ZK_BROKER: (2, 7), ListenerType.CONTROLLER: (2, 7)},
    permissions=((Operation.CREATE, Resource.CLUSTER), (Operation.CREATE, Resource.TOPIC)),
    quota=Quota.CONTROLLER_MUTATION,
    forwardable=True,
)

at_broker = forward
at_controller = decide


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: CreateTopicsRequest) -> Reply:
    check_size(len(message.topics))
    return Parked(partial(_create, broker, request.api_version, message))


async def _create(broker: ZkBrokerContext, version: int, message: CreateTopicsRequest) -> CreateTopicsResponse:
    response: CreateTopicsResponse = await broker.controller.answer(message, version)
    if message.validate_only:
        return response
    created = {each.name: each for each in response.topics if each.error_code == ErrorCode.NONE}
    counts = {name: each.num_partitions for name, each in created.items()}
    late = await not_shown(
        broker, counts, message.timeout_ms, lambda image, name: has_leaders(image, name, counts[name])
    )
    for topic in (created[name] for name in late):
        topic.error_code, topic.error_message = ErrorCode.REQUEST_TIMED_OUT, None
        topic.num_partitions = topic.replication_factor = UNKNOWN_COUNT
        topic.configs = []
    return response


def error(message: CreateTopicsRequest, version: int, code: ErrorCode, text: str | None = None) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=mapped(
            message.topics,
            lambda topic: CreatableTopicResult(name=topic.name, error_code=code, error_message=text),
        )
    )
