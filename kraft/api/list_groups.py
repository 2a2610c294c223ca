"""ListGroups (key 16): the groups that this broker coordinates.

Versions 0 to 5: 3 is flexible, 4 filters by state (KIP-518), 5 by type (KIP-848).
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.coordinator.groups.admin import group_filter, listed, listed_consumers
from kraft.coordinator.groups.core import GroupCoordinator
from kraft.coordinator.groups.share.description import listed_shares
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.list_groups_response import ListedGroup, ListGroupsResponse
from kraft.messages.registry import ApiKey
from kraft.metadata.steps import Steps
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.world.slices import Slices, in_slices

ROW = Api(
    ApiKey.LIST_GROUPS,
    versions={ListenerType.BROKER: (0, 5), ListenerType.ZK_BROKER: (0, 5)},
    permissions=((Operation.DESCRIBE, Resource.CLUSTER), (Operation.DESCRIBE, Resource.GROUP)),
)


_SLICE_GROUPS = 1000


async def at_broker(broker: BrokerContext, request: Request, message: ListGroupsRequest) -> Reply:
    slices = Slices(_SLICE_GROUPS)
    wanted = await in_slices(group_filter(message), slices)

    def listed_of(core: GroupCoordinator) -> Steps[list[ListedGroup]]:
        classic = yield from listed(core.groups, wanted)
        consumers = yield from listed_consumers(core.consumers.committed, wanted)
        shares = yield from listed_shares(core.shares.committed, wanted)
        return [*classic, *consumers, *shares]

    return ListGroupsResponse(groups=await broker.coordinators.groups.read_all(listed_of, slices))


at_zk_broker = at_broker


def error(message: ListGroupsRequest, version: int, code: ErrorCode, text: str | None = None) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=code)
