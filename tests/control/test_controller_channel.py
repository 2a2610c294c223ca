"""The broker's way to the active controller, over real sockets to controllers that are anything but well."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from kraft.config.listeners import Endpoint, Voter
from kraft.control import controller_channel
from kraft.control.controller_channel import ControllerChannel
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.messages.describe_quorum_request import DescribeQuorumRequest
from kraft.messages.describe_quorum_response import DescribeQuorumResponse, PartitionData, TopicData
from kraft.messages.envelope_request import EnvelopeRequest
from kraft.messages.envelope_response import EnvelopeResponse
from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.metrics import Registry
from kraft.rpc.channel import CLOSE, Parked, Reply, Request
from kraft.rpc.plane import Plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC
from tests.support.freed import errors_freed

pytestmark = pytest.mark.usefixtures("instant_retries")

THIS_NODE = 1
APIS = {18: (0, 4), 19: (2, 7), 55: (0, 2), 56: (2, 3), 58: (0, 0), 63: (0, 1)}

Answer = Callable[[Request], Awaitable[Reply]]


@pytest.fixture
def instant_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(controller_channel, "_RETRY_BACKOFF_S", 0.001)


@attrs.define
class Quorum:
    """The leader that the test sets."""

    leader_id: int | None = None
    epoch: int = 0
    node_id: int = THIS_NODE
    _changed: trio.Event = attrs.Factory(trio.Event)

    def elect(self, leader_id: int | None) -> None:
        self.leader_id = leader_id
        self.epoch += 1
        self._changed.set()
        self._changed = trio.Event()

    async def change(self, leader_id: int | None, epoch: int) -> None:
        while (self.leader_id, self.epoch) == (leader_id, epoch):
            await self._changed.wait()


@attrs.define
class Peer:
    """A controller listener: ``asked`` are the received requests, ``answer`` is its response."""

    node_id: int
    answer: Answer
    asked: list[Any] = attrs.Factory(list)
    versions: list[int] = attrs.Factory(list)

    async def handle(self, request: Request) -> Reply:
        if request.api_key == 18:
            return ApiVersionsResponse(api_keys=[ApiVersion(key, *range_) for key, range_ in APIS.items()])
        self.asked.append(request.message())
        self.versions.append(request.api_version)
        return await self.answer(request)


async def welcome(request: Request) -> Reply:
    return BrokerHeartbeatResponse(is_caught_up=True)


async def not_active(request: Request) -> Reply:
    return BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)


async def silent(request: Request) -> Reply:
    return Parked(trio.sleep_forever)


async def hang_up(request: Request) -> Reply:
    return CLOSE


def once(first: Answer, then: Answer) -> Answer:
    """Answer the first request by ``first``, all others by ``then``."""
    answers = iter([first])

    async def answer(request: Request) -> Reply:
        return await next(answers, then)(request)

    return answer


def described(*partitions: PartitionData) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(topics=[TopicData(CLUSTER_METADATA_TOPIC, list(partitions))])


class Local:
    """This node's own controller."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Any, int | None]] = []

    async def request(self, message: Any, version: int | None = None, *, timeout_ms: float = 0) -> Any:
        self.asked.append((message, version))
        answer = self.answers.pop(0)
        if isinstance(answer, KafkaError):
            raise answer
        return answer


@asynccontextmanager
async def channel_to(
    *peers: Peer, quorum: Quorum, local: Local | None = None, **options: Any
) -> AsyncIterator[ControllerChannel]:
    """A channel that runs, and the peers as the other voters."""
    async with trio.open_nursery() as nursery:
        voters = {THIS_NODE: Voter(THIS_NODE, "127.0.0.1", 1)}
        for peer in peers:
            plane = Plane("control", (Endpoint("CONTROLLER", "PLAINTEXT", "127.0.0.1", 0),), 20, 1, 1)
            quotas = ConnectionQuotas(ConnectionLimits(), time.perf_counter)
            service = Service(peer.handle, APIS, lambda request, error: CLOSE, quotas, Registry())
            bound = await nursery.start(serve, plane, service, trio.Event())
            voters[peer.node_id] = Voter(peer.node_id, "127.0.0.1", bound["CONTROLLER"].port)
        channel = ControllerChannel(quorum, voters.get, local, **options)
        nursery.start_soon(channel.run, name="controller channel")
        with trio.fail_after(30):
            yield channel
        nursery.cancel_scope.cancel()


async def test_a_leader_sends_requests_to_its_own_controller() -> None:
    """With no socket in between."""
    answer = BrokerHeartbeatResponse()
    local = Local(answer)
    channel = ControllerChannel(Quorum(THIS_NODE), {}.get, local)
    message = BrokerHeartbeatRequest()
    assert await channel.request(message, 1) is answer
    assert local.asked == [(message, 1)]


