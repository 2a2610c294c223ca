"""The dispatcher: from a listener's kind and a key to a handler, and from a failure to the API's own error answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from kraft.api import list_groups
from kraft.api.dispatcher import Dispatcher
from kraft.api.handlers import Handlers
from kraft.api.row import ListenerType
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.list_groups_response import ListGroupsResponse
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.registry import ApiKey
from kraft.node import settings
from kraft.rpc.channel import ConnectionInfo, Parked, Reply, Request
from kraft.rpc.client import Connection
from kraft.rpc.memory_pool import MemoryPool
from kraft.testing import embedded_node
from kraft.wire.codec import encode
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message
from kraft.world.world import World
from tests.support.nodes import connected
from tests.support.talk import batch, fetch_request, produce_request

PEER = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "192.0.2.7", 5123, "192.0.2.7:5123")
REQUEST = Request(ApiKey.LIST_GROUPS, 3, 9, "client", encode(ListGroupsRequest(), 3), 0, PEER, response_version=3)


async def test_a_listener_of_each_kind_has_handlers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-291: the brokers of the ZooKeeper era have a third kind of listener, the control plane's."""
    for listener in ListenerType:

        async def answer(context: ListenerType, request: Request, message: Any) -> Reply:
            return ListGroupsResponse(error_code=list(ListenerType).index(context))

        monkeypatch.setattr(list_groups, listener.handler, answer, raising=False)
    for number, listener in enumerate(ListenerType):
        assert await Dispatcher(Handlers(listener, World().in_thread), listener).handle(REQUEST) == ListGroupsResponse(
            error_code=number
        )
    assert [each.handler for each in ListenerType] == ["at_broker", "at_controller", "at_zk_broker"]


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (KafkaError(ErrorCode.NOT_COORDINATOR), ErrorCode.NOT_COORDINATOR),
        (ValueError("a defect"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_a_failure_is_answered_in_the_form_of_the_api(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, code: ErrorCode
) -> None:
    async def fail(*_: Any) -> Reply:
        raise failure

    monkeypatch.setattr(list_groups, "at_broker", fail)
    dispatcher = Dispatcher(Handlers(ListenerType.BROKER, World().in_thread), None)
    if isinstance(failure, KafkaError):
        assert await dispatcher.handle(REQUEST) == ListGroupsResponse(error_code=code)
    else:
        with pytest.raises(ValueError, match="a defect"):
            await dispatcher.handle(REQUEST)
    assert dispatcher.error_response(REQUEST, failure) == ListGroupsResponse(error_code=code)


async def test_a_large_request_waits_for_the_memory_of_others_and_a_small_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two parked Fetches that name 1,500 partitions use up a node's memory for large requests."""
    monkeypatch.setattr(settings, "REQUEST_ELEMENTS", 4_000)
    counted, waiting = _spies(monkeypatch)
    fetch = fetch_request("wide", partitions=(0,) * 1_500, max_wait_ms=60_000, min_bytes=1)
    names = [MetadataRequestTopic(name=f"unknown-{number}") for number in range(2_000)]
    answered: list[str] = []

    async def ask(connection: Connection, name: str, message: Message, version: int) -> None:
        await connection.request(message, version, timeout_s=60)
        answered.append(name)

    async with (
        embedded_node(topics={"wide": 1}) as node,
        connected(node) as one,
        connected(node) as two,
        connected(node) as three,
        connected(node) as small,
        trio.open_nursery() as nursery,
    ):
        for number, connection in enumerate((one, two), 1):
            nursery.start_soon(ask, connection, "fetch", fetch, 11)
            # Its own partitions, then those that it waits for.
            await until(lambda number=number: len(counted) == 2 * number)
        metadata = MetadataRequest(topics=names, allow_auto_topic_creation=False)
        nursery.start_soon(ask, three, "metadata", metadata, 9)
        await until(lambda: len(waiting) == 1)
        await ask(small, "small", MetadataRequest(topics=names[:1], allow_auto_topic_creation=False), 9)
        assert answered == ["small"]
        await ask(small, "produce", produce_request("wide", batch(b"a")), 9)
    assert sorted(answered) == ["fetch", "fetch", "metadata", "produce", "small"]
    assert waiting[0].used == 0


@pytest.mark.parametrize("acks", [0, 1])
async def test_nobody_waits_for_the_response_of_a_large_produce_with_acks_0(acks: int) -> None:
    """``acks=0``: the producer may close its connection while the request waits for the memory of others."""
    data = [PartitionProduceData(index, b"") for index in range(4_000)]
    message = ProduceRequest(acks=acks, topic_data=[TopicProduceData("t", partition_data=data)])
    room = MemoryPool(1)
    room.take(1)
    request = Request(ApiKey.PRODUCE, 9, 9, "client", encode(message, 9), 0, PEER, response_version=9, room=room)
    reply = await Dispatcher(Handlers(ListenerType.BROKER, World().in_thread), None).handle(request)
    assert isinstance(reply, Parked)
    assert reply.is_awaited == (acks != 0)


async def until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(60):
        while not condition():
            await trio.lowlevel.checkpoint()


def _spies(monkeypatch: pytest.MonkeyPatch) -> tuple[list[int], list[MemoryPool]]:
    """The sizes that any pool counted, and the pools that a request found full."""
    counted: list[int] = []
    waiting: list[MemoryPool] = []
    take, room = MemoryPool.take, MemoryPool.room

    def taken(pool: MemoryPool, size: int) -> None:
        take(pool, size)
        counted.append(size)

    async def waited(pool: MemoryPool) -> None:
        if not pool.has_room:
            waiting.append(pool)
        await room(pool)

    monkeypatch.setattr(MemoryPool, "take", taken)
    monkeypatch.setattr(MemoryPool, "room", waited)
    return counted, waiting
