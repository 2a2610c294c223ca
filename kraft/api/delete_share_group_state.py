"""DeleteShareGroupState (key 86): forget the state of share partitions (KIP-932).

Version 0.

The group coordinator sends it for deleted groups and topics. A state that does not exist is deleted already.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.share_group_states import perform, refused
from kraft.messages.delete_share_group_state_request import DeleteShareGroupStateRequest
from kraft.messages.delete_share_group_state_response import DeleteShareGroupStateResponse, DeleteStateResult
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.DELETE_SHARE_GROUP_STATE,
    versions={ListenerType.BROKER: (0, 0)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)


async def at_broker(broker: BrokerContext, request: Request, message: DeleteShareGroupStateRequest) -> Reply:
    return await perform(broker, message, _answer)


def _answer(results: list[tuple[UUID, list[Any]]]) -> DeleteShareGroupStateResponse:
    return DeleteShareGroupStateResponse(results=mapped(results, lambda each: DeleteStateResult(*each)))


def error(
    message: DeleteShareGroupStateRequest, version: int, code: ErrorCode, text: str | None = None
) -> DeleteShareGroupStateResponse:
    response: DeleteShareGroupStateResponse = refused(message, code, text, _answer)
    return response