async def test_a_request_is_repeated_until_the_local_controller_is_active() -> None:
    refused = KafkaError(ErrorCode.NOT_CONTROLLER)
    local = Local(refused, refused, BrokerHeartbeatResponse())
    channel = ControllerChannel(Quorum(THIS_NODE), {}.get, local)
    assert (await channel.request(BrokerHeartbeatRequest())).error_code == 0
    assert len(local.asked) == 3


async def test_an_error_of_the_local_controller_is_raised() -> None:
    channel = ControllerChannel(Quorum(THIS_NODE), {}.get, Local(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)))
    with pytest.raises(KafkaError) as caught:
        await channel.request(BrokerHeartbeatRequest())
    assert caught.value.code is ErrorCode.UNKNOWN_SERVER_ERROR


async def test_a_follower_sends_to_the_leader_in_the_newest_common_version() -> None:
    peer = Peer(2, welcome)
    async with channel_to(peer, quorum=Quorum(2)) as channel:
        assert (await channel.request(BrokerHeartbeatRequest(broker_id=7))).is_caught_up
        assert (await channel.request(BrokerHeartbeatRequest(broker_id=8), 0)).is_caught_up
    assert [request.broker_id for request in peer.asked] == [7, 8]
    assert peer.versions == [1, 0]


async def test_a_version_that_the_leader_does_not_offer_is_not_sent() -> None:
    peer = Peer(2, welcome)
    async with channel_to(peer, quorum=Quorum(2)) as channel:
        for version in (2, None):
            message = BrokerHeartbeatRequest() if version else AllocateProducerIdsRequest()
            with pytest.raises(KafkaError) as caught:
                await channel.request(message, version)
            assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION
    assert peer.asked == []


async def test_a_refused_request_is_freed_at_once() -> None:
    async with channel_to(Peer(2, welcome), quorum=Quorum(2)) as channel:
        with errors_freed(KafkaError), pytest.raises(KafkaError, match="UNSUPPORTED_VERSION"):
            await channel.request(AllocateProducerIdsRequest())


async def test_the_versions_are_those_of_the_controller_that_is_connected() -> None:
    """``NodeToControllerChannelManager.controllerApiVersions``, which a broker offers for the APIs that it forwards."""
    quorum = Quorum(2)
    async with channel_to(Peer(2, welcome), quorum=quorum, local=Local()) as channel:
        assert channel.versions is None
        await channel.request(BrokerHeartbeatRequest())
        assert channel.versions == APIS
        quorum.elect(THIS_NODE)
        await _until(lambda: channel.versions is None)


async def test_requests_share_the_connection() -> None:
    """One that is parked does not keep another from being sent; a peer answers them in order."""
    gate = trio.Event()

    async def gated(request: Request) -> Reply:
        async def wait() -> BrokerHeartbeatResponse:
            await gate.wait()
            return BrokerHeartbeatResponse()

        return Parked(wait)

    peer = Peer(2, gated)
    answered: list[int] = []
    async with channel_to(peer, quorum=Quorum(2)) as channel:

        async def ask(number: int) -> None:
            await channel.request(BrokerHeartbeatRequest(broker_id=number))
            answered.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(ask, number)
            await _until(lambda: bool(peer.asked))
            gate.set()
    assert sorted(answered) == list(range(20))
    assert sorted(request.broker_id for request in peer.asked) == list(range(20))


async def test_a_new_epoch_of_the_same_leader_loses_no_response() -> None:
    """A restarted controller may get a request before its new epoch is known here. If the request came twice, the
    second one would find that the topic exists.
    """
    gate = trio.Event()

    async def gated(request: Request) -> Reply:
        async def wait() -> BrokerHeartbeatResponse:
            await gate.wait()
            return BrokerHeartbeatResponse(is_caught_up=True)

        return Parked(wait)

    quorum, peer = Quorum(2), Peer(2, gated)
    async with channel_to(peer, quorum=quorum) as channel, trio.open_nursery() as nursery:
        nursery.start_soon(channel.request, BrokerHeartbeatRequest())
        await _until(lambda: bool(peer.asked))
        for leader_id in (None, 2, 2):
            quorum.elect(leader_id)
            await trio.testing.wait_all_tasks_blocked(0.01)
        gate.set()
    assert len(peer.asked) == 1


