"""A forced control plane (KIP-291's extension): "the control plane should allow only four kinds of requests"."""

from __future__ import annotations

import importlib
import logging
import struct
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import cast
from uuid import UUID

import attrs
import pytest
import trio

from kraft.api.context import ZkBrokerContext
from kraft.api.dispatcher import Dispatcher
from kraft.api.forced_plane import REASON, SERVED, ForcedControlPlane
from kraft.api.handlers import Handlers
from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.config.listeners import Endpoint
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.api_versions_response import ApiVersionsResponse
from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.leader_and_isr_response import LeaderAndIsrResponse
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.registry import ApiKey, request_class
from kraft.messages.stop_replica_request import StopReplicaRequest
from kraft.messages.stop_replica_response import StopReplicaResponse
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.messages.update_metadata_response import UpdateMetadataResponse
from kraft.metadata.image import Image
from kraft.metrics import Registry
from kraft.rpc.client import Connection, Disconnected, connect
from kraft.rpc.plane import control_plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.rejections import RejectionLog
from kraft.rpc.server import Service, serve
from kraft.wire.codec import decode, encode
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.world import World
from tests.support.talk import produce_request

TOPIC_ID = UUID(int=7)


@attrs.define
class Commands:
    """Accepts all that a controller sends."""

    features_epoch = -1

    async def lead_and_follow(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        return LeaderAndIsrResponse()

    async def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        return UpdateMetadataResponse()

    async def stop_replicas(self, request: StopReplicaRequest) -> StopReplicaResponse:
        return StopReplicaResponse()


@attrs.define
class Context:
    commands: Commands = attrs.Factory(Commands)
    image: Image = attrs.Factory(Image)


@asynccontextmanager
async def forced_plane() -> AsyncIterator[Endpoint]:
    """Run a forced control plane on loopback."""
    handlers: Handlers[ZkBrokerContext] = Handlers(ListenerType.ZK_BROKER, World().in_thread)
    dispatcher = Dispatcher(handlers, cast(ZkBrokerContext, Context()))
    registry = Registry()
    rejections = RejectionLog(registry.clock)
    service = Service(
        handle=ForcedControlPlane(dispatcher, rejections).handle,
        apis=OFFERED[ListenerType.ZK_BROKER],
        error_response=dispatcher.error_response,
        quotas=ConnectionQuotas(ConnectionLimits(), registry.clock),
        registry=registry,
        rejections=rejections,
    )
    plane = control_plane((Endpoint("CONTROLLER", "PLAINTEXT", "127.0.0.1", 0),))
    stopping = trio.Event()
    async with trio.open_nursery() as nursery:
        bound = await nursery.start(serve, plane, service, stopping)
        yield bound["CONTROLLER"]
        stopping.set()


def connection(endpoint: Endpoint) -> AbstractAsyncContextManager[Connection]:
    """Connect without ApiVersions, as a controller does."""
    return connect(endpoint.host, endpoint.port, "test", versions={})


async def test_the_controllers_requests_are_served() -> None:
    """KIP-291's extension: "the control plane should allow only four kinds of requests"."""
    async with forced_plane() as endpoint, connection(endpoint) as peer:
        for request, version, served in (
            (LeaderAndIsrRequest(), 7, LeaderAndIsrResponse()),
            (UpdateMetadataRequest(), 8, UpdateMetadataResponse()),
            (StopReplicaRequest(), 4, StopReplicaResponse()),
        ):
            assert await peer.request(request, version) == served
    assert ApiKey.CONTROLLED_SHUTDOWN in SERVED
    assert len(SERVED) == 4


async def test_every_other_api_is_refused_with_its_error_response(caplog: pytest.LogCaptureFixture) -> None:
    """ "the control plane will reject data requests completely". The connection goes on: a refusal is a response."""
    offered = {key: versions[1] for key, versions in OFFERED[ListenerType.ZK_BROKER].items() if key not in SERVED}
    async with forced_plane() as endpoint, connection(endpoint) as peer:
        for key, version in offered.items():
            request = (
                request_class(key)() if key != ApiKey.PRODUCE else produce_request("t", b"", acks=1, topic_id=TOPIC_ID)
            )
            error = importlib.import_module(f"kraft.api.{ApiKey(key).name.lower()}").error
            received, _ = decode(type(request), version, encode(request, version))
            expected = error(received, version, ErrorCode.POLICY_VIOLATION, REASON)
            response = await peer.request(request, version)
            assert encode(response, version) == encode(expected, version), ApiKey(key).name
        assert (await peer.request(LeaderAndIsrRequest(), 7)) == LeaderAndIsrResponse()
    assert len(offered) > 20
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(lines) == 5, "a client that tries again does not fill the log"
    assert all(line.startswith("CONTROLLER 127.0.0.1:") and REASON in line for line in lines)


async def test_a_client_that_requests_api_versions_gets_the_error_at_once() -> None:
    async with forced_plane() as endpoint:
        with pytest.raises(KafkaError) as refused:
            async with connect(endpoint.host, endpoint.port, "client"):
                pass
        assert refused.value.code is ErrorCode.POLICY_VIOLATION
        async with connection(endpoint) as peer:
            response = await peer.request(ApiVersionsRequest(), 0)
        assert response == ApiVersionsResponse(error_code=ErrorCode.POLICY_VIOLATION)


async def test_a_client_of_the_future_gets_the_versions_in_which_it_can_read_the_error() -> None:
    """KIP-511: a version of ApiVersions that is not offered has a response of version 0, UNSUPPORTED_VERSION."""
    async with forced_plane() as endpoint:
        stream = await trio.open_tcp_stream(endpoint.host, endpoint.port)
        async with stream:
            await stream.send_all(struct.pack(">ihhihB", 11, ApiKey.API_VERSIONS, 99, 7, -1, 0))
            data = await stream.receive_some(10_000)
    assert decode(ApiVersionsResponse, 0, data, 8)[0].error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_a_producer_without_acks_and_a_large_request_lose_their_connection() -> None:
    """Kafka has no other error for acks=0; a large request is not worth its decoding."""
    topics = [MetadataRequestTopic(name=f"a-topic-with-a-long-name-{number}") for number in range(1_000)]
    async with forced_plane() as endpoint:
        for request, version in ((produce_request("t", b"", acks=0), 9), (MetadataRequest(topics=topics), 9)):
            async with connection(endpoint) as peer:
                with pytest.raises(Disconnected):
                    await peer.request(request, version, timeout_s=10)
