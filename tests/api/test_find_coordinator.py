"""FindCoordinator: which broker coordinates a group."""

from __future__ import annotations

import pytest

from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from tests.api.test_metadata import ask
from tests.support.nodes import connected


def _find(key: str, key_type: int, version: int) -> FindCoordinatorRequest:
    """KIP-699: several keys from version 4 on."""
    if version >= 4:
        return FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    return FindCoordinatorRequest(key=key, key_type=key_type)


@pytest.mark.parametrize("version", range(7))
async def test_the_coordinator_of_a_group(broker: Connection, new_name: str, version: int) -> None:
    response = await broker.request(_find(new_name, 0, version), version)
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id) == (0, 1)
    assert found.port > 0


async def test_the_first_question_creates_the_offsets_topic() -> None:
    async with embedded_node(settings={"offsets.topic.num.partitions": "4"}) as node, connected(node) as broker:
        assert (await ask(broker, None)).topics == []
        response = await broker.request(FindCoordinatorRequest(coordinator_keys=["g", "h", ""]), 4)
        assert [each.error_code for each in response.coordinators] == [0, 0, 0]
        (topic,) = (await ask(broker, None)).topics
        assert (topic.name, topic.is_internal, len(topic.partitions)) == ("__consumer_offsets", True, 4)


@pytest.mark.parametrize(("key_type", "version"), [(1, 3), (1, 4), (2, 6), (77, 4)])
async def test_only_groups_have_coordinators_here(broker: Connection, key_type: int, version: int) -> None:
    response = await broker.request(_find("t", key_type, version), version)
    found = response.coordinators[0] if version >= 4 else response
    assert found.error_code == ErrorCode.INVALID_REQUEST