@pytest.mark.parametrize("trouble", [not_active, hang_up], ids=["not controller", "disconnect"])
async def test_a_request_without_a_response_is_sent_again(trouble: Answer) -> None:
    peer = Peer(2, once(trouble, welcome))
    async with channel_to(peer, quorum=Quorum(2)) as channel:
        assert (await channel.request(BrokerHeartbeatRequest())).is_caught_up
    assert len(peer.asked) == 2


async def test_a_refused_create_topics_is_sent_again() -> None:
    """The response to CreateTopics has no error of its own, so each of its topics has NOT_CONTROLLER."""

    async def refuse(request: Request) -> Reply:
        refused = CreatableTopicResult(name="t", error_code=ErrorCode.NOT_CONTROLLER)
        return CreateTopicsResponse(topics=[refused])

    async def accept(request: Request) -> Reply:
        return CreateTopicsResponse()

    peer = Peer(2, once(refuse, accept))
    async with channel_to(peer, quorum=Quorum(2)) as channel:
        message = CreateTopicsRequest(topics=[CreatableTopic(name="t")])
        assert await channel.request(message) == CreateTopicsResponse()


async def test_a_request_waits_until_there_is_a_leader() -> None:
    quorum, peer = Quorum(None), Peer(2, welcome)
    async with channel_to(peer, quorum=quorum) as channel, trio.open_nursery() as nursery:
        nursery.start_soon(channel.request, BrokerHeartbeatRequest())
        await trio.testing.wait_all_tasks_blocked()
        assert peer.asked == []
        quorum.elect(2)
    assert len(peer.asked) == 1


async def test_a_request_pending_at_the_old_leader_goes_to_the_new_one() -> None:
    """A leader that is cut off sends nothing and does not close: the change of leadership ends the wait."""
    quorum, old, new = Quorum(2), Peer(2, silent), Peer(3, welcome)
    async with channel_to(old, new, quorum=quorum) as channel, trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(channel.request, BrokerHeartbeatRequest())
        await _until(lambda: bool(old.asked))
        quorum.elect(None)
        await trio.testing.wait_all_tasks_blocked()
        quorum.elect(3)
    assert len(new.asked) == 10


async def test_a_queued_request_goes_to_the_local_controller_when_this_node_is_elected() -> None:
    quorum, local = Quorum(2), Local(BrokerHeartbeatResponse())
    async with channel_to(Peer(2, silent), quorum=quorum, local=local) as channel, trio.open_nursery() as nursery:
        nursery.start_soon(channel.request, BrokerHeartbeatRequest())
        await trio.testing.wait_all_tasks_blocked()
        quorum.elect(THIS_NODE)
    assert len(local.asked) == 1


async def test_a_leader_that_does_not_respond_gets_a_new_connection() -> None:
    peer = Peer(2, once(silent, welcome))
    async with channel_to(peer, quorum=Quorum(2), attempt_timeout_ms=200) as channel:
        assert (await channel.request(BrokerHeartbeatRequest())).is_caught_up
    assert len(peer.asked) >= 2


async def test_a_request_to_an_unreachable_leader_times_out() -> None:
    quorum = Quorum(9)
    async with channel_to(quorum=quorum) as channel:
        channel._address_of = lambda node_id: Voter(node_id, "127.0.0.1", 1)
        with pytest.raises(KafkaError) as caught:
            await channel.request(BrokerHeartbeatRequest(), timeout_ms=50)
        assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT


async def test_a_request_waits_while_the_leader_is_no_known_voter() -> None:
    async with channel_to(quorum=Quorum(9)) as channel:
        with pytest.raises(KafkaError) as caught:
            await channel.request(BrokerHeartbeatRequest(), timeout_ms=20)
        assert caught.value.code is ErrorCode.REQUEST_TIMED_OUT


async def test_a_leader_that_moved_is_reached_at_its_new_address() -> None:
    """A ZooKeeper-era controller is a broker, and may start again on another port."""
    peer = Peer(2, welcome)
    async with channel_to(peer, quorum=Quorum(2)) as channel:
        address_of = channel._address_of
        channel._address_of = lambda node_id: Voter(node_id, "127.0.0.1", 1)
        with pytest.raises(KafkaError, match="REQUEST_TIMED_OUT"):
            await channel.request(BrokerHeartbeatRequest(), timeout_ms=50)
        channel._address_of = address_of
        assert (await channel.request(BrokerHeartbeatRequest())).is_caught_up


