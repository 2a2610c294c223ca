"""The broker's life in the cluster, with a controller that does not always answer."""

from __future__ import annotations

from typing import Any, cast

import trio

from kraft.config.properties import from_mapping
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.node.lifecycle import Lifecycle
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError


class Controller:
    """Times out first, then answers; ``answered`` is set then."""

    def __init__(self) -> None:
        self.asked: list[BrokerHeartbeatRequest] = []
        self.answered = trio.Event()

    async def request(self, message: BrokerHeartbeatRequest, version: int) -> BrokerHeartbeatResponse:
        self.asked.append(message)
        if len(self.asked) == 1:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
        self.answered.set()
        return BrokerHeartbeatResponse()


class Publisher:
    offset = 0


def lifecycle(controller: Controller) -> Lifecycle:
    config = from_mapping({**SETTINGS, "log.dirs": "unused"}).config
    return Lifecycle(config, "cluster", cast(Any, controller), cast(Any, None), cast(Any, Publisher()), [])


async def test_a_heartbeat_that_times_out_is_followed_by_another(autojump_clock: object) -> None:
    """A disk that stalls for longer than a request may take must not end the node."""
    controller = Controller()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lifecycle(controller).heartbeats)
        await controller.answered.wait()
        nursery.cancel_scope.cancel()


async def test_a_controller_that_does_not_answer_does_not_keep_the_node_from_stopping() -> None:
    controller = Controller()
    await lifecycle(controller).controlled_shutdown()
    assert [request.want_shut_down for request in controller.asked] == [True]
