"""A real follower with a leader whose responses a test scripts."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import trio

from kraft.config.listeners import Endpoint, Voter
from kraft.config.topic import LogConfig
from kraft.messages import fetch_response as fetched
from kraft.messages import fetch_snapshot_response as fetched_snapshot
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kraft.messages.registry import ApiKey
from kraft.messages.topic_record import TopicRecord
from kraft.messages.vote_request import VoteRequest
from kraft.messages.vote_response import VoteResponse
from kraft.metadata.steps import finished
from kraft.metrics import Registry
from kraft.quorum.batches import encoded_batches, leader_change_batch
from kraft.quorum.driver import Quorum
from kraft.quorum.log import MetadataLog
from kraft.raft.events import LeaderChange
from kraft.rpc.channel import CLOSE, Reply, Request
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.simulation.virtual_network import VirtualNetwork, at_once
from kraft.wire.errors import ErrorCode
from kraft.wire.internal_topics import METADATA_TOPIC_ID
from kraft.world.world import InThread
from tests.support.quorums import identity, idle

VOTERS = tuple(Voter(node_id, f"node-{node_id}", 9093) for node_id in (1, 2, 3))
EPOCH = 1
APIS = {
    ApiKey.FETCH: (4, 17),
    ApiKey.FETCH_SNAPSHOT: (0, 1),
    ApiKey.VOTE: (0, 2),
    ApiKey.API_VERSIONS: (0, 4),
}

Answer = Callable[[Any], Any]


def opening(epoch: int = EPOCH) -> bytes:
    """The first batch of the epoch of voter 1."""
    return leader_change_batch(LeaderChange(epoch, 1, (1, 2, 3), (1, 3)), 0, 1000)


def topics(base_offset: int, count: int = 1, epoch: int = EPOCH) -> bytes:
    records = [TopicRecord(name=f"t{n}", topic_id=UUID(int=1000 + n)) for n in range(base_offset, base_offset + count)]
    return b"".join(data for _, data in finished(encoded_batches(records, base_offset, epoch, 1000)))


def answer(records: bytes = b"", **fields: Any) -> fetched.FetchResponse:
    """A leader's answer to a Fetch."""
    given = {"high_watermark": 0, "current_leader": fetched.LeaderIdAndEpoch(1, EPOCH), **fields}
    partition = fetched.PartitionData(partition_index=0, records=records, **given)
    topic = fetched.FetchableTopicResponse("__cluster_metadata", METADATA_TOPIC_ID, [partition])
    return fetched.FetchResponse(responses=[topic])


def piece(snapshot: bytes, end_offset: int, epoch: int = EPOCH) -> fetched_snapshot.FetchSnapshotResponse:
    """Return a leader's response to a FetchSnapshot: the whole snapshot, in ``epoch``."""
    partition = fetched_snapshot.PartitionSnapshot(
        index=0,
        snapshot_id=fetched_snapshot.SnapshotId(end_offset, EPOCH),
        current_leader=fetched_snapshot.LeaderIdAndEpoch(1, epoch),
        size=len(snapshot),
        unaligned_records=snapshot,
    )
    return fetched_snapshot.FetchSnapshotResponse(
        topics=[fetched_snapshot.TopicSnapshot("__cluster_metadata", [partition])]
    )


@attrs.define(eq=False)
class Leader:
    """Voter 1 with scripted responses: each Fetch gets the next one, and valid ones afterwards."""

    script: list[Answer | fetched.FetchResponse | None]

    async def handle(self, request: Request) -> Reply:
        message: Any = request.message()
        if isinstance(message, ApiVersionsRequest):
            return ApiVersionsResponse(api_keys=[ApiVersion(key, *span) for key, span in APIS.items()])
        if isinstance(message, VoteRequest):
            return VoteResponse(error_code=ErrorCode.INVALID_REQUEST)
        if self.script:
            told = self.script.pop(0)
            return CLOSE if told is None else told(message) if callable(told) else told
        offset = message.topics[0].partitions[0].fetch_offset
        pieces = [opening(), topics(1, 3)]
        end = (0, 1, 4).index(offset) if offset in (0, 1, 4) else 2
        data = b"".join(pieces[end:])
        if not data:
            await trio.sleep(0.1)
        return answer(data, high_watermark=4)


@asynccontextmanager
async def follower_of(leader: Leader, directory: Path, *, in_thread: InThread = at_once) -> AsyncIterator[Quorum]:
    """Voter 2, a real driver on real files, whose only peer is that leader."""
    network = VirtualNetwork(1)
    log = MetadataLog.open(str(directory), LogConfig(), now_ms=0)
    quorum = Quorum(identity(2, *VOTERS), log, network.world("node-2", in_thread))
    service = Service(
        handle=leader.handle,
        apis=APIS,
        error_response=lambda request, error: VoteResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR),
        quotas=ConnectionQuotas(ConnectionLimits(), time.perf_counter),
        registry=Registry(),
        listen=network.listen("node-1"),
    )
    plane = Plane("control", (Endpoint("CONTROLLER", "PLAINTEXT", "node-1", 9093),), 20, 1, 4, "")
    async with trio.open_nursery() as nursery:
        await nursery.start(serve, plane, service, trio.Event())
        await nursery.start(quorum.run, idle)
        yield quorum
        nursery.cancel_scope.cancel()
