"""CreatePartitions (key 37): add partitions to a topic. Their number never shrinks.

Versions 0 to 3: 2 is flexible.
"""

from __future__ import annotations

from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.mapped import mapped
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.create_partitions_request import CreatePartitionsRequest
from kraft.messages.create_partitions_response import CreatePartitionsResponse, CreatePartitionsTopicResult
from kraft.messages.registry import ApiKey
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.CREATE_PARTITIONS,
    versions={ListenerType.BROKER: (0, 3), ListenerType.CONTROLLER: (0, 3)},
    permissions=((Operation.ALTER, Resource.TOPIC),),
    quota=Quota.CONTROLLER_MUTATION,
    forwardable=True,
)

at_broker = forward
at_controller = decide


def error(
    message: CreatePartitionsRequest, version: int, code: ErrorCode, text: str | None = None
) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=mapped(
            message.topics,
            lambda topic: CreatePartitionsTopicResult(name=topic.name, error_code=code, error_message=text),
        )
    )
