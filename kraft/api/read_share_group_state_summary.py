"""ReadShareGroupStateSummary (key 87): the start offset and epochs of share partitions (KIP-932).

Versions 0 to 1.

| version | change |
|---|---|
| 1 | the number of completed deliveries (KIP-1226) |

The group coordinator sends it to describe the offsets of a group. It changes nothing.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.share_group_states import perform, refused
from kraft.messages.read_share_group_state_summary_request import ReadShareGroupStateSummaryRequest
from kraft.messages.read_share_group_state_summary_response import (
    ReadShareGroupStateSummaryResponse,
    ReadStateSummaryResult,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    versions={ListenerType.BROKER: (0, 1)},
    permissions=((Operation.CLUSTER_ACTION, Resource.CLUSTER),),
)


async def at_broker(broker: BrokerContext, request: Request, message: ReadShareGroupStateSummaryRequest) -> Reply:
    return await perform(broker, message, _answer)


def _answer(results: list[tuple[UUID, list[Any]]]) -> ReadShareGroupStateSummaryResponse:
    return ReadShareGroupStateSummaryResponse(results=mapped(results, lambda each: ReadStateSummaryResult(*each)))


def error(
    message: ReadShareGroupStateSummaryRequest, version: int, code: ErrorCode, text: str | None = None
) -> ReadShareGroupStateSummaryResponse:
    response: ReadShareGroupStateSummaryResponse = refused(message, code, text, _answer)
    return response
