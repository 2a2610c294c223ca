"""InitializeShareGroupState (key 83): begin the state of share partitions, or begin it again (KIP-932).

Version 0.

The group coordinator sends it, with a state epoch that fences the leaders that read the state before.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.share_group_states import perform, refused
from kraft.messages.initialize_share_group_state_request import InitializeShareGroupStateRequest
from kraft.messages.initialize_share_group_state_response import (
    InitializeShareGroupStateResponse,
    InitializeStateResult,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    versions={ListenerType.BROKER: (0, 0)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)


async def at_broker(broker: BrokerContext, request: Request, message: InitializeShareGroupStateRequest) -> Reply:
    return await perform(broker, message, _answer)


def _answer(results: list[tuple[UUID, list[Any]]]) -> InitializeShareGroupStateResponse:
    return InitializeShareGroupStateResponse(results=mapped(results, lambda each: InitializeStateResult(*each)))


def error(
    message: InitializeShareGroupStateRequest, version: int, code: ErrorCode, text: str | None = None
) -> InitializeShareGroupStateResponse:
    response: InitializeShareGroupStateResponse = refused(message, code, text, _answer)
    return response
