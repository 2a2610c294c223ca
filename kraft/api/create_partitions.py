"""CreatePartitions (key 37): add partitions to a topic. Their number never shrinks.

Versions 0 to 3: 2 is flexible.

With ZooKeeper the controller responds once its own metadata shows a leader for each partition. A topic that takes
longer than ``timeout_ms`` gets REQUEST_TIMED_OUT, and has its partitions all the same.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import ZkBrokerContext
from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.propagation import check_size, has_leaders, not_shown
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.create_partitions_request import CreatePartitionsRequest
from kraft.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.CREATE_PARTITIONS,
    versions={ListenerType.BROKER: (0, 3), ListenerType.ZK_BROKER: (0, 3), ListenerType.CONTROLLER: (0, 3)},
    permissions=((Operation.ALTER, Resource.TOPIC),),
    quota=Quota.CONTROLLER_MUTATION,
    forwardable=True,
)

at_broker = forward
at_controller = decide


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: CreatePartitionsRequest) -> Reply:
    check_size(len(message.topics))
    return Parked(partial(_grow, broker, request.api_version, message))


async def _grow(broker: ZkBrokerContext, version: int, message: CreatePartitionsRequest) -> CreatePartitionsResponse:
    response: CreatePartitionsResponse = await broker.controller.answer(message, version)
    if message.validate_only:
        return response
    counts = {topic.name: topic.count for topic in message.topics}
    grown = {each.name: each for each in response.results if each.error_code == ErrorCode.NONE}
    late = await not_shown(
        broker, grown, message.timeout_ms, lambda image, name: has_leaders(image, name, counts[name])
    )
    for name in late:
        grown[name].error_code = ErrorCode.REQUEST_TIMED_OUT
    return response


def error(
    message: CreatePartitionsRequest, version: int, code: ErrorCode, text: str | None = None
) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=mapped(
            message.topics,
            lambda topic: CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=text),
        )
    )
