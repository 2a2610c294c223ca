"""FindCoordinator: which broker coordinates a group."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import attrs
import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from kraft.api import find_coordinator
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.find_coordinator_response import FindCoordinatorResponse
from kraft.rpc.channel import Parked, Request
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode
from tests.api.test_metadata import ask
from tests.coordination.creation import creation
from tests.coordination.desk import topic_records
from tests.coordination.test_lazy_coordinators import coordinators_of
from tests.support.eventually import eventually_async
from tests.support.held import WITHOUT_THREADS, broker_in, registration, serving
from tests.support.nodes import connected
from tests.support.trio_cluster import QUICK_LEASES, cluster_in


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


async def test_a_broker_with_zookeeper_has_no_share_coordinator() -> None:
    """``KafkaApis.getCoordinator``: INVALID_REQUEST. No topic is created for it."""
    request = cast(Request, SimpleNamespace(api_version=6))
    response = await find_coordinator.at_zk_broker(cast(Any, None), request, _find(f"g:{UUID(int=1)}:0", 2, 6))
    assert isinstance(response, FindCoordinatorResponse)
    assert [each.error_code for each in response.coordinators] == [ErrorCode.INVALID_REQUEST]


async def test_the_first_request_creates_the_offsets_topic() -> None:
    async with embedded_node(settings={"offsets.topic.num.partitions": "4"}) as node, connected(node) as broker:
        assert (await ask(broker, None)).topics == []

        async def are_found() -> bool:
            response = await broker.request(FindCoordinatorRequest(coordinator_keys=["g", "h", ""]), 4)
            return [each.error_code for each in response.coordinators] == [0, 0, 0]

        await eventually_async(are_found)
        (topic,) = (await ask(broker, None)).topics
        assert (topic.name, topic.is_internal, len(topic.partitions)) == ("__consumer_offsets", True, 4)


async def test_the_first_requests_wait_for_the_controller_a_little(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """CREATION_WAIT_S; also a request that finds the topic in flight, or in metadata whose logs are not open yet. The
    response does not name this broker before it has taken over the partition.
    """
    held = broker_in(tmp_path, 1, WITHOUT_THREADS)
    await held.replicas.registered(10)
    await held.hear(registration(1, 10))
    coordinators = coordinators_of(held)
    async with creation() as (topics, controller):
        broker = attrs.evolve(serving(held.replicas), auto_topics=topics, lazy_coordinators=coordinators)

        async def code_and_wait() -> tuple[int, float]:
            began = trio.current_time()
            request = Request(0, 4, 0, "c", b"", 0, cast(Any, Loopback()))
            reply = await find_coordinator.at_broker(broker, request, FindCoordinatorRequest(coordinator_keys=["g"]))
            response = await reply.wait() if isinstance(reply, Parked) else reply
            assert isinstance(response, FindCoordinatorResponse)
            return response.coordinators[0].error_code, trio.current_time() - began

        assert await code_and_wait() == (ErrorCode.COORDINATOR_NOT_AVAILABLE, find_coordinator.CREATION_WAIT_S)
        assert await code_and_wait() == (ErrorCode.COORDINATOR_NOT_AVAILABLE, 0)
        await controller.answer(ErrorCode.INVALID_REPLICATION_FACTOR)
        await trio.sleep(2)
        found: list[tuple[int, float]] = []
        async with trio.open_nursery() as nursery:

            async def ask_again() -> None:
                found.append(await code_and_wait())

            nursery.start_soon(ask_again)
            await wait_all_tasks_blocked()
            nursery.start_soon(ask_again)
            await wait_all_tasks_blocked()
            led = await held.hear(*topic_records("__consumer_offsets", UUID(int=50), 1))
            nursery.start_soon(ask_again)
            await wait_all_tasks_blocked()
            assert found == []
            await controller.answer(ErrorCode.NONE)
        assert found == [(ErrorCode.COORDINATOR_NOT_AVAILABLE, 0)] * 3
        coordinators.apply(led)
        assert await code_and_wait() == (ErrorCode.NONE, 0)
    await held.replicas.close()


@attrs.frozen
class Loopback:
    listener: str = "PLAINTEXT"


async def test_a_lost_controller_delays_no_request(tmp_path: Path) -> None:
    """DefaultAutoTopicCreationManager: the creation, whose limit is 30 s, holds no connection."""
    async with cluster_in(tmp_path, QUICK_LEASES) as cluster, cluster.connected(1) as broker:
        for lost in (2, 3):
            await cluster.members[lost].kill()
        with trio.fail_after(20):
            for version in range(7):
                response = await broker.request(_find("g", 0, version), version)
                found = response.coordinators[0] if version >= 4 else response
                assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
            for version in range(14):
                (wanted,) = (await ask(broker, "orders", version=version, create_topics=True)).topics
                assert wanted.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await cluster.start(2, 3)

        async def exist() -> bool:
            # Again, because a creation is given up after 30 s.
            await ask(broker, "orders", create_topics=True)
            await broker.request(_find("g", 0, 4), 4)
            return {"orders", "__consumer_offsets"} <= {each.name for each in (await ask(broker, None)).topics}

        await eventually_async(exist)


SHARE_PARTITION = "g:AAAAAAAAAAAAAAAAAAAAAQ:3"


@pytest.mark.parametrize(
    ("key", "key_type", "version"),
    [
        ("t", 77, 4),
        (SHARE_PARTITION, 2, 5),
        ("g", 2, 6),
        ("g:3", 2, 6),
        (":AAAAAAAAAAAAAAAAAAAAAQ:3", 2, 6),
        ("g:no-uuid:3", 2, 6),
        ("g:AAAAAAAAAAAAAAAAAAAAAQ:x", 2, 6),
    ],
)
async def test_an_unknown_type_and_a_malformed_share_partition_are_invalid(
    broker: Connection, key: str, key_type: int, version: int
) -> None:
    """Share partitions came with version 6. ``SharePartitionKey.validate``: the key is ``group:topicId:partition``."""
    response = await broker.request(_find(key, key_type, version), version)
    found = response.coordinators[0] if version >= 4 else response
    assert found.error_code == ErrorCode.INVALID_REQUEST


async def test_malformed_share_partitions_create_no_topic() -> None:
    """Apache's KafkaApis.getCoordinator validates the key first. A request with one valid key creates the topic."""
    async with embedded_node() as node, connected(node) as broker:
        for keys in ([], ["g", "g:no-uuid:3"]):
            response = await broker.request(FindCoordinatorRequest(key_type=2, coordinator_keys=keys), 6)
            assert [each.error_code for each in response.coordinators] == [ErrorCode.INVALID_REQUEST] * len(keys)
        assert (await ask(broker, None)).topics == []
        await broker.request(FindCoordinatorRequest(key_type=2, coordinator_keys=["g", SHARE_PARTITION]), 6)

        async def exists() -> bool:
            return [each.name for each in (await ask(broker, None)).topics] == ["__share_group_state"]

        await eventually_async(exists)


async def test_a_share_partition_has_a_coordinator(broker: Connection) -> None:
    async def found() -> bool:
        response = await broker.request(_find(SHARE_PARTITION, 2, 6), 6)
        return bool(response.coordinators[0].error_code == ErrorCode.NONE)

    await eventually_async(found)
