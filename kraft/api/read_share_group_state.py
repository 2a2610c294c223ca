"""ReadShareGroupState (key 84): the state of share partitions, for the leaders of their topics' partitions (KIP-932).

Version 0.

A leader sends it before it delivers records. Its leader epoch is recorded, and fences the former leader.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.share_group_states import perform, refused
from kraft.messages.read_share_group_state_request import ReadShareGroupStateRequest
from kraft.messages.read_share_group_state_response import ReadShareGroupStateResponse, ReadStateResult
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.READ_SHARE_GROUP_STATE,
    versions={ListenerType.BROKER: (0, 0)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)


async def at_broker(broker: BrokerContext, request: Request, message: ReadShareGroupStateRequest) -> Reply:
    return await perform(broker, message, _answer)


def _answer(results: list[tuple[UUID, list[Any]]]) -> ReadShareGroupStateResponse:
    return ReadShareGroupStateResponse(results=mapped(results, lambda each: ReadStateResult(*each)))


def error(
    message: ReadShareGroupStateRequest, version: int, code: ErrorCode, text: str | None = None
) -> ReadShareGroupStateResponse:
    response: ReadShareGroupStateResponse = refused(message, code, text, _answer)
    return response
