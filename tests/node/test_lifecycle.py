"""The broker's life in the cluster, with a controller that does not always answer, and not always as one would like."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, cast

import attrs
import pytest
import trio
from immutables import Map

from kraft.config.properties import from_mapping
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.messages.broker_registration_request import BrokerRegistrationRequest
from kraft.messages.broker_registration_response import BrokerRegistrationResponse
from kraft.metadata.image import Broker, Image
from kraft.metadata.levels import DIRECTORIES
from kraft.node.lifecycle import Lifecycle
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError

TIMED_OUT = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
ALIVE = BrokerHeartbeatResponse(is_fenced=False)
FENCED = BrokerHeartbeatResponse(is_fenced=True)
STALE = BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
DUPLICATE = BrokerRegistrationResponse(error_code=ErrorCode.DUPLICATE_BROKER_REGISTRATION)


def registered(epoch: int) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(broker_epoch=epoch)


class Channel:
    """Sends the scripted responses in this order, and then repeats the last one forever."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []
        self.exhausted = trio.Event()

    async def request(self, message: Any, version: int, **options: Any) -> Any:
        self.asked.append(message)
        if len(self.answers) > 1:
            answer = self.answers.pop(0)
        else:
            answer = self.answers[0]
            self.exhausted.set()
        await trio.lowlevel.checkpoint()
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    @property
    def registrations(self) -> list[BrokerRegistrationRequest]:
        return [each for each in self.asked if isinstance(each, BrokerRegistrationRequest)]

    @property
    def heartbeats(self) -> list[BrokerHeartbeatRequest]:
        return [each for each in self.asked if isinstance(each, BrokerHeartbeatRequest)]


class Publisher:
    """The metadata shows the broker with ``epoch``, unfenced; with its directories once metadata.version has them."""

    offset = 7

    def __init__(self, epoch: int = -1) -> None:
        broker = Broker(1, epoch, uuid.UUID(int=1), (), {}, None, False, False, ())
        self.image = Image(brokers=Map({1: broker}))
        self.broker_epoch = -1

    async def registered(self, broker_epoch: int) -> None:
        self.broker_epoch = broker_epoch
        if self.image.metadata_version >= DIRECTORIES:
            broker = attrs.evolve(self.image.brokers[1], log_dirs=(uuid.UUID(int=1000),))
            self.image = attrs.evolve(self.image, brokers=Map({1: broker}))

    async def catch_up(self) -> None:
        await trio.lowlevel.checkpoint()

    async def until(self, so: Callable[[Image], bool]) -> None:
        if not so(self.image):
            await trio.sleep_forever()


def lifecycle(channel: Channel, epoch: int = -1, **settings: str) -> Lifecycle:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    config = from_mapping({**SETTINGS, "log.dirs": "unused", **given}).config
    return Lifecycle(config, "cluster", cast(Any, channel), cast(Any, Publisher(epoch)), [], uuid.UUID(int=5))


async def test_a_broker_is_ready_when_it_is_unfenced_and_knows_it(autojump_clock: object) -> None:
    channel = Channel(registered(5), FENCED, FENCED, ALIVE)
    broker = lifecycle(channel, epoch=5)
    await broker.join([])
    assert broker.publisher.broker_epoch == 5
    assert [(each.broker_epoch, each.current_metadata_offset) for each in channel.heartbeats] == [(5, 7)] * 3


async def test_a_registration_is_repeated_until_the_former_session_is_over(autojump_clock: object) -> None:
    """KIP-631: the controller refuses a second incarnation while the lease of the first may still hold."""
    channel = Channel(DUPLICATE, TIMED_OUT, DUPLICATE, DUPLICATE, registered(9), ALIVE)
    await lifecycle(channel, epoch=9).join([])
    assert len(channel.registrations) == 5
    assert {each.incarnation_id for each in channel.registrations} == {channel.registrations[0].incarnation_id}


