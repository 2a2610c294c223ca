"""FindCoordinator: which broker coordinates a group."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from tests.api.test_metadata import ask
from tests.support.clusters import QUICK_LEASES, cluster_in, eventually
from tests.support.nodes import connected


def _find(key: str, key_type: int, version: int) -> FindCoordinatorRequest:
    """KIP-699: several keys from version 4 on."""
    if version >= 4:
        return FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    return FindCoordinatorRequest(key=key, key_type=key_type)


@pytest.mark.parametrize("version", range(7))
async def test_the_coordinator_of_a_group(broker: Connection, group: str, version: int) -> None:
    response = await broker.request(_find(group, 0, version), version)
    found = response.coordinators[0] if version >= 4 else response
    assert (found.error_code, found.node_id) == (0, 1)
    assert found.port > 0


async def test_the_first_request_creates_the_offsets_topic() -> None:
    """AutoTopicCreationManager: the first response has COORDINATOR_NOT_AVAILABLE, and the client retries."""
    async with embedded_node(settings={"offsets.topic.num.partitions": "4"}) as node, connected(node) as broker:
        assert (await ask(broker, None)).topics == []

        async def errors() -> list[int]:
            response = await broker.request(FindCoordinatorRequest(coordinator_keys=["g", "h", ""]), 4)
            return [each.error_code for each in response.coordinators]

        async def are_found() -> bool:
            return await errors() == [0, 0, 0]

        assert await errors() == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 3
        await eventually(are_found)
        (topic,) = (await ask(broker, None)).topics
        assert (topic.name, topic.is_internal, len(topic.partitions)) == ("__consumer_offsets", True, 4)


async def test_a_lost_controller_delays_no_request(tmp_path: Path) -> None:
    """A response leaves before the next request of its connection is handled, so it must not wait for a controller."""
    async with cluster_in(tmp_path, QUICK_LEASES) as cluster, cluster.connected(1) as broker:
        for lost in (2, 3):
            await cluster.members[lost].kill()
        with trio.fail_after(10):
            for version in range(7):
                response = await broker.request(_find("g", 0, version), version)
                found = response.coordinators[0] if version >= 4 else response
                assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            for version in range(14):
                (wanted,) = (await ask(broker, "orders", version=version, create_topics=True)).topics
                assert wanted.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await cluster.start(2, 3)

        async def exist() -> bool:
            return {"orders", "__consumer_offsets"} <= {each.name for each in (await ask(broker, None)).topics}

        await eventually(exist)


@pytest.mark.parametrize(("key_type", "version"), [(1, 3), (1, 4), (2, 6), (77, 4)])
async def test_only_groups_have_coordinators_here(broker: Connection, key_type: int, version: int) -> None:
    response = await broker.request(_find("t", key_type, version), version)
    found = response.coordinators[0] if version >= 4 else response
    assert found.error_code == ErrorCode.INVALID_REQUEST
