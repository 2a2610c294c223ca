"""DeleteGroups (key 42): a group without members goes, with its offsets.

Versions 0 to 2: 2 flexible.
"""

from __future__ import annotations

import attrs

from kraft.api.context import BrokerContext
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError


async def handle(broker: BrokerContext, request: Request, message: DeleteGroupsRequest) -> Reply:
    response = DeleteGroupsResponse()
    for group_id in dict.fromkeys(message.groups_names):
        try:
            broker.groups.partition_of(group_id)
        except KafkaError as refused:
            response.results.append(DeletableGroupResult(group_id, refused.code))
            continue
        answer = broker.groups.submit(request, attrs.evolve(message, groups_names=[group_id]))
        assert isinstance(answer, DeleteGroupsResponse), "a deletion is answered at once"
        response.results += answer.results
    return response


def error(message: DeleteGroupsRequest, version: int, code: ErrorCode, text: str | None = None) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult(group_id, code) for group_id in message.groups_names])