@pytest.mark.parametrize("answer", [DUPLICATE, TIMED_OUT], ids=["refused", "unanswered"])
async def test_a_broker_that_cannot_register_in_time_gives_up(autojump_clock: object, answer: Any) -> None:
    """initial.broker.registration.timeout.ms"""
    started = trio.current_time()
    with pytest.raises(KafkaError):
        await lifecycle(Channel(answer)).join([])
    assert trio.current_time() - started == pytest.approx(60, abs=3)


@pytest.mark.parametrize("code", [ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.UNSUPPORTED_VERSION])
async def test_a_final_error_of_a_registration_is_not_retried(autojump_clock: object, code: ErrorCode) -> None:
    channel = Channel(BrokerRegistrationResponse(error_code=code))
    with pytest.raises(KafkaError) as caught:
        await lifecycle(channel).join([])
    assert caught.value.code is code
    assert len(channel.asked) == 1


async def until_exhausted(channel: Channel, broker: Lifecycle) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(broker.heartbeats)
        await channel.exhausted.wait()
        nursery.cancel_scope.cancel()


async def test_a_heartbeat_that_times_out_is_followed_by_another(autojump_clock: object) -> None:
    """A disk that stalls for longer than a request may take must not end the node."""
    await until_exhausted(channel := Channel(TIMED_OUT, ALIVE), lifecycle(channel))


async def test_a_fenced_broker_sends_heartbeats_until_it_is_unfenced(autojump_clock: object) -> None:
    channel = Channel(ALIVE, FENCED, FENCED, ALIVE)
    await until_exhausted(channel, lifecycle(channel))
    assert not any(each.want_fence for each in channel.heartbeats)
    assert not channel.registrations


@pytest.mark.parametrize("code", [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED])
async def test_a_broker_whose_registration_is_gone_registers_again(autojump_clock: object, code: ErrorCode) -> None:
    """A controller that does not know the epoch knows another incarnation, or none."""
    channel = Channel(ALIVE, BrokerHeartbeatResponse(error_code=code), DUPLICATE, STALE, registered(12), ALIVE)
    broker = lifecycle(channel)
    await until_exhausted(channel, broker)
    assert broker.publisher.broker_epoch == 12
    assert channel.heartbeats[-1].broker_epoch == 12


@pytest.mark.parametrize(("level", "answers"), [(14, [ALIVE, ALIVE]), (17, [registered(5), ALIVE])])
async def test_a_broker_registers_its_directories_after_an_upgrade(
    autojump_clock: object, level: int, answers: list[Any]
) -> None:
    """BrokerRegistrationTracker of Apache Kafka: the directory set is empty, but metadata.version has directories."""
    channel = Channel(registered(5), ALIVE, ALIVE, *answers)
    broker = lifecycle(channel, epoch=5)
    await broker.join([])
    publisher: Any = broker.publisher
    publisher.image = attrs.evolve(publisher.image, features=Map({"metadata.version": level}))
    await until_exhausted(channel, broker)
    assert len(channel.registrations) == (2 if level == 17 else 1)


async def test_a_node_stops_without_a_response_of_the_controller(autojump_clock: object) -> None:
    channel = Channel(TIMED_OUT)
    await lifecycle(channel).controlled_shutdown()
    assert [each.want_shut_down for each in channel.heartbeats] == [True]


async def test_a_node_stops_when_the_controller_never_allows_it(autojump_clock: object) -> None:
    started = trio.current_time()
    await lifecycle(Channel(ALIVE)).controlled_shutdown()
    assert trio.current_time() - started == pytest.approx(10)


async def test_a_broker_without_controlled_shutdown_stops_at_once() -> None:
    """controlled.shutdown.enable=false"""
    channel = Channel(ALIVE)
    await lifecycle(channel, controlled_shutdown_enable="false").controlled_shutdown()
    assert not channel.asked


async def test_every_heartbeat_after_controlled_shutdown_requests_it(autojump_clock: object) -> None:
    """A heartbeat without it would unfence a broker whose shutdown the controller has allowed."""
    channel = Channel(ALIVE, BrokerHeartbeatResponse(should_shut_down=True), STALE, STALE)
    broker = lifecycle(channel)
    await broker.controlled_shutdown()
    await until_exhausted(channel, broker)
    assert all(each.want_shut_down for each in channel.heartbeats)
    assert not channel.registrations
