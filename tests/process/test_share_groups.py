"""Share groups (KIP-932) on a real node: the kill of a consumer or a broker loses no record and no acknowledgement."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import trio

from kraft.coordinator.share.state import SharePartitionKey
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.initialize_share_group_state_request import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
    PartitionData,
)
from kraft.messages.share_fetch_request import AcknowledgementBatch, FetchPartition, FetchTopic, ShareFetchRequest
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.rpc.client import Connection, connect
from kraft.wire.errors import ErrorCode
from tests.support.node_process import NodeProcess, running_node
from tests.support.talk import batch, create, produce

GROUP, ACCEPT = "shares", 1
LIMIT_S = 60.0
MAX_WAIT_MS = 10_000


@asynccontextmanager
async def talking(node: NodeProcess) -> AsyncIterator[Connection]:
    host, port = node.bootstrap_servers.split(":")
    async with connect(host, int(port), timeout_s=LIMIT_S) as connection:
        yield connection


async def shared_topic(broker: Connection, *values: bytes) -> UUID:
    """Create a topic that a share group reads from its first record on."""
    await broker.request(UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("share.version", 1)]))
    topic_id = await create(broker, "orders")
    for value in values:
        assert (await produce(broker, "orders", batch(value))).error_code == ErrorCode.NONE
    state = InitializeShareGroupStateRequest(GROUP, [InitializeStateData(topic_id, [PartitionData(0, 1, 0)])])
    found = FindCoordinatorRequest(key_type=2, coordinator_keys=[SharePartitionKey(GROUP, topic_id, 0).coordinator_key])
    with trio.fail_after(LIMIT_S):
        while True:
            await broker.request(found)
            response: Any = await broker.request(state)
            if response.results[0].partitions[0].error_code == ErrorCode.NONE:
                return topic_id
            await trio.sleep(0.05)  # a retriable error: there is no coordinator yet


async def fetch(
    broker: Connection, member: str, topic_id: UUID, epoch: int = 0, *accepted: int, max_wait_ms: int = 0
) -> tuple[list[tuple[int, int, int]], ErrorCode]:
    """Return the acquired records of partition 0, with their delivery counts, and its error."""
    batches = [AcknowledgementBatch(offset, offset, [ACCEPT]) for offset in accepted]
    response: Any = await broker.request(
        ShareFetchRequest(
            group_id=GROUP,
            member_id=member,
            share_session_epoch=epoch,
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_records=500,
            batch_size=500,
            topics=[FetchTopic(topic_id, [FetchPartition(0, acknowledgement_batches=batches)])],
        )
    )
    if response.error_code or not response.responses:
        return [], ErrorCode(response.error_code)
    data = response.responses[0].partitions[0]
    assert data.acknowledge_error_code == ErrorCode.NONE
    acquired = [(each.first_offset, each.last_offset, each.delivery_count) for each in data.acquired_records]
    return acquired, ErrorCode(data.error_code)


async def test_a_killed_consumer_and_a_killed_broker_lose_nothing(tmp_path: Path) -> None:
    """The end of a connection frees the records of its member at once. After ``kill -9`` of the broker, accepted
    records stay accepted, and the others are delivered."""
    with running_node(tmp_path / "1") as node:
        async with talking(node) as broker:
            topic_id = await shared_topic(broker, b"a", b"b", b"c")
            async with talking(node) as killed:
                fetched = await fetch(killed, "killed", topic_id, max_wait_ms=MAX_WAIT_MS)
                assert fetched == ([(0, 2, 1)], ErrorCode.NONE)
            again = await fetch(broker, "member", topic_id, max_wait_ms=MAX_WAIT_MS)
            assert again == ([(0, 2, 2)], ErrorCode.NONE)
            await fetch(broker, "member", topic_id, 1, 0, 2)
            node.kill()  # before the end of the connection, which would count as a delivery
        node.start()
        async with talking(node) as broker:
            assert await fetch(broker, "next", topic_id, max_wait_ms=MAX_WAIT_MS) == ([(1, 1, 2)], ErrorCode.NONE)