async def test_a_full_queue_times_out_its_caller_and_no_other() -> None:
    """A request that has timed out is not sent when the leader is back."""
    quorum, peer = Quorum(2), Peer(2, welcome)
    channel = ControllerChannel(quorum, {}.get, None)  # no task takes anything from the queue
    refused: list[ErrorCode] = []

    async def ask() -> None:
        with pytest.raises(KafkaError) as caught:
            await channel.request(BrokerHeartbeatRequest(), timeout_ms=50)
        refused.append(caught.value.code)

    async with trio.open_nursery() as nursery:
        for _ in range(controller_channel._QUEUED_REQUESTS + 10):
            nursery.start_soon(ask)
    assert refused == [ErrorCode.REQUEST_TIMED_OUT] * (controller_channel._QUEUED_REQUESTS + 10)
    async with channel_to(peer, quorum=quorum) as other:
        channel._address_of = other._address_of
        async with trio.open_nursery() as nursery:
            nursery.start_soon(channel.run)
            await channel.request(BrokerHeartbeatRequest(broker_id=5))
            nursery.cancel_scope.cancel()
    assert [request.broker_id for request in peer.asked] == [5]


async def test_a_caller_that_is_cancelled_leaves_the_connection_to_others() -> None:
    released = trio.Event()

    async def slow_first(request: Request) -> Reply:
        async def wait() -> BrokerHeartbeatResponse:
            await released.wait()
            return BrokerHeartbeatResponse()

        return Parked(wait)

    peer = Peer(2, once(slow_first, welcome))
    scope = trio.CancelScope()
    async with channel_to(peer, quorum=Quorum(2)) as channel, trio.open_nursery() as nursery:

        async def cancelled() -> None:
            with scope:
                await channel.request(BrokerHeartbeatRequest(broker_id=1))

        nursery.start_soon(cancelled)
        await _until(lambda: bool(peer.asked))
        scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(channel.request, BrokerHeartbeatRequest(broker_id=2))
        released.set()
    assert [request.broker_id for request in peer.asked] == [1, 2]


async def test_a_request_with_a_malformed_response_is_sent_again() -> None:
    async def another_message(request: Request) -> Reply:
        return HeartbeatResponse()  # shorter

    peer = Peer(2, once(another_message, welcome))
    async with channel_to(peer, quorum=Quorum(2)) as channel:
        assert (await channel.request(BrokerHeartbeatRequest())).is_caught_up
    assert len(peer.asked) == 2


async def test_a_message_that_cannot_be_encoded_is_an_error_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer(2, welcome)
    async with channel_to(peer, quorum=Quorum(2)) as channel:
        with pytest.raises(KafkaError) as caught:
            await channel.request(BrokerHeartbeatRequest(broker_id="seven"))  # type: ignore[arg-type]
        assert caught.value.code is ErrorCode.UNKNOWN_SERVER_ERROR
        assert (await channel.request(BrokerHeartbeatRequest())).is_caught_up
    assert "seven" in caplog.text


async def test_an_envelope_goes_to_another_node_and_the_message_itself_to_our_own() -> None:
    """KIP-590: the Envelope has the client's request and its principal."""

    async def opened(request: Request) -> Reply:
        return EnvelopeResponse(b"answer")

    async def refused(request: Request) -> Reply:
        return EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER)

    quorum, peer, local = Quorum(2), Peer(2, once(refused, opened)), Local(BrokerHeartbeatResponse())
    async with channel_to(peer, quorum=quorum, local=local) as channel:
        message, envelope = BrokerHeartbeatRequest(), EnvelopeRequest(b"request", b"principal", b"host")
        assert await channel.request(message, 0, envelope=envelope) == EnvelopeResponse(b"answer")
        assert peer.asked == [envelope, envelope]
        quorum.elect(THIS_NODE)
        await channel.request(message, 0, envelope=envelope)
    assert local.asked == [(message, 0)]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (described(PartitionData(high_watermark=7)), 7),
        (described(PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, high_watermark=-1)), -1),
        (described(), -1),
    ],
    ids=["a leader", "no leader", "no partition"],
)
async def test_the_leader_has_the_high_watermark(response: DescribeQuorumResponse, expected: int) -> None:
    async def answer(request: Request) -> Reply:
        return response

    peer = Peer(2, answer)
    async with channel_to(peer, quorum=Quorum(2)) as channel:
        assert await channel.high_watermark() == expected
    assert [type(asked) for asked in peer.asked] == [DescribeQuorumRequest]


async def test_a_leader_that_does_not_describe_the_quorum_has_no_high_watermark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The response to a change must not fail for that."""
    monkeypatch.delitem(APIS, 55)
    async with channel_to(Peer(2, welcome), quorum=Quorum(2)) as channel:
        assert await channel.high_watermark() == -1


async def _until(so: Callable[[], bool]) -> None:
    """The kernel closes a socket before any task of ours wakes, so poll; the caller has the time limit."""
    while not so():
        await trio.lowlevel.checkpoint()
