"""WriteShareGroupState (key 85): note deliveries of share partitions (KIP-932).

Versions 0 to 1.

| version | change |
|---|---|
| 1 | the number of completed deliveries (KIP-1226) |

The leader of the topic's partition sends it, and acknowledges to its members once the records are committed.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.share_group_states import perform, refused
from kraft.messages.registry import ApiKey
from kraft.messages.write_share_group_state_request import WriteShareGroupStateRequest
from kraft.messages.write_share_group_state_response import WriteShareGroupStateResponse, WriteStateResult
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.WRITE_SHARE_GROUP_STATE,
    versions={ListenerType.BROKER: (0, 1)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)


async def at_broker(broker: BrokerContext, request: Request, message: WriteShareGroupStateRequest) -> Reply:
    return await perform(broker, message, _answer)


def _answer(results: list[tuple[UUID, list[Any]]]) -> WriteShareGroupStateResponse:
    return WriteShareGroupStateResponse(results=mapped(results, lambda each: WriteStateResult(*each)))


def error(
    message: WriteShareGroupStateRequest, version: int, code: ErrorCode, text: str | None = None
) -> WriteShareGroupStateResponse:
    response: WriteShareGroupStateResponse = refused(message, code, text, _answer)
    return response
