"""ListGroups: the groups that a broker coordinates."""

from __future__ import annotations

from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.rpc.client import Connection
from tests.api.groups import commit


async def test_groups_are_listed_by_state(broker: Connection, group: str, topic: str) -> None:
    """KIP-518."""
    assert await commit(broker, group, topic, 3) == 0
    empty = {each.group_id for each in (await broker.request(ListGroupsRequest(states_filter=["Empty"]))).groups}
    stable = {each.group_id for each in (await broker.request(ListGroupsRequest(states_filter=["Stable"]))).groups}
    assert group in empty - stable
