"""A follower with real sockets and files, and a leader whose responses the test writes."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import trio

from kraft.config.listeners import Endpoint
from kraft.config.properties import from_mapping
from kraft.config.throttle_settings import FOLLOWER_RATE
from kraft.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kraft.messages.fetch_request import FetchPartition, FetchRequest
from kraft.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kraft.messages.list_offsets_request import ListOffsetsRequest
from kraft.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kraft.metrics import Registry
from kraft.records.record import Record, encode_batch
from kraft.replication.fetchers import EARLIEST, Fetchers
from kraft.replication.throttle import Throttle
from kraft.rpc.channel import CLOSE, Parked, Reply, Request
from kraft.rpc.client import connect
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.testing.embedded import SETTINGS
from kraft.world.clock import Clock
from tests.support.held import TOPIC_ID, Broker, broker_in, registration, topic

LEADER, HEIR, FOLLOWER = 1, 3, 2
BROKER_EPOCH = 22
APIS = {1: (4, 17), 2: (1, 9), 18: (0, 4)}
WAIT_MS, BACKOFF_MS = 20, 40

Say = Callable[[FetchPartition], Any]


def batches(offset: int, *values: bytes, epoch: int = 0) -> bytes:
    """One batch for each value."""
    return b"".join(
        encode_batch([Record(at, 1000, None, value)], base_offset=at, leader_epoch=epoch)
        for at, value in enumerate(values, offset)
    )


@attrs.define
class Leader:
    """A leader for one follower. ``say`` has its next responses, each sent once; later ones have no records."""

    node_id: int = LEADER
    port: int = 0
    saying: list[Say] = attrs.Factory(list)
    asked: list[FetchRequest] = attrs.Factory(list)
    start_offset: int = 0
    end_offset: int = 0

    def say(self, *answers: Say | PartitionData) -> None:
        for answer in answers:
            self.saying.append(answer if callable(answer) else lambda wanted, data=answer: data)

    @property
    def last(self) -> FetchPartition:
        """The last Fetch for the partition."""
        wanted: FetchPartition = self.asked[-1].topics[0].partitions[0]
        return wanted

    async def handle(self, request: Request) -> Reply:
        if request.api_key == 18:
            return ApiVersionsResponse(api_keys=[ApiVersion(key, *versions) for key, versions in APIS.items()])
        message = request.message()
        if isinstance(message, ListOffsetsRequest):
            timestamp = message.topics[0].partitions[0].timestamp
            offset = self.start_offset if timestamp == EARLIEST else self.end_offset
            found = ListOffsetsTopicResponse(name="topic", partitions=[ListOffsetsPartitionResponse(offset=offset)])
            return ListOffsetsResponse(topics=[found])
        assert isinstance(message, FetchRequest)
        self.asked.append(message)
        if self.saying:
            data = self.saying.pop(0)(message.topics[0].partitions[0])
            return response_with(data) if isinstance(data, PartitionData) else data

        async def wait() -> FetchResponse:
            await trio.sleep(WAIT_MS / 1000)
            return response_with(PartitionData(high_watermark=self.end_offset, log_start_offset=self.start_offset))

        return Parked(wait)


def response_with(data: PartitionData) -> FetchResponse:
    data.records = data.records or b""
    return FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])])


@asynccontextmanager
async def following(tmp_path: Path, *leaders: Leader) -> AsyncIterator[Broker]:
    """A broker that follows the first of the leaders, in epoch 0."""
    broker = broker_in(tmp_path, FOLLOWER)
    settings = {
        "log.dirs": str(tmp_path),
        "node.id": str(FOLLOWER),
        "controller.quorum.voters": f"{FOLLOWER}@127.0.0.1:1",
        "replica.fetch.wait.max.ms": str(WAIT_MS),
        "replica.fetch.backoff.ms": str(BACKOFF_MS),
    }
    config = from_mapping({**SETTINGS, **settings}).config
    async with trio.open_nursery() as nursery:
        for leader in leaders:
            plane = Plane("data", (Endpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", 0),), processors=1, handlers=1)
            quotas = ConnectionQuotas(ConnectionLimits(), time.perf_counter)
            service = Service(leader.handle, APIS, lambda request, error: CLOSE, quotas, Registry())
            leader.port = (await nursery.start(serve, plane, service, trio.Event()))["PLAINTEXT"].port
            await broker.hear(registration(leader.node_id, 10 + leader.node_id, leader.port))
        await broker.replicas.registered(BROKER_EPOCH)
        await broker.hear(registration(FOLLOWER, BROKER_EPOCH), *topic(LEADER, FOLLOWER, HEIR, leader=LEADER))
        throttle = Throttle(FOLLOWER_RATE, broker.replicas)
        nursery.start_soon(Fetchers(config, broker.replicas, Clock(), connect, throttle).run)
        with trio.fail_after(30):
            yield broker
        nursery.cancel_scope.cancel()
