"""DeleteGroups (key 42): delete groups without members, and their offsets.

Versions 0 to 2: 2 is flexible. Parked until the tombstones are committed.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordinator.partitions import HASHED_CHARACTERS
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kraft.messages.registry import ApiKey
from kraft.metadata.steps import distinct
from kraft.rpc.channel import Parked, Reply, Request, response_of
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.mapped import mapped
from kraft.world.slices import Slices, in_slices

ROW = Api(
    ApiKey.DELETE_GROUPS,
    versions={ListenerType.BROKER: (0, 2), ListenerType.ZK_BROKER: (0, 2)},
    permissions=((Operation.DELETE, Resource.GROUP),),
)

_SLICE_GROUPS = 50


async def at_broker(broker: BrokerContext, request: Request, message: DeleteGroupsRequest) -> Reply:
    slices = Slices(_SLICE_GROUPS)
    replies = []
    for group_id in await in_slices(distinct(message.groups_names, str), slices):
        replies.append((group_id, _delete(broker, request, message.evolve(groups_names=[group_id]))))
        await slices.spend(1 + len(group_id) // HASHED_CHARACTERS)

    async def all_committed() -> DeleteGroupsResponse:
        response = DeleteGroupsResponse()
        for group_id, reply in replies:
            try:
                answer = await response_of(reply)
                assert isinstance(answer, DeleteGroupsResponse)
                response.results += answer.results
            except KafkaError as refused:
                response.results.append(DeletableGroupResult(group_id, refused.code))
            await slices.spend()
        return response

    return Parked(all_committed)


at_zk_broker = at_broker


def _delete(broker: BrokerContext, request: Request, message: DeleteGroupsRequest) -> Reply:
    try:
        return broker.coordinators.groups.shard_of(message.groups_names[0]).submit(request, message)
    except KafkaError as refused:
        return error(message, request.api_version, refused.code)


def error(message: DeleteGroupsRequest, version: int, code: ErrorCode, text: str | None = None) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=mapped(message.groups_names, lambda group_id: DeletableGroupResult(group_id, code))
    )
